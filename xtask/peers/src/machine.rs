//! The machine and the programs of a comparison, as far as they explain its numbers.
use crate::process;
use serde_json::{Value, json};
use std::path::Path;

#[derive(Clone, Debug)]
pub struct Machine {
    pub kernel: String,
    pub cpu: String,
    pub cpus: usize,
    /// At the beginning: what else ran.
    pub load: String,
    pub fathom: String,
    pub fio: Option<String>,
    pub valgrind: Option<String>,
}

impl Machine {
    pub fn look(fathom: &Path) -> Self {
        let read = |name: &str| {
            std::fs::read_to_string(name)
                .map(|text| text.trim().to_owned())
                .unwrap_or_else(|_| "unknown".to_owned())
        };
        let load = read("/proc/loadavg");
        Self {
            kernel: read("/proc/sys/kernel/osrelease"),
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cpus: sys::thread::available_cpus().len(),
            load: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            fathom: process::version(&fathom.display().to_string())
                .unwrap_or_else(|| "fathom".to_owned()),
            fio: process::version("fio"),
            valgrind: process::version("valgrind"),
        }
    }

    /// In one line.
    pub fn line(&self) -> String {
        let missing = || "not installed".to_owned();
        format!(
            "Linux {}, {} × {}, {}, fio: {}, valgrind: {}, load {}",
            self.kernel,
            self.cpus,
            self.cpu,
            self.fathom,
            self.fio.clone().unwrap_or_else(missing),
            self.valgrind.clone().unwrap_or_else(missing),
            self.load
        )
    }

    pub fn json(&self) -> Value {
        json!({
            "kernel": self.kernel,
            "cpu": self.cpu,
            "cpus": self.cpus,
            "load": self.load,
            "fathom": self.fathom,
            "fio": self.fio,
            "valgrind": self.valgrind,
        })
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':'))
        .map_or("unknown CPU", |(_, name)| name.trim())
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::cpu_model;

    #[test]
    fn the_model_of_the_first_cpu() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\n";
        assert_eq!(cpu_model(text), "Some CPU @ 2 GHz");
        assert_eq!(cpu_model(""), "unknown CPU");
    }
}

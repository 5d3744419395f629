//! The beginning of an execution: all pages with their heads, banner, links and facts.
use super::captions::Captions;
use super::clock::Zone;
use super::columns::grouped;
use super::details::{Asked, Details, Part};
use super::pages::PageId;
use super::places::{Places, Slave};
use super::storages::Storages;
use super::{Execution, Face, Folder, RespColumns, flatfile, skew};
use measure::ExecutionStarted;
use std::io;

/// Links of one kind share lines of so many.
const LINKS_PER_LINE: usize = 8;

impl Face {
    pub(super) fn open(&mut self, started: &ExecutionStarted) -> io::Result<Execution> {
        let zone = Zone::new(started.utc_offset_s, &started.time_zone);
        let known = Captions::of(&started.plan_json, &started.targets);
        let has_plan = known.is_some();
        let captions = known.unwrap_or_default();
        let mut workloads = captions.workloads().to_vec();
        if workloads.len() < 2 {
            workloads.clear();
        }
        let places = Places::of(&started.reporting);
        let asked = Asked::of(&started.reporting);
        let storages = Storages::of(&started.targets, captions.shared());
        let mut details = Details::new(asked, &captions, &places, &storages);
        let parts = (&places, &details, &storages);
        let folder = self.open_folder(&workloads, &captions, parts, started)?;
        for name in details.names(None, &places, &storages) {
            let pages = self.open_part("SD", "SD report for sd", &name, &captions)?;
            details.pages.push(pages);
        }
        let execution = Execution {
            zone,
            captions,
            places,
            details,
            targets: started.targets.clone(),
            storages,
            backend: started.backend.clone(),
            workloads,
            folder,
            run: None,
            runs_started: 0,
            has_skew_note: false,
            errors: 0,
            curve_end: None,
            is_over: false,
            seen_ns: started.unix_ns,
        };
        self.write_summary_head(&execution, started);
        self.write_log_head(&execution, started, has_plan);
        self.write_status_head(&execution, started.unix_ns);
        Ok(execution)
    }

    fn open_folder(
        &mut self,
        workloads: &[String],
        captions: &Captions,
        (places, details, storages): (&Places, &Details, &Storages),
        started: &ExecutionStarted,
    ) -> io::Result<Folder> {
        let has_devices = !Asked::of(&started.reporting).no_devices;
        let of = |part| details.names(Some(part), places, storages);
        let used = captions.uses().map(|(_, target)| target);
        let devices = storages.all.iter().zip(storages.used(used));
        let devices = devices.map(|(target, is_used)| {
            let open = |name: &String| self.open_part("SD", "SD report for sd", name, captions);
            let name = Some(&target.name).filter(|_| is_used && has_devices);
            name.map(open).transpose()
        });
        let devices = devices.collect::<io::Result<_>>()?;
        let title = "Workload Report for wd";
        let names = workloads.iter();
        let workloads =
            names.map(|name| self.open_part(&format!("wd={name}"), title, name, captions));
        let workloads = workloads.collect::<io::Result<_>>()?;
        self.write_inputs(started, captions)?;
        let line = |text: &str| [text.to_string(), String::new()];
        Ok(Folder {
            summary: self.pages.open("summary.html")?,
            log: self.pages.open("logfile.html")?,
            status: self.pages.open("status.html")?,
            totals: self.open_page("totals.html", &line("Run totals"), captions)?,
            errors: self.open_errors(started)?,
            flat: self.open_plain("flatfile.html", &flatfile::header(self.options.release))?,
            histogram: {
                let head = line("Total response time histogram.");
                self.open_page("histogram.html", &head, captions)?
            },
            skew: self.open_page("skew.html", &skew::PREAMBLE.map(String::from), captions)?,
            hosts: (0..places.hosts.len())
                .map(|host| self.open_host(host, places, &of(Part::Host(host)), captions))
                .collect::<io::Result<_>>()?,
            slaves: places
                .slaves
                .iter()
                .enumerate()
                .map(|(number, slave)| {
                    let devices = of(Part::Slave(number));
                    self.open_slave(&slave.name, places.slaves.len() > 1, &devices, captions)
                })
                .collect::<io::Result<_>>()?,
            slave_consoles: places
                .slaves
                .iter()
                .map(|slave| self.open_console(&slave.name, captions))
                .collect::<io::Result<_>>()?,
            devices,
            workloads,
        })
    }

    fn open_host(
        &mut self,
        host: usize,
        places: &Places,
        devices: &[String],
        captions: &Captions,
    ) -> io::Result<(PageId, Option<PageId>)> {
        let name = &places.hosts[host];
        let mut head = vec![
            format!("Host summary report(s) for host={name}"),
            String::new(),
        ];
        head.extend(places.slaves_of(host).map(|Slave { name, .. }| {
            let links = format!(
                "{}   {}",
                link(&format!("{name}.html"), &format!("{name} summary")),
                link(&format!("{name}.stdout.html"), &format!("{name} stdout")),
            );
            format!("{:<33}{links}", "Link to slave summary report:")
        }));
        head.extend(device_links(devices));
        self.open_place("Host", name, head, places.hosts.len() > 1, captions)
    }

    fn open_slave(
        &mut self,
        name: &str,
        has_others: bool,
        devices: &[String],
        captions: &Captions,
    ) -> io::Result<(PageId, Option<PageId>)> {
        let mut head = vec![
            format!("Slave summary report for slave={name}"),
            String::new(),
            labelled(
                "Console log:",
                &format!("{name}.stdout.html"),
                "Slave stdout/stderr",
            ),
        ];
        head.extend(device_links(devices));
        self.open_place("Slave", name, head, has_others, captions)
    }

    /// The histogram of the only place would be that of the whole run.
    fn open_place(
        &mut self,
        kind: &str,
        name: &str,
        mut head: Vec<String>,
        has_others: bool,
        captions: &Captions,
    ) -> io::Result<(PageId, Option<PageId>)> {
        let file = format!("{name}.histogram.html");
        if has_others {
            head.push(labelled(
                "Link to response time histogram:",
                &file,
                "histogram",
            ));
        }
        let report = self.open_page(&format!("{name}.html"), &head, captions)?;
        if !has_others {
            return Ok((report, None));
        }
        let head = [format!("{kind} response time histogram."), String::new()];
        Ok((report, Some(self.open_page(&file, &head, captions)?)))
    }

    fn open_console(&mut self, slave: &str, captions: &Captions) -> io::Result<PageId> {
        let head = [
            format!("stdout/stderr for slave={slave}"),
            String::new(),
            format!(
                "{slave} is part of the process on its host and prints nothing of its own: see logfile.html."
            ),
        ];
        self.open_page(&format!("{slave}.stdout.html"), &head, captions)
    }

    fn open_plain(&mut self, file: &str, head: &[String]) -> io::Result<PageId> {
        let page = self.pages.open(file)?;
        self.pages.lines(page, head);
        Ok(page)
    }

    /// With links to runs under the head.
    fn open_page(
        &mut self,
        file: &str,
        head: &[String],
        captions: &Captions,
    ) -> io::Result<PageId> {
        let page = self.open_plain(file, head)?;
        self.pages.lines(page, captions.links());
        Ok(page)
    }

    fn open_part(
        &mut self,
        kind: &str,
        title: &str,
        name: &str,
        captions: &Captions,
    ) -> io::Result<[PageId; 2]> {
        let file = format!("{name}.histogram.html");
        let head = [
            format!("{title}={name}"),
            String::new(),
            labelled("Link to response time histogram:", &file, "histogram"),
        ];
        let report = self.open_page(&format!("{name}.html"), &head, captions)?;
        let head = [format!("{kind} response time histogram."), String::new()];
        let histogram = self.open_page(&file, &head, captions)?;
        // Thousands of devices times thousands of links do not fit into memory.
        self.pages.flush()?;
        Ok([report, histogram])
    }

    fn open_errors(&mut self, started: &ExecutionStarted) -> io::Result<PageId> {
        let created = Zone::new(started.utc_offset_s, &started.time_zone).created(started.unix_ns);
        let head = [
            format!("Vdbench error log, created {created} "),
            "Every failed I/O has a line below; without any line no I/O failed.".to_string(),
            String::new(),
        ];
        self.open_plain("errorlog.html", &head)
    }

    fn write_inputs(&mut self, started: &ExecutionStarted, captions: &Captions) -> io::Result<()> {
        let copies = self.pages.open("parmfile.html")?;
        for (name, text) in &started.inputs {
            let title = format!("* Contents of parameter file: {name}");
            self.pages
                .lines(copies, &[String::new(), title, String::new()]);
            text.lines().for_each(|line| self.pages.line(copies, line));
        }
        self.open_plain("parmscan.html", captions.values())?;
        Ok(())
    }

    fn write_summary_head(&mut self, it: &Execution, started: &ExecutionStarted) {
        let page = it.folder.summary;
        let created = it.zone.created(started.unix_ns);
        let mut lines = vec![
            format!(
                "Fathom {}, in the layout of Vdbench {}.",
                started.fathom_version,
                self.options.release.name()
            ),
            format!("Vdbench summary report, created {created}"),
            String::new(),
            labelled("Link to logfile:", "logfile.html", "logfile"),
            labelled("Run totals:", "totals.html", "totals"),
            labelled("Vdbench status:", "status.html", "status"),
            labelled(
                "Copy of input parameter files:",
                "parmfile.html",
                "parmfile",
            ),
            labelled(
                "Copy of parameter scan detail:",
                "parmscan.html",
                "parmscan",
            ),
            labelled("Link to errorlog:", "errorlog.html", "errorlog"),
            labelled("Link to flatfile:", "flatfile.html", "flatfile"),
            String::new(),
        ];
        let hosts: Vec<&str> = it.places.hosts.iter().map(String::as_str).collect();
        lines.extend(link_list("Link to HOST reports:", &hosts));
        lines.extend([
            labelled(
                "Link to response time histogram:",
                "histogram.html",
                "histogram",
            ),
            labelled("Link to workload skew report:", "skew.html", "skew"),
        ]);
        let devices = it.storages.all.iter().zip(&it.folder.devices);
        let devices = devices.filter(|(_, pages)| pages.is_some());
        let devices: Vec<String> = devices.map(|(one, _)| one.name.clone()).collect();
        lines.extend(device_links(&devices));
        if !it.workloads.is_empty() {
            lines.push(String::new());
        }
        let workload =
            |name: &String| labelled("Link to workload report:", &format!("{name}.html"), name);
        lines.extend(it.workloads.iter().map(workload));
        lines.extend_from_slice(it.captions.links());
        self.pages.lines(page, &lines);
    }

    fn write_log_head(&mut self, it: &Execution, started: &ExecutionStarted, has_plan: bool) {
        let version = &started.fathom_version;
        let release = self.options.release.name();
        let banner = format!("Fathom {version}, in the layout of Vdbench {release}.");
        let distribution = format!("Fathom distribution: fathom {version}");
        let help = "For documentation, see 'fathom help vdbench'.";
        self.console
            .extend(["", "", &banner, &distribution, help, ""].map(String::from));
        self.pages
            .lines(it.folder.log, &[banner, distribution, String::new()]);
        let at = started.unix_ns;
        if self.pages.is_new() {
            let time = it.zone.time(at);
            let dir = self.pages.dir().display();
            self.console
                .push(format!("{time} Created output directory '{dir}'"));
        }
        let scanned = arguments(&started.arguments);
        let scanned: Vec<String> = scanned
            .iter()
            .map(|text| format!("input argument scanned: '{text}'"))
            .collect();
        self.tell(it, at, &scanned);
        let facts = facts(started);
        self.stamped(it.folder.log, &it.zone, at, &facts);
        let starting = |slave: &Slave| match &slave.reach {
            Some(reach) => format!("Starting slave: {reach} fathom agent, {}", slave.name),
            None => format!("Starting slave: {}, a part of this process", slave.name),
        };
        let mut slaves: Vec<String> = it.places.slaves.iter().map(starting).collect();
        slaves.push("All slaves are now connected".to_string());
        self.tell(it, at, &slaves);
        if !has_plan {
            let missing =
                "The plan of this execution cannot be read: no links to runs, no workload reports.";
            self.tell(it, at, &[missing.to_string()]);
        }
        if self.options.columns == RespColumns::Arrival {
            let note =
                "The resp columns show response time from the intended arrival (--resp arrival).";
            self.tell(it, at, &[note.to_string()]);
        }
        let sizes: Vec<String> = it.storages.all.iter().map(size_line).collect();
        self.stamped(it.folder.log, &it.zone, at, &sizes);
        self.pages.lines(it.folder.log, it.captions.links());
    }

    fn write_status_head(&mut self, it: &Execution, at: u64) {
        let head = [
            "* Vdbench status",
            "",
            "* A line per change of state, for programs that watch an execution.",
            "* A line is written as soon as the state changes.",
            "* Fields are divided by tabs: time and zone, state, and where it belongs to a run, ",
            "* 'rd=' with its name and 'For loops:' with its loop values.",
            "",
        ];
        self.pages.lines(it.folder.status, &head.map(String::from));
        for state in ["Starting slaves", "Slaves connected"] {
            self.status(it, at, state, None);
        }
        for state in ["started", "completed"] {
            self.status(it, at, &format!("Query host configuration {state}"), None);
        }
    }
}

/// Options with their values as one word, without the program and the verb.
fn arguments(arguments: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut takes_value = false;
    let verbs = arguments
        .iter()
        .skip(1)
        .skip_while(|word| *word == "vdbench");
    for word in verbs {
        match words.last_mut() {
            Some(option) if takes_value && !word.starts_with('-') => option.push_str(word),
            _ => words.push(word.clone()),
        }
        takes_value = matches!(
            word.as_str(),
            "-f" | "-o" | "-e" | "-i" | "-w" | "-m" | "-p" | "-l" | "-d" | "-r"
        );
    }
    words
}

/// Name and value in two columns, as the original prints its surroundings.
fn facts(started: &ExecutionStarted) -> Vec<String> {
    let host = &started.host;
    let pairs = [
        ("fathom.version", started.fathom_version.clone()),
        (
            "fathom.backend",
            format!("{} ({})", started.backend, started.backend_reason),
        ),
        ("fathom.workers", started.workers.to_string()),
        ("fathom.clock", started.clock.clone()),
        ("fathom.seed", started.seed.to_string()),
        ("host.name", host.name.clone()),
        ("host.kernel", host.kernel.clone()),
        ("host.distribution", host.distribution.clone()),
        ("host.cpu.model", host.cpu_model.clone()),
        ("host.cpus", host.cpus.to_string()),
        ("host.memory", grouped(host.memory_bytes)),
        ("host.virtualization", host.virtualization.clone()),
    ];
    pairs
        .map(|(name, value)| format!("{name:<26} {value}"))
        .into()
}

fn size_line(target: &measure::ExecutionTarget) -> String {
    let bytes = target.bytes as f64;
    format!(
        "sd={},lun={} lun size: {} bytes; {:.4} GB (1024**3); {:.4} GB (1000**3)",
        target.name,
        target.path,
        grouped(target.bytes),
        bytes / (1_u64 << 30) as f64,
        bytes / 1e9,
    )
}

fn link(file: &str, text: &str) -> String {
    format!("<A HREF=\"{file}\">{text}</A>")
}

fn labelled(label: &str, file: &str, text: &str) -> String {
    format!("{label:<33}{}", link(file, text))
}

fn device_links(names: &[String]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    link_list("Link to SD reports:", &names)
}

/// Each link is filled up to eight characters of text.
fn link_list(label: &str, names: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for names in names.chunks(LINKS_PER_LINE) {
        let padded = |name: &&str| {
            let fill = 8_usize.saturating_sub(name.chars().count());
            format!("{}{:fill$}", link(&format!("{name}.html"), name), "")
        };
        let links: Vec<String> = names.iter().map(padded).collect();
        let label = if lines.is_empty() { label } else { "" };
        lines.push(format!("{label:<33}{}", links.join(" ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_scanned_with_their_values() {
        let words = [
            "fathom", "vdbench", "-f", "a.parm", "-o", "out", "-mb", "x=1",
        ]
        .map(String::from);
        assert_eq!(arguments(&words), ["-fa.parm", "-oout", "-mb", "x=1"]);
        let attached = ["vdbench", "-fa.parm", "-l", "-o", "out"].map(String::from);
        assert_eq!(arguments(&attached), ["-fa.parm", "-l", "-oout"]);
    }

    #[test]
    fn eight_links_share_a_line() {
        let names = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];
        let lines = link_list("Link to SD reports:", &names);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with(
                "Link to SD reports:              <A HREF=\"a1.html\">a1</A>       <A"
            )
        );
        assert_eq!(
            lines[1],
            format!("{:33}<A HREF=\"a9.html\">a9</A>      ", "")
        );
    }
}

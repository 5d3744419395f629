//! One device or file and what is done to it, without a job file.
use crate::arguments::{TargetOptions, nanos};
use crate::launch::Findings;
use crate::machine;
use plan::{
    AddressOrder, AlignRule, ArrivalLaw, Coupling, DataSpec, ErrorBudget, FirstBlock,
    FirstInterval, Generator, Ledger, Load, LocalStop, Nanos, OpSource, OpenMode, OperationMix,
    Origin, Pacing, PerDirection, Plan, Pool, PoolId, Preparation, RandomLaw, Region, RunKind,
    RunSpec, RunStop, RunTemplate, SequentialEnd, SequentialStart, SizeRule, StartAlign, Stream,
    Target, TargetId, TargetKind, TargetOrder, TemplateId, Timing, TransferSizes, Window,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILL_BYTES: u64 = 1 << 20;

/// What was asked of it, as numbers.
#[derive(Clone, Debug)]
pub struct OneTarget {
    path: PathBuf,
    transfer_bytes: u64,
    size_bytes: Option<u64>,
    read_pct: f64,
    is_buffered: bool,
}

impl OneTarget {
    /// # Errors
    /// In words, where an option has no such value.
    pub fn of(options: &TargetOptions) -> Result<Self, String> {
        let transfer_bytes = bytes("--bs", &options.bs)?;
        if transfer_bytes == 0 || !transfer_bytes.is_multiple_of(512) {
            return Err(format!(
                "`--bs {}` is not a multiple of 512 bytes",
                options.bs
            ));
        }
        if !(0.0..=100.0).contains(&options.read) {
            return Err(format!(
                "`--read {}` is not a percentage from 0 to 100",
                options.read
            ));
        }
        Ok(Self {
            path: options.target.clone(),
            transfer_bytes,
            size_bytes: options
                .size
                .as_ref()
                .map(|size| bytes("--size", size))
                .transpose()?,
            read_pct: options.read,
            is_buffered: options.buffered,
        })
    }

    /// A file of a size that nobody has asked for is not made: what to do then. What a device lacks is told where it is
    /// looked at.
    pub fn missing(&self) -> Option<String> {
        let path = &self.path;
        let exists = door::waiting::on(path, || path.exists());
        let is_missing = !exists && !machine::is_device(path);
        (is_missing && self.size_bytes.is_none()).then(|| {
            format!(
                "`{}` does not exist; check the name, or add `--size 1g` to make a file of 1 GiB",
                path.display()
            )
        })
    }

    /// Most folders are on the disk that a file is on, and what is done to a file is a quick look.
    pub fn findings(&self) -> Findings {
        Findings {
            printed: Vec::new(),
            unprinted: if machine::is_device(&self.path) {
                &[]
            } else {
                &["results-on-storage"]
            },
            ..Findings::default()
        }
    }

    /// Runs of the first template fill it, and runs of the second measure it.
    pub fn plan(&self, slots: u32, runs: Vec<RunSpec>) -> Plan {
        Plan {
            targets: vec![self.target()],
            templates: vec![fill_template(&self.path), self.measure_template(slots)],
            runs,
            ..Plan::default()
        }
    }

    fn target(&self) -> Target {
        let path = &self.path;
        let is_device = machine::is_device(path);
        let size = self.size_bytes.map_or(SizeRule::AsFound, SizeRule::Bytes);
        Target {
            name: path.display().to_string(),
            host: "localhost".to_owned(),
            shared_from: None,
            path: path.clone(),
            kind: if is_device {
                TargetKind::Device
            } else {
                TargetKind::File
            },
            size,
            size_from_bytes: 0,
            open: OpenMode {
                direct: !self.is_buffered,
                ..OpenMode::default()
            },
            preparation: if is_device {
                Preparation::AsFound
            } else {
                Preparation::MakeOrExtend
            },
            ledger: Ledger::None,
            origin: Origin::Argument(path.display().to_string()),
        }
    }

    fn measure_template(&self, slots: u32) -> RunTemplate {
        let order = AddressOrder::Random(RandomLaw::Uniform);
        let mix = OperationMix::reads(self.read_pct);
        let measure = generator(mix, self.transfer_bytes, order);
        template(&self.path.display().to_string(), slots, measure)
    }
}

/// A number with an optional k, m, g or t, powers of 1024.
pub fn bytes(name: &str, text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, shift) = match number.chars().last() {
        Some('k') => (&number[..number.len() - 1], 10),
        Some('m') => (&number[..number.len() - 1], 20),
        Some('g') => (&number[..number.len() - 1], 30),
        Some('t') => (&number[..number.len() - 1], 40),
        _ => (number, 0),
    };
    let value: Option<f64> = number
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0);
    let value = value
        .map(|value| value * (1_u64 << shift) as f64)
        .filter(|value| *value < (1_u64 << 62) as f64);
    value.map(|value| value as u64).ok_or_else(|| {
        format!("`{name} {text}` is not a size; use a number such as 4096, 4k or 1.5g")
    })
}

fn generator(operations: OperationMix, transfer_bytes: u64, order: AddressOrder) -> Generator {
    Generator {
        operations,
        transfer: PerDirection::all(TransferSizes::Fixed(transfer_bytes)),
        order,
        region: Region::whole(transfer_bytes, FirstBlock::SparedOnDevices),
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        hits: None,
        redraws_sizes: false,
    }
}

fn template(name: &str, slots: u32, generator: Generator) -> RunTemplate {
    let stream = Stream {
        name: name.to_owned(),
        targets: vec![TargetId(0)],
        target_order: TargetOrder::RoundRobin,
        pool: PoolId(0),
        source: OpSource::Generator(generator),
        pacing: Pacing::FromRun,
        flow: plan::Flow::default(),
        share_pct: 100.0,
        priority: None,
        data: DataSpec::default(),
        open: None,
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: Vec::new(),
    };
    let pool = Pool::new(name, slots);
    RunTemplate {
        pools: vec![pool],
        streams: vec![stream],
        coupling: Coupling::Independent,
    }
}

fn fill_template(path: &Path) -> RunTemplate {
    let start = SequentialStart::PresentEnd {
        rounded_to: FILL_BYTES,
    };
    let order = AddressOrder::Sequential {
        start,
        end: SequentialEnd::Stop,
    };
    let mut fill = generator(OperationMix::reads(0.0), FILL_BYTES, order);
    // A size that is no multiple of a whole write still has to be filled to its end.
    fill.region.granule_bytes = 512;
    template(&path.display().to_string(), 4, fill)
}

pub fn spec(name: String, kind: RunKind, template: u32, load: Load, timing: Timing) -> RunSpec {
    RunSpec {
        name,
        kind,
        template: TemplateId(template),
        overrides: Vec::new(),
        coupling: None,
        load,
        law: ArrivalLaw::Exponential,
        timing,
        stop: RunStop {
            errors: ErrorBudget::default(),
            ..RunStop::default()
        },
        labels: Vec::new(),
        swept: Vec::new(),
        origin: Origin::Default("the command line".to_owned()),
    }
}

pub fn timing(warmup: Duration, window: Window) -> Timing {
    Timing {
        start: StartAlign::AtOnce,
        warmup: nanos(warmup),
        window,
        interval: Nanos::from_secs(1),
        first_interval: FirstInterval::Counted,
        pause_after: Nanos(0),
    }
}

pub fn fill_run() -> RunSpec {
    let timing = timing(Duration::ZERO, Window::UntilDone { at_most: None });
    spec(
        "fill".to_owned(),
        RunKind::Prepare,
        0,
        Load::FlatOut,
        timing,
    )
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(bytes("--bs", "4k"), Ok(4096));
        assert_eq!(bytes("--bs", "1.5G"), Ok(3 << 29));
        assert_eq!(bytes("--bs", "2MiB"), Ok(2 << 20));
        assert!(bytes("--bs", "4 apples").is_err());
        assert!(bytes("--bs", "-1").is_err());
        assert!(bytes("--bs", "").is_err());
    }
}

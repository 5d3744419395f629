//! Arrivals by a schedule: every one accounted for, the rate kept, and hardly later than a bare timer loop would be.
use super::{column, contender, mean};
use crate::bare::timer::Law;
use crate::fio;
use crate::machine::Machine;
use crate::ours::{self, COMPLETED, Job, RATE_SHARE, SCHEDULED, UNACCOUNTED};
use crate::process::owned;
use crate::reading::{CPU, LATENESS_MAX, LATENESS_P50, LATENESS_P99, RATE, Reading};
use crate::session::{Contender, Session, Settings, Times};
use crate::statistics::{Bar, ratio};
use crate::table::{Held, Row, shown};
use crate::targets::{self, Memory};

const FIGURE: u8 = 18;
const RATES: &[u32] = &[1_000, 10_000, 20_000, 50_000];
const RATE_BESIDE_FIO: u32 = 20_000;
const SLOTS: u32 = 32;
const LAWS: [(Law, &str); 2] = [
    (Law::Deterministic, "deterministic"),
    (Law::Exponential, "exponential"),
];

/// Up to this rate both laws run at once, which saves half of the time: each takes a fifth of a CPU at most. Beyond it
/// they would take the CPUs from each other, and what a law is like by itself would not be seen.
const RATE_TOGETHER_MAX: u32 = 10_000;

/// How late arrivals may be beside the bare loop: this many times as late, and this much more.
const LATENESS_TIMES: f64 = 1.25;
const LATENESS_MORE_NS: f64 = 20_000.0;

/// How far a deterministic rate may be off.
const RATE_OFF_MAX: f64 = 0.001;

/// What one arrival in a hundred suffers is no longer the tool's where the host takes a CPU away for a comparable time:
/// half of that.
const STOLEN_MAX: f64 = 0.005;

/// A rate of this figure, as it stands on a command line.
///
/// # Errors
/// A message for any other text.
pub fn arrival_rate(text: &str) -> Result<u32, String> {
    let rate = RATES.iter().find(|rate| rate.to_string() == text);
    rate.copied()
        .ok_or_else(|| format!("the rates of figure 18 are {RATES:?}"))
}

pub fn measure(session: &mut Session, machine: &Machine) -> Result<Vec<Row>, String> {
    let settings = session.settings;
    if settings.is_quick {
        // Sixteen kinds of windows: the shortest that still are windows.
        session.settings = Settings {
            pairs: 1,
            window_s: 2,
            ..settings
        };
    }
    let rows = targets::memory(session).and_then(|target| {
        let mut rows = Vec::new();
        let chosen = session.rates.clone();
        let is_chosen = |rate: &&u32| chosen.is_empty() || chosen.contains(rate);
        let has_fio = machine.fio.is_some();
        for (place, rate) in RATES.iter().filter(is_chosen).enumerate() {
            let contenders = contenders(&target, *rate, has_fio);
            if place == 0 {
                session.settle(FIGURE, &contenders)?;
            }
            let times = times(&session.settings);
            let found = session.rounds_below(FIGURE, times, &contenders)?;
            rows.extend(judged(*rate, has_fio, &found.rounds));
            rows.push(repeated(*rate, found.repeated));
        }
        Ok(rows)
    });
    session.settings = settings;
    rows
}

fn times(settings: &Settings) -> Times {
    let stolen_max = match settings.is_quick {
        true => f64::INFINITY,
        false => STOLEN_MAX,
    };
    Times {
        count: settings.pairs,
        stolen_max,
    }
}

/// Fathom and the bare timer under each law, and fio at the rate that it has its part in.
fn contenders(target: &Memory, rate: u32, has_fio: bool) -> Vec<Contender<'_>> {
    let fathom =
        move |session: &mut Session, (_, name): (Law, &str)| ours(session, target, rate, name);
    let timer = move |session: &mut Session, (law, _): (Law, &str)| bare_timer(session, rate, law);
    let mut contenders: Vec<Contender<'_>> = if rate <= RATE_TOGETHER_MAX {
        vec![both_laws("fathom", fathom), both_laws("bare timer", timer)]
    } else {
        let of_law = |law: (Law, &'static str)| {
            [
                contender(&format!("fathom, {}", law.1), move |session| {
                    fathom(session, law)
                }),
                contender(&format!("bare timer, {}", law.1), move |session| {
                    timer(session, law)
                }),
            ]
        };
        LAWS.into_iter().flat_map(of_law).collect()
    };
    if rate == RATE_BESIDE_FIO && has_fio {
        contenders.push(contender("fio io_uring", move |session| {
            fio::run(session, &fio_options(target, rate))
        }));
    }
    contenders
}

fn judged(rate: u32, has_fio: bool, rounds: &[Vec<Reading>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (place, (law, name)) in LAWS.into_iter().enumerate() {
        let (first, second) = columns(rate, place);
        let (ours, timer) = (column(rounds, first), column(rounds, second));
        let what = format!("{rate} arrivals/s, {name}");
        rows.push(accounted(&what, &ours));
        if law == Law::Deterministic {
            rows.push(rate_kept(&what, &ours));
        }
        rows.extend(late(&what, &ours, &timer));
    }
    if rate == RATE_BESIDE_FIO {
        rows.push(match has_fio {
            true => beside_fio(&column(rounds, 0), &column(rounds, 2 * LAWS.len())),
            false => Row::without(
                FIGURE,
                "CPU per I/O beside fio",
                "skipped: fio is not installed".to_owned(),
            ),
        });
    }
    rows
}

fn repeated(rate: u32, windows: u32) -> Row {
    let percent = STOLEN_MAX * 100.0;
    let what = format!(
        "{rate} arrivals/s: windows measured anew, as the host took more than {percent} % of a CPU"
    );
    Row::told(FIGURE, &what, windows.to_string(), String::new())
}

/// Where the readings of a law are: those of Fathom and those of the bare timer.
fn columns(rate: u32, law: usize) -> (usize, usize) {
    match rate <= RATE_TOGETHER_MAX {
        true => (law, LAWS.len() + law),
        false => (2 * law, 2 * law + 1),
    }
}

/// A contender that runs for both laws at once: with the same company for everybody, in half the time.
fn both_laws<'a>(
    name: &str,
    run: impl Fn(&mut Session, (Law, &str)) -> Result<Reading, String> + Sync + 'a,
) -> Contender<'a> {
    let turn = move |session: &mut Session| -> Result<Vec<Reading>, String> {
        let mut sessions = Vec::new();
        for (_, name) in LAWS {
            sessions.push(session.beside(name)?);
        }
        let readings = std::thread::scope(|scope| {
            let run = &run;
            let started: Vec<_> = LAWS
                .into_iter()
                .zip(&mut sessions)
                .map(|(law, own)| scope.spawn(move || run(own, law)))
                .collect();
            let joined = started.into_iter().map(|thread| thread.join());
            joined
                .map(|outcome| outcome.expect("a contender does not panic"))
                .collect()
        });
        for own in &mut sessions {
            session.commands.append(&mut own.commands);
        }
        readings
    };
    Contender {
        name: format!("{name}, both laws at once"),
        run: Box::new(turn),
    }
}

/// What an I/O at a rate costs; fio has a deterministic law.
fn beside_fio(ours: &[Reading], peer: &[Reading]) -> Row {
    let rate = RATE_BESIDE_FIO;
    let what = format!("{rate} arrivals/s: CPU per I/O");
    let peer_name = format!(
        "fio io_uring rate_iops={rate}, {}",
        shown(RATE, mean(peer, RATE))
    );
    let bar = Some(Bar::AtMost(0.5));
    Row::compared(FIGURE, &what, CPU, ours, (&peer_name, peer), bar)
}

fn ours(session: &mut Session, target: &Memory, rate: u32, law: &str) -> Result<Reading, String> {
    let job = Job {
        name: &format!("arrivals-{rate}-{law}"),
        storage: &target.storage(SLOTS),
        work: "xfersize=4k,rdpct=100,seekpct=100",
        run: &format!("iorate={rate},distribution={law}"),
        options: &[],
    };
    ours::run(session, &job).map(|ours| ours.reading())
}

fn bare_timer(session: &mut Session, rate: u32, law: Law) -> Result<Reading, String> {
    let settings = session.settings;
    let (rate, law) = (rate.to_string(), format!("{law:?}").to_lowercase());
    let (seconds, warmup) = (settings.window_s.to_string(), settings.ramp_s.to_string());
    let found = session.bare(&[
        "bare-timer",
        "--rate",
        &rate,
        "--law",
        &law,
        "--seconds",
        &seconds,
        "--warmup",
        &warmup,
    ])?;
    let number = |name: &str| {
        let number = found[name].as_f64();
        number.ok_or_else(|| format!("the bare timer says nothing of `{name}`"))
    };
    Ok(Reading::default()
        .with(LATENESS_P50, number(LATENESS_P50)?)
        .with(LATENESS_P99, number(LATENESS_P99)?)
        .with(LATENESS_MAX, number(LATENESS_MAX)?)
        .with(CPU, number("cpu_ns")? / number("moments")?))
}

fn fio_options(target: &Memory, rate: u32) -> Vec<String> {
    let mut options = target.fio_options();
    options.extend(owned(&[
        "--ioengine=io_uring",
        "--rw=randread",
        "--norandommap",
        "--bs=4k",
    ]));
    options.extend([format!("--iodepth={SLOTS}"), format!("--rate_iops={rate}")]);
    options
}

/// Every arrival was submitted or is known as unsent, and what was submitted shows as completions.
fn accounted(what: &str, ours: &[Reading]) -> Row {
    let holds = |reading: &&Reading| {
        // What was in flight when the run ended completes after its last interval.
        let missing = reading.get(ours::SUBMITTED) - reading.get(COMPLETED);
        reading.get(UNACCOUNTED) == 0.0 && (0.0..=f64::from(SLOTS)).contains(&missing)
    };
    let sum = |name: &str| ours.iter().map(|reading| reading.get(name)).sum::<f64>();
    Row::held(
        FIGURE,
        &format!("{what}: scheduled = submitted + unsent"),
        format!(
            "{:.0} = {:.0} + {:.0}",
            sum(SCHEDULED),
            sum(ours::SUBMITTED),
            sum(SCHEDULED) - sum(ours::SUBMITTED)
        ),
        format!("{:.0} completions", sum(COMPLETED)),
        "exactly",
        Held {
            windows: ours.iter().filter(holds).count(),
            of: ours.len(),
        },
    )
}

fn rate_kept(what: &str, ours: &[Reading]) -> Row {
    let off = |reading: &Reading| (reading.get(RATE_SHARE) - 1.0).abs();
    let worst = ours.iter().map(off).fold(0.0, f64::max);
    let windows = ours
        .iter()
        .filter(|reading| off(reading) <= RATE_OFF_MAX)
        .count();
    Row::held(
        FIGURE,
        &format!("{what}: rate"),
        format!(
            "{}, at worst {:.3} % off",
            shown(RATE, mean(ours, RATE)),
            worst * 100.0
        ),
        String::new(),
        "within 0.1 %",
        Held {
            windows,
            of: ours.len(),
        },
    )
}

/// Lateness against what the bare loop, run in turn, allows.
fn late(what: &str, ours: &[Reading], timer: &[Reading]) -> Vec<Row> {
    let row = |(percentile, name): (&str, &str)| {
        let allowed = |timer: &Reading| LATENESS_TIMES * timer.get(name) + LATENESS_MORE_NS;
        let pairs: Vec<(f64, f64)> = ours
            .iter()
            .zip(timer)
            .map(|(ours, timer)| (ours.get(name), allowed(timer)))
            .collect();
        let numbers = (
            shown(name, mean(ours, name)),
            format!("{} (bare timer)", shown(name, mean(timer, name))),
        );
        let what = format!("{what}: lateness {percentile}, ratio to what is allowed");
        let row = Row::judged(FIGURE, &what, numbers, ratio(&pairs), Bar::AtMost(1.0));
        Row {
            bar: "≤ 1.25 × + 20 µs".to_owned(),
            ..row
        }
    };
    [("p50", LATENESS_P50), ("p99", LATENESS_P99)]
        .into_iter()
        .map(row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(scheduled: f64, submitted: f64, unaccounted: f64, completed: f64) -> Reading {
        Reading::default()
            .with(SCHEDULED, scheduled)
            .with(ours::SUBMITTED, submitted)
            .with(UNACCOUNTED, unaccounted)
            .with(COMPLETED, completed)
    }

    #[test]
    fn an_arrival_that_is_nowhere_is_found() {
        let good = window(100.0, 90.0, 0.0, 88.0);
        assert_eq!(accounted("x", std::slice::from_ref(&good)).verdict, "met");
        let lost = window(100.0, 90.0, 1.0, 88.0);
        assert_eq!(
            accounted("x", &[good.clone(), lost]).verdict,
            "missed in 1 of 2"
        );
        let not_completed = window(100.0, 90.0, 0.0, 50.0);
        assert_eq!(accounted("x", &[not_completed]).verdict, "missed in 1 of 1");
        assert_eq!(
            accounted("x", &[Reading::default()]).verdict,
            "missed in 1 of 1"
        );
    }

    #[test]
    fn a_rate_that_is_not_measured_is_refused() {
        assert_eq!(arrival_rate("20000"), Ok(20_000));
        let message = arrival_rate("30000").unwrap_err();
        assert!(message.contains("[1000, 10000, 20000, 50000]"), "{message}");
    }

    #[test]
    fn lateness_may_be_a_little_above_the_bare_loop() {
        let reading = |late_ns| {
            vec![
                Reading::default()
                    .with(LATENESS_P50, late_ns)
                    .with(LATENESS_P99, late_ns);
                3
            ]
        };
        let verdict = |ours, timer| {
            late("x", &reading(ours), &reading(timer))[0]
                .verdict
                .clone()
        };
        // 1.25 × 16 µs + 20 µs = 40 µs.
        assert_eq!(verdict(39_000.0, 16_000.0), "met");
        assert_eq!(verdict(41_000.0, 16_000.0), "missed");
    }

    #[test]
    fn a_rate_off_by_more_than_a_thousandth_is_found() {
        let at = |share| {
            Reading::default()
                .with(RATE, 1000.0)
                .with(RATE_SHARE, share)
        };
        assert_eq!(rate_kept("x", &[at(1.0009), at(0.9991)]).verdict, "met");
        assert_eq!(
            rate_kept("x", &[at(1.0), at(0.9985)]).verdict,
            "missed in 1 of 2"
        );
    }
}

//! What each report has to say about each scene, and what it must not say.
use crate::places::Place::{self, *};

/// One answer: in this scene, at this place, these words stand or do not stand.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// What is stated; each statement has scenes in which it is true, and some in which it is not.
    pub statement: &'static str,
    pub scene: &'static str,
    pub place: Place,
    pub words: &'static str,
    pub stands: bool,
}

const fn says(
    statement: &'static str,
    scene: &'static str,
    place: Place,
    words: &'static str,
) -> Answer {
    Answer {
        statement,
        scene,
        place,
        words,
        stands: true,
    }
}

const fn never(
    statement: &'static str,
    scene: &'static str,
    place: Place,
    words: &'static str,
) -> Answer {
    Answer {
        stands: false,
        ..says(statement, scene, place, words)
    }
}

const HELD: &str = "a rate held by a storage that is half busy";
const BUSY: &str = "a rate held by a storage that is nearly busy";
const FEW: &str = "a rate held for five seconds by few I/Os";
const SLOW: &str = "an I/O at a time that takes three seconds";
const FLAT: &str = "flat out";
const PAUSES: &str = "pauses between closed loops";
const SLOTS: &str = "more than the slots can carry";
const SPREAD: &str = "three hosts of which one is slow";
const EVEN: &str = "three hosts that are alike";
const BEFORE: &str = "more than the slots can carry, from before the window";
const DEVICE: &str = "more than the device can carry";
const LITTLE: &str = "a little more than the device can carry";
const STALL: &str = "a stall";
const MINUTES: &str = "a stall each minute, with one slot";
const GOING: &str = "a rate on a device that goes away";
const OUTLIVES: &str = "a stall that outlives the run";
const GONE: &str = "a device that never answers";
const GONE_CLOSED: &str = "a closed loop on a device that never answers";
const GOES: &str = "a device that goes away after three seconds";
const LATE: &str = "threads that wake five milliseconds late";
const TAKEN: &str = "a processor that is taken away now and then";
const ONE_SLOT: &str = "a rate held with one slot";
const STILL: &str = "a processor that is taken away while the slot is in use";
const HELD_UP: &str = "a device that holds some I/Os up";
const STALL_BUSY: &str = "a stall on a busy host";
const FLAT_FILLED: &str = "flat out after a run that prepares";
const NULL_LATE: &str = "threads that wake late without a device";
const NULL_SLOTS: &str = "more than the slots can carry without a device";
const PREPARED: &str = "rates behind a run that prepares";
const LITTLE_LATE: &str = "threads that wake a little late";
const SLOWER: &str = "a device that becomes slower";
const QUICKER: &str = "a device that becomes quicker";
const CREDITS: &str = "a device whose credits are spent";
const TURNS: &str = "a device that takes turns";
const BAD: &str = "bad blocks";
const FAILOVER_ERRORS: &str = "a failover in which I/Os fail";
const FAILOVER_LATE: &str = "a failover on a host that wakes up late";
const FAILOVER_SLOTS: &str = "a failover with few slots";
const FAILOVER_IDLE: &str = "a failover in which nothing happens";
const TOO_BAD: &str = "bad blocks beyond what is allowed";
const SHORT: &str = "short transfers";
const KILLED: &str = "killed";
const STOPPED: &str = "stopped";
const CURVE: &str = "a curve";
const BEYOND: &str = "a curve with points beyond the storage";
const FEW_HELD: &str = "a curve of few points that were held";
const ENDS: &str = "a curve that ends by its service time";
const RATES: &str = "two rates";
const AGAIN: &str = "a rate repeated";
const SETTLES: &str = "a rate that is to settle";
const RESTLESS: &str = "a rate that cannot settle";
const STOLEN: &str = "a host whose processors are stolen";
const NEIGHBOURS: &str = "a host whose neighbours are busy";
const OWN: &str = "a host that is busy with Fathom";
const SHARED: &str = "a host that is busy with Fathom and other machines";
const TICKS: &str = "a host that counts by ticks";
const THROTTLED: &str = "a control group that is throttled";
const TAKEN_FLAT: &str = "flat out while other programs have the processors";
const TAKEN_HALF: &str = "flat out, and other programs begin half-way";
const TAKEN_CURVE: &str = "a curve while other programs have the processors";
const BUSY_FLAT: &str = "flat out on processors that Fathom keeps busy";
const WAKE_UPS: &str = "flat out by threads that wake up often";
const NULL_FLAT: &str = "flat out without a device";
const NULL_CURVE: &str = "a curve without a device";
const HOLES_CURVE: &str = "a curve of a file with holes";
const LATE_ONE: &str = "two rates, of which one is sent late";
const LATE_FAST: &str = "two rates that are sent late, one of them always";
const LATE_SLOW: &str = "two rates that are sent late, the slower one always";
const MEMORY: &str = "a disk in memory";

const CACHED: &str = "reads that memory answers";
const FETCHED: &str = "reads that a disk answers";
const BLIND: &str = "a raw device that tells no counters";
const HOLES: &str = "a file with holes";
const NINE: &str = "flat out for nine seconds";
const TEN: &str = "flat out for ten seconds";
const NO_CPU: &str = "flat out where nothing tells of CPUs";
const MODEL: &str = "a rate held by a model of storage";
const STEP_SHORT: &str = "a latency that steps in ten seconds";
const RATE_STEP_SHORT: &str = "a rate that steps in ten seconds";
const IN_TURN: &str = "a latency in turn for sixteen seconds";
const PAUSED: &str = "Fathom stopped for five seconds";
const PAUSED_BUSY: &str = "Fathom stopped on a busy host";
const BEAT: &str = "a heartbeat that was late for a moment";
const BLOCKS: &str = "submitting calls that wait";
const RETURNS: &str = "submitting calls that return";
const NEIGHBOUR: &str = "a disk that another program reads as much";
const NEIGHBOUR_LITTLE: &str = "a disk that another program reads a little";
const LIMITED: &str = "a control group with a limit that was reached";
const UNLIMITED: &str = "a control group with a limit that was not reached";
const LIMIT_BESIDE: &str = "a control group beside others that move more than its limit";
const THIN: &str = "a thin volume that was never written";
const HEAD: &str = "1 to 16 threads on one head";
const ARRAY: &str = "1 to 16 threads on an array";
const CHANNELS: &str = "512 slots flat out on a storage of 486 channels";
const EIGHTY: &str = "80 jobs with 32 I/Os each";
const LATENCY_JUMPS: &str = "a rate whose latency jumps from second to second";
const LATENCY_STEPS: &str = "a rate whose latency steps up";
const JUMPS: &str = "a device that jumps from second to second";
const SATURATED: &str = "a rate that a hundred percent of the time is too much";
const FAILED: &str = "a failure after which all is as before";
const FAILED_SLOWER: &str = "a failure after which latency stays higher";
const OFFLINE: &str = "a device that says that it is gone";
const THREAD_BOUND: &str = "a rebuild for a while in a closed loop";
const RATE_BOUND: &str = "a rebuild for a while beneath a rate";
const REBUILD: &str = "a rebuild beneath a rate";

/// Statements, in the order in which the page has them.
pub const ANSWERS: &[Answer] = &[
    // Cards.
    says(
        "highest rate",
        FLAT,
        Top,
        "Highest rate, flat out 4 000 I/O/s run flat, p99 ",
    ),
    never("highest rate", CURVE, Top, "Highest"),
    never("highest rate", HELD, Top, "Highest"),
    never("highest rate", RATES, Top, "Highest"),
    never("highest rate", PAUSES, Top, "Highest"),
    says("rate reached", HELD, Top, "Rate reached"),
    says("rate reached", RATES, Top, "run fast, 2 000 asked, p99 "),
    says("rate reached", PAUSES, Top, "Rate reached"),
    says("rate reached", CURVE, Top, "I/O/s run 90 %, "),
    never("rate reached", CURVE, Top, "maximum, p99"),
    never("rate reached", FLAT, Top, "Rate reached"),
    never("rate reached", GONE, Top, "Rate reached"),
    says(
        "knee",
        CURVE,
        Top,
        "Knee of the curve 701 I/O/s run 70 %, p99 ",
    ),
    says(
        "knee",
        BEYOND,
        Top,
        "Knee of the curve 701 I/O/s run 70 %, p99 ",
    ),
    never("knee", FEW_HELD, Whole, "Knee of the curve"),
    never("knee", RATES, Whole, "Knee of the curve"),
    says(
        "CPU per I/O",
        NEIGHBOURS,
        Top,
        "of the host in run neighbours; Fathom itself 30",
    ),
    says(
        "CPU per I/O",
        TICKS,
        Top,
        "of Fathom itself in run ticks; the counters of the host saw 10",
    ),
    never("CPU per I/O", HELD, Top, "CPU per I/O"),
    // Two rates, of which the slower one has the lower median.
    says("median response", RATES, Top, "ms run fast, p99 "),
    never("median response", RATES, Top, "slow, p99 "),
    says("table of devices", FETCHED, Whole, "Table of 1 row "),
    never("table of devices", FETCHED, Whole, "Table of 1 rows"),
    // Evidence.
    says("queue depth seen", HELD, Top, "the queue depth sufficed ✓"),
    says("queue depth seen", SLOTS, Top, "the queue depth sufficed ✗"),
    says(
        "queue depth seen",
        FLAT,
        Top,
        "the queue depth sufficed closed loop",
    ),
    never("queue depth seen", FLAT, Top, "the queue depth sufficed ✓"),
    never("queue depth seen", SLOTS, Top, "the queue depth sufficed ✓"),
    says(
        "evidence of few runs",
        FEW,
        Top,
        "rate and latency were steady not checked: ",
    ),
    never("evidence of few runs", FEW, Top, " of 1 run"),
    says("evidence of many runs", CURVE, Top, " of 7 runs"),
    never("evidence of many runs", RATES, Top, " of 2 runs "),
    // Signs.
    says(
        "all checks passed",
        HELD,
        Top,
        "All checks passed: the I/O reached the medium, I/Os were sent on time, the queue depth sufficed, the samples suffice for p99, rate and latency were steady CPU",
    ),
    says(
        "all checks passed",
        BUSY,
        Top,
        "All checks passed: the I/O reached the medium, ",
    ),
    says(
        "all checks passed",
        FLAT,
        Top,
        "All checks passed: the I/O reached the medium, I/Os were sent on time, the samples suffice for p99, rate and latency were steady CPU",
    ),
    says(
        "too few samples",
        FEW,
        Top,
        "Too few samples: run 1, few: p99 rests on 38 I/Os; it takes 1000 for ten beyond it",
    ),
    says(
        "seen good",
        FEW,
        Top,
        "Seen good: the I/O reached the medium, I/Os were sent on time, the queue depth sufficed CPU",
    ),
    never("seen good", HELD, Top, "Seen good"),
    never("all checks passed", FEW, Top, "All checks"),
    never("all checks passed", NINE, Top, "All checks"),
    never("all checks passed", SLOTS, Top, "All checks"),
    never("all checks passed", STALL, Top, "All checks"),
    never("all checks passed", GONE, Top, "All checks"),
    never("all checks passed", BAD, Top, "All checks"),
    says(
        "unfinished",
        KILLED,
        Top,
        "Unfinished: run 1, killed: its end was not recorded",
    ),
    says("unfinished", KILLED, Table, "! unfinished"),
    never("unfinished", STOPPED, Top, "Unfinished"),
    never("unfinished", HELD, Table, "unfinished"),
    says(
        "stopped",
        STOPPED,
        Top,
        "Stopped: the user stopped the execution",
    ),
    says("stopped", STOPPED, Table, "! stopped"),
    says(
        "stopped",
        STOPPED,
        Vdbench,
        "CTRL-C requested. vdbench terminating",
    ),
    never("stopped", HELD, Top, "stopped"),
    says("errors", BAD, Top, "Errors: run 1, bad: "),
    says("errors", BAD, Top, "failed (10 %)"),
    says(
        "errors",
        BAD,
        Console,
        " failed (10 %): `sd1`: EIO (Input/output error), first after 0.0",
    ),
    says(
        "errors",
        TOO_BAD,
        Console,
        "It cannot be believed: it ended early: 98 I/Os failed (9.9 %): `sd1`: EIO (Input/output error), first after 0.0",
    ),
    never("errors", BAD, Console, "it ended early"),
    says(
        "errors",
        BAD,
        Vdbench,
        "Total Data Validation or I/O error count: ",
    ),
    never("errors", BAD, Vdbench, "completed successfully"),
    never("errors", HELD, Top, "Errors"),
    never("errors", GONE, Top, "Errors"),
    says(
        "short transfers",
        SHORT,
        Top,
        "Short transfers: run 1, short: ",
    ),
    never("short transfers", BAD, Top, "Short transfers"),
    says(
        "rate missed",
        SLOTS,
        Top,
        "Unstable: run 1, beyond: 400 of 996 I/Os per second reached (40 %)",
    ),
    says("rate missed", SLOTS, Top, "I/Os per second reached (40 %)"),
    says("rate missed", SLOTS, Table, "! depth-bound, unstable"),
    says("rate missed", DEVICE, Table, ", unstable"),
    says(
        "rate missed",
        LITTLE,
        Top,
        "Unstable: run 1, beyond: 98.03 of 100 I/Os per second reached (98 %)",
    ),
    says(
        "rate missed",
        GONE,
        Top,
        "Rate missed: run 1, gone: 0.00 of ",
    ),
    says("rate missed", LITTLE, Console, "depth-bound: "),
    never("rate missed", HELD, Table, "rate missed"),
    never("rate missed", BUSY, Table, "rate missed"),
    never("rate missed", STALL, Table, "rate missed"),
    never("rate missed", BAD, Table, "rate missed"),
    never("rate missed", FLAT, Table, "rate missed"),
    says(
        "depth-bound",
        SLOTS,
        Top,
        "no slot was free for > 99.9 % of the time, and 8.0 of 8 were in use on average",
    ),
    says("depth-bound", SLOTS, Table, "! depth-bound"),
    says("depth-bound", ONE_SLOT, Table, "! depth-bound"),
    says(
        "depth-bound",
        ONE_SLOT,
        Top,
        "with more slots the same rate may have lower latency",
    ),
    never("depth-bound", STALL, Top, "Depth-bound"),
    never("depth-bound", STALL, Table, "depth-bound"),
    never("depth-bound", TAKEN, Top, "Depth-bound"),
    never("depth-bound", TAKEN, Table, "depth-bound"),
    never("depth-bound", HELD, Table, "depth-bound"),
    never("depth-bound", BUSY, Table, "depth-bound"),
    never("depth-bound", FLAT, Table, "depth-bound"),
    says(
        "depth set the rate",
        SLOTS,
        Top,
        "depth or storage set the rate, and a run at another depth tells which",
    ),
    says(
        "depth set the rate",
        DEVICE,
        Top,
        "depth or storage set the rate",
    ),
    never("depth set the rate", DEVICE, Whole, "limited the rate"),
    never("depth set the rate", STALL, Top, "set the rate"),
    never("depth set the rate", HELD, Top, "set the rate"),
    never("depth set the rate", TAKEN, Top, "set the rate"),
    never("depth set the rate", NULL_SLOTS, Top, "set the rate"),
    says(
        "response above service",
        STALL,
        Top,
        "Response above service: run 1, stalled: response p99 is 2.92 s, service p99 4.01 ms: the device held I/Os up",
    ),
    says(
        "response above service",
        STALL,
        Top,
        ": the device held I/Os up",
    ),
    says(
        "response above service",
        SLOTS,
        Top,
        ": I/Os waited for a slot",
    ),
    says(
        "response above service",
        LATE,
        Top,
        ": Fathom sent I/Os late while slots were free",
    ),
    says(
        "response above service",
        TAKEN,
        Top,
        ": Fathom sent I/Os late while slots were free",
    ),
    never("response above service", TAKEN, Top, "waited for a slot"),
    says(
        "response above service",
        HELD_UP,
        Top,
        ": the device held I/Os up",
    ),
    says(
        "response above service",
        STALL_BUSY,
        Top,
        ": the device held I/Os up",
    ),
    says(
        "cause not settled",
        STILL,
        Top,
        ": the cause is not settled: no slot was free for 2",
    ),
    says(
        "cause not settled",
        STILL,
        Top,
        "of the time, and Fathom was without a CPU for up to 15 %",
    ),
    says(
        "cause not settled",
        STILL,
        Vdbench,
        "cause not settled: no thread was free for 2",
    ),
    never("cause not settled", STILL, Top, "the device held"),
    never("cause not settled", STILL, Top, "waited for a slot"),
    never("cause not settled", STILL, Vdbench, "cause: "),
    never("cause not settled", HELD_UP, Top, "not settled"),
    never("cause not settled", STALL_BUSY, Top, "not settled"),
    never("cause not settled", SLOTS, Top, "not settled"),
    never("cause not settled", STALL_BUSY, Vdbench, "not settled"),
    says(
        "response above service",
        ONE_SLOT,
        Top,
        ": I/Os waited for a slot",
    ),
    says(
        "response above service",
        NULL_LATE,
        Top,
        ": Fathom itself took that time, as nothing that stores data was reached",
    ),
    says(
        "response above service",
        NULL_SLOTS,
        Top,
        ": Fathom itself took that time",
    ),
    never("response above service", NULL_LATE, Top, "the device"),
    never(
        "response above service",
        NULL_SLOTS,
        Top,
        "waited for a slot",
    ),
    never(
        "response above service",
        HELD,
        Top,
        "Response above service",
    ),
    never(
        "response above service",
        BUSY,
        Top,
        "Response above service",
    ),
    never(
        "response above service",
        LITTLE_LATE,
        Top,
        "Response above service",
    ),
    never(
        "response above service",
        FLAT,
        Top,
        "Response above service",
    ),
    // What prepares is no measurement, and nothing is said of its loop.
    says(
        "closed loop",
        FLAT_FILLED,
        Whole,
        "Closed loop: run 2, flat: 8 slots or the storage limited it, and twice as many tell which; the next",
    ),
    says("closed loop", FLAT_FILLED, Whole, "8.0 / 8 – 2 flat"),
    never("closed loop", FLAT_FILLED, Whole, "closed loop 2 flat"),
    says(
        "run count",
        PREPARED,
        Whole,
        ": 3 runs (2 of them measured), 40 s measured",
    ),
    never("run count", RATES, Whole, "of them measured"),
    says(
        "unserved arrivals",
        GONE,
        Top,
        "Unserved arrivals: run 1, gone: ",
    ),
    never("unserved arrivals", HELD, Top, "Unserved arrivals"),
    never("unserved arrivals", BUSY, Top, "Unserved arrivals"),
    says(
        "late submissions",
        LATE,
        Top,
        "of the I/Os were sent more than 6",
    ),
    never("late submissions", HELD, Top, "Generator-bound"),
    never("late submissions", LITTLE_LATE, Top, "Generator-bound"),
    says(
        "changed",
        SLOWER,
        Top,
        "Changed: run 1, flat: the rate fell by 39 % from the first third to the last",
    ),
    says(
        "changed",
        QUICKER,
        Top,
        "Changed: run 1, flat: the rate rose by 60 % from the first third to the last",
    ),
    says(
        "changed",
        CREDITS,
        Top,
        "Changed: run 1, flat: the rate fell by 99.5 % from the first third to the last",
    ),
    never("changed", HELD, Top, "the rate fell"),
    never("changed", BUSY, Top, "Changed:"),
    never("changed", TURNS, Top, "Changed:"),
    never("changed", STALL, Top, "Changed:"),
    never("changed", GOES, Top, "Changed:"),
    says(
        "stall",
        STALL,
        Top,
        "Stalled: run 1, stalled: I/O to sd1 stood still for 3.1 s from 5.50 s on",
    ),
    says(
        "stall",
        GOES,
        Top,
        "I/O to sd1 stood still for 17.0 s from 3 s on",
    ),
    says(
        "stall",
        GONE,
        Top,
        "I/O to sd1 stood still for 5.0 s from 0.04 s on",
    ),
    says(
        "stall",
        GONE_CLOSED,
        Top,
        "I/O to sd1 stood still for 5.0 s from 0 s on",
    ),
    never("stall", HELD, Top, "Stalled"),
    never("stall", SLOW, Top, "Stalled"),
    never("stall", FEW, Top, "Stalled"),
    never("stall", CREDITS, Top, "Stalled"),
    says(
        "outstanding",
        GONE,
        Top,
        "Not returned: run 1, gone: 4 I/Os never came back, the oldest ",
    ),
    never("outstanding", OUTLIVES, Top, "Not returned"),
    never("outstanding", HELD, Top, "Not returned"),
    says(
        "late",
        OUTLIVES,
        Top,
        "came back well after the end, the longest after ",
    ),
    says("late", OUTLIVES, Whole, "Came late: run 1, late: "),
    never("late", GONE, Top, "came back well after the end"),
    never("late", HELD, Table, "came late"),
    // What is not known is no zero, and what is an age is a lower bound.
    says("lower bounds", GONE, Table, "≥"),
    says("lower bounds", GONE_CLOSED, Table, "≥"),
    says(
        "lower bounds",
        GONE,
        Live,
        "response p50 - p99 -, 4 out, the oldest ≥",
    ),
    says(
        "lower bounds",
        GONE_CLOSED,
        Live,
        "interval 1: 0.0 I/O/s, 0.0 MB/s, response p50 - p99 -, 4 out, the oldest ≥1.00 s",
    ),
    never("lower bounds", HELD, Table, "≥"),
    never("lower bounds", HELD, Live, "≥"),
    never("lower bounds", GONE, Console, " 0 ns"),
    never("lower bounds", GONE, Vdbench, " 0 ns"),
    never("lower bounds", GONE, Live, " 0 ns"),
    never("lower bounds", GONE, Top, "p99 0"),
    never("lower bounds", GONE_CLOSED, Live, " 0 ns"),
    never("lower bounds", OUTLIVES, Vdbench, " 0 ns"),
    never("lower bounds", OUTLIVES, Console, " 0 ns"),
    says(
        "CPU stolen",
        STOLEN,
        Top,
        "Generator-bound: run 1, stolen: the hypervisor took 2.0 % of the CPU time",
    ),
    never("CPU stolen", NEIGHBOURS, Top, "Generator-bound"),
    says(
        "CPU throttled",
        THROTTLED,
        Top,
        "Generator-bound: run 1, throttled: the control group was throttled for 1 s",
    ),
    never("CPU throttled", NEIGHBOURS, Top, "Generator-bound"),
    says(
        "CPU undercounted",
        TICKS,
        Top,
        "CPU undercounted: run 1, ticks: Fathom alone took 30",
    ),
    never("CPU undercounted", NEIGHBOURS, Top, "CPU undercounted"),
    says(
        "closed loop",
        FLAT,
        Top,
        "so that latency is slots ÷ rate and hides waiting before the I/O",
    ),
    says(
        "closed loop",
        PAUSES,
        Top,
        "so that latency hides waiting before the I/O",
    ),
    never("closed loop", HELD, Top, "Closed loop"),
    never("closed loop", PAUSES, Top, "limited it"),
    says("CPU not known", HELD, Top, "CPU not known"),
    never("CPU not known", NEIGHBOURS, Top, "CPU not known"),
    says(
        "memory",
        MEMORY,
        Top,
        "Memory, not storage: 1 target never left memory",
    ),
    never("memory", HELD, Top, "Memory, not storage"),
    says(
        "few samples",
        FEW,
        Top,
        "Few samples: p99.9 wants some 10 000 I/Os; 1 run had fewer",
    ),
    never("few samples", HELD, Top, "Few samples"),
    // Remarks of the conductor.
    says("settled", SETTLES, Whole, "the rate of stream has settled"),
    never("settled", RESTLESS, Whole, "has settled"),
    says(
        "search ended",
        ENDS,
        Vdbench,
        "Vdbench terminating because of requested 'stopcurve=3' with observed response time of ",
    ),
    never("search ended", CURVE, Vdbench, "stopcurve"),
    // The verdict, last.
    says(
        "verdict",
        HELD,
        Console,
        "clean: 996 I/O/s with a response p99 of ",
    ),
    says("verdict", HELD, Console, "It can be believed: "),
    says(
        "verdict",
        FLAT,
        Console,
        "closed loop: 4\u{202f}000 I/O/s with",
    ),
    says("verdict", SLOTS, Console, "depth-bound: 400 I/O/s with"),
    says(
        "verdict",
        SLOTS,
        Console,
        "It cannot be believed: no slot was free",
    ),
    says("verdict", LATE, Console, "generator-bound: "),
    says("verdict", NULL_LATE, Console, "generator-bound: "),
    says(
        "verdict",
        STALL,
        Console,
        "stalled: 996 I/O/s with a response p99 of 2.92 s",
    ),
    says("verdict", GOING, Console, "with a response p99 of ≥"),
    says(
        "verdict",
        GONE,
        Console,
        "not returned: no I/O succeeded in `gone`",
    ),
    says("verdict", BAD, Console, "errors: "),
    says("verdict", SLOWER, Console, "changed: "),
    says(
        "verdict",
        PREPARED,
        Console,
        "(2 of 2 measured runs are affected)",
    ),
    says(
        "knee",
        CURVE,
        Console,
        "; the knee is at 701 I/O/s, `70 %`. It can be believed",
    ),
    says(
        "knee",
        FEW_HELD,
        Console,
        "; no knee: 3 of 6 points missed their rate",
    ),
    says(
        "knee",
        TAKEN_CURVE,
        Console,
        "; no knee: 6 of 6 points are generator-bound",
    ),
    says(
        "knee",
        HOLES_CURVE,
        Console,
        "; no knee: 6 of 6 points are sparse",
    ),
    never("knee", HOLES_CURVE, Console, "missed their rate"),
    never("knee", TAKEN_CURVE, Console, "missed their rate"),
    says(
        "knee",
        RATES,
        Console,
        "; no knee: it needs 4 points that show the storage, and this curve has 2",
    ),
    never("knee", HELD, Console, "knee"),
    never("other programs", STOLEN, Console, "other programs"),
    says(
        "other programs",
        TAKEN_FLAT,
        Console,
        "generator-bound: other programs used 90 % of the CPUs. 4\u{202f}000 I/O/s",
    ),
    says(
        "other programs",
        TAKEN_FLAT,
        Console,
        "It cannot be believed: worker threads were ready and waited for a CPU for 80 % of the time. Next: stop other programs that use the CPUs",
    ),
    says("without a CPU", TAKEN_FLAT, Table, "! generator-bound"),
    says("without a CPU", TAKEN_HALF, Console, "generator-bound: "),
    says("without a CPU", TAKEN_HALF, Table, "changed"),
    says(
        "without a CPU",
        TAKEN_CURVE,
        Console,
        "generator-bound: other programs used 90 % of the CPUs. ",
    ),
    says("without a CPU", WAKE_UPS, Console, "closed loop: "),
    never("without a CPU", BUSY_FLAT, Whole, "waited for a CPU"),
    never("without a CPU", FLAT, Whole, "waited for a CPU"),
    never("without a CPU", NEIGHBOURS, Whole, "waited for a CPU"),
    never("without a CPU", STALL_BUSY, Whole, "ready and waited"),
    says(
        "no storage",
        NULL_FLAT,
        Console,
        "generator-bound: 4\u{202f}000 I/O/s",
    ),
    says(
        "no storage",
        NULL_FLAT,
        Console,
        "It cannot be believed: Fathom itself took the time, as nothing that stores data was reached. Next: name a target that stores data",
    ),
    says(
        "no storage",
        NULL_CURVE,
        Console,
        "(7 of 7 measured runs are affected)",
    ),
    says("no storage", NULL_SLOTS, Console, "Next: name a target"),
    never("no storage", NULL_LATE, Console, "stop other programs"),
    never("no storage", FLAT, Whole, "nothing that stores data"),
    never("no storage", HELD, Whole, "nothing that stores data"),
    says(
        "which run",
        LATE_ONE,
        Console,
        "Not all of it can be believed: in `fast`, 20 % of the I/Os were sent",
    ),
    says(
        "which run",
        LATE_FAST,
        Console,
        "It cannot be believed: 91 % of",
    ),
    says(
        "which run",
        LATE_SLOW,
        Console,
        "It cannot be believed: in `slow`, 90 % of",
    ),
    never("which run", LATE_FAST, Console, "in `slow`"),
    says(
        "next",
        HOLES,
        Console,
        "Next: fill it with `fathom prefill nowhere --size 16m`",
    ),
    says(
        "next",
        FETCHED,
        Console,
        "Next: run `fathom curve nowhere` to see",
    ),
    never("next", CURVE, Console, "fathom curve"),
    never("next", HEAD, Console, "fathom curve"),
    never("other programs", NULL_FLAT, Console, "other programs"),
    never("other programs", OWN, Console, "other programs"),
    never("other programs", NEIGHBOURS, Console, "other programs"),
    says("cache-suspect", CACHED, Console, "cache-suspect: "),
    says("cache-suspect", CACHED, Table, "! cache-suspect\n"),
    says(
        "cache-suspect",
        CACHED,
        Top,
        "the devices moved 0 % of the bytes that were read",
    ),
    says("cache-suspect", MEMORY, Console, "cache-suspect: "),
    never("cache-suspect", FETCHED, Whole, "ache-suspect"),
    never("cache-suspect", HELD, Whole, "ache-suspect"),
    never("cache-suspect", HOLES, Whole, "ache-suspect"),
    says("sparse", HOLES, Console, "sparse: "),
    says(
        "sparse",
        HOLES,
        Console,
        "50 % of `sd1` was never written (holes)",
    ),
    says(
        "zeros",
        THIN,
        Console,
        "zeros: 996 I/O/s with a response p99 of 2 ms in `thin`. It cannot be believed: 94 % of a sample of 2\u{202f}000 reads of `sd1` returned zeros: compressing or thin storage may skip the medium",
    ),
    never("sparse", THIN, Whole, "parse:"),
    never("zeros", HOLES, Whole, "returned zeros"),
    never("sparse", CACHED, Whole, "parse:"),
    never("sparse", FETCHED, Whole, "parse:"),
    says("not checked", BLIND, Console, "not checked: "),
    says(
        "not checked",
        BLIND,
        Console,
        "Not checked: whether the I/O reached the medium (nothing tells what `sda` moved)",
    ),
    never("not checked", BLIND, Console, "elieved"),
    says(
        "not checked",
        NINE,
        Console,
        "Not checked: whether rate and latency were steady (9 intervals of the 10 that it takes)",
    ),
    never("not checked", TEN, Whole, "ot checked"),
    says(
        "not checked",
        NO_CPU,
        Console,
        "Not checked: whether I/Os were sent on time (nothing tells how long threads waited for a CPU)",
    ),
    says(
        "no storage",
        MODEL,
        Console,
        "generator-bound: 996 I/O/s with a response p99 of 2 ms in `model`. It cannot be believed: the storage was simulated",
    ),
    says(
        "changed",
        STEP_SHORT,
        Console,
        "changed: 99.00 I/O/s with a response p99 of 10",
    ),
    says("changed", RATE_STEP_SHORT, Console, "changed: "),
    says("unsteady", IN_TURN, Console, "unsteady: "),
    never("changed", TEN, Whole, "hanged:"),
    says(
        "paused",
        PAUSED,
        Console,
        "generator-bound: 996 I/O/s with a response p99 of 4",
    ),
    says(
        "paused",
        PAUSED,
        Console,
        "It cannot be believed: Fathom itself stood still for 5.01 s from 4.99 s on (stopped, frozen, or a paused machine)",
    ),
    never("paused", PAUSED, Whole, "talled"),
    never("paused", PAUSED, Whole, "the device held"),
    says(
        "paused",
        PAUSED_BUSY,
        Console,
        "It cannot be believed: Fathom itself stood still for 5.01 s",
    ),
    never("other programs", PAUSED_BUSY, Console, "other programs"),
    never("depth-bound", PAUSED_BUSY, Whole, "epth-bound:"),
    never("paused", BEAT, Whole, "stood still"),
    never("paused", STALL, Whole, "Fathom itself stood"),
    says(
        "submission blocks",
        BLOCKS,
        Console,
        "submitting calls waited for 12 % of the time instead of returning at once, and delayed other I/Os. Next: run it with `--backend sync`",
    ),
    never("submission blocks", RETURNS, Whole, "ubmission blocks"),
    says(
        "shared",
        NEIGHBOUR,
        Console,
        "shared: 996 I/O/s with a response p99 of 2 ms in `neighbour`. It cannot be believed: others moved 52 % of the bytes on `sda`: something else uses the storage",
    ),
    never("shared", NEIGHBOUR_LITTLE, Whole, "hared:"),
    says(
        "capped",
        LIMITED,
        Console,
        "capped: 4\u{202f}000 I/O/s with a response p99 of 2 ms in `flat`. It can be believed: the control group limits `sda` to 4\u{202f}100 I/O/s (read), and that was reached",
    ),
    never("capped", UNLIMITED, Whole, "apped:"),
    never("capped", LIMIT_BESIDE, Whole, "limits"),
    says(
        "not checked",
        STILL,
        Top,
        "whether the queue depth sufficed (no slot was free for ",
    ),
    never("not checked", HELD_UP, Whole, "whether the queue depth"),
    never("not checked", FETCHED, Whole, "ot checked"),
    never("not checked", HELD, Whole, "ot checked"),
    says("clean", FETCHED, Console, "clean: "),
    never("clean", CACHED, Console, "clean: "),
    says("storage-bound", HEAD, Console, "storage-bound: "),
    says(
        "storage-bound",
        HEAD,
        Console,
        "16 instead of 8 slots changed the rate by ",
    ),
    never("storage-bound", ARRAY, Console, "storage-bound"),
    never("storage-bound", FLAT, Console, "storage-bound"),
    says("closed loop", ARRAY, Console, "closed loop: "),
    says(
        "saturation",
        ARRAY,
        Console,
        "not saturated up to 16 threads",
    ),
    never("saturation", HEAD, Console, "not saturated"),
    says(
        "saturated",
        HEAD,
        Console,
        "one thread saturates it already",
    ),
    never("saturated", ARRAY, Console, "saturates"),
    says("closed loop", CHANNELS, Console, "closed loop: "),
    never("depth-bound", CHANNELS, Whole, "epth-bound:"),
    says("unstable", SATURATED, Table, ", unstable"),
    never("unstable", BUSY, Whole, "nstable"),
    never("unstable", HELD, Whole, "nstable"),
    says("unsteady", JUMPS, Console, "unsteady: "),
    never("unsteady", BUSY, Whole, "nsteady"),
    never("unsteady", HELD, Whole, "nsteady"),
    never("unsteady", SLOWER, Whole, "nsteady"),
    says(
        "unsteady",
        LATENCY_JUMPS,
        Console,
        "the median latency jumps between 1 ms and 5 ms, where it is for 50 % of the intervals",
    ),
    says(
        "changed",
        LATENCY_STEPS,
        Console,
        "the median latency went from 1 ms in the first third to 5.01 ms in the last",
    ),
    says(
        "normal again",
        FAILED,
        Top,
        "I/O to sd1 stood still for 3.0 s from 40 s on; normal again 4.0 s after that began; ",
    ),
    never("normal again", FAILED_SLOWER, Top, "normal again"),
    says(
        "degraded",
        FAILED_SLOWER,
        Top,
        "degraded at 1.35 × the median response until the end",
    ),
    never("degraded", FAILED, Top, "degraded"),
    says(
        "failover",
        FAILOVER_ERRORS,
        Console,
        "Its averages hold what happened: 190 I/Os failed (3.8 %): `sd1`: EIO (Input/output error), first after 40 s",
    ),
    says(
        "failover",
        FAILOVER_ERRORS,
        Console,
        " I/O to `sd1` stood still for 4.0 s from 40 s on; normal again 5.0 s after that began; ",
    ),
    says("failover", FAILOVER_LATE, Console, "generator-bound: "),
    says(
        "failover",
        FAILOVER_LATE,
        Console,
        " I/O to `sd1` stood still for 0.79 s from 40 s on; ",
    ),
    says("failover", FAILOVER_SLOTS, Console, "depth-bound: "),
    says(
        "failover",
        FAILOVER_SLOTS,
        Console,
        "Next: ask for more slots with a longer `--stall`. I/O did not stand still",
    ),
    says(
        "failover",
        FAILOVER_IDLE,
        Console,
        "Next: make its storage fail meanwhile, as with `--at`. I/O did not stand still",
    ),
    never("failover", FAILOVER_ERRORS, Console, "run it again"),
    never("failover", FAILOVER_ERRORS, Console, "warm up"),
    never("failover", HELD, Console, "did not stand still"),
    says(
        "device gone",
        OFFLINE,
        Top,
        "I/O to sd1 stood still for 3.0 s right after sda: running → offline ; normal again 4.0 s after it; ",
    ),
    never("device gone", FAILED, Top, "offline"),
    says(
        "rebuild",
        THREAD_BOUND,
        Top,
        "closed loop: the rate fell by 32 % because latency rose by 48 %, capacity was not tested",
    ),
    says(
        "rebuild",
        RATE_BOUND,
        Top,
        "it held its rate; response p50 from 5 ms to 7.41 ms (from 40 s to 70 s)",
    ),
    never("rebuild", FAILED, Top, "held its rate"),
    // A rate that is held hides a rebuild but for its latency.
    never("unsteady", REBUILD, Whole, "nsteady"),
    says("changed", REBUILD, Console, "changed: "),
    says(
        "closed loop",
        EIGHTY,
        Console,
        "response p99 of 40 ms in `array`. It can be believed: 2\u{202f}560 slots or the storage limited it, and twice as many tell which; the next I/O was sent only after an answer, so that latency is slots ÷ rate",
    ),
    never("storage-bound", EIGHTY, Whole, "torage-bound"),
    says("too few samples", FEW, Console, "too few samples: "),
    never("too few samples", HELD, Whole, "oo few samples"),
    // The end of a curve is no fault of its points.
    says("verdict", BEYOND, Console, "It can be believed: "),
    never("verdict", BEYOND, Console, "Not all of it"),
    never("verdict", HELD, Console, "cannot be b"),
    never("verdict", LITTLE_LATE, Console, "cannot be b"),
    never("verdict", BUSY, Console, "cannot be b"),
    // Repetitions.
    says("repeated", AGAIN, Console, "again repeated 3 times:"),
    never("repeated", HELD, Console, "repeated"),
    // The loud line of Vdbench, with its cause.
    says(
        "loud line",
        SLOTS,
        Vdbench,
        "cause: no thread was free for > 99.9 % of the time; a run with more threads, or at a lower rate, tells whether the device has room",
    ),
    says(
        "loud line",
        DEVICE,
        Vdbench,
        "cause: no thread was free for 99.7 % of the time",
    ),
    says(
        "loud line",
        STALL,
        Vdbench,
        "cause: the device, whose longest I/O took 3.10 s",
    ),
    says(
        "loud line",
        GONE,
        Vdbench,
        "cause: the device, whose longest I/O took ≥",
    ),
    says(
        "loud line",
        OUTLIVES,
        Vdbench,
        "against p99 - of the times in the columns above",
    ),
    says(
        "loud line",
        LATE,
        Vdbench,
        "cause: Fathom itself sent I/Os late, p99 5.0",
    ),
    says(
        "loud line",
        TAKEN,
        Vdbench,
        "cause: Fathom itself sent I/Os late, p99 1",
    ),
    never("loud line", TAKEN, Vdbench, "no thread was free"),
    says(
        "loud line",
        ONE_SLOT,
        Vdbench,
        "cause: no thread was free for ",
    ),
    says(
        "loud line",
        NULL_LATE,
        Vdbench,
        "cause: Fathom itself, as nothing that stores data was reached",
    ),
    never("loud line", NULL_SLOTS, Vdbench, "no thread was free"),
    never("loud line", NULL_LATE, Vdbench, "cause: the device"),
    says(
        "loud line",
        SLOTS,
        Vdbench,
        " arrivals were never served; cause",
    ),
    never("loud line", STALL, Vdbench, "never served"),
    never("loud line", STALL, Vdbench, "no thread was free"),
    never("loud line", SLOTS, Vdbench, "cause: the device"),
    never("loud line", GONE, Vdbench, "sent I/Os late"),
    never("loud line", DEVICE, Vdbench, "use more threads"),
    never("loud line", HELD, Vdbench, "*** response time"),
    never("loud line", BUSY, Vdbench, "*** response time"),
    never("loud line", FLAT, Vdbench, "*** response time"),
    never("loud line", LITTLE_LATE, Vdbench, "*** response time"),
    says(
        "loud line",
        MINUTES,
        Vdbench,
        "cause: the device, whose longest I/O took 1000 ms;",
    ),
    says(
        "loud line",
        GOING,
        Vdbench,
        "cause: the device, whose longest I/O took ≥47.0 s",
    ),
    says(
        "stall",
        GOING,
        Top,
        "I/O to sd1 stood still for 17.0 s from 3 s on",
    ),
    says(
        "loud line",
        BEFORE,
        Vdbench,
        "cause: no thread was free for 100 % of the time",
    ),
    never("loud line", BEFORE, Vdbench, "sent I/Os late"),
    // The box of Vdbench on the processors: of what the host used, only ours and what was stolen.
    says(
        "busy processors",
        OWN,
        Vdbench,
        "average processor utilization 85.0%",
    ),
    says(
        "busy processors",
        SHARED,
        Vdbench,
        "average processor utilization 85.0%",
    ),
    never(
        "busy processors",
        NEIGHBOURS,
        Vdbench,
        "average processor utilization",
    ),
    never(
        "busy processors",
        STOLEN,
        Vdbench,
        "average processor utilization",
    ),
    // Several hosts: the one that is slower, and in what they differ.
    says("slowest host", SPREAD, Whole, "is the slowest host"),
    never("slowest host", EVEN, Whole, "is the slowest host"),
    says("hosts alike", EVEN, Whole, "All hosts are alike"),
    never("hosts alike", SPREAD, Whole, "All hosts are alike"),
    never("slowest host", HELD, Whole, "slowest host"),
];

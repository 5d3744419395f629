//! What goes over a line. Both ends are one build, so there are no versions of it.
use crate::line::FRAME_BYTES_MAX;
use conduct::machine::{Examined, Order, Ready, Refusal, StatesOfRun};
use conduct::{CommandEnd, CommandOrder, HostError, Left, Prepared, SetPoint};
use measure::{DataFigures, Ended, Failures, HostId, HostInterval, OperationRecord, Outstanding};
use plan::{BoundPlan, Facts, OpSource, Plan, RecordedOperation, RunId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A word as it goes over a line: JSON, packed, as plans and intervals of many streams repeat themselves.
pub(crate) fn written(word: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_vec(word).expect("names are texts");
    lz4_flex::compress_prepend_size(&text)
}

/// What [`written`] has made.
///
/// # Errors
/// In words, where it is something else.
pub(crate) fn read<T: DeserializeOwned>(content: &[u8]) -> Result<T, String> {
    let bytes = content
        .first_chunk()
        .map(|bytes| u32::from_le_bytes(*bytes));
    if bytes.is_none_or(|bytes| bytes > FRAME_BYTES_MAX) {
        return Err("a word of no length or too long".to_owned());
    }
    let text = lz4_flex::decompress_size_prepended(content);
    let text = text.map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

/// From the one that leads. Times are those of the clock of the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// More of what the next plan replays: operations of a stream of one of its templates, by their places.
    Records {
        template: usize,
        stream: usize,
        more: Vec<RecordedOperation>,
    },
    /// What the targets of a host are.
    Facts {
        plan: Box<Plan>,
        host: HostId,
    },
    /// Whether the host can do its part, and which words name no target of it.
    Examine(Box<Order>),
    /// With these words.
    Grant {
        overwrite: Vec<String>,
    },
    /// What the clock over there shows.
    Time {
        question: u64,
    },
    /// Nothing; the line is there.
    Alive,
    /// Nothing more is asked: what was made is left over there as it is to be left.
    Leave {
        is_whole: bool,
    },
    Prepare {
        run: RunId,
        point: SetPoint,
    },
    Start {
        at_ns: u64,
    },
    StopAt {
        at_ns: u64,
    },
    Retire {
        streams: Vec<usize>,
        have_failed: bool,
    },
    Outstanding,
    Finish {
        number: u64,
        end_ns: u64,
    },
    /// Whoever waits for the end does not want to wait any more.
    Hurry,
    DataWritten,
    /// A command line of the job.
    Command(CommandOrder),
    /// The command is to end now.
    EndCommand,
}

/// From the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Tell {
    Facts(Result<Facts, Refusal>),
    Examined(Result<Examined, Refusal>),
    Granted(Result<Box<Ready>, Refusal>),
    Time {
        question: u64,
        now_ns: u64,
    },
    /// Nothing; the line is there.
    Alive,
    Left(Left),
    Prepared(Result<Prepared, HostError>),
    Interval {
        number: u64,
        told: Box<HostInterval>,
    },
    Failures(Failures),
    Fatal(HostError),
    /// Single operations, with the places that their streams have in the whole run.
    Operations {
        run: RunId,
        start_unix_ns: u64,
        operations: Vec<OperationRecord>,
    },
    /// No more of them come of the run, which has lost so many.
    Logged {
        run: RunId,
        lost: u64,
    },
    /// What streams of the run that ends have written.
    States(StatesOfRun),
    /// All streams that end by themselves have ended.
    Done,
    Outstanding(Vec<Outstanding>),
    Ended(Result<Box<Ended>, HostError>),
    DataWritten(Result<Vec<DataFigures>, HostError>),
    /// A line that the command has printed.
    Said(String),
    CommandEnded(CommandEnd),
}

/// Operations of a record that go over in one frame.
const RECORDS_MAX: usize = 100_000;

/// An order with the records that its plan replays, which are no part of what is written down of a plan.
pub(crate) fn of_order(order: &Order) -> impl Iterator<Item = Ask> {
    let templates = order.plan.plan.templates.iter().enumerate();
    let streams = templates.flat_map(|(template, one)| {
        let streams = one.streams.iter().enumerate();
        streams
            .filter_map(move |(number, stream)| Some((template, number, stream.source.replay()?)))
    });
    let records = streams.flat_map(|(template, stream, replay)| {
        let parts = replay.operations.chunks(RECORDS_MAX);
        parts.map(move |more| Ask::Records {
            template,
            stream,
            more: more.to_vec(),
        })
    });
    records.chain([Ask::Examine(Box::new(order.clone()))])
}

/// Records that have come, by template and stream.
pub(crate) type Records = BTreeMap<(usize, usize), Vec<RecordedOperation>>;

/// Puts records back into the plan that replays them.
pub(crate) fn put_back(records: Records, plan: &mut BoundPlan) {
    for ((template, stream), operations) in records {
        let template = plan.plan.templates.get_mut(template);
        let stream = template.and_then(|template| template.streams.get_mut(stream));
        if let Some(OpSource::Replay(replay)) = stream.map(|stream| &mut stream.source) {
            replay.operations = operations.into();
        }
    }
}

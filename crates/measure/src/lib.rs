//! What is measured and how it is written down: histograms, counters, recorders that a worker
//! writes while somebody else reads, and the one stream of [`Event`]s that store, reports and live
//! views fold over. Knows neither devices nor files nor job languages. Read [`Event`] first.
#![forbid(unsafe_code)]

mod apart;
mod event;
mod evidence;
mod facts;
mod fold;
mod histogram;
mod latencies;
mod misfit;
mod part;
mod recorder;
mod span;
mod sparse;
mod stream_totals;
mod unreturned;

pub use event::{
    BATCH_CLASSES, ContentSample, DEPTH_CLASSES, DataFigures, DataWritten, EngineSample, Event,
    ExecutionFinished, ExecutionStarted, ExecutionTarget, Figure, FigureKey, FinishReason,
    Handover, HostStart, Interval, IntervalPhase, IoFailure, LATE_NS, LostParts, OperationRecord,
    Outstanding, PoolInfo, PoolSample, Remark, RunFinished, RunStarted, ServiceParts, StreamInfo,
    StreamSample, StreamSpan, ThreadUsage, WorkerSample, batch_class, depth_class,
    spread_of_starts_ns,
};
pub use evidence::{
    GAP_NS, Gap, HostEvidence, HostId, IntervalBrief, Pause, SLOW_NS, SampledReads, SlowResponse,
    StillTimes, TargetEvidence, WorkerEvidence,
};
pub use facts::{
    CpuTimes, DeviceCounters, DeviceFacts, DeviceSample, HostFacts, HostSample, IoLimit,
    MountFacts, MountSample, NetworkSample, Pressure, TargetIdentity, is_network_mount,
};
pub use fold::{HostTotals, LostTime, LostTotals, RunFold, RunTotals};
pub use histogram::{
    BUCKETS, Bucket, Histogram, HistogramBuilder, MAX_VALUE_NS, bucket_bounds, bucket_of,
};
pub use latencies::LatencyFigures;
pub use misfit::{Contents, Misfit, MisfitKind};
pub use part::{Collected, Drained, Ended, Failure, Failures, HostInterval, LogWaits};
pub use recorder::{CellMemory, CellReader, FigureCell, FigureReader, LatencyCell, Sharing};
pub use span::{SpanFold, SpanLevel};
pub use stream_totals::StreamTotals;
pub use unreturned::Unreturned;

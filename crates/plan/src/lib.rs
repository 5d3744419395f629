//! The neutral model of a storage test: the nouns that every job language lowers to, and the only
//! ones that the engine knows. Pure data and arithmetic: nothing here opens a file, reads a clock
//! or knows a job language. Read [`Plan`] first, then [`Run`], then [`BoundPlan`].
#![forbid(unsafe_code)]

mod access;
mod bind;
mod check;
mod data;
mod diagnostic;
mod flow;
mod ids;
mod method;
mod operation;
mod origin;
mod plan;
mod requests;
mod run;
mod scale;
mod source;
mod space;
mod spread;
mod steering;
mod stream;
mod target;
mod tolerance;
mod units;

pub use access::Access;
pub use bind::{
    Alignment, BindError, BoundPlan, BoundRegion, BoundRun, BoundStream, BoundTarget, Facts,
    FoundKind, Harm, HotSetCounts, TargetFacts, ZoneSpan, bind,
};
pub use check::{Backlog, Check, CheckMethod, Discards, HEADER_BYTES};
pub use data::{
    DataSpec, DuplicatePool, DuplicateSource, Duplicates, PatternAnchor, PatternMarks, Refresh,
    ReplacePolicy, SetCount, WritePattern,
};
pub use diagnostic::{Diagnostic, Related, Severity};
pub use flow::{
    Amount, Balance, Batches, DepthSearch, Floor, Flow, IoPriority, MemoryPolicy, Owner, Placement,
    RangeSync, Steady, SteadyCriterion, Syncs, TargetLock, Think, ThinkCount,
};
pub use ids::{
    DuplicatePoolId, PatternId, PoolId, RunId, SearchId, StreamId, TargetId, TemplateId,
};
pub use method::{IoMethod, NameCall};
pub use operation::{Direction, Operation, OperationMix, PerDirection};
pub use origin::{Origin, PlanValue};
pub use plan::{
    Fills, Override, Plan, PlanHost, Reach, Reporting, RunSpec, RunTemplate, Search, StopSearch,
};
pub use requests::{PriorityShare, RequestMode, Submitter};
pub use run::{
    Coupling, DataLimit, ErrorBudget, FirstInterval, Load, Pool, PoolAdmission, Run, RunKind,
    RunStop, StartAlign, Swept, Timing, Window, mean_of_steps,
};
pub use scale::{Held, Quantity, ScaleError, Scaling};
pub use source::{Position, SourceFile, SourceId, SourceMap, Span};
pub use space::SpaceCall;
pub use steering::{
    Around, Command, CommandOutput, FailureRule, HangRule, Readiness, Repeat, ShareRule, Steering,
    When,
};
pub use stream::{
    AddressOrder, AlignRule, ArrivalLaw, Bound, Extent, FirstBlock, Following, Generator, HitArea,
    Label, Lifetime, LocalStop, OpSource, Pacing, RandomLaw, RecordedOperation, RecordedOperations,
    RecordedPlace, Region, Replay, Rounds, Seeks, Sequences, SequentialEnd, SequentialStart,
    SizeShare, Slice, StepPattern, Steps, Stream, TargetLaw, TargetOrder, TransferSizes, Trim,
    WarmupBytes, ZoneOrder,
};
pub use target::{
    AccessAdvice, CacheMode, Ledger, OpenMode, Preparation, Reservation, SizeRule, SyncMode,
    Target, TargetKind, target_text,
};
pub use tolerance::Tolerance;
pub use units::{Bytes, Nanos, counted, noun};

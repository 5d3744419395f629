//! How what the workers of a run share is set up: slots dealt to workers, cells for what will be counted, streams with
//! their rules. It may look at everything; only the drivers of workers look at it.
//!
//! Read [`Setup`] first.
mod stream;
mod support;
mod workers;

pub use support::{unsupported, unsupported_load};

use crate::check::Checks;
use crate::data::WriteData;
use crate::deal::deal_slots;
use crate::files::OpenTargets;
use crate::generations::{Generations, Writing};
use crate::kind::{BackendKind, Backends};
use crate::locks::Locks;
use crate::op::DueSync;
use crate::pace;
use crate::rule::WorkerRule;
use crate::state::Gaps;
use crate::state::{IntervalSlabs, Proportion, SLABS, SharedPool, SharedRun, SharedStream};
use measure::{CellMemory, Failure};
use plan::{BoundPlan, BoundRun};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::mpsc::SyncSender;
use stream::shared_stream;
use workers::{pool_sharing, worker_views};

/// Everything that is needed to set up a [`SharedRun`].
pub(crate) struct Setup<'a> {
    pub plan: &'a BoundPlan,
    pub run: &'a BoundRun,
    pub files: &'a [Vec<u32>],
    /// None in simulated time.
    pub open: Option<&'a OpenTargets>,
    /// By stream, the syncs at its end that the places of its files lead to; empty where no stream has any.
    pub last_syncs: &'a [Vec<DueSync>],
    pub backends: Backends,
    pub workers: WorkerRule,
    pub cpus: u32,
    pub run_rate: Option<f64>,
    pub shares_pct: Option<&'a [f64]>,
    pub nonce: u64,
    pub generations: &'a Generations,
}

impl Setup<'_> {
    fn kind_of(&self, pool: usize) -> BackendKind {
        self.backends.of(&self.run.run.pools[pool])
    }

    fn writing(&self) -> Writing<'_> {
        Writing {
            plan: self.plan,
            run: self.run,
            nonce: self.nonce,
            generations: self.generations,
        }
    }
}

impl SharedRun {
    pub(crate) fn new(setup: &Setup<'_>, failures: SyncSender<Failure>) -> Self {
        let run = setup.run;
        let dealt = deal_slots(
            &setup.plan.plan,
            run,
            setup.backends,
            setup.workers,
            setup.cpus,
        );
        let mut memory = CellMemory::default();
        let workers = worker_views(&dealt, setup, &mut memory);
        let plan = &setup.plan.plan;
        let number = plan.draw_number(run.id);
        let seed = |stream: usize| {
            let bound = &run.streams[stream];
            (bound.seed, number, u64::from(bound.place))
        };
        let paces = pace::paces(run, setup.run_rate, setup.shares_pct);
        let proportion = Proportion::of(run, setup.shares_pct, &paces);
        let streams: Vec<SharedStream> = (paces.into_iter().zip(Locks::of_run(run)))
            .enumerate()
            .map(|(number, (pace, locks))| {
                let seed = seed(number);
                shared_stream(setup, number, pace, &workers, seed, locks, &mut memory)
            })
            .collect();
        let pools = run
            .run
            .pools
            .iter()
            .enumerate()
            .map(|(number, pool)| SharedPool {
                slots: pool.slots,
                admission: pool.admission,
                sharing: pool_sharing(&workers, number),
                turn: AtomicUsize::new(0),
                in_use: AtomicU32::new(0),
                exhausted_since_ns: AtomicU64::new(0),
                exhausted_ns: AtomicU64::new(0),
                relieved_ns: AtomicU64::new(0),
                failed_ns: <[AtomicU64; SLABS]>::default(),
            });
        let pools = pools.collect();
        let writing = setup.writing();
        let checks = Checks::new(&writing);
        let gaps = Gaps::of(streams.iter().map(SharedStream::targets_counted));
        Self {
            start_ns: AtomicU64::new(0),
            interval_ns: run.run.timing.interval.0.max(1),
            interval_slabs: IntervalSlabs::default(),
            stop_ns: AtomicU64::new(u64::MAX),
            abandon: AtomicBool::new(false),
            proportion,
            streams,
            pools,
            workers,
            data: WriteData::new(&writing),
            checks,
            gaps,
            failures,
            failures_lost: AtomicU64::new(0),
            failures_beyond: Mutex::default(),
            notes_handover: setup.plan.plan.reporting.handover,
            operations_lost: AtomicU64::new(0),
            operation_waits: AtomicU64::new(0),
            operation_waits_ns: AtomicU64::new(0),
        }
    }
}

//! Single operations of several hosts on their way to one sink.
use crate::line::Outlet;
use crate::words::{Tell, written};
use conduct::machine::Order;
use conduct::{OperationSink, places_of_streams};
use measure::{HostId, OperationRecord};
use plan::{BoundPlan, RunId, StreamId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sink at the end of an agent: sends operations over its line, with their places in the whole run. A line that is
/// slower than they come holds up the workers, as a log on a slow disk does.
pub(crate) struct OverLine {
    outlet: Outlet,
    plan: Arc<BoundPlan>,
    host: HostId,
    places: Option<(RunId, Vec<usize>)>,
}

impl OverLine {
    pub(crate) fn sink(outlet: Outlet, order: &Order) -> Box<dyn OperationSink> {
        Box::new(Self {
            outlet,
            plan: Arc::clone(&order.plan),
            host: order.host,
            places: None,
        })
    }

    fn places(&mut self, run: RunId) -> &[usize] {
        if self.places.as_ref().is_none_or(|(of, _)| *of != run) {
            let places = places_of_streams(&self.plan, &self.plan.run(run), self.host);
            self.places = Some((run, places));
        }
        self.places.as_ref().map_or(&[], |(_, places)| places)
    }
}

impl OperationSink for OverLine {
    fn take(&mut self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        let places = self.places(run);
        let whole = operations.iter().map(|one| OperationRecord {
            stream: StreamId::at(places[one.stream.index()]),
            ..*one
        });
        let told = Tell::Operations {
            run,
            start_unix_ns,
            operations: whole.collect(),
        };
        self.outlet.send_in_turn(written(&told));
    }

    fn end_run(&mut self, run: RunId, lost: u64) {
        self.outlet
            .send_in_turn(written(&Tell::Logged { run, lost }));
    }
}

/// Where the operations of all hosts of a run come together. A run has ended for the sink once it has on each of them, or
/// where one does not say so, once the next one begins or nobody is left that could.
#[derive(Clone)]
pub struct Gathering(Arc<Mutex<Gathered>>);

struct Gathered {
    sink: Box<dyn OperationSink>,
    open: Option<Open>,
}

struct Open {
    run: RunId,
    /// Hosts that may tell more.
    hosts: usize,
    lost: u64,
}

impl Gathering {
    pub fn new(sink: Box<dyn OperationSink>) -> Self {
        Self(Arc::new(Mutex::new(Gathered { sink, open: None })))
    }

    /// A sink that panicked has lost its log and nothing else.
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host is about to do its part of a run.
    pub(crate) fn begin(&self, run: RunId) {
        let mut gathered = self.gathered();
        match &mut gathered.open {
            Some(open) if open.run == run => open.hosts += 1,
            _ => {
                gathered.close();
                gathered.open = Some(Open {
                    run,
                    hosts: 1,
                    lost: 0,
                });
            }
        }
    }

    pub(crate) fn take(&self, run: RunId, start_unix_ns: u64, operations: &[OperationRecord]) {
        self.gathered().sink.take(run, start_unix_ns, operations);
    }

    /// A host has told all operations of a run but those that are lost.
    pub(crate) fn end(&self, run: RunId, lost: u64) {
        let mut gathered = self.gathered();
        let Some(open) = gathered.open.as_mut().filter(|open| open.run == run) else {
            return;
        };
        open.lost += lost;
        open.hosts -= 1;
        if open.hosts == 0 {
            gathered.close();
        }
    }
}

impl Gathered {
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.sink.end_run(open.run, open.lost);
        }
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.close();
    }
}

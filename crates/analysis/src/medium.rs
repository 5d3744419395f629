//! Whether the bytes of a run reached the medium, or memory answered for it: by stream, target and direction, from what
//! devices, servers and the kernel's account of this process say. What nobody counted is not seen. Begin with [`medium`].
use crate::target_view::TargetView;
use crate::words::percent;
use measure::{Figure, RunTotals, StreamInfo};
use plan::{CacheMode, Operation, StreamId};
use std::collections::BTreeMap;

/// Storage moved at least this share of what was asked of it, but for what was on its way at either end.
const MOVED_SHARE: f64 = 0.95;

/// Where devices moved more than this many times what can have come through a page cache, others hide whether it did.
const HIDDEN_FACTOR: f64 = 1.5;

/// At least one write in this many was followed by a sync, where nothing else tells that dirty pages were written.
const WRITES_PER_SYNC_MAX: u64 = 20;

/// File systems whose devices move fewer bytes than programs do, as they may compress.
const COMPRESSING: [&str; 4] = ["btrfs", "zfs", "bcachefs", "f2fs"];

/// File systems for which the kernel does not account I/O to the process that asked for it: FUSE on Linux 6.18, tried. The
/// others, and those of the network but NFS, pass I/O on in the same way and were not tried; to say *not seen* of one that is
/// accounted claims nothing.
const UNACCOUNTED: [&str; 3] = ["fuse", "virtiofs", "9p"];

/// Names that a sentence tells at most.
const NAMED: usize = 3;

/// What is known of the bytes of one stream, target and direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reached {
    Medium,
    /// Memory answered for this share of it, as the text says; by counters, or as it is stored nowhere else.
    Memory {
        share: f64,
        why: String,
        is_of_counters: bool,
    },
    NotSeen(String),
}

/// What one stream asked of one target.
#[derive(Clone, Debug)]
struct Flow<'a> {
    stream: StreamId,
    view: &'a TargetView<'a>,
    is_read: bool,
    bytes: u64,
    cache: CacheMode,
}

/// What is known of all flows of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Medium {
    flows: Vec<Seen>,
}

/// What is known of a flow.
#[derive(Clone, Debug)]
struct Seen {
    stream: StreamId,
    /// The stream by its name; empty where there is one.
    subject: String,
    reached: Reached,
}

impl Medium {
    /// The flows of some streams: what the kernel accounts to a process tells of a job only beside the others.
    pub(crate) fn of_streams(&self, streams: &[StreamId]) -> Self {
        let flows = self.flows.iter();
        let own = flows.filter(|one| streams.contains(&one.stream));
        Self {
            flows: own.cloned().collect(),
        }
    }

    /// Who was answered by memory, and why; `None` where nothing says that anybody was. Of targets that hold nothing, no
    /// device moves what is read.
    pub(crate) fn memory_text(&self, is_empty: bool) -> Option<String> {
        let of_memory = |reached: &Reached| match reached {
            Reached::Memory {
                why,
                is_of_counters,
                ..
            } if !(is_empty && *is_of_counters) => Some(why.clone()),
            _ => None,
        };
        self.grouped(of_memory)
    }

    /// What was not seen, and why.
    pub(crate) fn not_seen_text(&self) -> Option<String> {
        let not_seen = |reached: &Reached| match reached {
            Reached::NotSeen(why) => Some(why.clone()),
            _ => None,
        };
        self.grouped(not_seen)
    }

    /// The largest share that memory answered for.
    pub(crate) fn memory_share(&self) -> f64 {
        let shares = self.flows.iter().filter_map(|one| match &one.reached {
            Reached::Memory { share, .. } => Some(*share),
            _ => None,
        });
        shares.fold(0.0, f64::max)
    }

    /// Whether a target is in memory itself.
    pub(crate) fn is_in_memory(&self) -> bool {
        let in_memory = |one: &Seen| matches!(&one.reached, Reached::Memory { is_of_counters, .. } if !is_of_counters);
        self.flows.iter().any(in_memory)
    }

    /// Each reason once, with those that it holds for, where not all flows are alike.
    fn grouped(&self, of: impl Fn(&Reached) -> Option<String>) -> Option<String> {
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for one in &self.flows {
            let Some(why) = of(&one.reached) else {
                continue;
            };
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, subjects)) => subjects.push(&one.subject),
                None => reasons.push((why, vec![&one.subject])),
            }
        }
        let text = |(why, mut subjects): (String, Vec<&str>)| {
            let is_all = subjects.len() == self.flows.len();
            subjects.dedup();
            let more = subjects.len() > NAMED;
            subjects.truncate(NAMED);
            match is_all && self.flows.len() > 1 || subjects.iter().all(|one| one.is_empty()) {
                true => why,
                false => format!(
                    "{}{}: {why}",
                    subjects.join(", "),
                    if more { " and others" } else { "" }
                ),
            }
        };
        let texts: Vec<String> = reasons.into_iter().map(text).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// What is known of the bytes of a run. `targets` are those that the record tells of, in the order of their ids.
pub(crate) fn medium(totals: &RunTotals, targets: &[TargetView<'_>]) -> Medium {
    let streams = &totals.started.streams;
    let mut found = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        let figures = totals.figures.iter();
        let figures = figures.filter(|one| one.key.operation == operation && one.bytes > 0);
        let (flows, unknown) = flows(streams, figures, targets);
        let judge = Judge::new(totals, &flows, operation == Operation::Read);
        let seen = |stream: StreamId, reached: Reached| Seen {
            stream,
            subject: match streams.get(stream.index()) {
                Some(info) if streams.len() > 1 => format!("`{}`", info.name),
                _ => String::new(),
            },
            reached,
        };
        found.extend(
            flows
                .iter()
                .map(|flow| seen(flow.stream, judge.reached(flow))),
        );
        let why = || "the record does not say where its targets are stored".to_owned();
        let unknown = unknown.into_iter();
        found.extend(unknown.map(|stream| seen(stream, Reached::NotSeen(why()))));
    }
    Medium { flows: found }
}

/// What streams asked of targets, and the streams of those of which nothing is known.
fn flows<'a>(
    streams: &[StreamInfo],
    figures: impl Iterator<Item = &'a Figure>,
    targets: &'a [TargetView<'a>],
) -> (Vec<Flow<'a>>, Vec<StreamId>) {
    let (mut flows, mut unknown) = (Vec::new(), Vec::new());
    for figure in figures {
        let stream = figure.key.stream;
        let place = targets.binary_search_by_key(&figure.key.target, |one| one.id);
        match (place, streams.get(stream.index())) {
            (Ok(place), Some(info)) => flows.push(Flow {
                stream,
                view: &targets[place],
                is_read: figure.key.operation == Operation::Read,
                bytes: figure.bytes,
                // What an old record does not tell may have been answered by memory.
                cache: info.cache_mode.unwrap_or(CacheMode::WriteBack),
            }),
            _ => unknown.push(stream),
        }
    }
    (flows, unknown)
}

/// Judges the flows of one direction.
struct Judge<'a> {
    totals: &'a RunTotals,
    is_read: bool,
    devices: Layers<'a>,
    below: Layers<'a>,
    /// Bytes that were asked of each mount point of a server.
    mounts: BTreeMap<&'a str, f64>,
    /// Bytes that the kernel accounts to this process: past the page cache, and through it.
    past: f64,
    cached: f64,
}

/// What was asked of devices that flows share, and what these moved.
#[derive(Debug, Default)]
struct Layers<'a> {
    all: Vec<Layer>,
    by_device: BTreeMap<&'a str, usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Layer {
    /// Bytes asked past the page cache above it, and through that.
    past: f64,
    cached: f64,
    /// `None` where not all of its devices tell.
    moved: Option<f64>,
}

impl<'a> Layers<'a> {
    /// `devices` of a flow lie in one layer, and so do all that share one with another flow.
    fn of(
        flows: &[Flow<'a>],
        devices: fn(&'a measure::TargetIdentity) -> &'a [String],
        moved: &BTreeMap<&str, u64>,
    ) -> Self {
        let mut layers = Self::default();
        for flow in flows {
            let names = devices(&flow.view.target.identity);
            let Some(first) = names.first() else { continue };
            let fresh = layers.all.len();
            let place = *layers.by_device.entry(first).or_insert(fresh);
            if place == fresh {
                layers.all.push(Layer::default());
            }
            for name in &names[1..] {
                let other = *layers.by_device.entry(name).or_insert(place);
                layers.join(place, other);
            }
            let layer = &mut layers.all[place];
            match flow.is_cached() {
                true => layer.cached += flow.bytes as f64,
                false => layer.past += flow.bytes as f64,
            }
        }
        for layer in &mut layers.all {
            layer.moved = Some(0.0);
        }
        for (name, place) in &layers.by_device {
            let layer = &mut layers.all[*place];
            let told = moved.get(name).map(|bytes| *bytes as f64);
            layer.moved = layer.moved.zip(told).map(|(sum, told)| sum + told);
        }
        layers
    }

    /// Puts what is in one layer into another.
    fn join(&mut self, into: usize, from: usize) {
        if into == from {
            return;
        }
        let moved = std::mem::take(&mut self.all[from]);
        self.all[into].past += moved.past;
        self.all[into].cached += moved.cached;
        for place in self.by_device.values_mut().filter(|place| **place == from) {
            *place = into;
        }
    }

    fn holding(&self, devices: &[String]) -> Option<Layer> {
        let place = self.by_device.get(devices.first()?.as_str())?;
        Some(self.all[*place])
    }
}

fn counted(identity: &measure::TargetIdentity) -> &[String] {
    &identity.counted_devices
}

fn below(identity: &measure::TargetIdentity) -> &[String] {
    identity.cached_below.as_deref().unwrap_or_default()
}

fn mount_point<'a>(flow: &Flow<'a>) -> &'a str {
    let mount = flow.view.target.identity.mount.as_ref();
    mount.map_or("", |mount| &*mount.point)
}

fn mount_kind<'a>(flow: &Flow<'a>) -> &'a str {
    let mount = flow.view.target.identity.mount.as_ref();
    mount.map_or("", |mount| &*mount.kind)
}

impl Flow<'_> {
    /// Whether the page cache may answer for it.
    fn is_cached(&self) -> bool {
        match self.cache {
            CacheMode::Direct => false,
            CacheMode::WriteThrough => self.is_read,
            CacheMode::WriteBack => true,
        }
    }

    /// Whether the kernel accounts what it moves to this process.
    fn is_accounted(&self) -> bool {
        let identity = &self.view.target.identity;
        !identity.ram_backed && !is_unaccounted(identity)
    }
}

impl<'a> Judge<'a> {
    fn new(totals: &'a RunTotals, flows: &[Flow<'a>], is_read: bool) -> Self {
        let is_told = totals.lost.devices.intervals == 0;
        let devices = totals.host.devices.iter().filter(|_| is_told);
        let bytes = |one: &measure::DeviceSample| match is_read {
            true => one.counters.read_bytes,
            false => one.counters.written_bytes,
        };
        let moved: BTreeMap<&str, u64> = devices.map(|one| (&*one.device, bytes(one))).collect();
        let mut mounts = BTreeMap::new();
        for flow in flows {
            *mounts.entry(mount_point(flow)).or_insert(0.0) += flow.bytes as f64;
        }
        let sum = |is_cached: bool| {
            let such = flows.iter().filter(|flow| flow.is_accounted());
            let such = such.filter(|flow| flow.is_cached() == is_cached);
            such.map(|flow| flow.bytes).sum::<u64>() as f64
        };
        Self {
            totals,
            is_read,
            devices: Layers::of(flows, counted, &moved),
            below: Layers::of(flows, below, &moved),
            mounts,
            past: sum(false),
            cached: sum(true),
        }
    }

    fn reached(&self, flow: &Flow<'_>) -> Reached {
        let identity = &flow.view.target.identity;
        if identity.ram_backed {
            return Reached::Memory {
                share: 1.0,
                why: format!("`{}` is in memory", flow.view.target.name),
                is_of_counters: false,
            };
        }
        if let Some(below) = self.below_cache(flow) {
            return below;
        }
        if mount_kind(flow).starts_with("nfs") {
            return self.of_server(flow);
        }
        if identity.counted_devices.is_empty() {
            return self.without_counters(flow);
        }
        let reached = match flow.is_cached() && self.is_read {
            true => self.by_process().unwrap_or_else(|| self.by_devices(flow)),
            false => self.by_devices(flow),
        };
        match reached {
            Reached::Memory { .. } if may_compress(flow) => Reached::NotSeen(format!(
                "{} may compress, so that devices move fewer bytes than are asked for",
                mount_kind(flow)
            )),
            reached => reached,
        }
    }

    fn own_bytes(&self) -> Option<f64> {
        let host = &self.totals.host;
        let own = match self.is_read {
            true => host.fathom_read_bytes,
            false => host.fathom_written_bytes,
        };
        let is_told = self.totals.lost.cpu.intervals == 0;
        own.filter(|_| is_told).map(|bytes| bytes as f64)
    }

    /// What went through the page cache, by the kernel's account of this process: other programs do not enter it.
    fn by_process(&self) -> Option<Reached> {
        let fetched = (self.own_bytes()? - self.past).max(0.0);
        Some(self.of_share(fetched / self.cached))
    }

    /// By the counters of the devices that hold the target.
    fn by_devices(&self, flow: &Flow<'_>) -> Reached {
        let names = &flow.view.target.identity.counted_devices;
        let layer = self.devices.holding(names).unwrap_or_default();
        let names = || names.join("`, `");
        let Some(moved) = layer.moved else {
            return Reached::NotSeen(format!("nothing tells what `{}` moved", names()));
        };
        match flow.is_cached() {
            true if !self.is_read && self.is_synced(flow) => Reached::Medium,
            true => self.through_cache((moved - layer.past).max(0.0) / layer.cached, names()),
            false if moved == 0.0 => Reached::NotSeen(format!(
                "the counters of `{}` stood still while direct I/O succeeded",
                names()
            )),
            false => self.of_share(moved / layer.past),
        }
    }

    /// Of dirty pages no process is told, only what all of them had written.
    fn through_cache(&self, share: f64, names: String) -> Reached {
        match share > HIDDEN_FACTOR {
            true => Reached::NotSeen(format!(
                "others use `{names}` as well, which hides what came through the page cache"
            )),
            false => self.of_share(share),
        }
    }

    fn of_share(&self, share: f64) -> Reached {
        if share >= MOVED_SHARE {
            return Reached::Medium;
        }
        let moved = percent(share);
        Reached::Memory {
            share: 1.0 - share,
            is_of_counters: true,
            why: match self.is_read {
                true => format!(
                    "the devices moved {moved} of the bytes that were read; memory answered for the rest"
                ),
                false => format!(
                    "the devices wrote {moved} of the bytes within the run; memory took the rest"
                ),
            },
        }
    }

    /// Where a page cache lies below the target, what the devices below that moved; `None` where they moved enough.
    fn below_cache(&self, flow: &Flow<'_>) -> Option<Reached> {
        let identity = &flow.view.target.identity;
        let names = identity.cached_below.as_ref()?;
        let name = &flow.view.target.name;
        let layer = self.below.holding(names);
        let Some((layer, moved)) = layer.and_then(|layer| Some((layer, layer.moved?))) else {
            return Some(Reached::NotSeen(format!(
                "a page cache lies below `{name}`, and nothing below that counts"
            )));
        };
        let share = moved / (layer.past + layer.cached);
        if share > HIDDEN_FACTOR {
            return Some(Reached::NotSeen(format!(
                "others use the devices below `{name}` as well, which hides what its page cache answered"
            )));
        }
        (share < MOVED_SHARE).then(|| Reached::Memory {
            share: 1.0 - share,
            is_of_counters: true,
            why: format!(
                "the page cache below `{name}` answered: the devices below it moved {} of the bytes",
                percent(share)
            ),
        })
    }

    /// By what the server of a network file system was asked for.
    fn of_server(&self, flow: &Flow<'_>) -> Reached {
        let point = mount_point(flow);
        let mut mounts = self.totals.host.mounts.iter();
        let served = mounts.find(|one| one.point == point);
        let served = served.and_then(|one| match self.is_read {
            true => one.server_read_bytes,
            false => one.server_written_bytes,
        });
        match served.filter(|_| self.totals.lost.devices.intervals == 0) {
            Some(served) => self.of_share(served as f64 / self.mounts[point]),
            None => Reached::NotSeen(format!("nothing tells what the server of `{point}` moved")),
        }
    }

    /// Of a file system whose devices nobody counts: overlays in containers, FUSE, network.
    fn without_counters(&self, flow: &Flow<'_>) -> Reached {
        let name = &flow.view.target.name;
        let blind = || {
            let kind = match mount_kind(flow) {
                "" => "its file system",
                kind => kind,
            };
            Reached::NotSeen(format!(
                "{kind} does not tell what reached the storage of `{name}`"
            ))
        };
        if !flow.is_accounted() {
            return blind();
        }
        match (flow.is_cached(), self.is_read) {
            (false, _) if self.own_bytes() >= Some(MOVED_SHARE * self.past) => Reached::Medium,
            (false, _) => blind(),
            (true, true) => self.by_process().unwrap_or_else(blind),
            (true, false) if self.is_synced(flow) => Reached::Medium,
            (true, false) => Reached::NotSeen(format!(
                "writes of `{name}` are buffered, and nothing tells when they reach its storage"
            )),
        }
    }

    /// Whether syncs followed its writes all the time.
    fn is_synced(&self, flow: &Flow<'_>) -> bool {
        let count = |is_such: fn(Operation) -> bool| {
            let figures = self.totals.figures.iter();
            let own = figures.filter(|one| {
                one.key.stream == flow.stream
                    && one.key.target == flow.view.id
                    && is_such(one.key.operation)
            });
            own.map(|one| one.operations).sum::<u64>()
        };
        let syncs = count(Operation::is_sync);
        syncs > 0 && count(|one| one == Operation::Write) <= WRITES_PER_SYNC_MAX * syncs
    }
}

fn is_unaccounted(identity: &measure::TargetIdentity) -> bool {
    let kind = identity.mount.as_ref().map_or("", |mount| &*mount.kind);
    let is_such = |one: &str| kind == one || kind.starts_with(&format!("{one}."));
    let is_remote = identity.is_on_network() && !kind.starts_with("nfs");
    identity.counted_devices.is_empty() && (is_remote || UNACCOUNTED.into_iter().any(is_such))
}

/// Whether its file system may store fewer bytes than are written.
fn may_compress(flow: &Flow<'_>) -> bool {
    let mount = flow.view.target.identity.mount.as_ref();
    mount.is_some_and(|mount| {
        let is_told_not_to = mount.kind == "btrfs" && !mount.options.contains("compress");
        COMPRESSING.contains(&mount.kind.as_str()) && !is_told_not_to
    })
}

#[cfg(test)]
#[path = "medium_tests.rs"]
mod tests;

//! Random events of every kind, from a seed, with values of every magnitude.
use measure::*;
use plan::{
    ArrivalLaw, Label, Load, Nanos, Operation, RunKind, SearchId, Severity, StreamId, TargetId,
};

pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    fn whole(&mut self) -> u64 {
        let shift = self.below(64);
        self.bits() >> shift
    }

    /// As much as one interval may have of anything.
    fn amount(&mut self) -> u64 {
        self.whole() >> 8
    }

    fn number(&mut self) -> u32 {
        (self.whole() >> 32) as u32
    }

    fn fraction(&mut self) -> f64 {
        let value = f64::from_bits(self.bits());
        if value.is_finite() { value } else { 0.1 }
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn maybe<T>(&mut self, of: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| of(self))
    }

    fn several<T>(&mut self, most: u64, of: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| of(self)).collect()
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'ß', '"', '\\', '\n', '\0', '漢', '\'', '🦀', ' '];
        let places = self.several(6, |draw| draw.below(letters.len() as u64));
        places
            .into_iter()
            .map(|place| letters[place as usize])
            .collect()
    }

    fn labels(&mut self) -> Vec<Label> {
        self.several(2, |draw| Label::new(draw.text(), draw.text()))
    }

    fn histogram(&mut self) -> Histogram {
        let buckets = self.several(30, |draw| Bucket {
            index: draw.below(BUCKETS as u64) as u32,
            count: (draw.whole() >> 5).max(1),
        });
        Histogram::from_buckets(buckets)
    }

    fn latency(&mut self) -> LatencyFigures {
        LatencyFigures {
            sum_ns: self.whole(),
            max_ns: self.whole(),
            histogram: self.histogram(),
        }
    }

    fn operation(&mut self) -> Operation {
        Operation::ALL[self.below(Operation::ALL.len() as u64) as usize]
    }

    fn reason(&mut self) -> FinishReason {
        match self.below(6) {
            0 => FinishReason::Complete,
            1 => FinishReason::ReachedTotal,
            2 => FinishReason::SearchEnded {
                message: self.text(),
            },
            3 => FinishReason::TooManyErrors,
            4 => FinishReason::StoppedByUser,
            _ => FinishReason::Failed {
                message: self.text(),
            },
        }
    }

    fn load(&mut self) -> Load {
        match self.below(7) {
            0 => Load::FlatOut,
            1 => Load::Rate {
                per_second: self.fraction(),
            },
            2 => Load::PercentOfPrevious {
                pct: self.fraction(),
            },
            3 => Load::SearchBase {
                search: SearchId(self.number()),
            },
            4 => Load::SearchPoint {
                search: SearchId(self.number()),
                pct: self.fraction(),
            },
            5 => Load::Steps {
                steps: self.several(3, |draw| (draw.fraction(), Nanos(draw.whole()))),
            },
            _ => Load::PerStream,
        }
    }

    fn data_figures(&mut self) -> DataFigures {
        DataFigures {
            streams: self.several(3, |draw| StreamId(draw.number())),
            asked_compression: self.maybe(Self::fraction),
            asked_duplicates: self.maybe(Self::fraction),
            block_bytes: self.whole(),
            blocks: self.fraction(),
            contents: self.maybe(Self::fraction),
            sampled_contents: self.whole(),
            sample: Default::default(),
            sampled_bytes: self.whole(),
            compressed_bytes: self.whole(),
        }
    }

    fn misfit(&mut self) -> Option<Box<measure::Misfit>> {
        let what = match self.below(4) {
            0 => return None,
            1 => measure::MisfitKind::Data,
            2 => measure::MisfitKind::Pattern { at: self.whole() },
            _ => measure::MisfitKind::OtherWrite,
        };
        Some(Box::new(measure::Misfit {
            what,
            method: plan::CheckMethod::Crc32c,
            block_offset: self.whole(),
            block_bytes: self.whole(),
            expected: self.text(),
            found: self.text(),
            contents: self.flag().then(|| measure::Contents {
                found: self.text(),
                expected: self.maybe(Self::text),
            }),
        }))
    }

    pub(super) fn event(&mut self) -> Event {
        match self.below(10) {
            0 => Event::ExecutionStarted(self.execution_started()),
            1 => Event::RunStarted(self.run_started()),
            2..5 => Event::Interval(self.interval()),
            5 => Event::RunFinished(self.run_finished()),
            6 => Event::IoFailure(IoFailure {
                run: self.number(),
                unix_ns: self.whole(),
                stream: StreamId(self.number()),
                target: TargetId(self.number()),
                operation: self.operation(),
                offset: self.whole(),
                length: self.number(),
                errno: self.number() as i32,
                message: self.text(),
                misfit: self.misfit(),
                host: self.number(),
                worker: self.maybe(Self::number),
            }),
            7 => Event::DataWritten(DataWritten {
                run: self.number(),
                kinds: vec![self.data_figures(), self.data_figures()],
            }),
            8 => Event::Remark(Remark {
                run: self.maybe(Self::number),
                unix_ns: self.whole(),
                severity: [Severity::Note, Severity::Warning, Severity::Error]
                    [self.below(3) as usize],
                code: self.text(),
                message: self.text(),
            }),
            _ => Event::ExecutionFinished(ExecutionFinished {
                unix_ns: self.whole(),
                reason: self.reason(),
            }),
        }
    }

    fn execution_started(&mut self) -> ExecutionStarted {
        ExecutionStarted {
            unix_ns: self.whole(),
            utc_offset_s: self.number() as i32,
            time_zone: self.text(),
            fathom_version: self.text(),
            arguments: self.several(3, Self::text),
            inputs: self.several(2, |draw| (draw.text(), draw.text())),
            plan_json: self.text(),
            seed: self.bits(),
            host: self.host_facts(),
            hosts: match self.flag() {
                true => vec![self.host_facts(), self.host_facts()],
                false => Vec::new(),
            },
            targets: self.several(3, |draw| ExecutionTarget {
                name: draw.text(),
                path: draw.text(),
                bytes: draw.whole(),
                is_written: draw.flag(),
                identity: draw.identity(),
                host: draw.number(),
                open_mode: draw.maybe(Self::text),
                hole_bytes: draw.maybe(Self::whole),
            }),
            backend: self.text(),
            backend_reason: self.text(),
            workers: self.number(),
            clock: self.text(),
            labels: self.labels(),
            reporting: self.labels(),
        }
    }

    fn host_facts(&mut self) -> HostFacts {
        HostFacts {
            name: self.text(),
            kernel: self.text(),
            distribution: self.text(),
            cpu_model: self.text(),
            cpus: self.number(),
            memory_bytes: self.whole(),
            clock_source: self.text(),
            virtualization: self.text(),
            fathom_version: self.text(),
            details: self.several(2, |draw| (draw.text(), draw.text())),
            devices: self.several(2, |draw| measure::DeviceFacts {
                name: draw.text(),
                layer: draw.text(),
                members: draw.several(2, Self::text),
                limits: draw.several(2, |draw| (draw.text(), draw.text())),
            }),
        }
    }

    fn identity(&mut self) -> TargetIdentity {
        TargetIdentity {
            path: self.text(),
            kind: self.text(),
            bytes: self.whole(),
            counted_devices: self.several(2, Self::text),
            serial: self.text(),
            rotational: self.maybe(Self::flag),
            logical_block_bytes: self.whole(),
            queue: self.several(2, |draw| (draw.text(), draw.text())),
            mount: self.maybe(|draw| MountFacts {
                point: draw.text(),
                source: draw.text(),
                kind: draw.text(),
                options: draw.text(),
            }),
            members: self.several(2, Self::text),
            ram_backed: self.flag(),
            ..TargetIdentity::default()
        }
    }

    fn run_started(&mut self) -> RunStarted {
        RunStarted {
            run: self.number(),
            runs: self.number(),
            name: self.text(),
            kind: [RunKind::Measure, RunKind::Prepare][self.below(2) as usize],
            unix_ns: self.whole(),
            interval_ns: self.whole(),
            warmup_ns: self.whole(),
            window_ns: self.maybe(Self::whole),
            unmeasured_intervals: self.number(),
            load: self.load(),
            asked_rate: self.maybe(Self::fraction),
            law: self.maybe(|draw| {
                let laws = [
                    ArrivalLaw::Exponential,
                    ArrivalLaw::Uniform,
                    ArrivalLaw::Deterministic,
                    ArrivalLaw::Spike,
                ];
                laws[draw.below(4) as usize]
            }),
            is_open_loop: self.flag(),
            pools: self.several(3, |draw| PoolInfo {
                name: draw.text(),
                slots: draw.number(),
            }),
            streams: self.several(3, |draw| StreamInfo {
                name: draw.text(),
                targets: draw.several(3, |draw| TargetId(draw.number())),
                pool: draw.number(),
                asked_rate: draw.maybe(Self::fraction),
                share_pct: draw.fraction(),
                labels: draw.labels(),
                law: draw.flag().then_some(ArrivalLaw::Uniform),
                host: draw.number(),
                cache_mode: draw.maybe(|draw| {
                    [
                        plan::CacheMode::Direct,
                        plan::CacheMode::WriteThrough,
                        plan::CacheMode::WriteBack,
                    ][draw.below(3) as usize]
                }),
            }),
            expected_bytes: self.maybe(Self::whole),
            labels: self.labels(),
            swept: self.several(2, |draw| plan::Swept {
                name: draw.text(),
                value: draw.fraction(),
            }),
        }
    }

    fn run_finished(&mut self) -> RunFinished {
        RunFinished {
            run: self.number(),
            unix_ns: self.whole(),
            reason: self.reason(),
            first_measured: self.number(),
            last_measured: self.number(),
            scheduled: self.whole(),
            submitted: self.whole(),
            unsent: self.whole(),
            drain_ns: self.whole(),
            outstanding: self.several(2, |draw| draw.outstanding(None)),
            late: self.several(2, |draw| {
                let after_ns = draw.whole();
                draw.outstanding(Some(after_ns))
            }),
            starts: self.several(2, |draw| measure::HostStart {
                host: draw.number(),
                late_ns: Some(draw.whole()),
                offset_ns: draw.whole() as i64 - (1 << 40),
                round_trip_ns: draw.whole(),
                bound_ns: draw.whole(),
            }),
        }
    }

    fn outstanding(&mut self, returned_after_ns: Option<u64>) -> Outstanding {
        Outstanding {
            stream: StreamId(self.number()),
            target: TargetId(self.number()),
            operation: self.operation(),
            offset: self.whole(),
            length: self.number(),
            age_ns: self.whole(),
            returned_after_ns,
        }
    }

    fn figure(&mut self) -> Figure {
        let service = self.latency();
        let mut response = self.latency();
        if self.flag() {
            response.histogram = service.histogram.clone();
        }
        Figure {
            key: FigureKey {
                stream: StreamId(self.number()),
                target: TargetId(self.number()),
                operation: self.operation(),
            },
            operations: self.amount(),
            bytes: self.amount(),
            errors: self.amount(),
            short_transfers: self.amount(),
            service,
            response,
        }
    }

    /// Of one host or of several, whose samples it is the sum of.
    pub(super) fn interval(&mut self) -> Interval {
        let mut interval = self.interval_of_one();
        interval.engine.hosts = self.evidence();
        if interval.engine.is_of_several() {
            let hosts = &interval.engine.hosts;
            let whole = HostEvidence::together(hosts);
            interval.lost.cpu = whole.is_none();
            interval.lost.devices = hosts.iter().any(|one| one.sample.is_none());
            interval.host = whole.unwrap_or_default();
        }
        interval
    }

    fn interval_of_one(&mut self) -> Interval {
        Interval {
            run: self.number(),
            number: self.number(),
            start_ns: self.amount(),
            end_ns: self.amount(),
            unix_ns: self.amount(),
            phase: [IntervalPhase::Warmup, IntervalPhase::Measured][self.below(2) as usize],
            figures: self.several(4, Self::figure),
            engine: EngineSample {
                streams: self.several(3, |draw| StreamSample {
                    scheduled: draw.amount(),
                    submitted: draw.amount(),
                    backlog: draw.amount(),
                    lateness: draw.latency(),
                    free_lateness: draw.maybe(Self::latency),
                    unserved: draw.latency(),
                    handover: draw.maybe(Self::handover),
                    span: draw.maybe(|draw| StreamSpan {
                        from_ns: draw.amount(),
                        to_ns: draw.maybe(Self::amount),
                    }),
                    depth: draw.maybe(Self::number),
                }),
                pools: self.several(3, |draw| PoolSample {
                    slots: draw.number(),
                    busy_ns: draw.amount(),
                    exhausted_ns: draw.amount(),
                }),
                workers: self.workers(),
                oldest_in_flight_ns: self.amount(),
                in_flight: self.number(),
                hosts: Vec::new(),
            },
            host: self.host_sample(),
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }

    fn evidence(&mut self) -> Vec<HostEvidence> {
        let count = self.below(4) as u32;
        // The first of several may be silent.
        let silent = u32::from(count > 1 && self.flag());
        let hosts = (silent..count).map(|host| HostEvidence {
            host,
            sample: match count > 1 && (count - silent == 1 || self.below(4) > 0) {
                true => Some(self.host_sample()),
                false => None,
            },
            workers: self.several(2, |draw| WorkerEvidence {
                worker: draw.number(),
                cpu_ns: draw.maybe(Self::amount),
                run_queue_ns: draw.maybe(Self::amount),
                loop_lag: draw.maybe(Self::latency),
                reap_gap: draw.maybe(Self::latency),
            }),
            targets: self.several(2, |draw| TargetEvidence {
                target: TargetId(draw.number()),
                in_flight: draw.maybe(Self::number),
                oldest_ns: draw.maybe(Self::whole),
                sampled: SampledReads {
                    reads: 1 + draw.below(1000),
                    zeros: draw.below(1000),
                },
                still: StillTimes {
                    count: 1 + draw.below(1000),
                    sum_ns: draw.amount(),
                },
            }),
            gaps: vec![Gap {
                target: TargetId(self.number()),
                from_ns: self.whole(),
                to_ns: self.whole(),
            }],
            slow: self.several(2, |draw| SlowResponse {
                stream: StreamId(draw.number()),
                target: TargetId(draw.number()),
                due_ns: draw.whole(),
                response_ns: draw.whole(),
            }),
            pauses: self.several(2, |draw| measure::Pause {
                from_ns: draw.whole(),
                to_ns: draw.whole(),
            }),
        });
        hosts.collect()
    }

    pub(super) fn handover(&mut self) -> Handover {
        Handover {
            parts: self.several(3, |draw| ServiceParts {
                operation: draw.operation(),
                submission: draw.latency(),
                completion: draw.latency(),
                priority: draw.number() as u16,
                service: draw.latency(),
            }),
            depths: std::array::from_fn(|_| self.amount()),
            submitted_together: std::array::from_fn(|_| self.amount()),
            seen_together: std::array::from_fn(|_| self.amount()),
            last_seen_ns: self.amount(),
        }
    }

    fn workers(&mut self) -> WorkerSample {
        WorkerSample {
            workers: self.number(),
            cpu_ns: self.amount(),
            usage: ThreadUsage {
                user_ns: self.amount(),
                system_ns: self.amount(),
                context_switches: self.amount(),
                minor_faults: self.amount(),
                major_faults: self.amount(),
                cpu_wait_ns: self.maybe(Self::amount),
            },
            submit_calls: self.amount(),
            submit_ns: self.amount(),
            reaps: self.amount(),
            reap_gap_sum_ns: self.amount(),
            reap_gap_max_ns: self.amount(),
            wakeups: self.amount(),
            clamped: self.amount(),
        }
    }

    fn io_limit(&mut self) -> measure::IoLimit {
        measure::IoLimit {
            device: self.text(),
            reads_per_s: self.maybe(Self::amount),
            writes_per_s: self.maybe(Self::amount),
            read_bytes_per_s: self.maybe(Self::amount),
            written_bytes_per_s: self.maybe(Self::amount),
        }
    }

    fn host_sample(&mut self) -> HostSample {
        HostSample {
            cpu: self.maybe(|draw| CpuTimes {
                user_ns: draw.amount(),
                nice_ns: draw.amount(),
                system_ns: draw.amount(),
                idle_ns: draw.amount(),
                io_wait_ns: draw.amount(),
                irq_ns: draw.amount(),
                softirq_ns: draw.amount(),
                steal_ns: draw.amount(),
            }),
            fathom_user_ns: self.amount(),
            fathom_system_ns: self.amount(),
            fathom_memory_bytes: self.amount(),
            fathom_read_bytes: self.maybe(Self::amount),
            fathom_written_bytes: self.maybe(Self::amount),
            throttled_ns: self.maybe(Self::amount),
            throttled_periods: self.maybe(Self::amount),
            busiest_softirq_ns: self.maybe(Self::amount),
            pressure: measure::Pressure {
                cpu_some_ns: self.maybe(Self::amount),
                io_some_ns: self.maybe(Self::amount),
                io_full_ns: self.maybe(Self::amount),
                memory_some_ns: self.maybe(Self::amount),
                memory_full_ns: self.maybe(Self::amount),
            },
            io_max: self.several(2, Self::io_limit),
            temperature_mc: self.maybe(Self::amount),
            tcp_sent: self.maybe(Self::amount),
            tcp_retransmits: self.maybe(Self::amount),
            networks: self.several(2, |draw| measure::NetworkSample {
                interface: draw.text(),
                received_bytes: draw.maybe(Self::amount),
                sent_bytes: draw.maybe(Self::amount),
                received_drops: draw.maybe(Self::amount),
                sent_drops: draw.maybe(Self::amount),
                speed_mbit: draw.maybe(Self::amount),
            }),
            mounts: self.several(2, |draw| measure::MountSample {
                point: draw.text(),
                read_bytes: draw.maybe(Self::amount),
                written_bytes: draw.maybe(Self::amount),
                server_read_bytes: draw.maybe(Self::amount),
                server_written_bytes: draw.maybe(Self::amount),
                operations: draw.maybe(Self::amount),
                retransmits: draw.maybe(Self::amount),
            }),
            devices: self.several(2, |draw| DeviceSample {
                device: draw.text(),
                counters: DeviceCounters {
                    reads: draw.amount(),
                    read_bytes: draw.amount(),
                    read_ns: draw.amount(),
                    writes: draw.amount(),
                    written_bytes: draw.amount(),
                    write_ns: draw.amount(),
                    discards: draw.amount(),
                    flushes: draw.amount(),
                    busy_ns: draw.amount(),
                    weighted_ns: draw.amount(),
                    read_merges: draw.amount(),
                    write_merges: draw.amount(),
                },
                in_flight: draw.maybe(Self::amount),
                state: draw.maybe(Self::text),
            }),
        }
    }

    /// An interval as one second of one busy target looks: `operations` per figure, latencies
    /// spread log-normally, response apart from service.
    pub(super) fn typical(&mut self, number: u32, targets: u32, operations: u64) -> Interval {
        let figures = (0..targets)
            .flat_map(|target| [(target, Operation::Read), (target, Operation::Write)])
            .map(|(target, operation)| self.typical_figure(target, operation, operations));
        Interval {
            run: 0,
            number,
            start_ns: u64::from(number - 1) * 1_000_000_000,
            end_ns: u64::from(number) * 1_000_000_000,
            unix_ns: 1_800_000_000_000_000_000 + u64::from(number) * 1_000_000_000,
            phase: IntervalPhase::Measured,
            figures: figures.collect(),
            engine: EngineSample {
                streams: vec![StreamSample {
                    scheduled: operations,
                    submitted: operations,
                    backlog: 0,
                    lateness: self.spread(operations, 4_000.0).0,
                    free_lateness: None,
                    unserved: LatencyFigures::default(),
                    handover: None,
                    span: None,
                    depth: None,
                }],
                pools: vec![PoolSample {
                    slots: 32,
                    busy_ns: 5_000_000_000,
                    exhausted_ns: 0,
                }],
                workers: self.workers(),
                oldest_in_flight_ns: 100_000,
                in_flight: 5,
                hosts: Vec::new(),
            },
            host: self.host_sample(),
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }

    fn typical_figure(&mut self, target: u32, operation: Operation, operations: u64) -> Figure {
        let (service, response) = self.spread(operations, 200_000.0);
        Figure {
            key: FigureKey {
                stream: StreamId(0),
                target: TargetId(target),
                operation,
            },
            operations,
            bytes: operations * 4096,
            errors: 0,
            short_transfers: 0,
            service,
            response,
        }
    }

    /// Log-normal values with σ = 0.5, and the same with an exponential delay added.
    fn spread(&mut self, count: u64, median: f64) -> (LatencyFigures, LatencyFigures) {
        let (mut service, mut response) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let sum: f64 = (0..12)
                .map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64)
                .sum();
            let value = median * ((sum - 6.0) * 0.5).exp();
            let uniform = (self.below(1 << 20) as f64 + 1.0) / (1 << 20) as f64;
            let delay = -uniform.ln();
            service.push(value as u64);
            response.push((value + delay * median / 10.0) as u64);
        }
        (figures_of(&service), figures_of(&response))
    }
}

fn figures_of(values: &[u64]) -> LatencyFigures {
    LatencyFigures {
        sum_ns: values.iter().sum(),
        max_ns: values.iter().copied().max().unwrap_or(0),
        histogram: values.iter().copied().collect(),
    }
}

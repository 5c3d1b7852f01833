//! What holds for every program: order, exclusive engines, bounds, and independence of how it is stepped.

use std::sync::LazyLock;

use proptest::prelude::*;
use software_gpu::timeline::{
    BlockTime, CopyKind, Coupling, Happening, KernelCost, Manner, OpId, OperationStage, Profile,
    StreamId, Time, Timeline,
};

const STREAMS: usize = 6;
static H200: LazyLock<Profile> = LazyLock::new(Profile::h200);

#[derive(Clone, Debug)]
struct ProgramStep {
    stream: usize,
    /// Host time since the step before, in nanoseconds.
    pause: u64,
    work: OperationStage,
    /// Distances back to operations that this one waits for as well.
    after: Vec<usize>,
    cost: KernelCost,
    /// Launched with programmatic stream serialisation.
    early: bool,
    /// A node of the one launch of a graph.
    of_graph: bool,
}

#[derive(Clone, Debug)]
struct RandomProgram {
    connections: u32,
    priorities: Vec<i32>,
    steps: Vec<ProgramStep>,
}

fn coupling() -> impl Strategy<Value = Coupling> {
    prop_oneof![
        Just(Coupling::Free),
        Just(Coupling::Handed),
        Just(Coupling::Phased)
    ]
}

fn block() -> impl Strategy<Value = BlockTime> {
    (
        0.0..20_000.0f64,
        prop::array::uniform10(0u32..2_000),
        0u64..100_000,
        0u64..10_000,
        coupling(),
    )
        .prop_map(
            |(latency_cycles, issue, dram_bytes, shared_bytes, coupling)| BlockTime {
                latency_cycles,
                issue,
                dram_bytes,
                cache_bytes: 2 * dram_bytes,
                bulk_bytes: dram_bytes,
                merged_bytes: dram_bytes / 2,
                exposed_bytes: dram_bytes / 2,
                shared_bytes,
                cluster_bytes: shared_bytes / 4,
                atomics: 0,
                link_cycles: 0.0,
                coupling,
            },
        )
}

fn kernel() -> impl Strategy<Value = (OperationStage, KernelCost)> {
    let runs = prop::collection::vec((1u64..2_000, block()), 0..12);
    (1u32..=1024, 0u32..=64, 0u32..60_000, runs).prop_map(|(threads, registers, shared, runs)| {
        let work = OperationStage::Kernel {
            blocks: runs.iter().map(|(count, _)| count).sum(),
            threads_per_block: threads,
            registers_per_thread: registers,
            shared_bytes_per_block: shared,
        };
        (work, KernelCost { runs })
    })
}

fn copy() -> impl Strategy<Value = OperationStage> {
    let kind = prop::sample::select(vec![
        CopyKind::HostToDevice,
        CopyKind::DeviceToHost,
        CopyKind::DeviceToDevice,
        CopyKind::HostToHost,
    ]);
    (kind, 0u64..50_000_000, any::<bool>()).prop_map(|(kind, bytes, pageable)| {
        OperationStage::Copy {
            kind,
            bytes,
            rows: 1,
            pageable,
        }
    })
}

fn work() -> impl Strategy<Value = (OperationStage, KernelCost)> {
    let plain = |work| (work, KernelCost::default());
    prop_oneof![
        4 => kernel(),
        4 => copy().prop_map(plain),
        1 => (0u64..50_000_000).prop_map(move |bytes| plain(OperationStage::Set { bytes })),
        2 => Just(plain(OperationStage::Marker)),
        1 => Just(plain(OperationStage::Note)),
        1 => Just(plain(OperationStage::Timestamp)),
        1 => Just(plain(OperationStage::Upload)),
        1 => Just(plain(OperationStage::HostFunction)),
    ]
}

fn step() -> impl Strategy<Value = ProgramStep> {
    let after = prop::collection::vec(1usize..20, 0..3);
    let step = (0..STREAMS, 0u64..20_000, work(), after, any::<[bool; 2]>());
    step.prop_map(
        |(stream, pause, (work, cost), after, [early, of_graph])| ProgramStep {
            stream,
            pause,
            work,
            after,
            cost,
            early,
            of_graph,
        },
    )
}

fn program() -> impl Strategy<Value = RandomProgram> {
    let priorities = prop::collection::vec(-5i32..=0, STREAMS);
    let steps = prop::collection::vec(step(), 1..40);
    (1u32..=8, priorities, steps).prop_map(|(connections, priorities, steps)| RandomProgram {
        connections,
        priorities,
        steps,
    })
}

/// When the driver advances the simulation.
#[derive(Clone, Copy)]
enum Driving<'a> {
    /// After everything has been submitted.
    AtTheEnd,
    /// Up to the host's clock before each submission.
    BeforeEachSubmission,
    /// At the end, in steps of these nanoseconds over and over.
    InPieces(&'a [u64]),
    /// Before each submission, forgetting what has ended.
    Forgetful,
}

struct ProgramRun<'a> {
    program: &'a RandomProgram,
    timeline: Timeline,
    happenings: Vec<Happening>,
}

impl ProgramRun<'_> {
    fn step_to(&mut self, limit: Time) {
        while let Some(happening) = self.timeline.step(limit) {
            if let Happening::Started { op, at } = happening {
                let step = &self.program.steps[op.index() as usize];
                match step.work {
                    OperationStage::Kernel { .. } => {
                        self.timeline.set_kernel_cost(op, step.cost.clone())
                    }
                    OperationStage::HostFunction => self
                        .timeline
                        .complete_host_function(op, Time::from_micros(3.0)),
                    _ => {}
                }
                assert_eq!(self.timeline.started_at(op), Some(at));
            }
            self.happenings.push(happening);
        }
    }
}

fn run(program: &RandomProgram, driving: Driving) -> Vec<Happening> {
    let mut timeline = Timeline::new(std::slice::from_ref(&*H200), program.connections);
    let streams: Vec<StreamId> = program
        .priorities
        .iter()
        .map(|&p| timeline.add_stream(0, p))
        .collect();
    let mut run = ProgramRun {
        program,
        timeline,
        happenings: Vec::new(),
    };
    let mut host = Time::ZERO;
    let mut ops: Vec<OpId> = Vec::new();
    for step in &program.steps {
        host += Time::from_nanos(step.pause);
        if matches!(driving, Driving::BeforeEachSubmission | Driving::Forgetful) {
            run.step_to(host);
        }
        if let (Driving::Forgetful, Some(&last)) = (driving, ops.last()) {
            run.timeline.forget(last);
        }
        let after: Vec<OpId> = dependencies(step, ops.len()).map(|i| ops[i]).collect();
        let manner = Manner {
            early: step.early,
            launch: ops.first().copied().filter(|_| step.of_graph),
        };
        ops.push(
            run.timeline
                .submit_as(streams[step.stream], host, step.work, &after, manner),
        );
    }
    if let Driving::InPieces(pieces) = driving {
        for &piece in pieces.iter().cycle() {
            let Some(next) = run.timeline.next_event_time() else {
                break;
            };
            host = next.max(host) + Time::from_nanos(piece);
            run.step_to(host);
        }
    }
    run.step_to(Time::MAX);
    assert!(ops.iter().all(|&op| run.timeline.is_complete(op)));
    run.happenings
}

fn dependencies(step: &ProgramStep, index: usize) -> impl Iterator<Item = usize> {
    step.after
        .iter()
        .filter_map(move |back| index.checked_sub(*back))
}

/// Start and end of each operation.
fn intervals(program: &RandomProgram, happenings: &[Happening]) -> Vec<(Time, Time)> {
    let mut intervals = vec![(None, None); program.steps.len()];
    for happening in happenings {
        match *happening {
            Happening::Started { op, at } => {
                assert_eq!(intervals[op.index() as usize].0.replace(at), None)
            }
            Happening::Ended { op, at } => {
                assert_eq!(intervals[op.index() as usize].1.replace(at), None)
            }
        }
    }
    let whole =
        |(start, end): (Option<Time>, Option<Time>)| (start.expect("started"), end.expect("ended"));
    intervals.into_iter().map(whole).collect()
}

/// The shortest time that the units of the device could take for all of it, in picoseconds.
fn bounds(program: &RandomProgram) -> Vec<f64> {
    let profile = &*H200;
    let mut bytes = [0.0; 4];
    let mut device_traffic = 0.0;
    let mut instructions = 0.0;
    for step in &program.steps {
        match step.work {
            OperationStage::Copy { kind, bytes: n, .. } => {
                let engine = match kind {
                    CopyKind::HostToDevice => 0,
                    CopyKind::DeviceToHost => 1,
                    CopyKind::DeviceToDevice => 2,
                    _ => 3,
                };
                bytes[engine] += n as f64;
                if kind == CopyKind::DeviceToDevice {
                    device_traffic += 2.0 * n as f64;
                }
            }
            OperationStage::Set { bytes } => device_traffic += bytes as f64,
            OperationStage::Kernel { .. } => {
                for (count, block) in &step.cost.runs {
                    device_traffic += *count as f64 * block.dram_bytes as f64;
                    let issued: f64 = block.issue.iter().map(|&n| f64::from(n)).sum();
                    instructions += *count as f64 * issued;
                }
            }
            OperationStage::Marker
            | OperationStage::Note
            | OperationStage::Timestamp
            | OperationStage::Upload
            | OperationStage::HostFunction
            | OperationStage::ValueWait => {}
        }
    }
    let issue_per_pico = 132.0
        * profile.kernels.dispatch_per_cycle.value
        * f64::from(profile.device.clock_mhz)
        * 1e-6;
    vec![
        bytes[0] / (profile.copies.host_to_device_gb_per_s.value * 1e-3),
        bytes[1] / (profile.copies.device_to_host_gb_per_s.value * 1e-3),
        device_traffic / (profile.memory.bandwidth_gb_per_s.value * 1e-3),
        instructions / issue_per_pico,
    ]
}

/// The time that all of it takes one after another, nothing overlapping, in picoseconds.
fn one_after_another(program: &RandomProgram) -> f64 {
    let mut host = 0.0;
    let mut sum = 0.0;
    for step in &program.steps {
        host += step.pause as f64 * 1e3;
        let alone = RandomProgram {
            connections: 1,
            priorities: vec![0; STREAMS],
            steps: vec![ProgramStep {
                pause: 0,
                after: Vec::new(),
                ..step.clone()
            }],
        };
        let end = run(&alone, Driving::AtTheEnd)
            .last()
            .map(|happening| match *happening {
                Happening::Started { at, .. } | Happening::Ended { at, .. } => at.as_picos() as f64,
            });
        // The longest hand-over on top; both copy directions at once cost each other at most 10 %.
        sum += end.unwrap_or(0.0) * 1.1 + 10e6;
    }
    host + sum
}

/// An operation that has just ended is forgotten, and the next one of its stream comes while the hand-over lasts.
#[test]
fn forgetting_does_not_shorten_a_hand_over() {
    let step = |stream, pause, work| ProgramStep {
        stream,
        pause,
        work,
        after: Vec::new(),
        cost: KernelCost { runs: Vec::new() },
        early: false,
        of_graph: false,
    };
    let copy = OperationStage::Copy {
        kind: CopyKind::DeviceToDevice,
        bytes: 37_723_216,
        rows: 1,
        pageable: false,
    };
    let program = RandomProgram {
        connections: 1,
        priorities: vec![0; STREAMS],
        steps: vec![
            step(0, 0, copy),
            step(1, 14_504, OperationStage::Marker),
            step(0, 6_222, OperationStage::HostFunction),
        ],
    };
    assert_eq!(
        run(&program, Driving::Forgetful),
        run(&program, Driving::AtTheEnd)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn everything_happens_in_order(program in program()) {
        let happenings = run(&program, Driving::AtTheEnd);
        let at = |happening: &Happening| match *happening {
            Happening::Started { at, .. } | Happening::Ended { at, .. } => at,
        };
        prop_assert!(happenings.is_sorted_by_key(at));
        let intervals = intervals(&program, &happenings);
        let mut host = Time::ZERO;
        let mut last = [None; STREAMS];
        for (i, step) in program.steps.iter().enumerate() {
            host += Time::from_nanos(step.pause);
            let (start, end) = intervals[i];
            prop_assert!(host <= start && start <= end);
            let before = dependencies(step, i).chain(last[step.stream].replace(i));
            for earlier in before {
                prop_assert!(intervals[earlier].1 <= start, "{i} starts before {earlier} ends");
            }
        }
    }

    #[test]
    fn an_engine_serves_one_copy_at_a_time(program in program()) {
        let happenings = run(&program, Driving::AtTheEnd);
        let intervals = intervals(&program, &happenings);
        for kind in [CopyKind::HostToDevice, CopyKind::DeviceToHost, CopyKind::DeviceToDevice] {
            let is_kind = |step: &ProgramStep| matches!(step.work, OperationStage::Copy { kind: k, .. } if k == kind);
            let steps = program.steps.iter().zip(&intervals).filter(|(step, _)| is_kind(step));
            let mut copies: Vec<_> = steps.map(|(_, interval)| *interval).collect();
            copies.sort();
            prop_assert!(copies.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }

    #[test]
    fn nothing_is_faster_than_its_bound_nor_slower_than_without_overlap(program in program()) {
        let happenings = run(&program, Driving::AtTheEnd);
        let intervals = intervals(&program, &happenings);
        let makespan = intervals.iter().map(|(_, end)| end.as_picos() as f64).fold(0.0, f64::max);
        for bound in bounds(&program) {
            prop_assert!(makespan >= bound * (1.0 - 1e-9), "{makespan} ps, bound {bound} ps");
        }
        prop_assert!(makespan <= one_after_another(&program));
    }

    #[test]
    fn the_way_of_stepping_leaves_no_trace(
        program in program(),
        pieces in prop::collection::vec(0u64..100_000, 1..10),
    ) {
        let whole = run(&program, Driving::AtTheEnd);
        prop_assert_eq!(&whole, &run(&program, Driving::AtTheEnd));
        prop_assert_eq!(&whole, &run(&program, Driving::InPieces(&pieces)));
        prop_assert_eq!(&whole, &run(&program, Driving::BeforeEachSubmission));
        prop_assert_eq!(&whole, &run(&program, Driving::Forgetful));
    }

    #[test]
    fn onlookers_do_not_change_a_grid_that_fills_the_device(
        block in block(),
        blocks in 1_000u64..200_000,
        arrivals in prop::collection::vec(0u64..200_000, 1..20),
    ) {
        let kernel = |stream, pause, blocks, block| ProgramStep {
            stream,
            pause,
            work: OperationStage::Kernel { blocks, threads_per_block: 256, registers_per_thread: 32, shared_bytes_per_block: 0 },
            after: Vec::new(),
            cost: KernelCost::uniform(blocks, block),
            early: false,
            of_graph: false,
        };
        let mut program = RandomProgram {
            connections: 8,
            priorities: vec![-1, 0, 0, 0, 0, 0],
            steps: vec![kernel(0, 0, blocks, block)],
        };
        let end = |program: &RandomProgram| intervals(program, &run(program, Driving::AtTheEnd))[0].1;
        let alone = end(&program);
        // They cannot be placed before the grid has no more blocks to place.
        let (mut host, last_wave) = (0, alone.as_nanos().saturating_sub(100_000) / 2);
        for (i, pause) in arrivals.into_iter().enumerate() {
            host += pause;
            if host < last_wave {
                program.steps.push(kernel(1 + i % 5, pause, 1, BlockTime::default()));
            }
        }
        let watched = end(&program);
        // In the last wave they share with the grid's blocks what starts blocks: each takes 80 ns of it on some multiprocessor.
        let most = 80_000 * (program.steps.len() as u64 - 1);
        let off = watched.as_picos().abs_diff(alone.as_picos());
        prop_assert!(off <= most, "{watched} instead of {alone}");
    }
}

//! The laws of the model, each by itself: engines, notes, phases, the L2 cache, early launches.

use crate::timeline_support::{MIB, TestProgram};
use software_gpu::timeline::{
    BlockTime, CopyKind, Coupling, Happening, KernelCost, Manner, OpId, OperationStage, Profile,
    Time, Timeline,
};

use CopyKind::{DeviceToHost, HostToDevice};

/// Runs to the end; kernels cost what `cost` says.
fn run(timeline: &mut Timeline, cost: &KernelCost) {
    while let Some(happening) = timeline.step(Time::MAX) {
        if let Happening::Started { op, .. } = happening {
            timeline.set_kernel_cost(op, cost.clone());
        }
    }
}

fn micros(timeline: &Timeline, op: OpId) -> f64 {
    let start = timeline.started_at(op).expect("started");
    let end = timeline.finished_at(op).expect("ended");
    end.since(start).as_picos() as f64 * 1e-6
}

#[test]
fn one_engine_runs_one_direction_at_a_time() {
    let both = |engines: u32| {
        let mut profile = Profile::h200();
        profile.device.async_engine_count = engines;
        let mut timeline = Timeline::new(&[profile], 8);
        let copy = |kind| OperationStage::Copy {
            kind,
            bytes: 64 * MIB,
            rows: 1,
            pageable: false,
        };
        let [up, down] = [HostToDevice, DeviceToHost].map(|kind| {
            let stream = timeline.add_stream(0, 0);
            timeline.submit(stream, Time::ZERO, copy(kind), &[])
        });
        run(&mut timeline, &KernelCost::default());
        let end_of_up = timeline.finished_at(up).expect("ended");
        let start_of_down = timeline.started_at(down).expect("started");
        start_of_down < end_of_up
    };
    assert!(!both(1));
    assert!(both(2));
    assert!(both(3));
}

#[test]
fn the_device_does_not_see_a_note() {
    let gap = |notes: usize| {
        let mut program = TestProgram::new(8);
        let [stream] = program.streams();
        let first = program.copy(stream, HostToDevice, MIB);
        for _ in 0..notes {
            program
                .timeline
                .submit(stream, program.host, OperationStage::Note, &[]);
        }
        let second = program.copy(stream, DeviceToHost, MIB);
        program.run();
        let start = program.timeline.started_at(second).expect("started");
        start.since(program.timeline.finished_at(first).expect("ended"))
    };
    assert_eq!(gap(1), gap(0));
    assert_eq!(gap(3), gap(0));
}

#[test]
fn a_note_alone_comes_when_it_is_submitted_and_nobody_tells_of_it() {
    let mut timeline = Timeline::new(&[Profile::h200()], 8);
    let stream = timeline.add_stream(0, 0);
    let at = Time::from_nanos(700);
    let note = timeline.submit(stream, at, OperationStage::Note, &[]);
    run(&mut timeline, &KernelCost::default());
    assert_eq!(timeline.finished_at(note), Some(at));
    assert_eq!(timeline.seen_to_end(note), None);
}

/// Two kernels of one block in one stream, the second submitted at `at` in some manner: its start and its end after the end of
/// the first one. The first was submitted in the manner `of_first`.
fn second_kernel(of_first: Manner, at: Time, manner: Manner) -> [Time; 2] {
    let mut timeline = Timeline::new(&[Profile::h200()], 8);
    let stream = timeline.add_stream(0, 0);
    let work = OperationStage::Kernel {
        blocks: 1,
        threads_per_block: 32,
        registers_per_thread: 16,
        shared_bytes_per_block: 0,
    };
    let first = timeline.submit_as(stream, Time::ZERO, work, &[], of_first);
    let second = timeline.submit_as(stream, at, work, &[], manner);
    run(&mut timeline, &KernelCost::uniform(1, BlockTime::default()));
    let before = timeline.finished_at(first).expect("ended");
    let ends = [timeline.started_at(second), timeline.finished_at(second)];
    ends.map(|time| time.expect("ran").since(before))
}

const EARLY: Manner = Manner {
    early: true,
    launch: None,
};

#[test]
fn an_early_launch_has_its_ramp_behind_it_and_never_starts_before_the_end() {
    let profile = Profile::h200();
    let plain = second_kernel(Manner::default(), Time::ZERO, Manner::default());
    let early = second_kernel(Manner::default(), Time::ZERO, EARLY);
    assert_eq!(plain[0], profile.handover.kernel_to_kernel_us.micros());
    assert_eq!(early[0], plain[0]);
    assert_eq!(early[1] + profile.kernels.ramp_us.micros(), plain[1]);
}

#[test]
fn an_early_launch_that_comes_too_late_gains_nothing() {
    let late = Time::from_micros(100.0);
    let plain = second_kernel(Manner::default(), late, Manner::default());
    assert_eq!(second_kernel(Manner::default(), late, EARLY), plain);
}

#[test]
fn the_kernels_of_one_launch_of_a_graph_follow_each_other_sooner() {
    let mut other = Timeline::new(&[Profile::h200()], 8);
    let marks = other.add_stream(0, 0);
    let [one, another] = [(); 2].map(|()| {
        let launch = other.submit(marks, Time::ZERO, OperationStage::Marker, &[]);
        Manner {
            launch: Some(launch),
            ..Manner::default()
        }
    });
    let handover = Profile::h200().handover;
    let start = |first, second| second_kernel(first, Time::ZERO, second)[0];
    let within = handover.kernel_to_kernel_in_graph_us.micros();
    let between = handover.kernel_to_kernel_us.micros();
    assert!(within < between);
    assert_eq!(start(one, one), within);
    assert_eq!(start(one, another), between);
    assert_eq!(start(one, Manner::default()), between);
}

/// How long a grid of `per_sm` such blocks on each of `sms` multiprocessors takes, in µs.
fn kernel(sms: u64, per_sm: u64, block: BlockTime) -> f64 {
    let mut timeline = Timeline::new(&[Profile::h200()], 8);
    let stream = timeline.add_stream(0, 0);
    let blocks = sms * per_sm;
    let work = OperationStage::Kernel {
        blocks,
        threads_per_block: 256,
        registers_per_thread: 32,
        shared_bytes_per_block: 8 << 10,
    };
    let op = timeline.submit(stream, Time::ZERO, work, &[]);
    run(&mut timeline, &KernelCost::uniform(blocks, block));
    micros(&timeline, op)
}

/// 200 µs of a block alone, of which it waits for memory a while.
fn phased(bytes: u64, coupling: Coupling) -> BlockTime {
    BlockTime {
        latency_cycles: 396_000.0,
        dram_bytes: bytes,
        cache_bytes: bytes,
        exposed_bytes: bytes / 2,
        coupling,
        ..BlockTime::default()
    }
}

#[test]
fn blocks_in_step_wait_for_what_all_of_them_have_stored() {
    let block = phased(2 << 20, Coupling::Phased);
    let (few, all) = (kernel(4, 1, block), kernel(132, 1, block));
    let burst = 1.3 * 132.0 * f64::from(1 << 20) / 4.4e6;
    assert!(
        (all - few - burst).abs() < 0.05 * burst,
        "{few} {all} {burst}"
    );
    // Without phases there is nothing to wait for.
    let free = phased(2 << 20, Coupling::Free);
    assert!(kernel(132, 1, free) < few + 0.3 * burst);
}

#[test]
fn blocks_with_phases_use_each_others_pauses_but_not_all_of_them() {
    // A sixth of memory's time, half of a pipe's.
    let mut block = phased(1 << 20, Coupling::Phased);
    block.exposed_bytes = 0;
    block.issue[1] = 4 * 198_000;
    let [one, two, four] = [1, 2, 4].map(|per_sm| kernel(132, per_sm, block));
    assert!(two > 1.1 * one && two < 1.9 * one, "{one} {two}");
    assert!(four > 1.4 * two && four < 2.0 * two, "{two} {four}");
    let mut free = block;
    free.coupling = Coupling::Free;
    assert!(kernel(132, 2, free) < two);
}

#[test]
fn what_is_handed_over_overlaps_unless_pipe_and_memory_are_both_busy() {
    let block = |bytes, fma| {
        let mut block = phased(bytes, Coupling::Handed);
        (block.exposed_bytes, block.issue[1]) = (0, fma);
        block
    };
    // Three quarters of memory's time: 33.3 bytes per picosecond and multiprocessor; all of the pipe's.
    let (bytes, fma) = (4_950_000, 4 * 396_000);
    let pipe_alone = kernel(132, 1, block(0, fma));
    let both = kernel(132, 1, block(bytes, fma));
    assert!(
        both > 1.14 * pipe_alone && both < 1.19 * pipe_alone,
        "{pipe_alone} {both}"
    );
    let little = kernel(132, 1, block(bytes / 3, fma));
    assert!(little < 1.04 * pipe_alone, "{pipe_alone} {little}");
}

#[test]
fn plain_loads_that_are_handed_over_wait_for_what_all_blocks_have_stored() {
    let block = phased(2 << 20, Coupling::Handed);
    let few = kernel(4, 1, block);
    let stored = 1.3 * 132.0 * f64::from(1 << 20) / 4.4e6;
    for per_sm in [1, 2] {
        let (all, stored) = (kernel(132, per_sm, block), per_sm as f64 * stored);
        assert!(
            (all - few - stored).abs() < 0.05 * stored,
            "{few} {all} {stored}"
        );
    }
}

#[test]
fn the_network_between_the_blocks_of_a_cluster_is_narrower_than_shared_memory() {
    let takes = |shared_bytes, cluster_bytes| {
        let block = BlockTime {
            latency_cycles: 1000.0,
            shared_bytes,
            cluster_bytes,
            ..BlockTime::default()
        };
        kernel(132, 1, block)
    };
    // 1980 cycles in a microsecond.
    let bytes = 16 * 1980 * 1000;
    let network = takes(bytes, bytes);
    assert!((network / 1000.0 - 1.0).abs() < 0.01, "{network}");
    let own = takes(bytes, 0);
    assert!((own / 125.0 - 1.0).abs() < 0.03, "{own}");
}

#[test]
fn the_l2_cache_has_a_bandwidth_of_its_own() {
    let mut block = BlockTime {
        latency_cycles: 1000.0,
        cache_bytes: 4 << 20,
        ..BlockTime::default()
    };
    let bytes = 132.0 * f64::from(4 << 20);
    let memory = Profile::h200().memory;
    let [threads, bulk] =
        [memory.l2_gb_per_s, memory.l2_bulk_gb_per_s].map(|of| bytes / of.value / 1e3);
    for (bulk_bytes, expected) in [
        (0, threads),
        (4 << 20, bulk),
        (2 << 20, (threads + bulk) / 2.0),
    ] {
        block.bulk_bytes = bulk_bytes;
        let takes = kernel(132, 1, block);
        assert!((takes / expected - 1.0).abs() < 0.05, "{takes} {expected}");
    }
}

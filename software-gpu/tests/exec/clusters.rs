//! Clusters of blocks: their special registers, each other's shared memory, their barrier; and cooperative grids.

use crate::exec_support::*;
use software_gpu::exec::{BlockCost, Fault};
use software_gpu::timeline::Profile;

/// As [`kernel`], for a module of sm_90.
fn kernel_90(declarations: &str, body: &str) -> String {
    kernel(declarations, body)
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90")
}

fn run_clusters(declarations: &str, body: &str, launch: TestLaunch) -> Result<Vec<u32>, Fault> {
    let module = load(&kernel_90(declarations, body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let count = (launch.grid.iter().product::<u32>() * launch.block[0]) as usize;
    let (from, to) = (
        device.upload(&vec![0_u32; count]),
        device.upload(&vec![0_u32; count]),
    );
    let parameters = ParameterBytes::default()
        .with(to)
        .with(from)
        .with(count as u32);
    device.run(&module, "test", launch, &parameters)?;
    Ok(device.download(to, count))
}

fn clusters(blocks: u32, threads: u32, cluster: u32) -> TestLaunch {
    TestLaunch {
        cluster: Some([cluster, 1, 1]),
        ..launch(blocks, threads)
    }
}

#[test]
fn special_registers_place_a_block_in_its_cluster() {
    let digits = |names: &[&str]| {
        let mut body = "mov.u32 %r2, 0;".to_owned();
        for name in names {
            body += &format!("mov.u32 %r3, {name}; mad.lo.u32 %r2, %r2, 10, %r3;");
        }
        body + "mov.u32 %r4, %ctaid.y; mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r4, %r4, %r5, %r6;
            ld.param.u64 %out, [out]; mul.wide.u32 %rd1, %r4, 4; add.u64 %out, %out, %rd1; st.global.u32 [%out], %r2;"
    };
    let launch = TestLaunch {
        grid: [4, 2, 1],
        cluster: Some([2, 2, 1]),
        ..launch(8, 1)
    };
    let index = digits(&[
        "%clusterid.x",
        "%clusterid.y",
        "%nclusterid.x",
        "%nclusterid.y",
    ]);
    assert_eq!(
        run_clusters("", &index, launch).unwrap(),
        [21, 21, 1021, 1021].repeat(2)
    );
    let within = digits(&["%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctarank"]);
    assert_eq!(
        run_clusters("", &within, launch).unwrap(),
        [0, 101, 0, 101, 12, 113, 12, 113]
    );
    let extents = digits(&[
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_nctarank",
    ]);
    assert_eq!(run_clusters("", &extents, launch).unwrap(), [2214; 8]);
}

#[test]
fn a_launch_says_whether_it_has_clusters() {
    let body =
        "mov.pred %p0, %is_explicit_cluster; selp.u32 %r2, 1, 0, %p0; st.global.u32 [%out], %r2;";
    assert_eq!(run_clusters("", body, clusters(2, 1, 1)).unwrap(), [1, 1]);
    assert_eq!(run_clusters("", body, launch(2, 1)).unwrap(), [0, 0]);
}

/// Every block stores into its own shared memory and reads its neighbour's: by all three ways to name it.
#[test]
fn a_block_reads_its_neighbours_shared_memory() {
    let prepare = "mov.u32 %r2, %ctaid.x; add.u32 %r3, %r2, 100; mul.lo.u32 %r3, %r3, 1000; add.u32 %r3, %r3, %t;
        shl.b32 %r4, %t, 2; mov.u32 %r5, words; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r3;
        barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mov.u32 %r6, %cluster_ctarank; xor.b32 %r6, %r6, 1;";
    let window = "mapa.shared::cluster.u32 %r7, %r4, %r6; ld.shared::cluster.u32 %r8, [%r7];";
    let wide = "cvt.u64.u32 %rd1, %r4; mapa.shared::cluster.u64 %rd2, %rd1, %r6; ld.shared::cluster.u32 %r8, [%rd2];";
    let generic = "cvt.u64.u32 %rd1, %r4; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r6; ld.u32 %r8, [%rd2];";
    let end =
        "barrier.cluster.arrive.release; barrier.cluster.wait.acquire; st.global.u32 [%out], %r8;";
    let expected: Vec<u32> = (0..6_u32)
        .flat_map(|block| (0..64).map(move |thread| (100 + (block ^ 1)) * 1000 + thread))
        .collect();
    for load in [window, wide, generic] {
        let body = format!("{prepare}{load}{end}");
        let seen = run_clusters(
            ".shared .align 4 .b8 words[256];",
            &body,
            clusters(6, 64, 2),
        );
        assert_eq!(seen.unwrap(), expected, "{load}");
    }
}

#[test]
fn an_address_tells_its_block() {
    let body = "mov.u32 %r4, word; mov.u32 %r6, %cluster_ctarank; getctarank.shared::cluster.u32 %r2, %r4;
        xor.b32 %r6, %r6, 1; mapa.shared::cluster.u32 %r7, %r4, %r6; getctarank.shared::cluster.u32 %r3, %r7;
        cvt.u64.u32 %rd1, %r7; cvta.shared::cluster.u64 %rd1, %rd1; getctarank.u64 %r8, %rd1;
        isspacep.shared::cluster %p0, %rd1; isspacep.shared::cta %p1, %rd1;
        cvt.u64.u32 %rd2, %r4; cvta.shared.u64 %rd2, %rd2; isspacep.shared %p2, %rd2;
        mad.lo.u32 %r2, %r2, 10, %r3; mad.lo.u32 %r2, %r2, 10, %r8;
        selp.u32 %r9, 1, 0, %p0; mad.lo.u32 %r2, %r2, 10, %r9; selp.u32 %r9, 1, 0, %p1; mad.lo.u32 %r2, %r2, 10, %r9;
        selp.u32 %r9, 1, 0, %p2; mad.lo.u32 %r2, %r2, 10, %r9; st.global.u32 [%out], %r2;";
    let seen = run_clusters(".shared .align 4 .b8 word[4];", body, clusters(2, 1, 2)).unwrap();
    assert_eq!(seen, [11101, 100101]);
}

/// All blocks of a cluster add to a counter in the first one's shared memory.
#[test]
fn atomics_reach_another_blocks_shared_memory() {
    let body = "mov.u32 %r4, word; mov.u32 %r5, 0; st.shared.u32 [%r4], %r5;
        barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r7, %r4, 0; atom.shared::cluster.add.u32 %r8, [%r7], 1;
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared::cluster.u32 %r9, [%r7]; st.global.u32 [%out], %r9;
        barrier.cluster.arrive; barrier.cluster.wait;";
    let seen = run_clusters(".shared .align 4 .b8 word[4];", body, clusters(8, 64, 4)).unwrap();
    assert_eq!(seen, [256; 512]);
}

/// Bytes that a block moves to and from the shared memory of the other one. `%r4` and `%r5` are words and an mbarrier object of its
/// own, `%r7` the same words as seen by the cluster, `%r9` and `%r10` those of the other block.
fn passed_on(body: &str) -> u64 {
    let body = format!(
        "ld.param.u64 %rd1, [in]; mov.u32 %r4, words; mov.u32 %r5, full; mov.u32 %r6, %cluster_ctarank;
        mbarrier.init.shared.b64 [%r5], 1; barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r7, %r4, %r6; xor.b32 %r8, %r6, 1;
        mapa.shared::cluster.u32 %r9, %r4, %r8; mapa.shared::cluster.u32 %r10, %r5, %r8;
        {body} barrier.cluster.arrive; barrier.cluster.wait;"
    );
    let words = ".shared .align 16 .b8 words[256]; .shared .align 8 .b8 full[8];";
    let module = load(&kernel_90(words, &body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let (to, from) = (device.upload(&[0_u32; 64]), device.upload(&[0_u32; 64]));
    let parameters = ParameterBytes::default().with(to).with(from).with(64_u32);
    let cost = device.run(&module, "test", clusters(2, 1, 2), &parameters);
    let passed = |(blocks, block): &(u64, BlockCost)| blocks * block.cluster_bytes;
    cost.unwrap().runs.iter().map(passed).sum::<u64>() / 2
}

/// Whatever moves it is counted, and neither what blocks do in their own shared memory nor what comes from global memory.
#[test]
fn what_blocks_pass_on_to_each_other_is_counted() {
    assert_eq!(passed_on("ld.shared::cluster.u32 %r3, [%r9];"), 4);
    assert_eq!(passed_on("st.shared::cluster.u32 [%r9], %r3;"), 4);
    let add = "atom.shared::cluster.add.u32 %r3, [%r9], 1;";
    assert_eq!(passed_on(add), 4);
    let arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];";
    assert_eq!(passed_on(arrive), 8);
    let own = "ld.shared::cluster.u32 %r3, [%r7]; st.shared.u32 [%r4], %r3;";
    assert_eq!(passed_on(own), 0);
    let copy = |from: &str, sides: &str, full: &str| {
        let instruction = "cp.async.bulk.shared::cluster";
        let completion = "mbarrier::complete_tx::bytes";
        passed_on(&format!(
            "{instruction}.{from}.{completion} {sides}, 64, [{full}];"
        ))
    };
    // The copy completes on the mbarrier object there, too.
    assert_eq!(copy("shared::cta", "[%r9], [%r4]", "%r10"), 64 + 8);
    assert_eq!(copy("global", "[%r9], [%rd1]", "%r10"), 8);
    assert_eq!(copy("shared::cta", "[%r7], [%r4]", "%r5"), 0);
}

/// Between arriving and waiting a thread continues; waiting twice for one arrival does not block.
#[test]
fn the_cluster_barrier_has_two_phases() {
    let body = "mov.u32 %r2, 0;
        again: barrier.cluster.arrive.relaxed; add.u32 %r2, %r2, 1; barrier.cluster.wait; barrier.cluster.wait;
        setp.lt.u32 %p0, %r2, 5; @%p0 bra again; st.global.u32 [%out], %r2;";
    assert_eq!(
        run_clusters("", body, clusters(4, 96, 4)).unwrap(),
        [5; 384]
    );
}

#[test]
fn a_thread_that_exits_counts_as_arrived() {
    let body = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1; @%p0 exit; setp.gt.u32 %p1, %t, 40; @%p1 exit;
        barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [%out], 1;";
    let seen = run_clusters("", body, clusters(2, 64, 2)).unwrap();
    assert_eq!(seen.iter().sum::<u32>(), 41);
}

#[test]
fn arriving_twice_is_an_error() {
    let fault = run_clusters(
        "",
        "barrier.cluster.arrive; barrier.cluster.arrive;",
        clusters(2, 1, 2),
    );
    assert!(
        matches!(fault, Err(Fault::IllegalInstruction { message, .. }) if message.contains("arrive"))
    );
}

#[test]
fn shared_memory_ends_with_its_block() {
    let body = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1; @%p0 exit;
        mov.u32 %r3, 0; spin: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 5000; @%p1 bra spin;
        mov.u32 %r4, word; mapa.shared::cluster.u32 %r5, %r4, 1; ld.shared::cluster.u32 %r6, [%r5];";
    let fault = run_clusters(".shared .align 4 .b8 word[4];", body, clusters(2, 1, 2)).unwrap_err();
    assert!(
        matches!(fault, Fault::ExitedBlock { rank: 1, .. }),
        "{fault}"
    );
    assert!(fault.to_string().contains("has exited"), "{fault}");
}

#[test]
fn a_block_that_is_not_in_the_cluster_has_no_address() {
    let body = "mov.u32 %r4, word; mapa.shared::cluster.u32 %r5, %r4, 2; ld.shared::cluster.u32 %r6, [%r5];";
    let fault = run_clusters(".shared .align 4 .b8 word[4];", body, clusters(2, 1, 2));
    assert!(matches!(fault, Err(Fault::IllegalAddress { .. })));
}

#[test]
fn a_barrier_that_nobody_completes_is_a_deadlock() {
    let body = "mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1; @%p0 bra other;
        barrier.cluster.arrive; barrier.cluster.wait; bra end;
        other: bar.sync 1, 64; end:";
    let fault = run_clusters("", body, clusters(2, 32, 2));
    assert!(
        matches!(fault, Err(Fault::BarrierDeadlock { waiting: 32, .. })),
        "{fault:?}"
    );
}

/// A grid-wide barrier of atomics and polling, several times over.
#[test]
fn blocks_of_a_cooperative_grid_wait_for_each_other() {
    let body = "ld.param.u64 %rd1, [in]; mov.u32 %r2, %nctaid.x; mov.u32 %r3, 0;
        round: bar.sync 0; setp.ne.u32 %p0, %t, 0; @%p0 bra met;
        add.u32 %r4, %r3, 1; mul.lo.u32 %r5, %r4, %r2;
        atom.global.add.u32 %r6, [%rd1], 1;
        poll: ld.volatile.global.u32 %r7, [%rd1]; setp.lt.u32 %p1, %r7, %r5; @%p1 bra poll;
        met: bar.sync 0; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 20; @%p2 bra round;
        ld.volatile.global.u32 %r8, [%rd1]; st.global.u32 [%out], %r8;";
    let launch = TestLaunch {
        cooperative: true,
        ..launch(200, 64)
    };
    assert_eq!(
        run_clusters("", body, launch).unwrap(),
        vec![4000; 200 * 64]
    );
}

/// The modelled time of a poll is the time until the other block writes, in any order of blocks.
#[test]
fn a_polling_block_spends_the_time_that_it_waits() {
    let body = "ld.param.u64 %rd1, [in]; mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1; @%p0 bra writer;
        poll: ld.volatile.global.u32 %r7, [%rd1]; setp.eq.u32 %p1, %r7, 0; @%p1 bra poll; bra end;
        writer: mov.u32 %r3, 0; spin: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20000; @%p1 bra spin;
        st.volatile.global.u32 [%rd1], 1; end:";
    let module = load(&kernel_90("", body)).unwrap();
    let mut device = TestDevice::new();
    let (from, to) = (device.upload(&[0_u32; 2]), device.upload(&[0_u32; 2]));
    let parameters = ParameterBytes::default().with(to).with(from).with(2_u32);
    let cooperative = true;
    let cost = device
        .run(
            &module,
            "test",
            TestLaunch {
                cooperative,
                ..launch(2, 1)
            },
            &parameters,
        )
        .unwrap();
    let cycles: Vec<f64> = cost
        .runs
        .iter()
        .map(|(_, block)| block.latency_cycles)
        .collect();
    assert!(cycles[1] > 100_000.0, "{cycles:?}");
    assert!((cycles[0] - cycles[1]).abs() < 5_000.0, "{cycles:?}");
}

#[test]
fn clusters_that_do_not_divide_the_grid_are_refused() {
    for cluster in [3, 0, 17] {
        let refused = run_clusters("", "", clusters(34, 1, cluster));
        assert!(
            matches!(refused, Err(Fault::InvalidLaunch { .. })),
            "{cluster}"
        );
    }
}

/// Block 0 has an mbarrier object that expects the bytes of all threads of both blocks; each thread sends to it.
fn sends_to_block_0(send: &str, bytes: u32) -> String {
    format!(
        "mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, object; mov.u32 %r4, received;
        mapa.shared::cluster.u32 %r5, %r3, 0; mapa.shared::cluster.u32 %r6, %r4, 0;
        setp.ne.u32 %p0, %r2, 0; setp.ne.or.u32 %p1, %t, 0, %p0;
        @%p1 bra ready;
        st.shared.v4.u32 [%r4], {{0, 0, 0, 0}};
        mbarrier.init.shared.b64 [%r3], 1; mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r3], {};
        ready: barrier.cluster.arrive; barrier.cluster.wait;
        {send}
        @%p0 bra done;
        wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra wait;
        and.b32 %r7, %t, 3; mul.lo.u32 %r7, %r7, 4; add.u32 %r7, %r7, %r4; ld.shared.u32 %r8, [%r7]; st.global.u32 [%out], %r8;
        done: barrier.cluster.arrive; barrier.cluster.wait;",
        8 * bytes
    )
}

const RECEIVER: &str = ".shared .align 8 .b64 object; .shared .align 16 .b8 received[256];";

/// `st.async` stores in another block's shared memory and tells an mbarrier object there.
#[test]
fn an_asynchronous_store_completes_bytes() {
    // Thread 3 of block 1 stores last of those that store at the same place: all store the same.
    for (send, bytes, expected) in [
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6+4], 7, [%r5];", 4, [0, 7, 0, 0]),
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r6+8], {8, 9}, [%r5];", 8, [0, 0, 8, 9]),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%r6], {1, 2, 3, 4}, [%r5];", 16, [1, 2, 3, 4]),
        ("mov.b64 %rd2, {5, 6}; st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r6], {%rd2, %rd2}, [%r5];", 16, [5, 6, 5, 6]),
        // Generic addresses.
        ("cvt.u64.u32 %rd2, %r6; cvta.shared.u64 %rd2, %rd2; cvt.u64.u32 %rd3, %r5; cvta.shared.u64 %rd3, %rd3;
          st.async.mbarrier::complete_tx::bytes.f32 [%rd2], 0f00000003, [%rd3];", 4, [3, 0, 0, 0]),
    ] {
        let seen = run_clusters(RECEIVER, &sends_to_block_0(send, bytes), clusters(2, 4, 2)).unwrap();
        assert_eq!(seen[..4], expected, "{send}");
    }
}

/// `red.async` likewise adds up what all eight threads send.
#[test]
fn an_asynchronous_reduction_completes_bytes() {
    let rank = "mad.lo.u32 %r9, %r2, 4, %t; add.u32 %r9, %r9, 1; cvt.u64.u32 %rd2, %r9;";
    for (operation, operand, bytes, expected) in [
        ("add.u32", "%r9", 4, 36),
        ("add.s32", "%r9", 4, 36),
        ("add.u64", "%rd2", 8, 36),
        ("max.s32", "%r9", 4, 8),
        ("or.b32", "%r9", 4, 15),
        ("inc.u32", "100", 4, 8),
    ] {
        let send = format!(
            "{rank} red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation} [%r6], {operand}, [%r5];"
        );
        let body = sends_to_block_0(&send, bytes);
        let seen = run_clusters(RECEIVER, &body, clusters(2, 4, 2)).unwrap();
        assert_eq!(seen[..4], [expected, 0, 0, 0], "{operation}");
    }
}

/// The wait does not end before all bytes have arrived.
#[test]
fn a_wait_for_bytes_that_nobody_sends_does_not_end() {
    let send = "@%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], 7, [%r5];";
    let launch = TestLaunch {
        budget: 1 << 14,
        ..clusters(2, 4, 2)
    };
    let fault = run_clusters(RECEIVER, &sends_to_block_0(send, 4), launch).unwrap_err();
    assert!(matches!(fault, Fault::InstructionBudget { .. }), "{fault}");
}

/// Code that `ptxas` refuses, too.
#[test]
fn asynchronous_accesses_have_their_forms() {
    for body in [
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u16 [%r6], %r1, [%r5];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r6], {%rd1, %rd1, %rd1, %rd1}, [%r5];",
        "st.async.shared::cluster.u32 [%r6], %r1, [%r5];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r1;",
        "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6], %r1, [%r5];",
        "red.async.relaxed.cluster.shared::cluster.add.u32 [%r6], %r1, [%r5];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r6], %f1, [%r5];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u64 [%r6], %rd1, [%r5];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b64 [%r6], %rd1, [%r5];",
        "red.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6], %r1;",
    ] {
        assert!(load(&kernel_90(RECEIVER, body)).is_err(), "{body}");
    }
}

/// Cycles of the slowest of the blocks. All have the same `%in`.
fn slowest(launch: TestLaunch, body: &str) -> f64 {
    let module = load(&kernel_90("", body)).unwrap();
    let mut device = TestDevice::new();
    let (to, words) = (device.upload(&[0_u32; 2]), device.upload(&[0_u32; 2]));
    let parameters = ParameterBytes::default().with(to).with(words).with(2_u32);
    let cost = device.run(&module, "test", launch, &parameters).unwrap();
    let cycles = cost.runs.iter().map(|(_, block)| block.latency_cycles);
    cycles.fold(0.0, f64::max)
}

/// As [`slowest`], of this many concurrent blocks of one thread each.
fn slowest_at_once(blocks: u32, body: &str) -> f64 {
    let body = format!("ld.param.u64 %rd1, [in]; mov.u32 %r2, %ctaid.x; {body}");
    let launch = TestLaunch {
        cooperative: true,
        ..launch(blocks, 1)
    };
    slowest(launch, &body)
}

/// Cycles of the slower block of a pair that synchronises at this many cluster barriers.
fn meeting(times: u32) -> f64 {
    let body = format!(
        "mov.u32 %r2, 0; again: barrier.cluster.arrive; barrier.cluster.wait;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, {times}; @%p0 bra again;"
    );
    slowest(clusters(2, 32, 2), &body)
}

/// The block that comes last waits for the barrier's latency, too: it would otherwise be ahead at the next barrier, for which the
/// other block then waited no longer.
#[test]
fn each_cluster_barrier_takes_its_latency_whoever_comes_last() {
    let least = 10.0 * Profile::h200().kernels.latency_cycles.cluster_barrier.value;
    let taken = meeting(20) - meeting(10);
    assert!((least..1.5 * least).contains(&taken), "{taken} of {least}");
}

/// A release at the scope of the device waits for the answer to earlier stores, and an acquire looks past the L1 cache.
#[test]
fn what_orders_blocks_goes_to_the_l2_cache_and_what_orders_threads_of_one_does_not() {
    let took = |body: &str| slowest_at_once(1, body) - slowest_at_once(1, "");
    let store = |order: &str| took(&format!("st.{order}.global.u32 [%rd1], 1;"));
    assert_eq!(store("release.gpu") - store("relaxed.gpu"), 1080.0);
    assert_eq!(store("release.sys"), store("release.gpu"));
    assert_eq!(store("release.cta"), store("relaxed.gpu"));
    let fence = |scope: &str| took(&format!("fence.acq_rel.{scope};"));
    assert_eq!(fence("gpu") - fence("cta"), 1080.0);
    let read = "st.global.u32 [%out], %r3;";
    let load = |order: &str| took(&format!("ld.{order}.global.u32 %r3, [%rd1]; {read}"));
    assert_eq!(load("acquire.gpu") - load("relaxed.gpu"), 615.0 - 850.0);
    assert_eq!(load("acquire.cta"), load("relaxed.gpu"));
    let add = |order: &str| {
        took(&format!(
            "atom.{order}.gpu.global.add.u32 %r3, [%rd1], 1; {read}"
        ))
    };
    assert_eq!(add("release") - add("relaxed"), 1080.0);
    assert_eq!(add("acquire") - add("relaxed"), 615.0 - 268.0);
}

/// `ptxas` makes a reduction of it, which the warp does not wait for.
#[test]
fn an_atomic_operation_whose_result_is_not_used_takes_as_long_as_a_reduction() {
    let unused = slowest_at_once(1, "atom.global.add.u32 %r3, [%rd1], 1;");
    assert_eq!(unused, slowest_at_once(1, "red.global.add.u32 [%rd1], 1;"));
    let used = "atom.global.add.u32 %r3, [%rd1], 1; st.global.u32 [%out], %r3;";
    assert!(slowest_at_once(1, used) > unused);
}

/// Two blocks that wait for each other in turn: each of two hand-overs is a release, and a poll that comes too early at most once
/// before the one that sees it.
#[test]
fn a_word_is_seen_when_it_was_released_and_not_before() {
    const ROUNDS: u32 = 50;
    let body = format!(
        "mov.u32 %r3, 0; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd2, %rd1, %rd2;
        xor.b32 %r4, %r2, 1; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd3, %rd1, %rd3;
        round: add.u32 %r5, %r3, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra poll;
        st.release.gpu.global.u32 [%rd2], %r5;
        poll: ld.acquire.gpu.global.u32 %r6, [%rd3]; setp.lt.u32 %p1, %r6, %r5; @%p1 bra poll;
        setp.eq.u32 %p0, %r2, 0; @%p0 bra next;
        st.release.gpu.global.u32 [%rd2], %r5;
        next: add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, {ROUNDS}; @%p2 bra round;"
    );
    let round = slowest_at_once(2, &body) / f64::from(ROUNDS);
    let (release, poll, rest) = (850.0, 615.0, 200.0);
    assert!(round >= 2.0 * (release + poll), "{round}");
    assert!(round <= 2.0 * (release + 2.0 * poll) + rest, "{round}");
}

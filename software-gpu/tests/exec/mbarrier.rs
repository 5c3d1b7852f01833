//! `mbarrier`: phases, counts, bytes under way, waiting across warps and blocks.

use crate::exec_support::*;
use software_gpu::exec::Fault;

/// Runs `body` in one block of `threads` threads with an mbarrier object `bar` and 1 KiB `data` in shared memory.
fn run_90(body: &str, launch: TestLaunch) -> Result<Vec<u32>, Fault> {
    let declarations = ".shared .align 8 .b8 bar[16]; .shared .align 16 .b8 data[1024];";
    let text = kernel(declarations, body)
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90");
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let count = (launch.grid[0] * launch.block[0]) as usize;
    let input: Vec<u32> = (0..count as u32).map(|index| 1000 + index).collect();
    let (from, to) = (device.upload(&input), device.upload(&vec![0_u32; count]));
    let parameters = ParameterBytes::default()
        .with(to)
        .with(from)
        .with(count as u32);
    device.run(&module, "test", launch, &parameters)?;
    Ok(device.download(to, count))
}

fn message(result: Result<Vec<u32>, Fault>) -> String {
    match result.unwrap_err() {
        Fault::IllegalInstruction { message, .. } => message,
        other => panic!("{other}"),
    }
}

const INIT: &str = "mov.u32 %r2, bar; setp.ne.u32 %p0, %t, 0; @%p0 bra ready;
    mbarrier.init.shared::cta.b64 [%r2], COUNT; fence.mbarrier_init.release.cluster; ready: bar.sync 0;";

fn init(count: u32) -> String {
    INIT.replace("COUNT", &count.to_string())
}

/// Each thread stores, arrives, waits, and then sees what the threads of the other warps have stored.
#[test]
fn a_phase_is_complete_when_all_have_arrived() {
    let body = init(128)
        + "mov.u32 %r3, data; shl.b32 %r4, %t, 2; add.u32 %r5, %r3, %r4; st.shared.u32 [%r5], %t;
        mbarrier.arrive.release.cta.shared::cta.b64 %rd1, [%r2];
        wait: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [%r2], %rd1; @!%p1 bra wait;
        xor.b32 %r6, %t, 127; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r3; ld.shared.u32 %r7, [%r6]; st.global.u32 [%out], %r7;";
    let expected: Vec<u32> = (0..128).map(|thread| thread ^ 127).collect();
    assert_eq!(run_90(&body, launch(1, 128)).unwrap(), expected);
}

/// Parity waiting over several phases, with an arrival that counts for the whole warp.
#[test]
fn parities_tell_phases_apart() {
    let body = init(4)
        + "mov.u32 %r3, 0; mov.u32 %r4, data; setp.ne.u32 %p2, %t, 0;
        @!%p2 st.shared.u32 [%r4], 0; bar.sync 0; and.b32 %r9, %t, 31; setp.ne.u32 %p3, %r9, 0;
        phase: @%p3 bra wait; atom.shared.add.u32 %r5, [%r4], 1; mbarrier.arrive.shared.b64 _, [%r2];
        wait: and.b32 %r6, %r3, 1; mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r6, 100; @!%p1 bra wait;
        ld.volatile.shared.u32 %r7, [%r4]; add.u32 %r3, %r3, 1; mul.lo.u32 %r8, %r3, 4; setp.lt.u32 %p1, %r7, %r8; @%p1 trap;
        setp.lt.u32 %p1, %r3, 7; @%p1 bra phase; st.global.u32 [%out], %r3;";
    assert_eq!(run_90(&body, launch(1, 128)).unwrap(), [7; 128]);
}

#[test]
fn states_and_counts_are_as_documented() {
    let body = "mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2], 3;
        mbarrier.arrive.shared.b64 %rd1, [%r2]; mbarrier.pending_count.b64 %r3, %rd1;
        mbarrier.arrive.noComplete.shared.b64 %rd2, [%r2], 1; mbarrier.pending_count.b64 %r4, %rd2;
        mbarrier.test_wait.shared.b64 %p0, [%r2], %rd1; selp.u32 %r5, 1, 0, %p0;
        mbarrier.test_wait.parity.shared.b64 %p0, [%r2], 1; selp.u32 %r6, 1, 0, %p0;
        mbarrier.arrive_drop.shared.b64 %rd3, [%r2]; mbarrier.test_wait.shared.b64 %p0, [%r2], %rd1; selp.u32 %r7, 1, 0, %p0;
        mbarrier.arrive.shared.b64 %rd3, [%r2]; mbarrier.pending_count.b64 %r8, %rd3;
        mad.lo.u32 %r9, %r3, 10, %r4; mad.lo.u32 %r9, %r9, 10, %r5; mad.lo.u32 %r9, %r9, 10, %r6; mad.lo.u32 %r9, %r9, 10, %r7;
        mad.lo.u32 %r9, %r9, 10, %r8; st.global.u32 [%out], %r9; mbarrier.inval.shared.b64 [%r2];";
    assert_eq!(run_90(body, launch(1, 1)).unwrap(), [320112]);
}

#[test]
fn bytes_under_way_keep_a_phase_open() {
    let body = "mov.u32 %r2, bar; cvt.u64.u32 %rd4, %r2; cvta.shared.u64 %rd4, %rd4; mbarrier.init.b64 [%rd4], 1;
        mbarrier.arrive.expect_tx.b64 %rd1, [%rd4], 48;
        mbarrier.test_wait.b64 %p0, [%rd4], %rd1; selp.u32 %r3, 1, 0, %p0;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 16; mbarrier.test_wait.b64 %p0, [%rd4], %rd1; selp.u32 %r4, 1, 0, %p0;
        mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 16; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 48;
        mbarrier.test_wait.b64 %p0, [%rd4], %rd1; selp.u32 %r5, 1, 0, %p0;
        mad.lo.u32 %r9, %r3, 10, %r4; mad.lo.u32 %r9, %r9, 10, %r5; st.global.u32 [%out], %r9;";
    assert_eq!(run_90(body, launch(1, 1)).unwrap(), [1]);
}

/// A block arrives at the object of its neighbour.
#[test]
fn blocks_of_a_cluster_arrive_at_each_others_objects() {
    let body = init(64)
        + "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1;
        mapa.shared::cluster.u32 %r4, %r2, %r3; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];
        wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra wait;
        st.global.u32 [%out], 5; barrier.cluster.arrive; barrier.cluster.wait;";
    let launch = TestLaunch {
        cluster: Some([2, 1, 1]),
        ..launch(2, 64)
    };
    assert_eq!(run_90(&body, launch).unwrap(), [5; 128]);
}

#[test]
fn misuse_is_an_error_that_says_why() {
    let with = |body: &str| message(run_90(&format!("mov.u32 %r2, bar; {body}"), launch(1, 4)));
    assert!(
        with("mbarrier.arrive.shared.b64 _, [%r2];").contains("no initialised mbarrier object")
    );
    assert!(with("mbarrier.init.shared.b64 [%r2], 0;").contains("between 1 and 1048575"));
    let drained = "mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.shared.b64 _, [%r2], 2;";
    assert!(with(drained).contains("more threads arrive"));
    let invalid = "mbarrier.init.shared.b64 [%r2], 1; mbarrier.inval.shared.b64 [%r2];
        mbarrier.test_wait.parity.shared.b64 %p0, [%r2], 0;";
    assert!(with(invalid).contains("no initialised mbarrier object"));
    let global = "mbarrier.init.b64 [%in], 1;";
    assert!(with(global).contains("must be in shared memory"));
}

/// The modelled time of a wait is that until the last arrival.
#[test]
fn waiting_takes_until_the_last_arrival() {
    let body = init(32)
        + "shr.u32 %r3, %t, 5; setp.eq.u32 %p1, %r3, 0; @%p1 bra wait; mov.u32 %r4, 0;
        spin: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 10000; @%p2 bra spin; mbarrier.arrive.shared.b64 _, [%r2]; bra end;
        wait: mbarrier.try_wait.parity.shared.b64 %p3, [%r2], 0; @!%p3 bra wait; mov.u64 %rd2, %clock64; st.global.u32 [%out], %rd2;
        end:";
    let seen = run_90(&body, launch(1, 64)).unwrap();
    assert!((50_000..500_000).contains(&seen[0]), "{}", seen[0]);
}

/// The budget of instructions would take minutes, but all that the block can do is to test the object again.
#[test]
fn a_wait_that_never_ends_is_reported_soon() {
    let body = init(128)
        + "setp.eq.u32 %p2, %t, 5; @%p2 bra wait; mbarrier.arrive.shared::cta.b64 _, [%r2];
        wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra wait;";
    let endless = TestLaunch {
        budget: u64::MAX,
        ..launch(1, 128)
    };
    let fault = run_90(&body, endless).unwrap_err();
    let Fault::BarrierDeadlock {
        waiting, threads, ..
    } = &fault
    else {
        panic!("{fault}");
    };
    assert_eq!(*waiting, 128);
    assert!(threads.contains("testing an mbarrier object"), "{threads}");
}

/// One warp works for long before it arrives: the others test the object in vain all the while.
#[test]
fn a_long_wait_is_no_deadlock() {
    let body = init(1)
        + "setp.lt.u32 %p2, %t, 32; @!%p2 bra wait; mov.u32 %r3, 0;
        work: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 200000; @%p3 bra work;
        @!%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];
        wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra wait; st.global.u32 [%out], 1;";
    assert_eq!(run_90(&body, launch(1, 64)).unwrap(), [1; 64]);
}

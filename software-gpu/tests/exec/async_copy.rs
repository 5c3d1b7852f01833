//! `cp.async` and `cp.async.bulk`: what lands, when, and what a missing wait shows.

use crate::exec_support::*;
use software_gpu::exec::{BlockCost, Fault};

const DECLARATIONS: &str = ".shared .align 128 .b8 data[4096]; .shared .align 8 .b8 bar[16];";

fn run_90(body: &str, launch: TestLaunch) -> Result<Vec<u32>, Fault> {
    let text = kernel(DECLARATIONS, body)
        .replace("6.0", "8.6")
        .replace("sm_70", "sm_90");
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let count = (launch.grid[0] * launch.block[0]) as usize;
    let input: Vec<u32> = (0..4 * count as u32).map(|index| 1000 + index).collect();
    let (from, to) = (
        device.upload(&input),
        device.upload(&vec![0_u32; 4 * count]),
    );
    let parameters = ParameterBytes::default()
        .with(to)
        .with(from)
        .with(count as u32);
    device.run(&module, "test", launch, &parameters)?;
    Ok(device.download(to, count))
}

/// What a block costs that copies four stages of 512 bytes from `%in` to `%r2`, `wait` and a barrier behind each. `ahead`: one is on its
/// way beforehand.
fn stages(ahead: bool, wait: &str) -> BlockCost {
    let copy = |at: u32| {
        format!(
            "cp.async.ca.shared.global [%r2+{}], [%in+{}], 4; cp.async.commit_group;",
            512 * at,
            512 * at
        )
    };
    let mut body = PLACE.to_owned();
    if ahead {
        body += &copy(0);
    }
    for stage in u32::from(ahead)..4 + u32::from(ahead) {
        body += &format!("{} {wait} bar.sync 0;", copy(stage));
    }
    let text = kernel(DECLARATIONS, &body)
        .replace("6.0", "8.6")
        .replace("sm_70", "sm_90");
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let (from, to) = (device.upload(&[0_u32; 640]), device.upload(&[0_u32; 128]));
    let parameters = ParameterBytes::default().with(to).with(from).with(128_u32);
    let cost = device.run(&module, "test", launch(1, 128), &parameters);
    cost.unwrap().runs[0].1
}

/// Copies issued before the last barrier have been in flight since: the block waits only for the last of their bytes.
#[test]
fn a_ring_of_stages_comes_while_the_block_computes() {
    let one_by_one = stages(false, "cp.async.wait_group 0;");
    let ring = stages(true, "cp.async.wait_group 1;");
    assert_eq!(ring.global_read_bytes, 5 * 512);
    assert!(ring.latency_cycles < one_by_one.latency_cycles);
    // A block that stores nothing has nothing in the way of its copies.
    assert_eq!((one_by_one.exposed_bytes, ring.exposed_bytes), (0, 0));
}

/// `%r2` is the thread's place in `data`, `%in` and `%out` its places in global memory.
const PLACE: &str =
    "mov.u32 %r9, data; shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r9; st.shared.u32 [%r2], 7;";

fn expected(count: u32) -> Vec<u32> {
    (1000..1000 + count).collect()
}

#[test]
fn a_copy_lands_at_the_wait_for_it() {
    let copy = "cp.async.ca.shared.global [%r2], [%in], 4;";
    let read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%out], %r3;";
    for (wait, lands) in [
        ("cp.async.commit_group; cp.async.wait_group 0;", true),
        ("cp.async.wait_all;", true),
        ("cp.async.commit_group;", false),
        ("cp.async.commit_group; cp.async.wait_group 1;", false),
        ("cp.async.wait_group 0;", false),
    ] {
        let seen = run_90(&format!("{PLACE}{copy}{wait}{read}"), launch(2, 64)).unwrap();
        let expected = if lands { expected(128) } else { vec![7; 128] };
        assert_eq!(seen, expected, "{wait}");
    }
}

/// Two stages in flight: waiting for all groups but the latest lands the first one alone.
#[test]
fn groups_land_in_order() {
    let body = PLACE.to_owned()
        + "st.shared.u32 [%r2+512], 7; cp.async.ca.shared.global [%r2], [%in], 4; cp.async.commit_group;
        cp.async.ca.shared.global [%r2+512], [%in+256], 4; cp.async.commit_group; cp.async.wait_group 1;
        ld.shared.u32 %r3, [%r2]; ld.shared.u32 %r4, [%r2+512]; mad.lo.u32 %r3, %r3, 100000, %r4; st.global.u32 [%out], %r3;";
    let seen = run_90(&body, launch(1, 64)).unwrap();
    let expected: Vec<u32> = (0..64)
        .map(|thread| (1000 + thread) * 100_000 + 7)
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn what_the_source_lacks_is_zero() {
    let store = "mov.u32 %r9, data; shl.b32 %r2, %t, 4; add.u32 %r2, %r2, %r9; mul.wide.u32 %rd1, %t, 12; add.u64 %rd1, %in, %rd1;
        st.shared.u32 [%r2+8], 7;";
    let read = "cp.async.wait_all; ld.shared.u32 %r3, [%r2]; ld.shared.u32 %r4, [%r2+8]; mad.lo.u32 %r3, %r4, 10000, %r3; st.global.u32 [%out], %r3;";
    let first = |thread: u32| 1000 + 4 * thread;
    for (copy, last) in [("16, 8", 0), ("16, 12", 1), ("16", 1)] {
        let body =
            format!("{store} cp.async.cg.shared.global.L2::128B [%r2], [%rd1], {copy}; {read}");
        let seen = run_90(&body, launch(1, 4)).unwrap();
        let expected: Vec<u32> = (0..4)
            .map(|thread| first(thread) + last * 10_000 * (first(thread) + 2))
            .collect();
        assert_eq!(seen, expected, "{copy}");
    }
    let ignored = format!(
        "{store} setp.gt.u32 %p0, %t, 1; cp.async.cg.shared.global [%r2], [%rd1], 16, %p0; {read}"
    );
    let seen = run_90(&ignored, launch(1, 4)).unwrap();
    assert_eq!(seen, [10_021_000, 10_061_004, 0, 0]);
}

const INIT: &str = "mov.u32 %r8, bar; setp.ne.u32 %p0, %t, 0; @%p0 bra ready; mbarrier.init.shared.b64 [%r8], COUNT;
    ready: bar.sync 0;";

/// Each thread's arrival comes with its copies; without `.noinc` the object need not count it.
#[test]
fn copies_arrive_at_an_mbarrier_object() {
    let wait = "wait: mbarrier.try_wait.parity.shared.b64 %p1, [%r8], 0; @!%p1 bra wait;";
    let read = "xor.b32 %r4, %t, 63; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r9; ld.shared.u32 %r3, [%r4]; st.global.u32 [%out], %r3;";
    let copy = "cp.async.ca.shared.global [%r2], [%in], 4;";
    let swapped: Vec<u32> = (0..64).map(|thread| 1000 + (thread ^ 63)).collect();
    let init = INIT.replace("COUNT", "64");
    for arrive in [
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r8];",
        "cp.async.mbarrier.arrive.shared.b64 [%r8]; mbarrier.arrive.shared.b64 _, [%r8];",
    ] {
        let body = format!("{PLACE}{init}{copy}{arrive}{wait}{read}");
        assert_eq!(run_90(&body, launch(1, 64)).unwrap(), swapped, "{arrive}");
        let careless = format!("{PLACE}{init}{copy}{arrive}{read}");
        assert_eq!(
            run_90(&careless, launch(1, 64)).unwrap(),
            [7; 64],
            "{arrive}"
        );
        let by_groups =
            format!("{PLACE}{init}{copy}{arrive} cp.async.wait_all; bar.sync 0; {read}");
        assert_eq!(
            run_90(&by_groups, launch(1, 64)).unwrap(),
            swapped,
            "{arrive}"
        );
    }
}

/// One thread brings a tile and announces its bytes; all wait for them.
#[test]
fn a_bulk_copy_completes_the_bytes_that_are_expected() {
    let copy = INIT.replace("COUNT", "1")
        + "@%p0 bra wait; mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 256;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%in], 256, [%r8];";
    let read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%out], %r3;";
    let waiting = format!(
        "{PLACE}{copy} wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r8], 0; @!%p1 bra wait; {read}"
    );
    assert_eq!(run_90(&waiting, launch(1, 64)).unwrap(), expected(64));
    let careless = format!("{PLACE}{copy} wait: bar.sync 0; {read}");
    assert_eq!(run_90(&careless, launch(1, 64)).unwrap(), [7; 64]);
}

/// From shared memory to global memory: the source is read when the thread waits, or when the block ends.
#[test]
fn a_bulk_store_reads_its_source_late() {
    let start = PLACE.to_owned()
        + "add.u32 %r3, %t, 50; st.shared.u32 [%r2], %r3; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p0, %t, 0; @%p0 bra end;
        cp.async.bulk.global.shared::cta.bulk_group [%out], [%r9], 256; cp.async.bulk.commit_group;";
    let stored: Vec<u32> = (50..114).collect();
    let mut spoilt = stored.clone();
    spoilt[0] = 9;
    for (rest, expected) in [
        ("", &stored),
        (
            "cp.async.bulk.wait_group.read 0; st.shared.u32 [%r9], 9;",
            &stored,
        ),
        (
            "cp.async.bulk.wait_group 0; st.shared.u32 [%r9], 9;",
            &stored,
        ),
        (
            "st.shared.u32 [%r9], 9; cp.async.bulk.wait_group 0;",
            &spoilt,
        ),
    ] {
        let seen = run_90(&format!("{start}{rest} end:"), launch(1, 64)).unwrap();
        assert_eq!(&seen, expected, "{rest}");
    }
}

/// One block brings the same tile to all blocks of the cluster.
#[test]
fn a_multicast_reaches_all_blocks() {
    let body = PLACE.to_owned()
        + &INIT.replace("COUNT", "1")
        + "@!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 64; barrier.cluster.arrive; barrier.cluster.wait;
        mov.u32 %r4, %cluster_ctarank; or.b32 %r4, %r4, %t; setp.ne.u32 %p1, %r4, 0; @%p1 bra wait; mov.b16 %rs0, 7;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r9], [%in], 64, [%r8], %rs0;
        wait: mbarrier.try_wait.parity.shared.b64 %p1, [%r8], 0; @!%p1 bra wait;
        ld.shared.u32 %r3, [%r2]; st.global.u32 [%out], %r3; barrier.cluster.arrive; barrier.cluster.wait;";
    let body = format!(".reg .b16 %rs<2>; {body}");
    let launch = TestLaunch {
        cluster: Some([3, 1, 1]),
        ..launch(3, 16)
    };
    assert_eq!(run_90(&body, launch).unwrap(), expected(16).repeat(3));
}

/// A block writes into its neighbour's shared memory and arrives at the object there.
#[test]
fn a_bulk_copy_goes_from_block_to_block() {
    let body = PLACE.to_owned()
        + &INIT.replace("COUNT", "1")
        + "ld.global.u32 %r3, [%in]; st.shared.u32 [%r2+1024], %r3; @!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 64;
        fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait; @%p0 bra wait;
        mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1; mapa.shared::cluster.u32 %r5, %r9, %r4; mapa.shared::cluster.u32 %r6, %r8, %r4;
        add.u32 %r7, %r9, 1024; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r7], 64, [%r6];
        wait: mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [%r8], 0; @!%p1 bra wait;
        ld.shared.u32 %r3, [%r2]; st.global.u32 [%out], %r3; barrier.cluster.arrive; barrier.cluster.wait;";
    let launch = TestLaunch {
        cluster: Some([2, 1, 1]),
        ..launch(2, 16)
    };
    let expected: Vec<u32> = (0..32).map(|index| 1000 + (index ^ 16)).collect();
    assert_eq!(run_90(&body, launch).unwrap(), expected);
}

#[test]
fn a_copy_is_checked_when_it_is_issued() {
    let fault = |body: &str| run_90(&format!("{PLACE}{body}"), launch(1, 32)).unwrap_err();
    let far = "add.u64 %rd1, %in, 1048576; cp.async.ca.shared.global [%r2], [%rd1], 4;";
    assert!(matches!(fault(far), Fault::IllegalAddress { .. }));
    let misaligned = "cp.async.cg.shared.global [%r2], [%in], 16;";
    assert!(matches!(
        fault(misaligned),
        Fault::Misaligned { bytes: 16, .. }
    ));
    let init = "mov.u32 %r8, bar; mbarrier.init.shared.b64 [%r8], 1;";
    let bulk = |bytes: &str, to: &str| {
        format!(
            "{init} cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [%in], {bytes}, [%r8];"
        )
    };
    assert!(
        matches!(fault(&bulk("40", "%r9")), Fault::IllegalInstruction { message, .. } if message.contains("40"))
    );
    assert!(matches!(
        fault(&bulk("16", "%r9+8")),
        Fault::Misaligned { .. }
    ));
    assert!(matches!(
        fault(&bulk("8192", "%r9")),
        Fault::IllegalAddress { .. }
    ));
}

#[test]
fn copies_that_are_not_implemented_are_refused_at_load() {
    for copy in [
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%r9], 16;",
        "cp.async.bulk.shared::cta.global.bulk_group [%r9], [%in], 16;",
        "cp.async.ca.shared.global [%r9], [%in], 12;",
        "cp.async.ca.global.shared [%in], [%r9], 4;",
    ] {
        let text = kernel(DECLARATIONS, copy);
        assert!(load(&text).is_err(), "{copy}");
    }
}

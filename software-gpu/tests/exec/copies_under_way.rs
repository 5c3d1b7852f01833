//! Asynchronous copies that are touched before they are waited for, and bulk copies that miss what threads have stored.

use crate::exec_support::*;
use software_gpu::exec::{Missing, SharedRace};

/// `%r2` is the thread's own word in `data`, which starts at `%r9`; `%r3` that of the thread one warp further.
const PLACE: &str = "mov.u32 %r9, data; shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r9; add.u32 %r3, %t, 32; and.b32 %r3, %r3, 63;
    shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r9;";
const INIT: &str =
    "mov.u32 %r8, bar; setp.ne.u32 %p0, %t, 0; @%p0 bra ready; mbarrier.init.shared.b64 [%r8], 1;
    ready: bar.sync 0;";

fn races(body: &str) -> Vec<SharedRace> {
    let declarations = ".shared .align 128 .b8 data[4096]; .shared .align 8 .b8 bar[16];";
    let text = kernel(declarations, &format!("{PLACE}{body}"))
        .replace("6.0", "8.6")
        .replace("sm_70", "sm_90");
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let [from, to] = [(); 2].map(|()| device.upload(&[0_u32; 1024]));
    let parameters = ParameterBytes::default().with(to).with(from).with(64_u32);
    let (cost, observed) = device.run_checked(&module, "test", launch(1, 64), &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed.shared_races
}

#[track_caller]
fn misses(body: &str, missing: &[Missing]) {
    let found = races(body);
    let lacks: Vec<Missing> = found.iter().map(|race| race.missing).collect();
    assert_eq!(lacks, missing, "{body}: {found:?}");
}

const COPY: &str = "cp.async.ca.shared.global [%r2], [%in], 4; cp.async.commit_group;\n";
const READ_OWN: &str = "ld.shared.u32 %r4, [%r2];\n";
const READ_OTHER: &str = "ld.shared.u32 %r4, [%r3];\n";

#[test]
fn a_thread_waits_for_its_own_copies() {
    let wait = "cp.async.wait_group 0;\n";
    misses(&format!("{COPY}{wait}{READ_OWN}"), &[]);
    misses(&format!("{COPY}{READ_OWN}{wait}"), &[Missing::WaitForGroup]);
    let one = "cp.async.wait_group 1;\n";
    misses(&format!("{COPY}{one}{READ_OWN}"), &[Missing::WaitForGroup]);
    // A barrier does not wait for copies.
    let barrier = "bar.sync 0;\n";
    misses(
        &format!("{COPY}{barrier}{READ_OWN}"),
        &[Missing::WaitForGroup],
    );
    // Nor may it store there.
    let store = "st.shared.u32 [%r2], %t;\n";
    misses(&format!("{COPY}{store}"), &[Missing::WaitForGroup]);
}

#[test]
fn other_threads_need_a_barrier_behind_the_wait() {
    let (wait, barrier) = ("cp.async.wait_all;\n", "bar.sync 0;\n");
    misses(&format!("{COPY}{wait}{barrier}{READ_OTHER}"), &[]);
    // Warp 0 has waited for its copies before warp 1 reads them.
    let second = format!("setp.lt.u32 %p2, %t, 32; @%p2 bra end;\n {READ_OTHER} end:");
    misses(
        &format!("{COPY}{barrier}{wait}{second}"),
        &[Missing::BlockBarrier],
    );
    misses(&format!("{COPY}{wait}{barrier}{second}"), &[]);
    // The next copy must wait for the threads that have read the last stage.
    let next =
        format!("{COPY}{wait}{barrier}{READ_OTHER}cp.async.ca.shared.global [%r2], [%in], 4;\n");
    misses(&format!("{next}{wait}"), &[Missing::BlockBarrier]);
    let round = next.replace(READ_OTHER, &format!("{READ_OTHER}{barrier}"));
    misses(&format!("{round}{wait}"), &[]);
}

#[test]
fn two_copies_to_one_place_race() {
    let again = "cp.async.ca.shared.global [%r2], [%in+4], 4;\n cp.async.wait_all;\n";
    misses(&format!("{COPY}{again}"), &[Missing::WaitForGroup]);
    misses(&format!("{COPY}cp.async.wait_group 0;\n{again}"), &[]);
}

#[test]
fn a_ring_of_stages_is_clean() {
    let copy = |stage: u32| {
        format!(
            "cp.async.ca.shared.global [%r2+{}], [%in], 4; cp.async.commit_group;\n",
            512 * stage
        )
    };
    let mut body = copy(0) + &copy(1);
    for round in 0..6 {
        let load = format!("ld.shared.u32 %r4, [%r3+{}];\n", 512 * (round % 3));
        let next = copy((round + 2) % 3);
        body += &format!("cp.async.wait_group 1;\n bar.sync 0;\n {load}{next}");
    }
    misses(&body, &[]);
    // With two places the copy of the next round races with threads that still read.
    let two = races(&body.replace("+1024", "+0"));
    assert!(
        two.iter().any(|race| race.missing == Missing::WaitForGroup),
        "{two:?}"
    );
}

/// Thread 0 brings 256 bytes.
const BULK_IN: &str = "@%p0 bra wait; mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%in], 256, [%r8];\n";

#[test]
fn a_barrier_of_the_block_does_not_wait_for_a_bulk_copy() {
    let wait = "wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r8], 0; @!%p1 bra wait;\n";
    misses(&format!("{INIT}{BULK_IN}{wait}{READ_OWN}"), &[]);
    misses(
        &format!("{INIT}{BULK_IN}wait: bar.sync 0;\n{READ_OWN}"),
        &[Missing::WaitForMbarrier],
    );
}

/// Thread 0 takes 256 bytes out.
const BULK_OUT: &str = "setp.ne.u32 %p0, %t, 0; @%p0 bra end;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r9], 256;\n cp.async.bulk.commit_group;\n";
const FENCE: &str = "fence.proxy.async.shared::cta;\n";

#[test]
fn the_source_of_a_bulk_copy_stays_until_it_is_read() {
    let stored = format!("st.shared.u32 [%r2], %t;\n {FENCE} bar.sync 0;\n {BULK_OUT}");
    let store = "st.shared.u32 [%r9], 9;\n";
    for wait in [
        "cp.async.bulk.wait_group.read 0;\n",
        "cp.async.bulk.wait_group 0;\n",
    ] {
        misses(&format!("{stored}{wait}{store} end:"), &[]);
        misses(
            &format!("{stored}{store}{wait} end:"),
            &[Missing::WaitForRead],
        );
        // Reading is no harm.
        misses(&format!("{stored}{READ_OWN}{wait} end:"), &[]);
        // Other threads synchronise with the one that has waited.
        let others = format!("{stored}{wait} end: BARRIER st.shared.u32 [%r3], 9;");
        misses(&others.replace("BARRIER", "bar.sync 0;\n"), &[]);
        assert!(!races(&others.replace("BARRIER", "\n")).is_empty());
    }
}

#[test]
fn what_a_bulk_copy_reads_is_fenced() {
    let stored = |before: &str, after: &str| {
        format!(
            "st.shared.u32 [%r2], %t;\n {before} bar.sync 0;\n {after}{BULK_OUT} cp.async.bulk.wait_group 0;\n end:"
        )
    };
    misses(&stored(FENCE, ""), &[]);
    misses(&stored("", FENCE), &[]);
    misses(&stored("", ""), &[Missing::ProxyFence]);
    misses(&stored("fence.acq_rel.cta;\n", ""), &[Missing::ProxyFence]);
    // The second warp's fence is missing.
    let first = format!("setp.ge.u32 %p2, %t, 32; @%p2 bra no;\n {FENCE} no:");
    misses(&stored(&first, ""), &[Missing::ProxyFence]);
}

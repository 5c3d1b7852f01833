//! Races between the blocks of a cluster in each other's shared memory.

use crate::exec_support::*;
use software_gpu::exec::{Missing, SharedRace};

/// `%r4` is the thread's word in `words`, `%r7` the same in the other block of the cluster; `%p0` in all but the first.
const PLACE: &str =
    "shl.b32 %r4, %t, 2; mov.u32 %r5, words; add.u32 %r4, %r4, %r5; mov.u32 %r6, %cluster_ctarank;
    setp.ne.u32 %p0, %r6, 0; xor.b32 %r6, %r6, 1; mapa.shared::cluster.u32 %r7, %r4, %r6;\n";
const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait;\n";
const STORE: &str = "st.shared.u32 [%r4], %t;\n";
const READ_OTHER: &str = "ld.shared::cluster.u32 %r8, [%r7];\n";

fn races(body: &str, threads: u32) -> Vec<SharedRace> {
    let declarations = ".shared .align 8 .b8 words[4096]; .shared .align 8 .b8 bar[8]; .shared .align 4 .b8 flag[4];";
    let text = kernel(declarations, &format!("{PLACE}{body}"))
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90");
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let [from, to] = [(); 2].map(|()| device.upload(&[0_u32; 4096]));
    let parameters = ParameterBytes::default().with(to).with(from).with(64_u32);
    let launch = TestLaunch {
        cluster: Some([2, 1, 1]),
        ..launch(4, threads)
    };
    let (cost, observed) = device.run_checked(&module, "test", launch, &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed.shared_races
}

#[track_caller]
fn misses(body: &str, missing: &[Missing]) {
    let found = races(body, 64);
    let lacks: Vec<Missing> = found.iter().map(|race| race.missing).collect();
    assert_eq!(lacks, missing, "{body}: {found:?}");
}

#[test]
fn a_barrier_of_the_cluster_orders_its_blocks() {
    misses(&format!("{STORE}{MEET}{READ_OTHER}{MEET}"), &[]);
    let again = format!("{STORE}{MEET}{READ_OTHER}{MEET}{STORE}{MEET}{READ_OTHER}{MEET}");
    misses(&again, &[]);
}

#[test]
fn a_barrier_of_the_block_does_not() {
    for barrier in [
        "bar.sync 0;\n",
        "",
        "bar.sync 0;\n fence.acq_rel.cluster;\n",
    ] {
        let body = format!("{STORE}{barrier}{READ_OTHER}{MEET}");
        misses(&body, &[Missing::ClusterBarrier]);
    }
}

#[test]
fn the_owner_may_not_store_before_the_others_have_read() {
    let body = |barrier: &str| format!("{STORE}{MEET}{READ_OTHER}{barrier}{STORE}{MEET}");
    misses(&body(MEET), &[]);
    misses(&body("bar.sync 0;\n"), &[Missing::ClusterBarrier]);
}

#[test]
fn a_store_to_another_block_races_with_its_reads() {
    let body = |barrier: &str| {
        format!(
            "{MEET} st.shared::cluster.u32 [%r7], 5;\n {barrier} ld.shared.u32 %r8, [%r4];\n {MEET}"
        )
    };
    misses(&body(MEET), &[]);
    misses(&body("bar.sync 0;\n"), &[Missing::ClusterBarrier]);
}

#[test]
fn atomics_of_both_blocks_do_not_race() {
    let body = format!(
        "{MEET} atom.relaxed.cluster.shared::cluster.add.u32 %r8, [%r7], 1; atom.relaxed.cluster.shared.add.u32 %r8, [%r4], 1; {MEET}"
    );
    misses(&body, &[]);
}

/// Block 1 tells block 0, which waits for an mbarrier object of its own or for a flag.
#[test]
fn what_a_block_hears_of_another_is_ordered() {
    let init = format!(
        "mov.u32 %r9, bar; mov.u32 %r12, flag; setp.ne.u32 %p1, %t, 0; @%p1 bra ready; mbarrier.init.shared.b64 [%r9], 64;
        ready: {MEET} mapa.shared::cluster.u32 %r10, %r9, 0; mapa.shared::cluster.u32 %r13, %r12, 0;"
    );
    let body = |tell: &str, hear: &str| {
        format!(
            "{init} @!%p0 bra first; st.shared::cluster.u32 [%r7], 5;\n {tell}\n bra end;
            first: {hear}\n ld.shared.u32 %r8, [%r4];\n end: {MEET}"
        )
    };
    let arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];";
    let wait = "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra wait;";
    misses(&body(arrive, wait), &[]);
    misses(&body(arrive, ""), &[Missing::ClusterBarrier]);
    let set = "fence.acq_rel.cluster; red.relaxed.cluster.shared::cluster.add.u32 [%r13], 1;";
    let poll =
        "poll: ld.relaxed.cluster.shared.u32 %r8, [%r12]; setp.ne.u32 %p3, %r8, 64; @%p3 bra poll;";
    misses(&body(set, &format!("{poll} fence.acq_rel.cluster;")), &[]);
    misses(&body(set, poll), &[Missing::ClusterBarrier]);
}

/// The largest blocks have no room for one more warp.
#[test]
fn blocks_of_1024_threads_are_not_looked_at() {
    let body = format!("{STORE}{READ_OTHER}{MEET}");
    assert_eq!(races(&body, 1024), []);
    assert_ne!(races(&body, 992), []);
}

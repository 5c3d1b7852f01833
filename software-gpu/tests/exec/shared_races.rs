//! Races in shared memory, and barriers that the threads of a warp do not reach together.

use crate::exec_support::*;
use software_gpu::exec::{Access, Missing, Observed, SharedRace};

/// Shared memory `s` of 128 words; `%s` is the thread's own word, `%u` that of the next thread, `%w` that of the
/// thread with the same lane in the next warp.
const SETUP: &str = ".reg .b64 %s, %u, %w; .shared .align 16 .b8 s[512]; mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %s, %rd1, %rd2;
    add.u32 %r1, %t, 1; and.b32 %r1, %r1, 127; mul.wide.u32 %rd2, %r1, 4; add.s64 %u, %rd1, %rd2;
    add.u32 %r1, %t, 32; and.b32 %r1, %r1, 127; mul.wide.u32 %rd2, %r1, 4; add.s64 %w, %rd1, %rd2;\n";
/// Line of the first line of a body behind [`SETUP`].
const LINE: u32 = 14;

fn observe(body: &str, blocks: u32, threads: u32) -> Observed {
    let source = kernel("", &format!("{SETUP}{body}"));
    let module = load(&source).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let out = device.upload(&vec![0_u32; (blocks * threads) as usize]);
    let parameters = ParameterBytes::default().with(out).with(out).with(0_u32);
    let (cost, observed) =
        device.run_checked(&module, "test", launch(blocks, threads), &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed
}

fn races(body: &str) -> Vec<SharedRace> {
    observe(body, 2, 128).shared_races
}

/// The lines of each race in rising order, counted from the body's first, and whether one warp is enough for it.
fn lines(body: &str) -> Vec<(u32, u32, bool)> {
    let line = |race: &SharedRace| {
        let (a, b) = (race.earlier_line - LINE, race.place.line - LINE);
        (a.min(b), a.max(b), race.missing == Missing::WarpBarrier)
    };
    races(body).iter().map(line).collect()
}

#[test]
fn a_missing_barrier_is_found_and_both_threads_named() {
    let races =
        races("st.shared.u32 [%s], %t;\nld.shared.u32 %r3, [%w]; st.global.u32 [%out], %r3;");
    let [race] = races.as_slice() else {
        panic!("one race is expected: {races:?}");
    };
    assert_eq!(
        (race.place.block, race.place.kernel.as_str()),
        ([0, 0, 0], "test")
    );
    // Warp 0 runs first and loads what warp 1 stores later.
    assert_eq!(
        (race.earlier_thread, race.earlier_line, race.earlier_access),
        ([0, 0, 0], LINE + 1, Access::Load)
    );
    assert_eq!(
        (race.place.thread, race.place.line, race.access),
        ([32, 0, 0], LINE, Access::Store)
    );
    assert_eq!((race.address, race.missing), (128, Missing::BlockBarrier));
}

#[test]
fn barriers_order_a_block() {
    let with =
        |barrier: &str| format!("st.shared.u32 [%s], %t; {barrier}\nld.shared.u32 %r3, [%w];");
    for barrier in [
        "bar.sync 0;",
        "barrier.sync 3;",
        "bar.red.popc.u32 %r5, 0, %p0;",
        "bar.sync 2, 128;",
    ] {
        assert_eq!(lines(&with(barrier)), [], "{barrier}");
    }
    assert_ne!(lines(&with("bar.warp.sync -1;")), []);
}

#[test]
fn a_barrier_before_the_next_round_is_needed_too() {
    let round = |last: &str| {
        format!("mov.u32 %r4, 0; LOOP: st.shared.u32 [%s], %r4; bar.sync 0;\nld.shared.u32 %r3, [%w]; {last}
            add.u32 %r4, %r4, 1; setp.lt.u32 %p0, %r4, 3; @%p0 bra LOOP;")
    };
    assert_eq!(lines(&round("")), [(0, 1, false)]);
    assert_eq!(lines(&round("bar.sync 0;")), []);
}

#[test]
fn named_barriers_order_those_who_take_part() {
    // Warps 0 and 1 produce for warps 2 and 3: arrive and sync on barrier 1.
    let body = |arrive: &str| {
        format!(
            "setp.ge.u32 %p0, %t, 64; @%p0 bra CONSUME; st.shared.u32 [%s], %t; {arrive} bra END;
            CONSUME: bar.sync 1, 128; sub.s64 %rd4, %s, 256; ld.shared.u32 %r3, [%rd4]; END:"
        )
    };
    assert_eq!(lines(&body("bar.arrive 1, 128;")), []);
    assert_eq!(
        lines(&body("bar.arrive 1, 128; st.shared.u32 [%s], 5;")),
        [(0, 1, false)]
    );
}

#[test]
fn a_store_comes_after_the_loads_of_both_warps() {
    // All lanes of warps 0 and 1 load one word; warp 2 stores to it and has waited for the warps that the barrier names.
    let body = |waiting: u32| {
        format!(
            "setp.ge.u32 %p0, %t, 64; @%p0 bra STORE;\nld.shared.u32 %r3, [%rd1];
            setp.ge.u32 %p1, %t, {waiting}; @%p1 bra END; bar.sync 1, {threads}; bra END;
            STORE: setp.ge.u32 %p1, %t, 96; @%p1 bra END; bar.sync 1, {threads}; st.shared.u32 [%rd1], 5; END:",
            threads = waiting + 32
        )
    };
    assert_eq!(lines(&body(64)), []);
    assert_eq!(lines(&body(32)), [(1, 3, false)]);
}

/// How the warps that have loaded say so, and how warp 0 waits for them.
#[derive(Clone, Copy, Debug)]
enum Told {
    NamedBarrier,
    Mbarrier,
}

/// All warps but the first one load; the first one stores when all have said that they did, or all but `missing`. Warps
/// with an odd number load from a line of their own and in another stretch, if `differ`.
fn stored_behind_loads(
    (load, store): (&str, &str),
    told: Told,
    differ: bool,
    (warps, missing): (u32, Option<u32>),
) -> Vec<SharedRace> {
    let loaders = 32 * (warps - 1 - u32::from(missing.is_some()));
    let (arrive, wait) = match told {
        Told::NamedBarrier => (
            format!("bar.arrive 1, {};", loaders + 32),
            format!("bar.sync 1, {};", loaders + 32),
        ),
        Told::Mbarrier => (
            "mbarrier.arrive.shared.b64 %rd5, [%m];".to_owned(),
            "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%m], 0; @!%p2 bra WAIT;".to_owned(),
        ),
    };
    let body = format!(
        ".shared .align 8 .b8 m[8]; .reg .b64 %m; mov.u64 %m, m; setp.ne.u32 %p1, %t, 0; @%p1 bra READY;
         mbarrier.init.shared.b64 [%m], {loaders};
READY:   bar.sync 0; shr.u32 %r4, %t, 5; and.b32 %r5, %t, 31; mul.wide.u32 %rd4, %r5, 4; add.s64 %rd4, %rd4, %rd1;
         setp.eq.u32 %p1, %r4, 0; @%p1 bra STORE; and.b32 %r6, %r4, {odd}; setp.ne.u32 %p1, %r6, 0; @%p1 bra ODD;
         {load} bra LOADED;
ODD:     bar.warp.sync -1;
         {load}
LOADED:  setp.eq.u32 %p1, %r4, {missing}; @%p1 bra END; {arrive} bra END;
STORE:   {wait} setp.ne.u32 %p1, %t, 0;
         {store} END:",
        odd = u32::from(differ),
        missing = missing.unwrap_or(warps),
    );
    let source = kernel("", &format!("{SETUP}{body}"))
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90");
    let module = load_module(&source);
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 1024]);
    let parameters = ParameterBytes::default().with(out).with(out).with(0_u32);
    let shape = launch(1, 32 * warps);
    let (cost, observed) = device.run_checked(&module, "test", shape, &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed.shared_races
}

fn load_module(source: &str) -> software_gpu::exec::Executable {
    load(source).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_store_comes_after_the_loads_of_all_warps() {
    let vector = "ld.shared.v4.u32 {%r7, %r8, %r9, %r10}, [%rd1];";
    let shapes = [
        ("ld.shared.u32 %r7, [%rd4];", "st.shared.u32 [%rd4], 5;"),
        (
            vector,
            "@!%p1 st.shared.v4.u32 [%rd1], {%r4, %r4, %r4, %r4};",
        ),
        (
            "ld.shared.u32 %r7, [%rd1];",
            "@!%p1 st.shared.u32 [%rd1], 5;",
        ),
    ];
    for shape in shapes {
        for told in [Told::NamedBarrier, Told::Mbarrier] {
            for (differ, warps) in [(false, 5), (true, 5), (false, 32), (true, 32)] {
                let what = format!("{shape:?} {told:?} differ: {differ}, warps: {warps}");
                let all = stored_behind_loads(shape, told, differ, (warps, None));
                assert_eq!(all, [], "{what}");
                for missing in [1, 2, 3, 4, warps - 1] {
                    let found = stored_behind_loads(shape, told, differ, (warps, Some(missing)));
                    let [race] = found.as_slice() else {
                        panic!("one race is expected: {found:?} {what}, missing: {missing}");
                    };
                    let line = LINE + 4 + 2 * u32::from(differ && missing % 2 == 1);
                    assert_eq!(
                        (
                            race.earlier_thread[0] / 32,
                            race.earlier_line,
                            race.earlier_access
                        ),
                        (missing, line, Access::Load),
                        "{what}"
                    );
                    assert_eq!(
                        (race.place.thread[0] / 32, race.place.line, race.access),
                        (0, LINE + 9, Access::Store),
                        "{what}"
                    );
                }
            }
        }
    }
}

#[test]
fn lanes_need_a_warp_barrier() {
    let with = |barrier: &str| {
        format!("setp.ge.u32 %p1, %t, 32; @%p1 bra END; st.shared.u32 [%s], %t; {barrier}
            xor.b32 %r3, %t, 1; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd4, %rd4, %rd1; ld.shared.u32 %r4, [%rd4]; END:")
    };
    assert_eq!(lines(&with("")), [(0, 1, true)]);
    assert_eq!(lines(&with("bar.warp.sync -1;")), []);
    assert_eq!(lines(&with("shfl.sync.idx.b32 %r5, %t, 0, 31, -1;")), []);
    assert_eq!(lines(&with("vote.sync.any.pred %p5, %p4, -1;")), []);
}

#[test]
fn one_store_instruction_may_agree_with_itself() {
    let store = |value: &str| {
        format!("setp.ge.u32 %p1, %t, 32; @%p1 bra END; st.shared.u32 [s], {value}; END:")
    };
    assert_eq!(lines(&store("7")), []);
    assert_eq!(lines(&store("%t")), [(0, 0, true)]);
    assert_eq!(
        lines("st.shared.u32 [s], 7;"),
        [(0, 0, false)],
        "two warps are two instructions"
    );
}

#[test]
fn atomics_do_not_conflict_with_each_other() {
    let atomics = "atom.shared.add.u32 %r3, [s], 1;";
    assert_eq!(lines(atomics), []);
    assert_eq!(
        lines(&format!("{atomics}\nld.shared.u32 %r4, [s];")),
        [(0, 1, false)]
    );
    assert_eq!(
        lines(&format!("{atomics} bar.sync 0;\nld.shared.u32 %r4, [s];")),
        []
    );
}

/// Operations of different sizes are not atomic towards each other.
#[test]
fn atomics_of_different_sizes_conflict() {
    let wide = "atom.shared.add.u64 %rd3, [s], 1;";
    for (narrow, conflicts) in [
        ("atom.shared.add.u32 %r3, [s], 1;", true),
        ("atom.shared.add.u32 %r3, [s+4], 1;", true),
        ("atom.shared.add.u32 %r3, [s+8], 1;", false),
        ("atom.shared.add.u64 %rd4, [s], 1;", false),
        ("ld.relaxed.cta.shared.u32 %r3, [s];", true),
    ] {
        let body = format!("{wide}\n{narrow}");
        assert_eq!(!lines(&body).is_empty(), conflicts, "{narrow}");
        assert_eq!(
            lines(&format!("{wide} bar.sync 0;\n{narrow}")),
            [],
            "{narrow}"
        );
    }
}

/// One thread of a warp is enough, the first as well as the last.
#[test]
fn a_barrier_that_one_thread_misses_is_reported() {
    for lane in [0, 7, 31] {
        let body = format!(
            "setp.eq.u32 %p0, %t, {lane}; @%p0 bra MISS;\nbar.sync 0; bra END; MISS: bar.sync 0; END:"
        );
        let found = observe(&body, 1, 64).divergent_barriers;
        let [barrier] = found.as_slice() else {
            panic!("one barrier is expected: {found:?}");
        };
        let one = 1_u32 << lane;
        assert!(
            [(one, !one), (!one, one)].contains(&(barrier.lanes, barrier.absent)),
            "{barrier:?}"
        );
    }
}

#[test]
fn flags_with_fences_order_threads() {
    let body = |fence: &str| {
        format!("setp.ge.u32 %p0, %t, 32; @%p0 bra READ; st.shared.u32 [%s], %t; bar.warp.sync -1; {fence}
            setp.ne.u32 %p1, %t, 0; @%p1 bra END; st.volatile.shared.u32 [s+508], 1; bra END;
            READ: setp.ge.u32 %p2, %t, 64; @%p2 bra END;
            WAIT: ld.volatile.shared.u32 %r3, [s+508]; setp.eq.u32 %p3, %r3, 0; @%p3 bra WAIT; {fence}
            sub.s64 %rd4, %s, 128; ld.shared.u32 %r4, [%rd4]; END:")
    };
    assert_eq!(lines(&body("membar.cta;")), []);
    assert_eq!(lines(&body("")), [(0, 4, false)]);
}

#[test]
fn bytes_are_distinguished() {
    let bytes = "mul.wide.u32 %rd3, %t, 1; add.s64 %rd3, %rd3, %rd1; st.shared.u8 [%rd3], %t;";
    assert_eq!(lines(bytes), []);
    assert_eq!(lines(&format!("{bytes} ld.shared.u8 %r3, [%rd3];")), []);
    assert_eq!(
        lines(&format!("{bytes}\nld.shared.u8 %r3, [%rd3+1];")),
        [(0, 1, false)]
    );
}

#[test]
fn blocks_do_not_share() {
    let body = "st.shared.u32 [%s], %t; ld.shared.u32 %r3, [%s];";
    assert_eq!(observe(body, 40, 128).shared_races, []);
}

#[test]
fn a_warp_that_reaches_a_barrier_diverged_is_reported() {
    let body = "setp.lt.u32 %p0, %t, 5; @%p0 bra LOW;\nbar.sync 0; bra END;\nLOW: bar.sync 0; END:";
    let found = observe(body, 2, 32).divergent_barriers;
    let told: Vec<_> = found
        .iter()
        .map(|one| {
            (
                one.place.line - LINE,
                one.lanes,
                one.absent,
                one.place.thread,
            )
        })
        .collect();
    assert_eq!(
        told,
        [(1, !0 << 5, 31, [5, 0, 0]), (2, 31, !0 << 5, [0, 0, 0])]
    );
    let free = body.replace("bar.sync", "barrier.sync");
    assert_eq!(observe(&free, 2, 32).divergent_barriers, []);
}

#[test]
fn threads_that_have_exited_need_not_come() {
    let body = "setp.lt.u32 %p0, %t, 5; @%p0 ret; bar.sync 0;";
    assert_eq!(observe(body, 2, 64).divergent_barriers, []);
    let body = "setp.lt.u32 %p0, %t, 5; @%p0 bra SOME; add.u32 %r3, %t, 1; SOME: bar.sync 0;";
    assert_eq!(observe(body, 2, 64).divergent_barriers, []);
}

/// Two warps and an mbarrier object: the first loads a tile by a bulk copy, the second reads it and gives it back, and
/// the first overwrites it.
fn hand_over(wait_full: &str, wait_empty: &str) -> Vec<SharedRace> {
    let wait = |name: &str, object: u32| {
        format!(
            "{name}: mbarrier.try_wait.parity.shared.b64 %p2, [%r10+{object}], 0; @!%p2 bra {name};"
        )
    };
    let wait_full = wait_full.replace("WAIT", &wait("FULL", 0));
    let wait_empty = wait_empty.replace("WAIT", &wait("EMPTY", 8));
    let body = format!(
        "mov.u32 %r10, bar; mov.u32 %r11, data; and.b32 %r12, %t, 31; setp.ne.u32 %p0, %t, 0; @%p0 bra READY;
         mbarrier.init.shared.b64 [%r10], 1; mbarrier.init.shared.b64 [%r10+8], 32;
READY:   bar.sync 0; setp.lt.u32 %p1, %t, 32; @%p1 bra FIRST;
         {wait_full}
         shl.b32 %r13, %r12, 2; add.u32 %r13, %r13, %r11; ld.shared.u32 %r3, [%r13];
         mbarrier.arrive.shared.b64 %rd3, [%r10+8]; bra.uni END;
FIRST:   @%p0 bra END;
         mbarrier.arrive.expect_tx.shared.b64 %rd3, [%r10], 128;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%in], 128, [%r10];
         {wait_empty}
         st.shared.u32 [%r11+64], 5;
END:"
    );
    let declarations = ".shared .align 16 .b8 data[128]; .shared .align 8 .b8 bar[16];";
    let source = kernel(declarations, &body)
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90");
    let module = load(&source).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let data = device.upload(&[0_u32; 64]);
    let parameters = ParameterBytes::default().with(data).with(data).with(0_u32);
    let (cost, observed) = device.run_checked(&module, "test", launch(1, 64), &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed.shared_races
}

/// Races of the body's block of 96 threads, which may end with a fault.
fn races_on_hopper(body: &str) -> (Vec<SharedRace>, Option<String>) {
    let source = kernel("", &format!("{SETUP}{body}"));
    let source = source.replace("6.0", "8.0").replace("sm_70", "sm_90");
    let module = load(&source).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 96]);
    let parameters = ParameterBytes::default().with(out).with(out).with(0_u32);
    let (cost, observed) = device.run_checked(&module, "test", launch(1, 96), &parameters);
    let fault = cost.err().map(|fault| fault.to_string());
    (observed.shared_races, fault)
}

#[test]
fn lanes_hear_of_different_mbarriers_at_once() {
    // Threads 0 and 32 store and arrive at an object each; warp 2 comes last, and waits for one with each half.
    let races = |arrive: &str| {
        races_on_hopper(&format!(
            ".shared .align 8 .b8 m[16]; .reg .b64 %m, %o; mov.u64 %m, m; setp.ne.u32 %p1, %t, 0; @%p1 bra READY;
             mbarrier.init.shared.b64 [%m], 1; mbarrier.init.shared.b64 [%m+8], 1;
READY:       bar.sync 0; setp.eq.u32 %p1, %t, 0; @%p1 bra A; setp.eq.u32 %p1, %t, 32; @%p1 bra B;
             setp.lt.u32 %p1, %t, 64; @%p1 bra END;
             and.b32 %r4, %t, 16; shr.u32 %r4, %r4, 1; cvt.u64.u32 %rd4, %r4; add.s64 %o, %m, %rd4;
WAIT:        mbarrier.try_wait.parity.shared.b64 %p2, [%o], 0; @!%p2 bra WAIT;
             ld.shared.u32 %r5, [s]; ld.shared.u32 %r5, [s+128]; bra END;
A:           st.shared.u32 [%s], 1; mbarrier.arrive.shared.b64 %rd5, [%m]; bra END;
B:           {arrive} END:"
        ))
    };
    let (store, arrive) = (
        "st.shared.u32 [%s], 1;",
        "mbarrier.arrive.shared.b64 %rd5, [%m+8];",
    );
    assert_eq!(races(&format!("{store} {arrive}")), (vec![], None));
    assert_eq!(races(&format!("{arrive} {store}")).0.len(), 1);
}

#[test]
fn lanes_before_a_fault_are_followed() {
    // Each lane of warp 1 touches what warp 0 has touched, up to lane 5, which misses shared memory.
    let races = |before: &str, instruction: &str| {
        races_on_hopper(&format!(
            "setp.ge.u32 %p1, %t, 64; @%p1 bra END; setp.lt.u32 %p1, %t, 32; @%p1 bra FIRST;
             and.b32 %r3, %t, 31; mul.wide.u32 %rd4, %r3, 16; add.s64 %rd4, %rd4, %rd1;
             setp.eq.u32 %p1, %t, 37; @%p1 add.s64 %rd4, %rd4, 65536; {instruction} bra END;
FIRST:       {before} END:"
        ))
    };
    let (load, store) = ("ld.shared.u32 %r4, [%rd4];", "st.shared.u32 [%rd4], 1;");
    let matrix = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%rd4];";
    let stored = "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd4], {%r4};";
    for (before, instruction) in [
        ("st.shared.u32 [%s], %t;", load),
        ("ld.shared.u32 %r4, [%s];", store),
        ("st.shared.u32 [%s], %t;", matrix),
        ("ld.shared.u32 %r4, [%s];", stored),
    ] {
        let (races, fault) = races(before, instruction);
        assert_eq!(races.len(), 1, "{instruction} {fault:?}");
        assert!(fault.is_some_and(|fault| fault.contains("thread (37, 0, 0)")));
    }
}

#[test]
fn mbarriers_order_threads_and_copies() {
    assert_eq!(hand_over("WAIT", "WAIT"), []);
    let early = hand_over("", "WAIT");
    assert!(!early.is_empty(), "the reader does not wait for the copy");
    let spoilt = hand_over("WAIT", "");
    assert!(
        !spoilt.is_empty(),
        "the writer does not wait for the reader"
    );
}

/// Two blocks: in the first, warp 0 reads its word and says so to an object of the second block, which says it to one of the first,
/// for which warp 1 waits before it overwrites the word.
fn through_the_neighbour(wait: &str) -> Vec<SharedRace> {
    let body = format!(
        "mov.u32 %r10, bar; mov.u32 %r11, data; setp.eq.u32 %p0, %t, 0; @!%p0 bra READY;
         mbarrier.init.shared.b64 [%r10], 1;
READY:   barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r12, %cluster_ctarank; xor.b32 %r13, %r12, 1;
         mapa.shared::cluster.u32 %r14, %r10, %r13; setp.eq.u32 %p1, %r12, 0; @!%p1 bra SECOND;
         @!%p0 bra WRITER;
         ld.shared.u32 %r3, [%r11]; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14]; bra END;
WRITER:  setp.eq.u32 %p0, %t, 32; @!%p0 bra END;
         {wait}
         st.shared.u32 [%r11], 5; bra END;
SECOND:  @!%p0 bra END;
HEARD:   mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r10], 0; @!%p2 bra HEARD;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];
END:     barrier.cluster.arrive; barrier.cluster.wait;"
    );
    let declarations = ".shared .align 16 .b8 data[128]; .shared .align 8 .b8 bar[8];";
    let source = kernel(declarations, &body)
        .replace("6.0", "8.0")
        .replace("sm_70", "sm_90");
    let module = load(&source).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let data = device.upload(&[0_u32; 64]);
    let parameters = ParameterBytes::default().with(data).with(data).with(0_u32);
    let cluster = Some([2, 1, 1]);
    let shape = TestLaunch {
        cluster,
        ..launch(2, 64)
    };
    let (cost, observed) = device.run_checked(&module, "test", shape, &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    observed.shared_races
}

#[test]
fn what_goes_through_another_block_is_in_order() {
    let wait = "TOLD: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r10], 0; @!%p2 bra TOLD;";
    assert_eq!(through_the_neighbour(wait), []);
    assert!(
        !through_the_neighbour("").is_empty(),
        "the writer does not wait"
    );
}

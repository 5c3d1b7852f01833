//! Exchange between threads: shuffles, votes, matches, reductions, atomics.

use crate::exec_support::*;

const INPUT: [u32; 32] = {
    let mut input = [0; 32];
    let mut i = 0;
    while i < 32 {
        input[i] = (i * i % 7) as u32 + 100;
        i += 1;
    }
    input
};

/// Runs `body`, which leaves its result in `%r3`, on one warp whose threads have [`INPUT`] in `%r2`.
fn warp(body: &str) -> Vec<u32> {
    let body = format!("ld.global.u32 %r2, [%in];\n{body}\nst.global.u32 [%out], %r3;");
    run("", &body, 32, &INPUT).unwrap_or_else(|fault| panic!("{fault}"))
}

fn lanes(f: impl Fn(usize) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

#[test]
fn shuffles_stay_in_their_segment() {
    let mark = "selp.u32 %r4, 1000, 0, %p0; add.u32 %r3, %r3, %r4;";
    // Segments of 8: mask 0x18 in bits 8 to 12; the clamp is the segment's end, or 0 upwards.
    let from = |mode: &str, b: u32, c: u32| {
        warp(&format!(
            "shfl.sync.{mode}.b32 %r3|%p0, %r2, {b}, {c}, -1; {mark}"
        ))
    };
    let expect = |source: &dyn Fn(usize) -> Option<usize>| {
        lanes(|lane| match source(lane) {
            Some(source) => INPUT[source] + 1000,
            None => INPUT[lane],
        })
    };
    let up = expect(&|lane| (lane % 8 >= 3).then(|| lane - 3));
    assert_eq!(from("up", 3, 0x1800), up);
    let down = expect(&|lane| (lane % 8 < 5).then(|| lane + 3));
    assert_eq!(from("down", 3, 0x181f), down);
    let butterfly = expect(&|lane| Some(lane ^ 5));
    assert_eq!(from("bfly", 5, 0x181f), butterfly);
    let index = expect(&|lane| Some(lane / 8 * 8 + 5));
    assert_eq!(from("idx", 13, 0x181f), index);
    // A clamp of 7 in one segment of 32: lanes beyond it are out of range.
    let clamped = expect(&|lane| (lane + 2 <= 7).then(|| lane + 2));
    assert_eq!(from("down", 2, 7), clamped);
}

#[test]
fn shuffles_without_sync_are_those_of_the_active_threads() {
    assert_eq!(
        warp("shfl.bfly.b32 %r3, %r2, 1, 31;"),
        lanes(|lane| INPUT[lane ^ 1])
    );
}

#[test]
fn votes() {
    let odd = "and.b32 %r4, %r2, 1; setp.eq.u32 %p0, %r4, 1;";
    let truth = "selp.u32 %r3, 1, 0, %p1;";
    let ballot = (0..32).fold(0, |mask, lane| mask | (INPUT[lane] & 1) << lane);
    assert_eq!(
        warp(&format!("{odd} vote.sync.ballot.b32 %r3, %p0, -1;")),
        [ballot; 32]
    );
    assert_eq!(
        warp(&format!("{odd} vote.ballot.b32 %r3, !%p0;")),
        [!ballot; 32]
    );
    for (mode, lanes, expected) in [
        ("all", 0..32, 0),
        ("any", 0..32, 1),
        ("uni", 0..32, 0),
        ("all", 0..0, 1),
    ] {
        let test = if lanes.is_empty() {
            "setp.ge.u32 %p0, %r2, 100;"
        } else {
            odd
        };
        assert_eq!(
            warp(&format!(
                "{test} vote.sync.{mode}.pred %p1, %p0, -1; {truth}"
            )),
            [expected; 32],
            "{mode}"
        );
    }
}

#[test]
fn groups_with_masks_of_their_own_vote_apart() {
    // Even and odd lanes.
    let body = "and.b32 %r4, %t, 1; mov.u32 %r5, 0x55555555; shl.b32 %r5, %r5, %r4;
        setp.gt.u32 %p0, %t, 7; vote.sync.ballot.b32 %r3, %p0, %r5;";
    assert_eq!(warp(body), lanes(|lane| 0x5555_5500 << (lane & 1)));
}

#[test]
fn matches() {
    let same = |lane: usize| {
        (0..32).fold(0, |mask, other| {
            mask | u32::from(INPUT[other] == INPUT[lane]) << other
        })
    };
    assert_eq!(warp("match.any.sync.b32 %r3, %r2, -1;"), lanes(same));
    assert_eq!(
        warp("cvt.u64.u32 %rd5, %r2; match.any.sync.b64 %r3, %rd5, -1;"),
        lanes(same)
    );
    let all = "selp.u32 %r4, 1, 0, %p0; add.u32 %r3, %r3, %r4;";
    assert_eq!(
        warp(&format!("match.all.sync.b32 %r3|%p0, %r2, -1; {all}")),
        [0; 32]
    );
    assert_eq!(
        warp(&format!("match.all.sync.b32 %r3|%p0, 5, -1; {all}")),
        [0; 32]
    );
    assert_eq!(warp("match.all.sync.b32 %r3|%p0, 5, -1;"), [u32::MAX; 32]);
}

#[test]
fn reductions_and_leaders() {
    assert_eq!(
        warp("redux.sync.add.u32 %r3, %r2, -1;"),
        [INPUT.iter().sum(); 32]
    );
    assert_eq!(
        warp("redux.sync.max.s32 %r3, %r2, -1;"),
        [106.min(*INPUT.iter().max().unwrap()); 32]
    );
    assert_eq!(
        warp("redux.sync.xor.b32 %r3, %r2, -1;"),
        [INPUT.iter().fold(0, |x, y| x ^ y); 32]
    );
    let elect =
        "setp.lt.u32 %p1, %t, 5; mov.u32 %r3, 0; @%p1 bra END; elect.sync %r4|%p0, 0xffffffe0;
        selp.u32 %r3, %r4, 77, %p0; END:";
    assert_eq!(
        warp(elect),
        lanes(|lane| if lane < 5 {
            0
        } else if lane == 5 {
            5
        } else {
            77
        })
    );
}

#[test]
fn warp_barriers_order_shared_memory() {
    let body = ".shared .align 4 .b8 buffer[128]; mov.u32 %r4, buffer; shl.b32 %r5, %t, 2; add.u32 %r4, %r4, %r5;
        setp.lt.u32 %p0, %t, 16; @%p0 bra LOW; st.shared.u32 [%r4], %r2; bra JOIN;
        LOW: add.u32 %r2, %r2, 1; st.shared.u32 [%r4], %r2;
        JOIN: bar.warp.sync -1; xor.b32 %r6, %r5, 64; mov.u32 %r7, buffer; add.u32 %r6, %r6, %r7; ld.shared.u32 %r3, [%r6];";
    assert_eq!(
        warp(body),
        lanes(|lane| INPUT[lane ^ 16] + u32::from(lane >= 16))
    );
}

/// Runs `body` on 64 blocks of 96 threads that share 4 words, the last of which starts as 1000.
fn shared_words(body: &str, threads: usize) -> Vec<u32> {
    let module = load(&kernel("", body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let (words, scratch) = (
        device.upload(&[0_u32, 0, 0, 1000]),
        device.upload(&[0_u32; 64 * 96]),
    );
    let parameters = ParameterBytes::default()
        .with(scratch)
        .with(words)
        .with(0_u32);
    let launch = TestLaunch {
        threads,
        ..launch(64, 96)
    };
    device
        .run(&module, "test", launch, &parameters)
        .unwrap_or_else(|fault| panic!("{fault}"));
    let mut found = device.download(words, 4);
    found.extend(device.download::<u32>(scratch, 64 * 96));
    found
}

#[test]
fn atomics_of_all_blocks() {
    let body = "ld.param.u64 %rd1, [in]; red.global.add.u32 [%rd1], 2; atom.global.add.u32 _, [%rd1+4], %t;";
    for threads in [1, 2] {
        assert_eq!(
            shared_words(body, threads)[..2],
            [2 * 64 * 96, 64 * (95 * 96 / 2)]
        );
    }
}

#[test]
fn results_of_atomics_come_in_block_order() {
    let body =
        "ld.param.u64 %rd1, [in]; atom.global.add.u32 %r3, [%rd1], 1; st.global.u32 [%out], %r3;
        atom.global.cas.b32 %r4, [%rd1+12], 1000, %i; atom.add.f32 %f1, [%rd1+8], 0f3F800000;";
    let expected: Vec<u32> = [64 * 96, 0, 6144_f32.to_bits(), 0]
        .into_iter()
        .chain(0..64 * 96)
        .collect();
    assert_eq!(shared_words(body, 1), expected);
    assert_eq!(shared_words(body, 4), expected);
}

#[test]
fn a_spin_lock_within_a_warp_makes_progress() {
    let body = "ld.param.u64 %rd1, [in];
        TRY: atom.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra TRY;
        ld.volatile.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.volatile.global.u32 [%rd1+4], %r4;
        membar.gl; atom.global.exch.b32 %r3, [%rd1], 0;";
    assert_eq!(shared_words(body, 2)[..2], [0, 64 * 96]);
}

/// As on an H100: a lane that has exited, or stands outside of the mask, gives 0. It is reported, because PTX leaves the
/// value undefined.
#[test]
fn lanes_that_do_not_take_part_give_0() {
    let shuffled = |shuffle: &str, threads: u32| {
        let body = format!(
            "add.u32 %r2, %t, 100; setp.ge.u32 %p0, %t, 8; @%p0 bra END;\n {shuffle}\n st.global.u32 [%out], %r3; END:"
        );
        let module = load(&kernel("", &body)).unwrap_or_else(|error| panic!("{error}"));
        let mut device = TestDevice::new();
        let [from, to] = [(); 2].map(|()| device.upload(&[7_u32; 64]));
        let parameters = ParameterBytes::default().with(to).with(from).with(64_u32);
        let (cost, observed) = device.run_checked(&module, "test", launch(1, threads), &parameters);
        cost.unwrap_or_else(|fault| panic!("{fault}"));
        let told: Vec<_> = observed
            .absent_sources
            .iter()
            .map(|found| (found.lanes, found.present))
            .collect();
        (device.download::<u32>(to, 8), told)
    };
    let own = |lanes: std::ops::Range<u32>| lanes.map(|lane| 100 + lane).collect::<Vec<_>>();
    for threads in [32, 8] {
        let down = shuffled("shfl.sync.down.b32 %r3, %r2, 16, 31, 0xff;", threads);
        assert_eq!(down, (vec![0; 8], vec![(0xff, 0xff)]));
        let index = shuffled("shfl.sync.idx.b32 %r3, %r2, 20, 31, 0xff;", threads);
        assert_eq!(index, (vec![0; 8], vec![(0xff, 0xff)]));
        let near = shuffled("shfl.sync.down.b32 %r3, %r2, 4, 31, 0xff;", threads);
        assert_eq!(near, ([own(4..8), vec![0; 4]].concat(), vec![(0xf0, 0xff)]));
        // A segment of 8 lanes ends before: the lanes beyond it give their own values.
        let segment = shuffled("shfl.sync.down.b32 %r3, %r2, 4, 0x1807, 0xff;", threads);
        assert_eq!(segment, ([own(4..8), own(4..8)].concat(), vec![]));
        let inside = shuffled("shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xff;", threads);
        assert_eq!(inside.1, []);
    }
}

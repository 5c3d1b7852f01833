//! Which bytes of global memory a kernel touches, compared with what it must touch.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::exec_support::*;
use proptest::prelude::*;
use software_gpu::memory::{Accesses, ByteRanges};

/// Runs the body of a [`kernel`] on two arrays of `words` words; returns their addresses and what was touched.
fn touched(body: &str, launch: TestLaunch, words: usize) -> (u64, u64, Accesses) {
    let module = load(&kernel("", body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let out = device.upload(&vec![0_u32; words]);
    let from = device.upload(&(0..words as u32).collect::<Vec<_>>());
    let parameters = ParameterBytes::default()
        .with(out)
        .with(from)
        .with(words as u32);
    let (cost, observed) = device.run_checked(&module, "test", launch, &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    (out, from, observed.accesses)
}

fn set(ranges: &[Range<u64>]) -> ByteRanges {
    ranges.iter().cloned().collect()
}

#[test]
fn a_walk_through_memory_is_one_range() {
    let body = "ld.global.u32 %r3, [%in]; st.global.u32 [%out], %r3;";
    for threads in [1, 2, 3] {
        let launch = TestLaunch {
            threads,
            ..launch(600, 96)
        };
        let (out, from, accesses) = touched(body, launch, 600 * 96);
        let bytes = 600 * 96 * 4;
        assert_eq!(accesses.reads, ByteRanges::from(from..from + bytes));
        assert_eq!(accesses.writes, ByteRanges::from(out..out + bytes));
        assert!(accesses.atomics.is_empty());
    }
}

#[test]
fn guards_and_divergence_leave_out_bytes() {
    let body = "setp.ne.u32 %p0, %t, 5; @%p0 ld.global.u32 %r3, [%in]; setp.lt.u32 %p1, %t, 40; @%p1 bra END;
        st.global.u8 [%out+1], %r3; END:";
    let (out, from, accesses) = touched(body, launch(1, 42), 42);
    assert_eq!(
        accesses.reads,
        set(&[from..from + 20, from + 24..from + 168])
    );
    assert_eq!(
        accesses.writes,
        set(&[out + 161..out + 162, out + 165..out + 166])
    );
}

#[test]
fn vectors_and_uniform_addresses_count_once() {
    let body = "ld.param.u64 %rd1, [in]; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+16]; ld.global.u8 %r7, [%rd1+40];
        ld.param.u64 %rd2, [out]; st.global.v2.u32 [%rd2+8], {%r3, %r7};";
    let (out, from, accesses) = touched(body, launch(2, 64), 32);
    assert_eq!(
        accesses.reads,
        set(&[from + 16..from + 32, from + 40..from + 41])
    );
    assert_eq!(accesses.writes, ByteRanges::from(out + 8..out + 16));
}

#[test]
fn accesses_before_and_after_the_wait_are_distinguished() {
    let body = "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
        atom.global.add.u32 %r3, [%rd2], 1; red.global.gpu.add.u32 [%rd2+4], 1; atom.global.cta.add.u32 %r3, [%rd2+8], 1;
        ld.volatile.global.u32 %r3, [%rd1]; ld.relaxed.gpu.global.u32 %r3, [%rd1+8]; ld.acquire.cta.global.u32 %r3, [%rd1+16];
        ld.weak.global.u32 %r3, [%rd1+24]; st.release.sys.global.u32 [%rd2+64], 1; st.relaxed.cluster.global.u32 [%rd2+72], 1;";
    let (out, from, accesses) = touched(body, launch(1, 64), 32);
    assert_eq!(
        accesses.atomics,
        set(&[
            out..out + 8,
            out + 64..out + 68,
            from..from + 4,
            from + 8..from + 12
        ])
    );
    assert_eq!(
        accesses.reads,
        set(&[
            out + 8..out + 12,
            from + 16..from + 20,
            from + 24..from + 28
        ])
    );
    assert_eq!(
        accesses.writes,
        set(&[out + 8..out + 12, out + 72..out + 76])
    );
}

#[test]
fn shared_local_and_parameter_memory_do_not_count() {
    let declarations = "";
    let body = ".shared .align 4 .b8 s[256]; .local .align 4 .b8 l[4]; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;
        mul.wide.u32 %rd2, %t, 4; add.s64 %rd1, %rd1, %rd2; st.u32 [%rd1], %t; ld.u32 %r3, [%rd1]; st.local.u32 [l], %r3;
        ld.local.u32 %r4, [l];";
    let module = load(&kernel(declarations, body)).unwrap_or_else(|error| panic!("{error}"));
    let device = TestDevice::new();
    let parameters = ParameterBytes::default()
        .with(0_u64)
        .with(0_u64)
        .with(0_u32);
    let (cost, observed) = device.run_checked(&module, "test", launch(2, 64), &parameters);
    cost.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(observed.accesses, Accesses::default());
}

/// One strided or gathered access of all threads: word `(i * factor + shift) ^ twist`, in a loop of `rounds` that are
/// `stride` words apart.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    factor: u32,
    shift: u32,
    twist: u32,
    rounds: u32,
    stride: u32,
    /// Bytes of the access: 1, 2 or 4.
    bytes: u32,
    /// Only threads whose index has one of these bits, or all.
    guard: Option<u32>,
    store: bool,
}

const WORDS: u32 = 1 << 13;

impl Pattern {
    fn ptx(self, label: usize) -> String {
        let Self {
            factor,
            shift,
            twist,
            rounds,
            stride,
            bytes,
            guard,
            store,
        } = self;
        let (array, bits) = (if store { "out" } else { "in" }, bytes * 8);
        let guard = guard.map_or(String::new(), |bits| {
            format!("and.b32 %r5, %i, {bits}; setp.eq.u32 %p0, %r5, 0; @%p0 bra SKIP{label};")
        });
        let access = match store {
            true => format!("st.global.u{bits} [%rd2], %r2;"),
            false => format!("ld.global.u{bits} %r6, [%rd2];"),
        };
        format!(
            "mov.u32 %r4, 0; mov.u32 %r2, 0;
            LOOP{label}: {guard} mad.lo.u32 %r3, %i, {factor}, {shift}; add.u32 %r3, %r3, %r4; xor.b32 %r3, %r3, {twist};
            and.b32 %r3, %r3, {mask}; ld.param.u64 %rd1, [{array}]; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd2, %rd1, %rd2;
            {access}
            SKIP{label}: add.u32 %r4, %r4, {stride}; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {rounds}; @%p1 bra LOOP{label};\n",
            mask = WORDS - 1,
        )
    }

    fn bytes(self, base: u64, threads: u32) -> impl Iterator<Item = u64> {
        let active = move |i: &u32| self.guard.is_none_or(|bits| i & bits != 0);
        (0..threads).filter(active).flat_map(move |i| {
            (0..self.rounds).flat_map(move |round| {
                let index = (i * self.factor + self.shift + round * self.stride) ^ self.twist;
                let address = base + u64::from(index & (WORDS - 1)) * 4;
                address..address + u64::from(self.bytes)
            })
        })
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let bytes = prop_oneof![Just(1_u32), Just(2), Just(4)];
    let factor = prop_oneof![Just(0_u32), Just(1), Just(1), 2_u32..70];
    let twist = prop_oneof![Just(0_u32), 0..WORDS];
    let guard = prop::option::of(1_u32..64);
    (
        factor,
        0..WORDS,
        twist,
        1_u32..5,
        0..3000_u32,
        bytes,
        guard,
        any::<bool>(),
    )
        .prop_map(
            |(factor, shift, twist, rounds, stride, bytes, guard, store)| Pattern {
                factor,
                shift,
                twist,
                rounds,
                stride,
                bytes,
                guard,
                store,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn accesses_are_exact_to_the_byte(
        patterns in prop::collection::vec(pattern(), 1..4),
        blocks in 1_u32..40,
        block in 1_u32..200,
        threads in 1_usize..4,
    ) {
        let body: String = patterns.iter().enumerate().map(|(label, pattern)| pattern.ptx(label)).collect();
        let launch = TestLaunch { threads, ..launch(blocks, block) };
        let (out, from, accesses) = touched(&body, launch, WORDS as usize);
        let naive = |store: bool, base: u64| {
            let all: BTreeSet<u64> = patterns
                .iter()
                .filter(|pattern| pattern.store == store)
                .flat_map(|pattern| pattern.bytes(base, blocks * block))
                .collect();
            all.into_iter().map(|byte| byte..byte + 1).collect::<ByteRanges>()
        };
        prop_assert_eq!(&accesses.reads, &naive(false, from));
        prop_assert_eq!(&accesses.writes, &naive(true, out));
        prop_assert!(accesses.atomics.is_empty());
    }
}

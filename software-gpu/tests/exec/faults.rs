//! What kernels do wrong, and that no text brings the executor down.

use crate::exec_support::*;
use proptest::prelude::*;
use software_gpu::exec::{Access, Executable, Fault};
use software_gpu::ptx;

#[test]
fn an_access_out_of_bounds_names_thread_and_allocation() {
    let module = load(&kernel("", "st.global.u32 [%out+8], %i;")).expect("is understood");
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 100]);
    let parameters = ParameterBytes::default().with(out).with(out).with(0_u32);
    let fault = device
        .run(&module, "test", launch(2, 50), &parameters)
        .expect_err("two words too far");
    let Fault::IllegalAddress {
        place,
        access,
        address,
        bytes,
        nearest,
        ..
    } = &fault
    else {
        panic!("{fault}");
    };
    assert_eq!(
        (place.kernel.as_str(), place.block, place.thread),
        ("test", [1, 0, 0], [48, 0, 0])
    );
    assert_eq!((*access, *address, *bytes), (Access::Store, out + 400, 4));
    let nearest = nearest.as_ref().expect("there is one");
    assert_eq!((nearest.base, nearest.len, nearest.distance), (out, 400, 0));
    assert!(
        fault
            .to_string()
            .contains("kernel `test`, block (1, 0, 0), thread (48, 0, 0)"),
        "{fault}"
    );
}

/// The first word of the store is the last one of the allocation.
#[test]
fn an_access_across_the_end_names_the_allocation_that_it_begins_in() {
    let module =
        load(&kernel("", "st.global.v2.u32 [%out+392], {%i, %i};")).expect("is understood");
    let mut device = TestDevice::new();
    let out = device.upload(&[0_u32; 99]);
    let parameters = ParameterBytes::default().with(out).with(out).with(0_u32);
    let fault = device
        .run(&module, "test", launch(1, 1), &parameters)
        .expect_err("a word too far");
    let text = fault.to_string();
    let expected = format!(
        "; it begins at offset 392 of an allocation of 396 bytes at {out:#x} and ends behind it"
    );
    assert!(text.ends_with(&expected), "{text}");
}

/// The fault of a kernel for one block of 64 threads.
fn fault(body: &str) -> Fault {
    run("", body, 64, &[0; 64]).expect_err("fails")
}

#[test]
fn each_misdeed_has_its_fault() {
    let misaligned = fault("ld.global.u32 %r3, [%in+2];");
    assert!(
        matches!(
            misaligned,
            Fault::Misaligned {
                access: Access::Load,
                bytes: 4,
                ..
            }
        ),
        "{misaligned}"
    );
    let null = fault("mov.u64 %rd1, 0; atom.add.u32 %r3, [%rd1], 1;");
    assert!(
        matches!(
            null,
            Fault::IllegalAddress {
                access: Access::Atomic,
                address: 0,
                ..
            }
        ),
        "{null}"
    );
    let parameter = fault(
        "ld.param.u64 %rd1, [out]; mov.u64 %rd2, out; cvta.param.u64 %rd2, %rd2; st.u64 [%rd2], %rd1;",
    );
    assert!(
        matches!(
            parameter,
            Fault::IllegalAddress {
                access: Access::Store,
                ..
            }
        ),
        "{parameter}"
    );
    let shared = fault("st.shared.u32 [%t], %t;");
    assert!(
        matches!(
            shared,
            Fault::Misaligned { .. } | Fault::IllegalAddress { .. }
        ),
        "{shared}"
    );
    let trap = fault("setp.eq.u32 %p0, %t, 37; @%p0 trap;");
    assert!(
        matches!(&trap, Fault::Trap { place } if place.thread == [37, 0, 0] && place.line == 11),
        "{trap}"
    );
    let endless = fault("LOOP: bra LOOP;");
    assert!(
        matches!(endless, Fault::InstructionBudget { .. }),
        "{endless}"
    );
    let deadlock =
        fault("setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1; bra B; A: bar.sync 2; B:");
    assert!(
        matches!(deadlock, Fault::BarrierDeadlock { waiting: 64, .. }),
        "{deadlock}"
    );
    let warp =
        fault("setp.lt.u32 %p0, %t, 5; @%p0 bra A; bar.warp.sync -1; bra B; A: bar.sync 2; B:");
    assert!(matches!(warp, Fault::BarrierDeadlock { .. }), "{warp}");
    let table = fault("l: .branchtargets A; brx.idx %t, l; A:");
    assert!(matches!(table, Fault::IllegalInstruction { .. }), "{table}");
}

#[test]
fn a_failed_assertion_is_reported() {
    let source = ".version 6.0\n.target sm_70\n.address_size 64
        .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
        .visible .entry test(.param .u64 text) { .reg .b64 %t; .reg .b32 %l; .reg .pred %p; ld.param.u64 %t, [text];
        mov.u32 %l, %tid.x; setp.ne.u32 %p, %l, 3; @%p exit; mov.u32 %l, 42;
        { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %t;
        st.param.b64 [b], %t; st.param.b32 [c], %l; st.param.b64 [d], %t; st.param.b64 [e], 1;
        call.uni __assertfail, (a, b, c, d, e); } ret; }";
    let module = load(source).expect("is understood");
    let mut device = TestDevice::new();
    let parameters = ParameterBytes::default().with(device.upload(b"x < n\0"));
    let fault = device
        .run(&module, "test", launch(1, 32), &parameters)
        .expect_err("fails");
    assert!(
        matches!(&fault, Fault::Assert { place, message }
        if place.thread == [3, 0, 0] && message == "`x < n` in x < n, x < n:42"),
        "{fault}"
    );
}

#[test]
fn the_lowest_block_that_fails_is_reported() {
    let body = "setp.ge.u32 %p0, %r0, 5; @%p0 trap;";
    for threads in [1, 2, 4] {
        let launch = TestLaunch {
            threads,
            ..launch(64, 32)
        };
        let fault = run_as("", body, launch, &[0; 64 * 32]).expect_err("fails");
        assert!(
            matches!(&fault, Fault::Trap { place } if place.block == [5, 0, 0]),
            "{fault}"
        );
    }
}

#[test]
fn impossible_launches_are_refused() {
    for (blocks, threads) in [(0, 32), (1, 0), (1, 1025)] {
        let fault = run_as("", "", launch(blocks, threads), &[0; 4]).expect_err("impossible");
        assert!(matches!(fault, Fault::InvalidLaunch { .. }), "{fault}");
    }
}

#[test]
fn what_is_not_implemented_is_refused_with_its_line() {
    for (body, what) in [
        ("mov.b128 %rd1, %rd2;", "b128"),
        ("ld.global.u32.L3::x %r3, [%in];", "L3::x"),
        ("atom.global.mul.u32 %r3, [%in], 1;", "operation"),
        ("wmma.fence;", "wmma"),
        ("mov.u32 %r3, %envreg0;", "%envreg0"),
        ("call printf;", "printf"),
        ("st.shared.u32 [nowhere], 1;", "nowhere"),
    ] {
        let Err(error) = load(&kernel("", body)) else {
            panic!("`{body}` is accepted");
        };
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(
            (error.line, error.function.as_deref()),
            (11, Some("test")),
            "{error}"
        );
    }
}

/// Lowers and runs any `source`.
fn survive(source: &str) {
    let Ok(module) = ptx::parse(source) else {
        return;
    };
    let Ok(executable) = Executable::new(&module, latencies(), &|_| Some(0x1_0000_0000_0000))
    else {
        return;
    };
    for kernel in executable.kernels() {
        let mut device = TestDevice::new();
        let data = device.upload(&[1.5_f32; 256]);
        let parameters = (0..=kernel.parameter_bytes() / 8)
            .fold(ParameterBytes::default(), |all, index| {
                all.with(if index % 2 == 0 { data } else { 200 })
            });
        let launch = TestLaunch {
            budget: 5000,
            ..launch(2, 96)
        };
        let _ = device.run(&executable, kernel.name(), launch, &parameters);
    }
}

const PIECES: [&str; 24] = [
    "%r1",
    "%rd1",
    "%p1",
    "%f1",
    "0",
    "-1",
    "64",
    ".u32",
    ".b64",
    ".f32",
    ".pred",
    ".shared",
    ".global",
    ".local",
    ".v4",
    "bra",
    "ret",
    "bar.sync 0",
    "shfl.sync.idx.b32",
    "{",
    "[",
    "%tid.x",
    "_",
    "@%p1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Words of the examples' PTX replaced by others, or by pieces that fit in many places.
    #[test]
    fn mutated_texts_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6)) {
        let mut words: Vec<&str> = EXAMPLES.split_inclusive([' ', '\t', '\n', ',', ';']).collect();
        for (place, by) in changes {
            let choice = by.index(words.len() + 10 * PIECES.len());
            let place = place.index(words.len());
            words[place] = match choice.checked_sub(words.len()) {
                Some(piece) => PIECES[piece % PIECES.len()],
                None => words[choice],
            };
        }
        survive(&words.concat());
    }
}

#[test]
fn a_deadlock_says_who_waits_where() {
    let text = fault(
        "setp.eq.u32 %p1, %t, 63; @%p1 exit; setp.lt.u32 %p0, %t, 32; @%p0 bra A; bar.sync 1, 64; bra B;\n A: bar.sync 2; B:",
    )
    .to_string();
    for part in [
        "deadlock: 63 threads wait",
        "32 from thread (0, 0, 0) on: waiting at barrier 2, where 32 of 63 threads have arrived, PTX line 12",
        "31 from thread (32, 0, 0) on: waiting at barrier 1, where 31 of 64 threads have arrived, PTX line 11",
        "1 have exited",
    ] {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
    let text =
        fault("setp.lt.u32 %p0, %t, 5; @%p0 bra A; bar.warp.sync -1; bra B;\n A: bar.sync 2; B:")
            .to_string();
    assert!(
        text.contains("waiting at a warp barrier for lanes 0xffffffff, PTX line 11"),
        "{text}"
    );
}

#[test]
fn an_endless_kernel_says_what_it_polls() {
    let spin = |load: &str| {
        let body = format!(
            "ld.param.u64 %rd1, [in]; setp.ge.u32 %p1, %t, 32; @%p1 bra END;\nLOOP: {load} setp.eq.u32 %p0, %r3, 0; @%p0 bra LOOP;
            END: bar.sync 0;"
        );
        // More than one turn of a warp, so that both get theirs.
        let budget = if load.starts_with("atom") {
            1 << 22
        } else {
            1 << 18
        };
        let launch = TestLaunch {
            budget,
            ..launch(1, 64)
        };
        let fault = run_as("", &body, launch, &[0; 64]).expect_err("endless");
        fault.to_string()
    };
    for load in [
        "ld.volatile.global.u32 %r3, [%rd1+8];",
        "ld.relaxed.sys.u32 %r3, [%rd1+8];",
        "atom.global.or.b32 %r3, [%rd1+8], 0;",
    ] {
        let text = spin(load);
        for part in [
            "does not end",
            "polls 4 bytes at 0x1000000000008 in global memory (PTX line 12)",
            "32 from thread (0, 0, 0) on: at work, PTX line 12",
            "32 from thread (32, 0, 0) on: waiting at barrier 0, where 32 of 64 threads have arrived, PTX line 13",
            "SOFTWARE_GPU_INSTRUCTION_BUDGET",
        ] {
            assert!(text.contains(part), "`{part}` is missing: {text}");
        }
    }
    let walk = spin("ld.global.u32 %r3, [%rd1]; and.b64 %rd1, %rd1, -4;");
    assert!(
        walk.contains("does not end") && !walk.contains("polls"),
        "{walk}"
    );
}

//! Diverged threads: branches, loops, calls, and what needs all threads of a warp or a block.

use crate::exec_support::*;
use software_gpu::exec::Fault;

/// Values that make neighbouring threads take different ways.
fn mixed(n: u32) -> Vec<u32> {
    (0..n)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 20)
        .collect()
}

fn check(declarations: &str, body: &str, reference: impl Fn(u32, u32) -> u32) {
    for n in [1, 31, 32, 33, 96, 100] {
        let input = mixed(n);
        let body = format!("ld.global.u32 %r2, [%in];\n{body}\nst.global.u32 [%out], %r3;");
        let found = run(declarations, &body, n, &input).unwrap_or_else(|fault| panic!("{fault}"));
        let expected: Vec<u32> = input
            .iter()
            .enumerate()
            .map(|(i, x)| reference(i as u32, *x))
            .collect();
        assert_eq!(found, expected, "{n} threads");
    }
}

#[test]
fn nested_branches_meet_again() {
    // A ballot behind the branches sees all threads only if they have reconverged.
    let body = "and.b32 %r4, %r2, 3; setp.eq.u32 %p0, %r4, 0; setp.gt.u32 %p1, %r2, 2000;
        mov.u32 %r3, 5;
        @%p0 bra ZERO;
        @%p1 bra LARGE;
        add.u32 %r3, %r3, 1; bra.uni JOIN;
        LARGE: setp.lt.u32 %p2, %r2, 3000; @%p2 add.u32 %r3, %r3, 10; bra.uni JOIN;
        ZERO: add.u32 %r3, %r3, 100;
        JOIN: activemask.b32 %r5; popc.b32 %r5, %r5; shl.b32 %r5, %r5, 16; add.u32 %r3, %r3, %r5;";
    for n in [1, 32, 40] {
        let input = mixed(n);
        let body = format!("ld.global.u32 %r2, [%in];\n{body}\nst.global.u32 [%out], %r3;");
        let found = run("", &body, n, &input).expect("runs");
        for (i, (x, found)) in input.iter().zip(found).enumerate() {
            let warp = (n - i as u32 / 32 * 32).min(32);
            let own = match x {
                x if x & 3 == 0 => 100,
                2001..3000 => 10,
                3000.. => 0,
                _ => 1,
            };
            assert_eq!(found, 5 + own + (warp << 16), "thread {i} of {n}");
        }
    }
}

/// However often they have parted: threads take turns only as long as some do not come.
#[test]
fn threads_meet_again_every_time() {
    let body = "mov.u32 %r4, 0; mov.u32 %r3, 32; and.b32 %r6, %t, 1; setp.eq.u32 %p0, %r6, 0;
        LOOP: @%p0 bra EVEN;
        add.u32 %r6, %r6, 1; bra.uni JOIN;
        EVEN: add.u32 %r6, %r6, 2;
        JOIN: activemask.b32 %r5; popc.b32 %r5, %r5; min.u32 %r3, %r3, %r5;
        add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 10000; @%p1 bra LOOP;";
    let found = run(
        "",
        &format!("{body} st.global.u32 [%out], %r3;"),
        32,
        &[0; 32],
    );
    assert_eq!(found.expect("runs"), [32; 32]);
}

#[test]
fn loops_end_when_each_thread_is_done() {
    let body = "mov.u32 %r3, 0; and.b32 %r4, %r2, 63;
        LOOP: setp.eq.u32 %p0, %r4, 0; @%p0 bra DONE;
        sub.u32 %r4, %r4, 1; and.b32 %r5, %r4, 3; setp.eq.u32 %p1, %r5, 1; @%p1 bra LOOP;
        add.u32 %r3, %r3, %r4; setp.gt.u32 %p2, %r3, 500; @%p2 bra DONE;
        mov.u32 %r6, 0;
        INNER: add.u32 %r6, %r6, 1; setp.lt.u32 %p3, %r6, %r5; @%p3 bra INNER;
        add.u32 %r3, %r3, %r6; bra LOOP;
        DONE:";
    check("", body, |_, x| {
        let (mut sum, mut count) = (0, x & 63);
        while count != 0 {
            count -= 1;
            if count & 3 == 1 {
                continue;
            }
            sum += count;
            if sum > 500 {
                break;
            }
            sum += (count & 3).max(1);
        }
        sum
    });
}

#[test]
fn threads_that_leave_a_loop_wait_behind_it() {
    let body = "mov.u32 %r4, 0;
        LOOP: add.u32 %r4, %r4, 1; setp.le.u32 %p0, %r4, %t; @%p0 bra LOOP;
        vote.sync.ballot.b32 %r3, 1, -1;";
    let found = run(
        "",
        &format!("{body} st.global.u32 [%out], %r3;"),
        32,
        &[0; 32],
    )
    .expect("runs");
    assert_eq!(found, [u32::MAX; 32]);
}

#[test]
fn a_branch_table_takes_each_thread_its_way() {
    let body = "and.b32 %r4, %r2, 3;
        targets: .branchtargets A, B, C, B;
        brx.idx %r4, targets;
        A: mov.u32 %r3, 1; bra END;
        B: mov.u32 %r3, 2; bra END;
        C: mov.u32 %r3, 3;
        END: add.u32 %r3, %r3, 10;";
    check("", body, |_, x| [11, 12, 13, 12][x as usize & 3]);
}

#[test]
fn functions_take_arguments_and_return_values() {
    let double = ".func (.param .b32 result) twice(.param .b32 x, .param .b64 y) {
        .reg .b32 %a<3>; .reg .b64 %b; ld.param.b32 %a0, [x]; ld.param.b64 %b, [y]; cvt.u32.u64 %a1, %b;
        add.u32 %a2, %a0, %a1; add.u32 %a2, %a2, %a0; st.param.b32 [result], %a2; ret; }";
    let body = "setp.gt.u32 %p0, %r2, 1000; mov.u32 %r3, 7; @!%p0 bra SKIP;
        cvt.u64.u32 %rd5, %t;
        { .param .b32 p0; .param .b64 p1; .param .b32 r;
        st.param.b32 [p0], %r2; st.param.b64 [p1], %rd5;
        call.uni (r), twice, (p0, p1); ld.param.b32 %r3, [r]; }
        SKIP:";
    check(double, body, |i, x| if x > 1000 { 2 * x + i } else { 7 });
}

const FIBONACCI: &str = ".func (.param .b32 result) fibonacci(.param .b32 n) {
    .reg .b32 %a<6>; .reg .pred %q; ld.param.b32 %a0, [n]; mov.u32 %a1, %a0; setp.lt.u32 %q, %a0, 2; @%q bra DONE;
    { .param .b32 p; .param .b32 r; sub.u32 %a2, %a0, 1; st.param.b32 [p], %a2;
      call (r), fibonacci, (p); ld.param.b32 %a1, [r]; }
    { .param .b32 p; .param .b32 r; sub.u32 %a2, %a0, 2; st.param.b32 [p], %a2;
      call (r), fibonacci, (p); ld.param.b32 %a3, [r]; }
    add.u32 %a1, %a1, %a3;
    DONE: st.param.b32 [result], %a1; ret; }";

#[test]
fn functions_call_themselves() {
    let body = "and.b32 %r4, %r2, 7;
        { .param .b32 p; .param .b32 r; st.param.b32 [p], %r4; call (r), fibonacci, (p); ld.param.b32 %r3, [r]; }";
    check(FIBONACCI, body, |_, x| {
        [0, 1, 1, 2, 3, 5, 8, 13][x as usize & 7]
    });
}

#[test]
fn endless_recursion_is_a_stack_overflow() {
    let endless = ".func forever() { call forever; ret; }";
    let fault = run(endless, "call forever;", 32, &[0; 32]).expect_err("never returns");
    assert!(matches!(fault, Fault::StackOverflow { .. }), "{fault}");
}

#[test]
fn local_memory_is_each_threads_own() {
    let body = ".local .align 4 .b8 array[64]; mov.u64 %rd1, array; cvta.local.u64 %rd2, %rd1;
        and.b32 %r4, %t, 15; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
        st.local.u32 [%rd4], %r2; ld.u32 %r3, [%rd5]; ld.local.u32 %r5, [array+60];
        add.u32 %r3, %r3, %r5; st.u32 [%rd5], %r3; ld.local.u32 %r3, [%rd4];";
    check("", body, |i, x| if i & 15 == 15 { 2 * x } else { x });
}

#[test]
fn shared_memory_is_the_blocks_own() {
    let body = ".shared .align 4 .b8 buffer[512]; mov.u32 %r4, buffer; shl.b32 %r5, %t, 2; add.u32 %r5, %r5, %r4;
        ld.global.u32 %r2, [%in]; st.shared.u32 [%r5], %r2; bar.sync 0;
        sub.u32 %r6, %r1, %t; sub.u32 %r6, %r6, 1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r4;
        ld.shared.u32 %r3, [%r6]; st.global.u32 [%out], %r3;";
    let input: Vec<u32> = (0..384).collect();
    let expected: Vec<u32> = input
        .chunks(128)
        .flat_map(|block| block.iter().rev().copied())
        .collect();
    assert_eq!(run("", body, 128, &input).expect("runs"), expected);
}

#[test]
fn dynamic_shared_memory_lies_behind_the_static_part() {
    let body = ".shared .align 4 .b8 fixed[40]; st.shared.u32 [fixed+36], 77;
        mul.wide.u32 %rd1, %t, 4; mov.u64 %rd2, dynamic; add.s64 %rd2, %rd2, %rd1;
        st.shared.u32 [%rd2], %i; bar.sync 0; xor.b32 %r2, %t, 1; mul.wide.u32 %rd1, %r2, 4;
        mov.u64 %rd2, dynamic; add.s64 %rd2, %rd2, %rd1; ld.shared.u32 %r3, [%rd2]; ld.shared.u32 %r4, [fixed+36];
        add.u32 %r3, %r3, %r4; st.global.u32 [%out], %r3;";
    let declarations = ".extern .shared .align 16 .b8 dynamic[];";
    let launch = TestLaunch {
        dynamic_shared_bytes: 256,
        ..launch(2, 64)
    };
    let expected: Vec<u32> = (0..128).map(|i| (i ^ 1) + 77).collect();
    assert_eq!(
        run_as(declarations, body, launch, &[0; 128]).expect("runs"),
        expected
    );
    let small = TestLaunch {
        dynamic_shared_bytes: 252,
        ..launch
    };
    let fault = run_as(declarations, body, small, &[0; 128]).expect_err("too little");
    assert!(matches!(fault, Fault::IllegalAddress { .. }), "{fault}");
}

#[test]
fn barriers_take_part_of_a_block() {
    // Warps 0 and 1 synchronise at barrier 1; warps 2 and 3 produce for them and only arrive.
    let body = ".shared .align 4 .b8 buffer[256]; mov.u32 %r4, buffer; and.b32 %r5, %t, 63; shl.b32 %r5, %r5, 2;
        add.u32 %r5, %r5, %r4; mov.u32 %r3, 0; setp.ge.u32 %p0, %t, 64; @%p0 bra PRODUCE;
        bar.sync 1, 128; ld.shared.u32 %r3, [%r5]; bra END;
        PRODUCE: st.shared.u32 [%r5], %t; bar.arrive 1, 128;
        END: st.global.u32 [%out], %r3;";
    let expected: Vec<u32> = (0..128).map(|i| if i < 64 { i + 64 } else { 0 }).collect();
    assert_eq!(run("", body, 128, &[0; 128]).expect("runs"), expected);
}

#[test]
fn barriers_count_votes() {
    let body = "setp.lt.u32 %p0, %t, 40; bar.red.popc.u32 %r3, 0, %p0;
        bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 0, !%p0;
        selp.u32 %r4, 1000, 0, %p1; selp.u32 %r5, 100000, 0, %p2;
        add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; st.global.u32 [%out], %r3;";
    assert_eq!(run("", body, 96, &[0; 96]).expect("runs"), [100_040; 96]);
    assert_eq!(run("", body, 40, &[0; 40]).expect("runs"), [1_040; 40]);
}

#[test]
fn threads_that_have_exited_are_not_waited_for() {
    let body = "setp.gt.u32 %p0, %t, 70; @%p0 exit; bar.sync 0; st.global.u32 [%out], 1;";
    let expected: Vec<u32> = (0..96).map(|i| u32::from(i <= 70)).collect();
    assert_eq!(run("", body, 96, &[0; 96]).expect("runs"), expected);
}

#[test]
fn a_thread_may_wait_for_another_of_its_warp() {
    // Lane 0 waits for lane 1, which comes later in the text.
    let body = ".shared .align 4 .b8 flag[4]; setp.eq.u32 %p0, %t, 0; @!%p0 bra SET;
        WAIT: ld.volatile.shared.u32 %r4, [flag]; setp.eq.u32 %p1, %r4, 0; @%p1 bra WAIT; bra END;
        SET: mov.u32 %r4, 9; st.volatile.shared.u32 [flag], %r4;
        END: st.global.u32 [%out], %r4;";
    assert_eq!(run("", body, 32, &[0; 32]).expect("ends"), [9; 32]);
}

/// All threads reconverge after each of them has had the lock, and no thread waits as long for the next one as for the first.
#[test]
fn threads_may_take_a_lock_again_and_again() {
    let body = "st.volatile.shared.u32 [lock], 0; st.volatile.shared.u32 [total], 0; mov.u32 %r5, 0; bar.warp.sync -1;
        NEXT: add.u32 %r5, %r5, 1;
        TRY: atom.shared.cas.b32 %r3, [lock], 0, 1; setp.ne.u32 %p0, %r3, 0; @%p0 bra TRY;
        ld.volatile.shared.u32 %r4, [total]; add.u32 %r4, %r4, 1; st.volatile.shared.u32 [total], %r4;
        membar.cta; atom.shared.exch.b32 %r3, [lock], 0; bar.warp.sync -1;
        setp.lt.u32 %p0, %r5, 400; @%p0 bra NEXT;
        ld.volatile.shared.u32 %r4, [total]; st.global.u32 [%out], %r4;";
    let shared = ".shared .u32 lock; .shared .u32 total;";
    let found = run(shared, body, 32, &[0; 32]);
    assert_eq!(found.expect("ends"), [400 * 32; 32]);
}

/// While it waits, some of its threads diverge and reconverge in a function: the warp does not wait for that.
#[test]
fn a_thread_may_call_functions_while_it_waits_for_another_of_its_warp() {
    let declarations = ".shared .u32 flag;
        .func (.param .u32 o) part(.param .u32 i) { .reg .pred %q; .reg .u32 %x, %y;
        ld.param.u32 %x, [i]; and.b32 %y, %x, 1; setp.eq.u32 %q, %y, 0; @%q bra EVEN;
        add.u32 %x, %x, 1; bra.uni END;
        EVEN: add.u32 %x, %x, 2;
        END: st.param.u32 [o], %x; ret; }";
    let body = "st.volatile.shared.u32 [flag], 0; bar.warp.sync -1; setp.eq.u32 %p0, %t, 5; @%p0 bra TELL;
        WAIT: { .param .u32 i; .param .u32 o; st.param.u32 [i], %t; call (o), part, (i); ld.param.u32 %r3, [o]; }
        ld.volatile.shared.u32 %r4, [flag]; setp.eq.u32 %p1, %r4, 0; @%p1 bra WAIT; bra.uni END;
        TELL: mov.u32 %r3, 7; st.volatile.shared.u32 [flag], 1;
        END: st.global.u32 [%out], %r3;";
    let found = run(declarations, body, 32, &[0; 32]).expect("runs");
    for (thread, found) in (0..32).zip(found) {
        let own = if thread % 2 == 0 { 2 } else { 1 };
        assert_eq!(found, if thread == 5 { 7 } else { thread + own });
    }
}

#[test]
fn clocks_advance() {
    let body = "mov.u64 %rd1, %clock64; LOOP: mov.u64 %rd2, %clock64; sub.s64 %rd3, %rd2, %rd1;
        setp.lt.u64 %p0, %rd3, 5000; @%p0 bra LOOP; nanosleep.u32 1000; mov.u64 %rd4, %clock64;
        sub.s64 %rd4, %rd4, %rd2; cvt.u32.u64 %r3, %rd4; st.global.u32 [%out], %r3;";
    let found = run("", body, 32, &[0; 32]).expect("ends");
    assert!((1980..2100).contains(&found[0]), "{found:?}");
}

/// The longest request of a lane, but at most a millisecond.
#[test]
fn a_sleep_has_a_bound() {
    let sleeps = |nanoseconds: &str| {
        let body = format!(
            "mul.lo.u32 %r1, %t, {nanoseconds}; mov.u64 %rd1, %clock64; nanosleep.u32 %r1; mov.u64 %rd2, %clock64;
            sub.s64 %rd2, %rd2, %rd1; cvt.u32.u64 %r3, %rd2; st.global.u32 [%out], %r3;"
        );
        run("", &body, 32, &[0; 32]).expect("ends")[0]
    };
    // 31 times as long, at 1.98 GHz.
    for (nanoseconds, expected) in [
        ("1000", 61_380),
        ("30000", 1_841_400),
        ("100000", 1_980_000),
        ("0x8000000", 1_980_000),
    ] {
        let found = sleeps(nanoseconds);
        assert!(
            (expected..expected + 100).contains(&found),
            "{nanoseconds}: {found}"
        );
    }
}

//! When a warp's instructions issue: what the compiler can put side by side, and what holds a warp up.

use crate::exec_support::*;

/// Cycles of one block of `threads` threads that runs `body`.
fn cycles(declarations: &str, body: &str, threads: u32) -> f64 {
    let module = load(&kernel(declarations, body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let words = device.upload(&[0_u32; 32 << 10]);
    let to = device.upload(&[0_u32; 1024]);
    let parameters = ParameterBytes::default().with(to).with(words).with(1_u32);
    let cost = device.run(&module, "test", launch(1, threads), &parameters);
    cost.unwrap().runs[0].1.latency_cycles
}

/// Multiply-adds that wait for each other.
fn chain(register: &str) -> String {
    format!("fma.rn.f32 {register}, {register}, {register}, {register};").repeat(16)
}

#[test]
fn chains_that_do_not_depend_on_each_other_run_side_by_side() {
    let [one, other] = ["%f1", "%f2"].map(chain);
    let alone = cycles("", &one, 32);
    let both = cycles("", &format!("{one}{other}"), 32);
    let longer = cycles("", &format!("{one}{one}"), 32);
    assert_eq!(longer - alone, 16.0 * 4.0);
    // The first instruction of the second chain issues behind the last one of the first.
    assert!(both - alone <= 16.0, "{alone} {both}");
}

#[test]
fn the_first_use_of_what_was_loaded_holds_up_all_behind_it() {
    let [load, more] = ["%f1, [%in]", "%f2, [%in+4096]"].map(|l| format!("ld.global.f32 {l};"));
    let [using, using_more] = ["%f1", "%f2"].map(|f| format!("add.f32 {f}, {f}, {f};"));
    let together = cycles("", &format!("{load}{more}{using}{using_more}"), 32);
    let apart = cycles("", &format!("{load}{using}{more}{using_more}"), 32);
    assert_eq!(apart - together, 850.0);
    // A new name is no use: the two are under way together.
    let renamed = format!("{load} mov.f32 %f3, %f1; {more} add.f32 %f3, %f3, %f2;");
    assert!(cycles("", &renamed, 32) < together + 10.0);
    let renamed = format!("{load} mov.f32 %f3, %f1; add.f32 %f3, %f3, %f3; {more}{using_more}");
    assert!(cycles("", &renamed, 32) > together + 800.0);
}

#[test]
fn a_clock_is_read_behind_what_comes_before_it() {
    let body = format!(
        "mov.u32 %r2, %clock; {} mov.u32 %r3, %clock; sub.u32 %r4, %r3, %r2; st.global.u32 [%out], %r4;",
        chain("%f1")
    );
    let found = run("", &body, 1, &[0]).unwrap();
    // The last one has issued, and its result is not waited for.
    assert_eq!(found, [15 * 4 + 2]);
}

#[test]
fn a_branch_comes_behind_what_is_before_it() {
    let body = |rounds: u32| {
        format!(
            "mov.u32 %r2, 0; again: {} add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, {rounds}; @%p0 bra again;",
            chain("%f1")
        )
    };
    let ten = cycles("", &body(20), 32) - cycles("", &body(10), 32);
    // Ten cycles, and fourteen more because it leads back.
    assert_eq!(ten, 10.0 * (15.0 * 4.0 + 1.0 + 24.0));
}

#[test]
fn a_jump_alone_is_left_out() {
    let chain = chain("%f1");
    let jump =
        "setp.eq.u32 %p0, %r2, 7; @%p0 bra more; bra.uni end; more: add.u32 %r2, %r2, 1; end:";
    let branch = "setp.eq.u32 %p0, %r2, 7; @!%p0 bra end; add.u32 %r2, %r2, 1; end:";
    let with = |what: &str| cycles("", &format!("mov.u32 %r2, %n; {chain} {what} {chain}"), 32);
    assert_eq!(with(jump), with(branch));
}

/// Two warps load a KiB each time for two others, 16 cycles of the memory port and 8 of shared memory, or a quarter of that.
#[test]
fn a_warp_that_hands_over_what_it_has_loaded_is_busy_while_it_passes() {
    let fetches = [
        "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2]; st.shared.v4.u32 [%r6], {%r2, %r3, %r4, %r5};",
        "ld.global.u32 %r2, [%in]; st.shared.u32 [%r6], %r2;",
    ];
    // A barrier for each time.
    let each = |step: &str| -> String {
        (1..9)
            .map(|time| step.replace('#', &time.to_string()))
            .collect()
    };
    let more = |handed_over: &str, taken: &str| {
        let [all, little] = fetches.map(|fetch| {
            let body = format!(
                "mul.wide.u32 %rd2, %t, 12; add.u64 %rd2, %rd2, %in; mov.u32 %r6, tile; mad.lo.u32 %r6, %t, 16, %r6;
                setp.lt.u32 %p0, %t, 64; @%p0 bra take; {} ret; take: {}",
                each(&format!("{fetch} {handed_over}")),
                each(taken)
            );
            cycles(".shared .align 16 .b8 tile[2048];", &body, 128)
        });
        all - little
    };
    assert_eq!(more("", ""), 0.0);
    // The others end before the last time is over.
    let busy = more("bar.arrive #, 128;", "bar.sync #, 128;");
    assert!((7.0 * 18.0..=8.0 * 18.0).contains(&busy), "{busy}");
}

/// Eight warps load 4 KiB each time, and what each loads leads to what it loads next: 64 cycles of the memory port, which pass while
/// the first warps wait for their next bytes.
#[test]
fn only_simultaneous_requests_delay_a_block() {
    let round = "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2]; cvt.u64.u32 %rd3, %r2; add.u64 %rd2, %rd2, %rd3;
        add.u64 %rd2, %rd2, 4096;";
    let start = "mul.wide.u32 %rd2, %t, 12; add.u64 %rd2, %rd2, %in;";
    let body = |rounds: usize| format!("{start} {} bar.sync 0;", round.repeat(rounds));
    let [one, two, five_rounds] = [1, 2, 5].map(|rounds| cycles("", &body(rounds), 256));
    assert!(one > 850.0 + 64.0);
    assert_eq!(five_rounds - two, 3.0 * (two - one));
    assert!(two - one < 850.0 + 40.0, "{one} {two}");
    // The same in a loop, where another basic block waits.
    let in_loop = |rounds: u32| {
        format!(
            "{start} mov.u32 %r6, 0; mov.u32 %r2, 0; again: cvt.u64.u32 %rd3, %r2; add.u64 %rd2, %rd2, %rd3;
            ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd2]; add.u64 %rd2, %rd2, 4096;
            add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, {rounds}; @%p0 bra again; add.u32 %r2, %r2, 1; bar.sync 0;"
        )
    };
    let [two, five] = [2, 5].map(|rounds| cycles("", &in_loop(rounds), 256));
    assert!((five - two) / 3.0 < 850.0 + 60.0, "{two} {five}");
    // Loads that do not depend on each other are one round.
    let side_by_side: String = (0..5)
        .map(|at| {
            format!(
                "ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd2+{}];",
                4096 * at
            )
        })
        .collect();
    let all = cycles(
        "",
        &format!("{start} {side_by_side} add.u32 %r2, %r2, %r3; bar.sync 0;"),
        256,
    );
    assert!((all - one - 4.0 * 64.0).abs() < 20.0, "{one} {all}");
    // Each phase has rounds of its own.
    let first = format!("{start} {side_by_side} add.u32 %r2, %r2, %r3; bar.sync 0;");
    let phases = [1, 5].map(|rounds| {
        cycles(
            "",
            &format!("{first} {start} {} bar.sync 0;", round.repeat(rounds)),
            256,
        )
    });
    assert_eq!(phases[1] - phases[0], five_rounds - one);
}

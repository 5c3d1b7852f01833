//! The stack of a thread: limited where a kernel calls through pointers or recursively, and not where the driver can add up.

use software_gpu::exec::Fault;

use crate::exec_support;

/// What 32 threads store that load `element`, pass it on and run `body`.
fn run(declarations: &str, body: &str, element: u32) -> Result<Vec<u32>, Fault> {
    let body =
        format!("ld.global.u32 %r2, [%in]; mov.u32 %r3, %r2; {body} st.global.u32 [%out], %r3;");
    exec_support::run(declarations, &body, 32, &[element; 32])
}

/// A function whose variables take this many bytes.
fn holds(bytes: u32) -> String {
    format!(
        ".func holds() {{ .local .align 8 .b8 held[{bytes}]; .reg .b32 %a; mov.u32 %a, 1; st.local.u8 [held], %a; ret; }}"
    )
}

/// A kernel with 24 bytes of its own that calls it through a pointer, in threads whose element is not zero.
const THROUGH_POINTER: &str = ".local .align 8 .b8 own[24]; st.local.u8 [own], %r2;
    setp.eq.u32 %p0, %r2, 0; @%p0 bra DONE;
    mov.u64 %rd1, holds; prototype: .callprototype _ (); call %rd1, (), prototype;
    DONE:";

#[test]
fn a_call_through_a_pointer_fills_the_stack_to_its_last_byte() {
    assert_eq!(
        run(&holds(1000), THROUGH_POINTER, 1).expect("1024 bytes"),
        [1; 32]
    );
    let fault = run(&holds(1001), THROUGH_POINTER, 1).expect_err("1025 bytes");
    let Fault::StackLimit {
        function,
        bytes,
        limit,
        ..
    } = &fault
    else {
        panic!("{fault}");
    };
    assert_eq!((function.as_str(), *bytes, *limit), ("holds", 1025, 1024));
    let text = fault.to_string();
    for part in [
        "`holds`",
        "1025 bytes",
        "has 1024",
        "cuCtxSetLimit(CU_LIMIT_STACK_SIZE)",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn what_is_not_called_takes_no_stack() {
    assert_eq!(
        run(&holds(4000), THROUGH_POINTER, 0).expect("runs"),
        [0; 32]
    );
}

#[test]
fn a_direct_call_takes_as_much_stack_as_it_needs() {
    assert_eq!(run(&holds(4000), "call holds;", 7).expect("runs"), [7; 32]);
}

#[test]
fn each_level_of_a_recursion_takes_stack_and_gives_it_back() {
    let deep = ".func deep(.param .b32 levels) {
        .local .align 8 .b8 held[256]; .reg .b32 %a<3>; .reg .pred %q;
        ld.param.b32 %a0, [levels]; st.local.u32 [held], %a0; sub.u32 %a1, %a0, 1;
        setp.eq.u32 %q, %a1, 0; @%q bra DONE;
        { .param .b32 p; st.param.b32 [p], %a1; call deep, (p); }
        DONE: ret; }";
    let twice = "
        { .param .b32 p; st.param.b32 [p], %r2; call deep, (p); }
        { .param .b32 p; st.param.b32 [p], %r2; call deep, (p); }";
    assert_eq!(run(deep, twice, 4).expect("4 levels of 256 bytes"), [4; 32]);
    let fault = run(deep, twice, 5).expect_err("5 levels");
    assert!(
        matches!(fault, Fault::StackLimit { bytes: 1280, .. }),
        "{fault}"
    );
}

//! Kernels that do not end.

use crate::driver_support::*;

const ENDLESS: &str = ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry wait(.param .u64 flag)
{
.reg .b64 %flag; .reg .b32 %r; .reg .pred %p;
ld.param.u64 %flag, [flag];
AGAIN: ld.volatile.global.u32 %r, [%flag]; setp.eq.u32 %p, %r, 0; @%p bra AGAIN;
ret;
}";

#[test]
fn an_endless_kernel_is_stopped_after_the_budget_and_says_what_it_waits_for() {
    if !child::is_this() {
        let test = "an_endless_kernel_is_stopped_after_the_budget_and_says_what_it_waits_for";
        let budget = ("SOFTWARE_GPU_INSTRUCTION_BUDGET", &"100000" as _);
        child::passes(module_path!(), test, &[budget]);
        return;
    }
    let driver = Driver::new();
    let module = driver.module(ENDLESS).expect("loads");
    let function = driver.function(module, "wait").expect("exists");
    let flag = driver.allocate(4).expect("fits");
    driver.fill(flag, 1, 4);
    driver.launch(function, 1, 32, 0, &[&flag]).expect("starts");
    driver.synchronize().expect("the flag is set");
    driver.fill(flag, 0, 4);
    driver.launch(function, 1, 32, 0, &[&flag]).expect("starts");
    assert_eq!(driver.synchronize(), Err(702));
    let text = software_gpu::driver::last_fault().expect("the fault is recorded");
    for words in [
        "one block has executed 100000 warp instructions and does not end".to_owned(),
        format!(
            "polls 4 bytes at {flag:#x} in global memory (PTX line 8), which no other thread changes"
        ),
        "allow more with SOFTWARE_GPU_INSTRUCTION_BUDGET".to_owned(),
    ] {
        assert!(text.contains(&words), "`{words}` is missing: {text}");
    }
}

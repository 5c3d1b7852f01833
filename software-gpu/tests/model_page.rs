//! The page about this crate, held to what the checkers say.

mod driver_support;

use driver_support::*;
use software_gpu::driver::last_fault;
use software_gpu::reports;
use software_gpu::timeline::Profile;

const PAGE: &str = include_str!("../../docs/software-gpu.md");

const SOURCE: &str = ".version 6.0
.target sm_70
.address_size 64
.visible .entry never_written(.param .u64 data) {
  .reg .b32 %i; .reg .b64 %a, %o;
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;
  ld.param.u64 %a, [data]; add.s64 %a, %a, %o;
  ld.global.u32 %i, [%a];
  st.global.u32 [%a], %i;
  ret;
}
.visible .entry no_barrier(.param .u64 data) {
  .reg .b32 %i; .reg .b64 %a, %o;
  .shared .align 4 .b8 tile[256];
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;
  mov.u64 %a, tile; add.s64 %a, %a, %o;
  st.shared.u32 [%a], %i;
  ld.shared.u32 %i, [tile + 128];
  ld.param.u64 %a, [data]; add.s64 %a, %a, %o;
  st.global.u32 [%a], %i;
  ret;
}
.visible .entry barrier_in_branch(.param .u64 data) {
  .reg .b32 %i; .reg .pred %p;
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, 5;
  @%p bar.sync 0;
  @!%p bar.sync 0;
  ret;
}
.visible .entry too_far(.param .u64 data) {
  .reg .b32 %i; .reg .b64 %a, %o;
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 16;
  ld.param.u64 %a, [data]; add.s64 %a, %a, %o;
  st.global.u32 [%a], %i;
  ret;
}
";

/// What is said first of one block of 64 threads of this kernel, given a fresh array of 256 bytes.
fn said(kernel: &str) -> String {
    let driver = Driver::new();
    let (result, reports) = reports::collect(|| {
        let module = driver.module(SOURCE).expect("loads");
        let function = driver.function(module, kernel).expect("exists");
        let data = driver.allocate(256).expect("fits");
        driver.launch(function, 1, 64, 0, &[&data]).expect("starts");
        driver.synchronize()
    });
    match (reports.as_slice(), result) {
        ([report, ..], Ok(())) => report.text.clone(),
        ([], Err(700)) => last_fault().expect("is told"),
        other => panic!("{kernel}: {other:?}"),
    }
}

#[test]
fn the_memory_checkers_reports_are_what_it_says() {
    let missing: Vec<String> = [
        "never_written",
        "no_barrier",
        "barrier_in_branch",
        "too_far",
    ]
    .map(|kernel| format!("software GPU: {}\n", said(kernel)))
    .into_iter()
    .filter(|text| !PAGE.contains(text))
    .collect();
    assert!(
        missing.is_empty(),
        "not on the page:\n{}",
        missing.join("\n")
    );
}

#[test]
fn every_profile_is_listed_with_the_source_of_its_figures() {
    for name in Profile::NAMES {
        assert!(PAGE.contains(&format!("| `{name}` |")), "{name} is missing");
    }
}

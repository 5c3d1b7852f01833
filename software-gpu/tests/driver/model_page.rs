//! The pages about this crate, compared with what its checkers, profiles and instructions are.

use crate::driver_support::*;
use software_gpu::driver::last_fault;
use software_gpu::exec::{Executable, Latencies};
use software_gpu::reports;
use software_gpu::timeline::Profile;

const REPORTS: &str = include_str!("../../../docs/software-gpu/reports.md");
const PROFILES: &str = include_str!("../../../docs/software-gpu/profiles.md");
const LIMITS: &str = include_str!("../../../docs/software-gpu/limits.md");

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

/// The first report about one block of 64 threads of this kernel, given a fresh array of 256 bytes.
fn first_report(kernel: &str) -> String {
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
        ([], Err(700)) => last_fault().expect("the fault is recorded"),
        other => panic!("{kernel}: {other:?}"),
    }
}

#[test]
fn the_memory_checkers_reports_are_what_it_says() {
    // The page has the addresses of a program's first allocations.
    if !child::is_this() {
        let test = "the_memory_checkers_reports_are_what_it_says";
        child::passes(module_path!(), test, &[]);
        return;
    }
    let missing: Vec<String> = [
        "never_written",
        "no_barrier",
        "barrier_in_branch",
        "too_far",
    ]
    .map(|kernel| format!("software GPU: {}\n", first_report(kernel)))
    .into_iter()
    .filter(|text| !REPORTS.contains(text))
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
        let row = format!("| `{name}` |");
        assert!(PROFILES.contains(&row), "{name} is missing");
    }
}

/// The rows of the table of instructions that are left out.
fn left_out() -> String {
    let (_, table) = LIMITS
        .split_once("## PTX instructions")
        .expect("is a heading");
    let rows = table.trim_start().lines();
    rows.take_while(|line| line.starts_with('|')).collect()
}

/// Every instruction of PTX ISA 9.0, by its opcode.
const INSTRUCTIONS: &str = "abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev
    brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit
    fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier
    membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux
    rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc
    suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4
    vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor";

#[test]
fn the_page_lists_exactly_the_instructions_that_are_left_out() {
    let latencies = Latencies::of(&Profile::h200());
    for opcode in INSTRUCTIONS.split_whitespace() {
        let source = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{ {opcode}.f32; ret; }}\n"
        );
        let module = software_gpu::ptx::parse(&source).expect("is an instruction as to its form");
        let executable = Executable::new(&module, latencies, &|_| None);
        let said = match &executable {
            Ok(executable) => executable.kernels()[0].refusal().map(ToString::to_string),
            Err(error) => Some(error.to_string()),
        };
        let unknown = format!("instruction `{opcode}` is not implemented");
        let is_left_out = said.is_some_and(|said| said.contains(&unknown));
        let is_listed = left_out().contains(&format!("`{opcode}`"));
        assert_eq!(is_listed, is_left_out, "{opcode}");
    }
}

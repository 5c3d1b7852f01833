//! How long tensor cores take: `wgmma` by the rate of the profile, `mma` by a rate of its own.

use std::io::Write as _;

use crate::driver_support::*;
use software_gpu::driver::profile;

/// Set in the process that models other tensor cores.
/// Multiplications in a loop's round.
const UNROLLED: usize = 8;
/// Multiplications of a warp that do not wait for each other.
const CHAINS: usize = 8;

/// A loop of multiplications of four warps whose products are not used.
fn kernel(registers: &str, multiply: &str, end: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 mem[16384];
.visible .entry multiply(.param .u32 rounds)
{{
.reg .b32 %n, %r<4>; .reg .b64 %d; .reg .pred %p; {registers}
mov.u32 %r0, mem; shr.u32 %r0, %r0, 4; cvt.u64.u32 %d, %r0; or.b64 %d, %d, 0x4000004000010000; ld.param.u32 %n, [rounds];
more:
{}
sub.u32 %n, %n, 1; setp.ne.u32 %p, %n, 0; @%p bra more;
{end}
ret;
}}\n",
        multiply.repeat(UNROLLED)
    )
}

/// `m64n64k16` by a warpgroup: 32 times `m16n8k16`.
fn wgmma() -> String {
    let sums: Vec<String> = (0..32).map(|index| format!("%f{index}")).collect();
    let multiply = format!(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{}}}, %d, %d, 1, 1, 1, 0, 0;\n",
        sums.join(", ")
    );
    let end = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
    kernel(".reg .f32 %f<32>;", &multiply, end)
}

/// `m16n8k16` by each of four warps, once in each chain.
fn mma() -> String {
    let multiply: String = (0..CHAINS)
        .map(|chain| {
            let sums: Vec<String> = (0..4).map(|index| format!("%f{}", 4 * chain + index)).collect();
            let sums = sums.join(", ");
            format!(
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{sums}}}, {{%r0, %r1, %r2, %r3}}, {{%r0, %r1}}, {{{sums}}};\n"
            )
        })
        .collect();
    kernel(".reg .f32 %f<32>;", &multiply, "")
}

/// Cycles of a round in the long run.
fn cycles(driver: &Driver, text: &str) -> f64 {
    let function = driver.kernel(text, "multiply");
    let time = |rounds: u32| {
        let [start, end] = [driver.event(), driver.event()];
        driver.record(start, LEGACY).expect("cuEventRecord");
        driver
            .launch(function, 1, 128, 0, &[&rounds])
            .expect("cuLaunchKernel");
        driver.record(end, LEGACY).expect("cuEventRecord");
        driver.synchronize().expect("runs");
        f64::from(driver.elapsed(start, end).expect("both reached")) * 1e3
    };
    let clock = f64::from(profile().expect("valid").device.clock_mhz);
    (time(1200) - time(200)) * clock / 1000.0
}

fn assert_rates() {
    let driver = Driver::new();
    let kernels = &profile().expect("valid").kernels;
    // A multiplication m16n8k16 has 4096 operations.
    let per_cycle = kernels.tensor_operations_per_cycle.value / 4096.0;
    for (text, multiplications, per_cycle) in [
        (wgmma(), 32, per_cycle),
        (mma(), 4 * CHAINS, kernels.issue_per_cycle.mma.value),
    ] {
        let expected = (UNROLLED * multiplications) as f64 / per_cycle;
        let found = cycles(&driver, &text);
        assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
    }
}

#[test]
fn tensor_cores_take_as_long_as_the_profile_says() {
    assert_rates();
    if child::is_this() {
        return;
    }
    let mut file = tempfile::Builder::new()
        .suffix(".toml")
        .tempfile()
        .expect("a file");
    let figure = "{ value = 1024.0, from = \"estimated\" }";
    write!(
        file,
        "base = \"h200\"\n[kernels]\ntensor_operations_per_cycle = {figure}\n"
    )
    .expect("is written");
    let test = "tensor_cores_take_as_long_as_the_profile_says";
    let profile: (_, &dyn AsRef<_>) = ("SOFTWARE_GPU", &file.path());
    child::passes(module_path!(), test, &[profile]);
}

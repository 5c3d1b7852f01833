//! How do matrix products keep the tensor cores busy?
//!
//! A tensor core multiplies small matrices in one instruction. One product of 1024 x 1024 is too little work for a GPU of 132
//! multiprocessors, and the link takes longer to bring its operands than the tensor cores to multiply them. This example asks
//! what streams gain when the operands come and go, what they gain when everything is there, and what the newest instructions
//! gain. Each part predicts, measures, and says whether its lesson holds on this device.

mod launches;
mod shape;
mod streams;
mod verdicts;
mod warpgroups;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

/// `mma.sync` of bf16, and `cp.async`.
const NEEDS: &[Need] = &[Need::ComputeCapability(8, 0)];
/// And copies in beside copies out.
const BOTH_WAYS: &[Need] = &[Need::ComputeCapability(8, 0), Need::CopyEngines(2)];
/// `wgmma`.
const HOPPER: &[Need] = &[Need::ComputeCapabilityAlone(9, 0)];

fn main() -> ExitCode {
    Example::new("gemm_streams", "Matrix products on tensor cores")
        .part(
            "streams",
            "What do streams gain when operands come and go?",
            &[Iterations],
            verdicts::streams::run,
        )
        .needs(BOTH_WAYS)
        .part(
            "launches",
            "What do streams gain when everything is on the device?",
            &[Iterations],
            verdicts::launches::run,
        )
        .needs(NEEDS)
        .part(
            "warpgroups",
            "What do Hopper's instructions gain?",
            &[Iterations],
            verdicts::warpgroups::run,
        )
        .needs(HOPPER)
        .main()
}

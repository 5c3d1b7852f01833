//! What do blocks gain by sharing their tiles?
//!
//! The blocks of a cluster run at the same time, on multiprocessors that are close to each other, and each reaches the shared memory
//! of the others. Where all of them need the same tile of a matrix, it can be fetched once for the cluster instead of once for each
//! block. Each part predicts, measures, and says whether its lesson holds on this device.

mod shape;
mod size;
mod streams;
mod tiles;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

/// Clusters and bulk copies.
const NEEDS: &[Need] = &[Need::ComputeCapability(9, 0)];

fn main() -> ExitCode {
    Example::new("warp_specialized_cluster", "Blocks that share their tiles")
        .part("tiles", "What does sharing a tile gain?", &[Iterations], verdicts::tiles::run)
        .needs(NEEDS)
        .part("size", "How many blocks should share?", &[Iterations], verdicts::size::run)
        .needs(NEEDS)
        .part(
            "streams",
            "What do two streams gain around such a kernel?",
            &[Iterations],
            verdicts::streams::run,
        )
        .needs(NEEDS)
        .main()
}

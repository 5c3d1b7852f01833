//! Occupancy: how many blocks of a kernel fit on a multiprocessor.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "occupancy";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(threads_limit_the_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "Blocks of 1024 threads fit as often as the multiprocessor's threads allow."),
    rule!(small_blocks_are_limited_too, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "Blocks of one warp fit no more often than the multiprocessor's limit of blocks."),
    rule!(shared_memory_limits_the_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "With dynamic shared memory fewer blocks fit, and together they do not exceed the multiprocessor's memory."),
    rule!(block_of_zero_threads_is_refused, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "A block of zero threads is refused."),
    rule!(unknown_flags_are_refused, "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        "Flags that do not exist are refused."),
    rule!(suggestion_fills_the_device, "cuOccupancyMaxPotentialBlockSize",
        "The suggested grid is the number of blocks of the suggested size that all multiprocessors hold at once."),
    rule!(suggestion_keeps_the_limit, "cuOccupancyMaxPotentialBlockSize",
        "The suggested block does not exceed the given limit."),
    rule!(suggestion_keeps_the_kernels_bound, "cuOccupancyMaxPotentialBlockSize",
        "The suggested block does not exceed .maxntid."),
    rule!(available_shared_memory_fits, "cuOccupancyAvailableDynamicSMemPerBlock",
        "With the reported available shared memory, the requested number of blocks fits."),
];

fn active(function: Handle, threads: i32, shared_bytes: usize) -> Outcome<i32> {
    out(|blocks| {
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks,
            function,
            threads,
            shared_bytes
        ))
    })
}

/// `CU_DEVICE_ATTRIBUTE_*`.
const MULTIPROCESSOR_COUNT: u32 = 16;
const MAX_THREADS_PER_MULTIPROCESSOR: u32 = 39;
const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: u32 = 81;
const MAX_BLOCKS_PER_MULTIPROCESSOR: u32 = 106;

fn threads_limit_the_blocks(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let threads = scene.attribute(MAX_THREADS_PER_MULTIPROCESSOR)?;
    same!(active(function, 1024, 0)?, threads / 1024);
    Ok(())
}

fn small_blocks_are_limited_too(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    same!(
        active(function, 32, 0)?,
        scene.attribute(MAX_BLOCKS_PER_MULTIPROCESSOR)?
    );
    Ok(())
}

fn shared_memory_limits_the_blocks(scene: &mut Scene) -> Outcome {
    const BYTES: i32 = 40 << 10;
    let function = scene.kernel("dynamic_shared")?;
    let blocks = active(function, 32, BYTES as usize)?;
    let shared = scene.attribute(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
    holds!(blocks >= 1);
    holds!(blocks * BYTES <= shared);
    holds!(blocks < active(function, 32, 0)?);
    Ok(())
}

fn block_of_zero_threads_is_refused(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let mut blocks = 0;
    gives!(
        INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, 0, 0)
    );
    Ok(())
}

fn unknown_flags_are_refused(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let mut blocks = 0;
    gives!(
        INVALID_VALUE,
        cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&mut blocks, function, 32, 0, 0x100)
    );
    Ok(())
}

fn suggestion(function: Handle, limit: i32) -> Outcome<(i32, i32)> {
    let (mut grid, mut block) = (0, 0);
    ok!(cuOccupancyMaxPotentialBlockSize(
        &mut grid, &mut block, function, 0, 0, limit
    ));
    Ok((grid, block))
}

fn suggestion_fills_the_device(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let (grid, block) = suggestion(function, 0)?;
    let blocks = active(function, block, 0)?;
    same!(grid, blocks * scene.attribute(MULTIPROCESSOR_COUNT)?);
    same!(
        blocks * block,
        scene.attribute(MAX_THREADS_PER_MULTIPROCESSOR)?
    );
    Ok(())
}

fn suggestion_keeps_the_limit(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let (_, block) = suggestion(function, 96)?;
    holds!((1..=96).contains(&block));
    Ok(())
}

fn suggestion_keeps_the_kernels_bound(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    same!(suggestion(function, 0)?.1, 64);
    Ok(())
}

fn available_shared_memory_fits(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    for blocks in [1, 2, 4] {
        let bytes: usize = out(|bytes| {
            cu!(cuOccupancyAvailableDynamicSMemPerBlock(
                bytes, function, blocks, 128
            ))
        })?;
        holds!(bytes > 0);
        ok!(cuFuncSetAttribute(function, 8, bytes as i32));
        holds!(active(function, 128, bytes)? >= blocks);
    }
    Ok(())
}

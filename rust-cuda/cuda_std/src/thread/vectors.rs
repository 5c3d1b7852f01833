//! Indices and dimensions as glam's vectors.

use super::*;

pub use glam::{UVec2, UVec3};

macro_rules! triple {
    ($($function:ident, $x:ident, $y:ident, $z:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[inline(always)]
        pub fn $function() -> UVec3 {
            UVec3 { x: $x(), y: $y(), z: $z() }
        }
    )*};
}

triple! {
    thread_idx, thread_idx_x, thread_idx_y, thread_idx_z, "The thread's index in its block (PTX `%tid`).";
    block_idx, block_idx_x, block_idx_y, block_idx_z, "The block's index in the grid (PTX `%ctaid`).";
    block_dim, block_dim_x, block_dim_y, block_dim_z, "Threads per block (PTX `%ntid`).";
    grid_dim, grid_dim_x, grid_dim_y, grid_dim_z, "Blocks in the grid (PTX `%nctaid`).";
}

/// The thread's index in a launch of two dimensions.
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2 {
        x: index_1d(),
        y: block_idx_y()
            .wrapping_mul(block_dim_y())
            .wrapping_add(thread_idx_y()),
    }
}

/// The thread's index in a launch of three dimensions.
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3 {
        x,
        y,
        z: block_idx_z()
            .wrapping_mul(block_dim_z())
            .wrapping_add(thread_idx_z()),
    }
}

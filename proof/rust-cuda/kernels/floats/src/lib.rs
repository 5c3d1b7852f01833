//! Floating-point numbers in a text: `core`'s algorithms for them are half a megabyte of PTX, so it is not committed.

use cuda_std::prelude::*;

/// Prints a line in the first thread of each block.
#[kernel]
pub unsafe fn measure(values: &[f32]) {
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x();
        println!("block {block} measures {:?} and {:.2}", values.first(), values[block as usize]);
    }
}

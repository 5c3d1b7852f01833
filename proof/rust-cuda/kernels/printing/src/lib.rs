//! What goes wrong, and what a kernel can say of it.

use cuda_std::prelude::*;

/// Prints a line in the first thread of each block.
#[kernel]
pub unsafe fn greet(values: &[u32]) {
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x();
        println!("block {block} of {} has {:04}", thread::grid_dim_x(), values[block as usize]);
    }
}

/// Reads behind the end in thread 5 of block 1.
#[kernel]
pub unsafe fn index(values: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    unsafe { *out.add(i) = values[i] };
}

#[kernel]
pub unsafe fn divide(numbers: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i + 1 < numbers.len() {
        unsafe { *out.add(i) = numbers[i] / numbers[i + 1] };
    }
}

#[kernel]
pub unsafe fn unwrap(values: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if let Some(value) = values.get(i) {
        unsafe { *out.add(i) = value.checked_sub(2).expect("values are at least 2") };
    }
}

#[kernel]
pub unsafe fn compare(values: &[u32], expected: u32) {
    let i = thread::index_1d() as usize;
    if let Some(&value) = values.get(i) {
        assert_eq!(value, expected);
    }
}

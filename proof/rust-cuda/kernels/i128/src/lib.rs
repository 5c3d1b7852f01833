mod compute;

use compute::{Results, compute};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn arithmetic(a: &[i128], b: &[i128], results: *mut Results) {
    let i = thread::index_1d() as usize;
    if i < a.len() && i < b.len() {
        unsafe { *results.add(i) = compute(a[i], b[i]) };
    }
}

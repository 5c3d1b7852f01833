//! The price of an option by simulation: `f64` and the functions of `GpuFloat`, and parameters in a struct.

use cuda_std::prelude::*;

mod path;
use path::{Contract, payoff};

/// A path for each thread.
#[kernel]
pub unsafe fn payoffs(out: *mut f64, paths: usize, contract: Contract) {
    let path = thread::index_1d() as usize;
    if path < paths {
        unsafe { *out.add(path) = payoff(&contract, path as u64) };
    }
}

//! How many blocks of a kernel a multiprocessor holds.

use std::ffi::c_void;

use crate::call::exports;
use crate::driver;
use crate::error::Error;
use crate::function::function;
use crate::launch::LaunchConfigT;

exports! {
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, kernel: *const c_void, threads: i32, shared: usize) {
        driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(kernel)?, threads, shared, 0)
    }
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, kernel: *const c_void, threads: i32, shared: usize, flags: u32
    ) {
        driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function(kernel)?, threads, shared, flags)
    }
    fn cudaOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, kernel: *const c_void, blocks: i32, threads: i32) {
        driver::cuOccupancyAvailableDynamicSMemPerBlock(bytes, function(kernel)?, blocks, threads)
    }
    fn cudaOccupancyMaxActiveClusters(clusters: *mut i32, kernel: *const c_void, config: *const LaunchConfigT) {
        let config = config.as_ref().ok_or(Error::INVALID_VALUE)?.for_driver()?;
        driver::cuOccupancyMaxActiveClusters(clusters, function(kernel)?, &config)
    }
    fn cudaOccupancyMaxPotentialClusterSize(blocks: *mut i32, kernel: *const c_void, config: *const LaunchConfigT) {
        let config = config.as_ref().ok_or(Error::INVALID_VALUE)?.for_driver()?;
        driver::cuOccupancyMaxPotentialClusterSize(blocks, function(kernel)?, &config)
    }
}

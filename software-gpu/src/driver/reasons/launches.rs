//! Launches that the device or the kernel cannot do.

use super::because;
use crate::driver::c_abi::errors::CudaError;

/// The limits of a launch.
pub(in crate::driver) enum Limit {
    /// The grid's extents.
    Grid([u32; 3], [u32; 3]),
    /// The block's extents, their limits, and the most threads of a block.
    Block([u32; 3], [u32; 3], u32),
    /// The threads of a block.
    Threads(u64, u64),
    /// The kernel demands a block of these extents (`.reqntid`).
    Required([u32; 3], [u32; 3]),
    /// The registers of the threads of a block: threads, registers of a thread, and the most threads that fit.
    Registers(u64, u32, u32),
    /// Dynamic shared memory, the most that the function may have, and the most that the device can give it.
    Shared(u32, u32, u32),
    /// The blocks of a cooperative grid, and how many fit on the device at once.
    Cooperative(u64, u64),
}

impl Limit {
    /// The error of a launch of that kernel.
    pub(in crate::driver) fn refuse(self, kernel: &str) -> CudaError {
        let (error, what, remedy) = match self {
            Self::Grid(grid, most) => (
                CudaError::InvalidValue,
                format!("a grid of {grid:?} blocks is outside of the device's limits, 1 to {most:?}"),
                "launch at least one block in each dimension, and let each thread do more where there are too many".to_owned(),
            ),
            Self::Block(block, most, threads) => (
                CudaError::InvalidValue,
                format!(
                    "a block of {block:?} threads is outside of the device's limits, 1 to {most:?} and at most {threads} together"
                ),
                format!("launch more blocks, of at most {threads} threads each"),
            ),
            Self::Threads(threads, most) => (
                CudaError::InvalidValue,
                format!("the block has {threads} threads, and at most {most} are allowed by the device and the kernel's .maxntid"),
                format!("launch blocks of at most {most} threads"),
            ),
            Self::Required(block, required) => (
                CudaError::InvalidValue,
                format!("the block is {block:?}, and the kernel was compiled for blocks of {required:?} (.reqntid)"),
                format!("launch blocks of {required:?}"),
            ),
            Self::Registers(threads, each, most) => (
                CudaError::LaunchOutOfResources,
                format!("registers limit the launch: {threads} threads with {each} registers each do not fit on a multiprocessor"),
                format!("launch blocks of at most {most} threads, or compile the kernel with fewer registers (__launch_bounds__)"),
            ),
            Self::Shared(bytes, most, of_device) => (
                CudaError::InvalidValue,
                format!(
                    "shared memory limits the launch: it requests {bytes} dynamic bytes, the function may have {most}, and the device \
                     allows at most {of_device}"
                ),
                match bytes > of_device {
                    true => format!("request at most {of_device} bytes: let a block work on a smaller tile"),
                    false => format!(
                        "request less, or raise the function's limit: \
                         cuFuncSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {bytes})"
                    ),
                },
            ),
            Self::Cooperative(blocks, room) => (
                CudaError::CooperativeLaunchTooLarge,
                format!("a cooperative grid must fit on the device at once: it has {blocks} blocks, and {room} fit"),
                format!("launch at most {room} blocks (cuOccupancyMaxActiveBlocksPerMultiprocessor), and let each do more"),
            ),
        };
        because(error, format!("kernel `{kernel}`: {what}"), remedy)
    }
}

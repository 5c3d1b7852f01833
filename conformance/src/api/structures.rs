//! Structures that calls take by pointer, laid out as in `cuda.h`.

use super::Handle;

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Where the kernel runs.
    pub stream: Handle,
    /// `attribute_count` attributes.
    pub attributes: *const LaunchAttribute,
    /// How many attributes there are.
    pub attribute_count: u32,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    /// `CUlaunchAttributeID`.
    pub id: u32,
    /// Padding of the structure.
    pub pad: u32,
    /// `CUlaunchAttributeValue`: a union of 64 bytes.
    pub value: [u32; 16],
}

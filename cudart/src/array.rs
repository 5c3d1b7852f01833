//! CUDA arrays: `cudaMallocArray` and its kin.

use std::ffi::c_void;

use crate::call::{exports, set};
use crate::driver::{self, Array3DDescriptor, Handle};
use crate::error::{Error, Result};
use crate::memory::Extent;

/// `cudaChannelFormatDesc`: bits of the channels, and their kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelFormat {
    pub(crate) bits: [i32; 4],
    pub(crate) kind: u32,
}

/// `cudaErrorInvalidChannelDescriptor`.
const INVALID_CHANNELS: Error = Error(20);

/// `cudaChannelFormatKind`.
const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;

/// Format, channels, and the kind and bits of a channel.
const FORMATS: [(u32, u32, i32); 8] = [
    (0x01, UNSIGNED, 8),
    (0x02, UNSIGNED, 16),
    (0x03, UNSIGNED, 32),
    (0x08, SIGNED, 8),
    (0x09, SIGNED, 16),
    (0x0a, SIGNED, 32),
    (0x10, FLOAT, 16),
    (0x20, FLOAT, 32),
];

impl ChannelFormat {
    /// The driver's `CUarray_format` and number of channels.
    ///
    /// # Errors
    /// `cudaErrorInvalidChannelDescriptor` for channels of different sizes, for three of them, and for kinds other than integers
    /// and floats.
    pub(crate) fn to_driver(self) -> Result<(u32, u32)> {
        let bits = self.bits[0];
        let channels = self.bits.iter().take_while(|size| **size != 0).count();
        let uniform = self.bits[..channels].iter().all(|size| *size == bits)
            && self.bits[channels..].iter().all(|size| *size == 0);
        let format = FORMATS
            .iter()
            .find(|(_, kind, size)| (*kind, *size) == (self.kind, bits));
        match (format, channels) {
            (Some((format, ..)), 1 | 2 | 4) if uniform => Ok((*format, channels as u32)),
            _ => Err(INVALID_CHANNELS),
        }
    }

    /// That of a driver's array.
    ///
    /// # Errors
    /// `cudaErrorInvalidChannelDescriptor` for a format without one.
    pub(crate) fn of_driver(format: u32, channels: u32) -> Result<Self> {
        let found = FORMATS.iter().find(|(number, ..)| *number == format);
        let (_, kind, size) = found.ok_or(INVALID_CHANNELS)?;
        let mut bits = [0; 4];
        let used = bits.iter_mut().take(channels as usize);
        used.for_each(|bits| *bits = *size);
        Ok(Self { bits, kind: *kind })
    }

    /// Bytes of an element.
    pub(crate) fn bytes(self) -> usize {
        self.bits
            .iter()
            .map(|bits| usize::try_from(*bits).unwrap_or(0))
            .sum::<usize>()
            / 8
    }
}

/// The driver's description of an array.
pub(crate) fn description(array: Handle) -> Result<Array3DDescriptor> {
    let mut descriptor = Array3DDescriptor::default();
    // SAFETY: the driver checks the handle and writes a description.
    unsafe { driver::cuArray3DGetDescriptor_v2(&mut descriptor, array) }?;
    Ok(descriptor)
}

/// Bytes of an array's element.
pub(crate) fn element_bytes(array: Handle) -> Result<usize> {
    let Array3DDescriptor {
        format, channels, ..
    } = description(array)?;
    Ok(ChannelFormat::of_driver(format, channels)?.bytes())
}

/// # Safety
/// `array` and `channels` are null or valid.
unsafe fn create(
    array: *mut Handle,
    channels: *const ChannelFormat,
    extent: Extent,
    flags: u32,
) -> Result {
    // SAFETY: the caller's promise.
    let channels = unsafe { channels.as_ref() }.ok_or(Error::INVALID_VALUE)?;
    let (format, channels) = channels.to_driver()?;
    let descriptor = Array3DDescriptor {
        width: extent.width,
        height: extent.height,
        depth: extent.depth,
        format,
        channels,
        flags,
    };
    let mut created = std::ptr::null_mut();
    // SAFETY: the driver reads a description and writes a handle; the caller's promise covers `array`.
    unsafe {
        driver::cuArray3DCreate_v2(&mut created, &descriptor)?;
        set(array, created)
    }
}

exports! {
    fn cudaMallocArray(
        array: *mut Handle, channels: *const ChannelFormat, width: usize, height: usize, flags: u32
    ) {
        create(array, channels, Extent { width, height, depth: 0 }, flags)
    }
    fn cudaMalloc3DArray(
        array: *mut Handle, channels: *const ChannelFormat, extent: Extent, flags: u32
    ) {
        create(array, channels, extent, flags)
    }
    fn cudaFreeArray(array: Handle) {
        if array.is_null() { Ok(()) } else { driver::cuArrayDestroy(array) }
    }
    fn cudaGetChannelDesc(channels: *mut ChannelFormat, array: Handle) {
        let Array3DDescriptor { format, channels: count, .. } = description(array)?;
        set(channels, ChannelFormat::of_driver(format, count)?)
    }
    /// Pointers to unneeded results are null.
    fn cudaArrayGetInfo(
        channels: *mut ChannelFormat, extent: *mut c_void, flags: *mut u32, array: Handle
    ) {
        let described = description(array)?;
        if !channels.is_null() {
            set(channels, ChannelFormat::of_driver(described.format, described.channels)?)?;
        }
        if !extent.is_null() {
            let Array3DDescriptor { width, height, depth, .. } = described;
            set(extent.cast(), Extent { width, height, depth })?;
        }
        if flags.is_null() { Ok(()) } else { set(flags, described.flags) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_one_size_and_a_kind() {
        let channels = |bits, kind| ChannelFormat { bits, kind }.to_driver();
        assert_eq!(channels([32, 0, 0, 0], FLOAT), Ok((0x20, 1)));
        assert_eq!(channels([8, 8, 8, 8], UNSIGNED), Ok((0x01, 4)));
        assert_eq!(channels([16, 16, 0, 0], SIGNED), Ok((0x09, 2)));
        for bits in [
            [8, 8, 8, 0],
            [8, 16, 0, 0],
            [0, 8, 0, 0],
            [8, 0, 8, 0],
            [64, 0, 0, 0],
        ] {
            assert_eq!(channels(bits, UNSIGNED), Err(INVALID_CHANNELS), "{bits:?}");
        }
        assert_eq!(channels([8, 0, 0, 0], FLOAT), Err(INVALID_CHANNELS));
    }

    #[test]
    fn a_format_survives_the_way_to_the_driver_and_back() {
        for (format, kind, size) in FORMATS {
            let there = ChannelFormat::of_driver(format, 2).expect("is known");
            assert_eq!((there.kind, there.bytes()), (kind, size as usize / 4));
            assert_eq!(there.to_driver(), Ok((format, 2)));
        }
    }
}

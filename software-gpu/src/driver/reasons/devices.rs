//! Devices that do not exist.

use super::because;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUdevice;

/// A call names a device by a number that none of the `count` devices has.
pub(in crate::driver) fn because_no_such_device(device: CUdevice, count: usize) -> CudaError {
    let those = match count {
        1 => "the only device is device 0".to_owned(),
        count => format!("the devices are 0 to {}", count.saturating_sub(1)),
    };
    because(
        CudaError::InvalidDevice,
        format!("there is no device {device}: {those}"),
        "ask for one of the devices that cuDeviceGetCount counts; SOFTWARE_GPU_COUNT sets how many there are",
    )
}

//! Devices: what the profile says of them.

use std::ffi::{CStr, c_char, c_int, c_uint};

use super::abi::{CUdevice, CUuuid, Out};
use super::boundary::entry_points;
use super::call::{Call, call};
use super::costs::Cost;
use super::errors::CudaError;

/// Numbers of `CUdevice_attribute`.
const PCI_BUS_ID: c_int = 33;
const PCI_DEVICE_ID: c_int = 34;
const PCI_DOMAIN_ID: c_int = 50;

entry_points! {
    fn cuDeviceGetCount(count: Out<c_int>) {
        call(Cost::Free, |_| count.set(1))
    }

    fn cuDeviceGet(device: Out<CUdevice>, ordinal: c_int) {
        call(Cost::Free, |_| device.set(check(ordinal)?))
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) {
        let text = with_device(device, |call| Ok(call.profile.device.name.clone()))?;
        // SAFETY: the caller passes null or `len` bytes.
        unsafe { copy_text(&text, name, len) }
    }

    fn cuDeviceGetUuid(uuid: Out<CUuuid>, device: CUdevice) {
        uuid_of(uuid, device)
    }

    fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: CUdevice) {
        uuid_of(uuid, device)
    }

    /// Identifiers of Windows: there are none elsewhere.
    fn cuDeviceGetLuid(_luid: *mut c_char, _node_mask: Out<c_uint>, device: CUdevice) {
        with_device(device, |_| Err(CudaError::NotSupported))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: CUdevice) {
        with_device(device, |call| {
            let total = call.profile.device.total_memory_bytes;
            bytes.set(usize::try_from(total).unwrap_or(usize::MAX))
        })
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: CUdevice) {
        with_device(device, |call| {
            value.set(call.profile.device.attribute(attribute).ok_or(CudaError::InvalidValue)?)
        })
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: CUdevice) {
        with_device(device, |call| {
            major.set(call.profile.device.compute_capability_major as c_int)?;
            minor.set(call.profile.device.compute_capability_minor as c_int)
        })
    }

    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: CUdevice) {
        let bus_id = with_device(device, |call| Ok(bus_id(call)))?;
        // SAFETY: the caller passes null or `len` bytes.
        unsafe { copy_text(&bus_id, text, len) }
    }

    fn cuDeviceGetByPCIBusId(device: Out<CUdevice>, text: *const c_char) {
        if text.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes a string.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().to_lowercase();
        call(Cost::Free, |call| {
            let own = bus_id(call);
            let matches = [own.as_str(), own.trim_start_matches("0000:"), own.trim_end_matches(".0")].contains(&text.as_str());
            if matches { device.set(0) } else { Err(CudaError::InvalidDevice) }
        })
    }
}

/// The only device is number 0.
pub(super) fn check(device: CUdevice) -> Result<CUdevice, CudaError> {
    if device == 0 {
        Ok(device)
    } else {
        Err(CudaError::InvalidDevice)
    }
}

fn with_device<R>(
    device: CUdevice,
    body: impl FnOnce(&mut Call) -> Result<R, CudaError>,
) -> Result<R, CudaError> {
    call(Cost::Free, |call| {
        check(device)?;
        body(call)
    })
}

/// An identifier that no GPU has.
fn uuid_of(uuid: Out<CUuuid>, device: CUdevice) -> Result<(), CudaError> {
    let bytes = b"software GPU 000".map(|byte| byte as c_char);
    with_device(device, |_| uuid.set(CUuuid { bytes }))
}

fn bus_id(call: &Call) -> String {
    let device = &call.profile.device;
    let part = |attribute| device.attribute(attribute).unwrap_or(0);
    format!(
        "{:04x}:{:02x}:{:02x}.0",
        part(PCI_DOMAIN_ID),
        part(PCI_BUS_ID),
        part(PCI_DEVICE_ID)
    )
}

/// Copies as much of `text` as fits, with a zero byte behind it.
///
/// # Safety
/// `to` is null or has room for `len` bytes.
unsafe fn copy_text(text: &str, to: *mut c_char, len: c_int) -> Result<(), CudaError> {
    let room = usize::try_from(len).ok().and_then(|len| len.checked_sub(1));
    let (false, Some(room)) = (to.is_null(), room) else {
        return Err(CudaError::InvalidValue);
    };
    let bytes = text.len().min(room);
    // SAFETY: `bytes` and the zero are at most `len` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, bytes);
        to.add(bytes).write(0);
    }
    Ok(())
}

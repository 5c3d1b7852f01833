//! Devices and their attributes, from the profile.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdevice, CUuuid, Out};
use crate::driver::devices::cache::Cache;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::reasons::because_no_such_device;
use crate::driver::simulation::simulator::Simulator;
use crate::timeline::Profile;
use crate::timeline::profile::Host;

/// Numbers of `CUdevice_attribute`.
const PCI_BUS_ID: c_int = 33;
const PCI_DEVICE_ID: c_int = 34;
const PCI_DOMAIN_ID: c_int = 50;

/// One device.
#[derive(Debug)]
pub(in crate::driver) struct Device {
    pub(in crate::driver) profile: Profile,
    pub(in crate::driver) primary: Primary,
    pub(in crate::driver) cache: Cache,
}

/// A device's primary context.
#[derive(Debug, Default)]
pub(in crate::driver) struct Primary {
    /// The context, while it is active.
    pub(in crate::driver) context: Option<CUcontext>,
    /// How often it was retained and not released.
    pub(in crate::driver) users: u32,
    /// The parameters of its creation.
    pub(in crate::driver) flags: c_uint,
}

entry_points! {
    fn cuDeviceGetCount(count: Out<c_int>) {
        call(Cost::Free, |call| count.set(call.devices.len() as c_int))
    }

    fn cuDeviceGet(device: Out<CUdevice>, ordinal: c_int) {
        call(Cost::Free, |call| {
            call.device(ordinal)?;
            device.set(ordinal)
        })
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) {
        let text = with_device(device, |device| Ok(device.profile.device.name.clone()))?;
        // SAFETY: the caller passes null or `len` bytes.
        unsafe { copy_text(&text, name, len) }
    }

    fn cuDeviceGetUuid | cuDeviceGetUuid_v2 (uuid: Out<CUuuid>, device: CUdevice) {
        uuid_of(uuid, device)
    }

    /// Identifiers of Windows: other systems have no such identifiers.
    fn cuDeviceGetLuid(_luid: *mut c_char, _node_mask: Out<c_uint>, device: CUdevice) {
        with_device(device, |_| Err(CudaError::NotSupported))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: CUdevice) {
        with_device(device, |device| {
            let total = device.profile.device.total_memory_bytes;
            bytes.set(usize::try_from(total).unwrap_or(usize::MAX))
        })
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: CUdevice) {
        call(Cost::Free, |call| {
            let value_of_device = call.device(device)?.attribute(call.ordinal(device)?, attribute);
            value.set(value_of_device.ok_or(CudaError::InvalidValue)?)
        })
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: CUdevice) {
        with_device(device, |device| {
            major.set(device.profile.device.compute_capability_major as c_int)?;
            minor.set(device.profile.device.compute_capability_minor as c_int)
        })
    }

    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: CUdevice) {
        let bus_id = call(Cost::Free, |call| Ok(call.device(device)?.bus_id(call.ordinal(device)?)))?;
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
            let named = |own: &str| [own, own.trim_start_matches("0000:"), own.trim_end_matches(".0")].contains(&text.as_str());
            let found = call.devices.iter().zip(0..).position(|(device, ordinal)| named(&device.bus_id(ordinal)));
            device.set(found.ok_or(CudaError::InvalidDevice)? as CUdevice)
        })
    }
}

impl Device {
    pub(in crate::driver) fn new(profile: Profile) -> Self {
        Self {
            cache: Cache::new(&profile),
            profile,
            primary: Primary::default(),
        }
    }

    /// `cuDeviceGetAttribute` of the device with that ordinal: each has a slot of its own on the bus.
    fn attribute(&self, ordinal: usize, attribute: c_int) -> Option<c_int> {
        let value = self.profile.device.attribute(attribute)?;
        Some(match attribute {
            PCI_DEVICE_ID => value.saturating_add(ordinal as c_int),
            _ => value,
        })
    }

    fn bus_id(&self, ordinal: usize) -> String {
        let part = |attribute| self.attribute(ordinal, attribute).unwrap_or(0);
        format!(
            "{:04x}:{:02x}:{:02x}.0",
            part(PCI_DOMAIN_ID),
            part(PCI_BUS_ID),
            part(PCI_DEVICE_ID)
        )
    }
}

impl Simulator {
    /// The place of a device in [`Simulator::devices`].
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` when there is no such device; so in the functions below.
    pub(in crate::driver) fn ordinal(&self, device: CUdevice) -> Result<usize, CudaError> {
        let ordinal = usize::try_from(device).ok();
        ordinal
            .filter(|ordinal| *ordinal < self.devices.len())
            .ok_or_else(|| because_no_such_device(device, self.devices.len()))
    }

    pub(in crate::driver) fn device(&self, device: CUdevice) -> Result<&Device, CudaError> {
        Ok(&self.devices[self.ordinal(device)?])
    }

    pub(in crate::driver) fn device_mut(
        &mut self,
        device: CUdevice,
    ) -> Result<&mut Device, CudaError> {
        let ordinal = self.ordinal(device)?;
        Ok(&mut self.devices[ordinal])
    }

    /// The profile of the device that a context is on.
    pub(in crate::driver) fn profile_of(&self, context: CUcontext) -> Result<&Profile, CudaError> {
        let ordinal = self.contexts.get(context)?.device;
        Ok(&self.devices[ordinal].profile)
    }

    /// The cost of calls on the host: there is one host for all devices.
    pub(in crate::driver) fn host(&self) -> &Host {
        &self.devices[0].profile.host
    }

    /// Whether it is some device's primary context.
    pub(in crate::driver) fn is_primary(&self, context: CUcontext) -> bool {
        let primary = |device: &Device| device.primary.context == Some(context);
        self.devices.iter().any(primary)
    }
}

fn with_device<R>(
    device: CUdevice,
    body: impl FnOnce(&Device) -> Result<R, CudaError>,
) -> Result<R, CudaError> {
    call(Cost::Free, |call| body(call.device(device)?))
}

/// An identifier that no GPU has.
fn uuid_of(uuid: Out<CUuuid>, device: CUdevice) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let mut bytes = b"software GPU 000".map(|byte| byte as c_char);
        bytes[15] += call.ordinal(device)? as c_char;
        uuid.set(CUuuid { bytes })
    })
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

//! The device that an example runs on, and what it can do.

use crate::error::{Error, Result, check, failed};
pub use chapter_results::device::TimeSource;
use chapter_terminal::UsageError;
use cust::context::{Context, CurrentContext};
use cust::device::DeviceAttribute;
use cust::sys;
use libcuda::{Choice, Driver, SelectError};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The device, its context, and the reason for its choice. A cheap handle; all copies mean the same
/// device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    context: Context,
    device: cust::device::Device,
    name: String,
    driver: Driver,
    reason: String,
    limits: Limits,
    count: u32,
}

/// What bounds every launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads in a block.
    pub threads_per_block: u32,
    /// Extent of a block in x, y and z.
    pub block: [u32; 3],
    /// Extent of a grid in x, y and z.
    pub grid: [u32; 3],
}

/// The device lacks what an example needs. A program that ends with this error exits with code 3.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{device} lacks {property}: {needed}")]
pub struct MissingProperty {
    /// The device's name.
    pub device: String,
    /// The property, as CUDA calls it.
    pub property: String,
    /// What the example needs it for, or how much of it.
    pub needed: String,
}

/// Why no device could be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The requested driver is missing, or the request is invalid.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The request makes no sense.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The driver is there and does not work.
    #[error(transparent)]
    Driver(#[from] Error),
}

impl Device {
    /// Chooses the driver and opens its first device. Call it before anything else of this crate or
    /// of CUDA.
    pub fn open(choice: Choice) -> Result<Self, OpenError> {
        let selected = libcuda::select(choice)?;
        Ok(Self::first(selected.driver, selected.reason.clone())?)
    }

    /// As [`Device::open`]; the software GPU models `gpu`: the name of a built-in profile, or the path of a file.
    ///
    /// # Errors
    /// The errors of `open`, and [`UsageError`] when there is no such profile or NVIDIA's driver was chosen.
    pub fn open_modelled(choice: Choice, gpu: Option<&str>) -> Result<Self, OpenError> {
        if let Some(gpu) = gpu {
            libcuda::software::use_profile(gpu).map_err(|error| UsageError(error.to_string()))?;
            if libcuda::select(choice)?.driver == Driver::Nvidia {
                let reason = "--gpu chooses what the software GPU models, and NVIDIA's driver was chosen: \
                              leave it out, or add --device software";
                return Err(UsageError(reason.to_owned()).into());
            }
        }
        Self::open(choice)
    }

    fn first(driver: Driver, reason: String) -> Result<Self> {
        cust::init(cust::CudaFlags::empty()).map_err(|error| of_cust("cuInit", error))?;
        let device =
            cust::device::Device::get_device(0).map_err(|error| of_cust("cuDeviceGet", error))?;
        let context =
            Context::new(device).map_err(|error| of_cust("cuDevicePrimaryCtxRetain", error))?;
        let name = device
            .name()
            .map_err(|error| of_cust("cuDeviceGetName", error))?;
        let limits = Limits::of(device)?;
        let count = cust::device::Device::num_devices()
            .map_err(|error| of_cust("cuDeviceGetCount", error))?;
        Ok(Self(Arc::new(Inner {
            context,
            device,
            name,
            driver,
            reason,
            limits,
            count,
        })))
    }

    /// The device's name, as its driver gives it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many devices the driver has, of which this is the first (`cuDeviceGetCount`).
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// Whether the device's times are measured or modelled.
    pub fn times(&self) -> TimeSource {
        match self.0.driver {
            Driver::Nvidia => TimeSource::Measured,
            Driver::Software => TimeSource::Modelled,
        }
    }

    /// The driver that serves this process.
    pub fn driver(&self) -> Driver {
        self.0.driver
    }

    /// The first line of every example's output: the device and why it is this one.
    pub fn introduction(&self) -> String {
        match self.0.driver {
            Driver::Nvidia => format!("{} ({}). Times are measured.", self.name(), self.0.reason),
            Driver::Software => {
                let figures =
                    modelled_figures().map_or(String::new(), |figures| format!("{figures}; "));
                let who = match self.0.count {
                    1 => "Software GPU".to_owned(),
                    more => format!("{more} software GPUs"),
                };
                format!(
                    "{who}, modelled on {} ({figures}{}). Times are modelled.",
                    self.name(),
                    self.0.reason
                )
            }
        }
    }

    /// A property of the device (`cuDeviceGetAttribute`).
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        attribute_of(self.0.device, attribute)
    }

    /// Streaming multiprocessors.
    pub fn multiprocessors(&self) -> Result<u32> {
        self.attribute(DeviceAttribute::MultiprocessorCount)
            .map(i32::cast_unsigned)
    }

    /// Bytes of the L2 cache.
    pub fn l2_cache(&self) -> Result<u64> {
        self.attribute(DeviceAttribute::L2CacheSize)
            .map(|bytes| u64::from(bytes.cast_unsigned()))
    }

    /// Engines that copy while kernels run.
    pub fn copy_engines(&self) -> Result<u32> {
        self.attribute(DeviceAttribute::AsyncEngineCount)
            .map(i32::cast_unsigned)
    }

    /// Compute capability: major and minor.
    pub fn compute_capability(&self) -> Result<(u32, u32)> {
        let major = self.attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = self.attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        Ok((major.cast_unsigned(), minor.cast_unsigned()))
    }

    /// Device memory in bytes.
    pub fn memory_bytes(&self) -> Result<usize> {
        self.0
            .device
            .total_memory()
            .map_err(|error| of_cust("cuDeviceTotalMem", error))
    }

    /// Whether the device allocates in stream order, from memory pools
    /// (`CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`).
    pub fn has_memory_pools(&self) -> Result<bool> {
        self.supports(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
    }

    /// Whether a launch can promise that all its blocks are resident at the same time
    /// (`CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH`).
    pub fn has_cooperative_launch(&self) -> Result<bool> {
        self.supports(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)
    }

    /// Shared memory that a block may have, in bytes, if the kernel is allowed it
    /// (`CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`).
    pub fn shared_bytes_per_block_opt_in(&self) -> Result<u32> {
        let attribute =
            sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        self.unnamed(attribute).map(i32::cast_unsigned)
    }

    /// Dynamic shared memory in bytes that keeps a block alone on its multiprocessor: more than half of what that has
    /// (`CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR`).
    pub fn shared_bytes_of_a_lone_block(&self) -> Result<u32> {
        let all = self.attribute(DeviceAttribute::MaxSharedMemoryPerMultiprocessor)?;
        Ok(all.cast_unsigned() / 2 + 1)
    }

    fn supports(&self, attribute: sys::CUdevice_attribute) -> Result<bool> {
        Ok(self.unnamed(attribute)? != 0)
    }

    /// A property that cust has no name for.
    fn unnamed(&self, attribute: sys::CUdevice_attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: `value` outlives the call, which stores the attribute in it.
        let result = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.raw()) };
        check("cuDeviceGetAttribute", result, || self.name().to_owned())?;
        Ok(value)
    }

    /// What bounds every launch.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Stream priorities from the most to the least urgent; both ends are equal where the device
    /// has none (`cuCtxGetStreamPriorityRange`).
    pub fn stream_priorities(&self) -> Result<RangeInclusive<i32>> {
        let range = CurrentContext::get_stream_priority_range()
            .map_err(|error| of_cust("cuCtxGetStreamPriorityRange", error))?;
        Ok(range.greatest..=range.least)
    }

    /// Fails with [`MissingProperty`] unless the device has what the example needs.
    pub fn require(&self, has: bool, property: &str, needed: &str) -> Result<(), MissingProperty> {
        if has {
            return Ok(());
        }
        Err(MissingProperty {
            device: self.name().to_owned(),
            property: property.to_owned(),
            needed: needed.to_owned(),
        })
    }

    /// Makes the device's context current on the calling host thread (`cuCtxSetCurrent`). The
    /// thread that opened the device has it already.
    pub fn make_current(&self) -> Result<()> {
        // SAFETY: the context is retained for as long as this handle lives.
        let result = unsafe { sys::cuCtxSetCurrent(self.0.context.as_raw()) };
        check("cuCtxSetCurrent", result, || self.name().to_owned())
    }

    /// Blocks the host until the device, and every other one that the program uses, has nothing left to do
    /// (`cuCtxSynchronize`).
    pub fn synchronize(&self) -> Result<()> {
        if self.0.count > 1 {
            return self.synchronize_all();
        }
        // SAFETY: the call takes nothing.
        let result = unsafe { sys::cuCtxSynchronize() };
        check("cuCtxSynchronize", result, || self.name().to_owned())
    }

    /// The device's handle, for calls that this crate does not wrap.
    pub fn raw(&self) -> sys::CUdevice {
        self.0.device.as_raw()
    }

    /// The context's handle, for calls that this crate does not wrap.
    pub fn raw_context(&self) -> sys::CUcontext {
        self.0.context.as_raw()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.0.name)
            .finish_non_exhaustive()
    }
}

impl Limits {
    fn of(device: cust::device::Device) -> Result<Self> {
        use DeviceAttribute as A;
        let get = |attribute| attribute_of(device, attribute).map(i32::cast_unsigned);
        Ok(Self {
            threads_per_block: get(A::MaxThreadsPerBlock)?,
            block: [
                get(A::MaxBlockDimX)?,
                get(A::MaxBlockDimY)?,
                get(A::MaxBlockDimZ)?,
            ],
            grid: [
                get(A::MaxGridDimX)?,
                get(A::MaxGridDimY)?,
                get(A::MaxGridDimZ)?,
            ],
        })
    }
}

fn attribute_of(device: cust::device::Device, attribute: DeviceAttribute) -> Result<i32> {
    device
        .get_attribute(attribute)
        .map_err(|error| of_cust("cuDeviceGetAttribute", error))
}

/// An error that cust returned for a call that it made for us.
fn of_cust(call: &'static str, error: cust::error::CudaError) -> Error {
    failed(call, error as i32, "device 0".to_owned())
}

/// Where the figures of the model are from, unless they were measured.
fn modelled_figures() -> Option<&'static str> {
    libcuda::software::profile().ok()?.figures.as_deref()
}

//! One device, one context, and a kernel run from host memory to host memory.

use anyhow::{Context as _, Result};
use bytemuck::Pod;
use cust::{
    context::Context,
    memory::{DeviceBuffer, DeviceCopy},
    module::Module,
    stream::{Stream, StreamFlags},
};
use libcuda::{Choice, SelectError, Selected};
use std::{ffi::c_void, ptr::from_ref};

/// Chooses the driver that `CUDA_DRIVER` names; the software GPU when it is not set.
///
/// # Errors
/// When the word names no driver, or the driver demanded is not there.
pub fn select() -> std::result::Result<&'static Selected, SelectError> {
    libcuda::select(Choice::from_environment_or(Choice::Software)?)
}

/// The device that `CUDA_DRIVER` chooses, with a context and a stream.
pub struct RuleDevice {
    stream: Stream,
    _context: Context,
}

impl RuleDevice {
    /// Opens device 0 of the driver that the environment asks for.
    pub fn open() -> Result<Self> {
        select()?;
        let context = cust::quick_init().context("create a context on device 0")?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        Ok(Self {
            stream,
            _context: context,
        })
    }

    /// Loads a module from PTX text.
    pub fn load(&self, ptx: &str) -> Result<Module> {
        Module::from_ptx(ptx, &[]).context("load PTX")
    }

    /// Runs `kernel` on `blocks` blocks of `threads` threads and waits for it.
    ///
    /// # Safety
    /// `parameters` are of the kernel's parameter types, and what it accesses through them exists.
    pub unsafe fn run(
        &self,
        module: &Module,
        kernel: &str,
        (blocks, threads): (u32, u32),
        parameters: &[*mut c_void],
    ) -> Result<()> {
        let function = module
            .get_function(kernel)
            .with_context(|| format!("find kernel {kernel}"))?;
        // SAFETY: the caller's.
        unsafe {
            self.stream
                .launch(&function, blocks, threads, 0, parameters)
        }
        .with_context(|| format!("launch {kernel}"))?;
        self.stream
            .synchronize()
            .with_context(|| format!("wait for {kernel}"))
    }
}

/// A buffer on the device that holds `values`.
pub fn upload<T: Pod + DeviceCopy>(values: &[T]) -> Result<DeviceBuffer<T>> {
    DeviceBuffer::from_slice(values).context("copy an input to the device")
}

/// What a buffer on the device holds.
pub fn download<T: Pod + DeviceCopy>(buffer: &DeviceBuffer<T>) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); buffer.len()];
    cust::memory::CopyDestination::copy_to(&**buffer, &mut values)
        .context("copy a result to the host")?;
    Ok(values)
}

/// The address of a kernel argument, as a launch wants it.
pub fn argument<T>(value: &T) -> *mut c_void {
    from_ref(value).cast_mut().cast()
}

//! Runs kernels from host memory to host memory, on the driver that `CUDA_DRIVER` names; the software GPU when it is not
//! set.
#![allow(dead_code, reason = "each test uses a part of it")]

use anyhow::{Context as _, Result, ensure};
use bytemuck::Pod;
use cuda_host::launch_attributes::{self, Attribute};
use cust::context::Context;
use cust::memory::{CopyDestination as _, DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use libcuda::Choice;
use std::ffi::c_void;

/// A device, a context on it, a stream and a module.
pub struct TestDevice {
    module: Module,
    stream: Stream,
    _context: Context,
}

/// Extents of a launch.
#[derive(Clone, Copy)]
pub struct LaunchExtents {
    pub grid: [u32; 3],
    pub threads: u32,
    pub shared_bytes: u32,
}

/// A launch in one dimension.
pub fn blocks(blocks: u32, threads: u32) -> LaunchExtents {
    LaunchExtents {
        grid: [blocks, 1, 1],
        threads,
        shared_bytes: 0,
    }
}

impl TestDevice {
    /// Opens device 0 and loads a module.
    pub fn open(ptx: &str) -> Result<Self> {
        libcuda::select(Choice::from_environment_or(Choice::Software)?)?;
        let context = cust::quick_init().context("create a context on device 0")?;
        Ok(Self {
            module: Module::from_ptx(ptx, &[]).context("load PTX")?,
            stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
            _context: context,
        })
    }

    /// Runs a kernel and waits for it.
    ///
    /// # Safety
    /// `arguments` are of the kernel's parameter types, and what it accesses through them exists.
    pub unsafe fn run(
        &self,
        kernel: &str,
        shape: LaunchExtents,
        arguments: &[LaunchArgument],
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.enqueue(kernel, shape, arguments)? };
        self.stream
            .synchronize()
            .with_context(|| format!("wait for {kernel}"))
    }

    /// Runs a kernel whose blocks are all resident at the same time, and waits for it.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub unsafe fn run_cooperatively(
        &self,
        kernel: &str,
        shape: LaunchExtents,
        arguments: &[LaunchArgument],
    ) -> Result<()> {
        let function = self.module.get_function(kernel)?;
        let mut parameters: Vec<*mut c_void> =
            arguments.iter().map(LaunchArgument::address).collect();
        let [x, y, z] = shape.grid;
        // SAFETY: the caller's; the parameters live until the call returns.
        let code = unsafe {
            sys::cuLaunchCooperativeKernel(
                function.to_raw(),
                x,
                y,
                z,
                shape.threads,
                1,
                1,
                shape.shared_bytes,
                self.stream.as_inner(),
                parameters.as_mut_ptr(),
            )
        };
        ensure!(
            code == sys::cudaError_enum::CUDA_SUCCESS,
            "cuLaunchCooperativeKernel of {kernel} gave {code:?}"
        );
        Ok(self.stream.synchronize()?)
    }

    /// Runs a kernel in clusters of this many blocks along x, and waits for it.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub unsafe fn run_in_clusters(
        &self,
        kernel: &str,
        shape: LaunchExtents,
        cluster: u32,
        arguments: &[LaunchArgument],
    ) -> Result<()> {
        let function = self.module.get_function(kernel)?;
        let parameters: Vec<*mut c_void> = arguments.iter().map(LaunchArgument::address).collect();
        let [x, y, z] = shape.grid;
        // SAFETY: the caller's; the parameters live until the call returns.
        unsafe {
            launch_attributes::launch(
                &function,
                (x, y, z),
                shape.threads,
                shape.shared_bytes,
                &self.stream,
                &[Attribute::cluster([cluster, 1, 1])],
                &parameters,
            )
            .with_context(|| format!("launch {kernel} in clusters of {cluster}"))?;
        }
        self.stream
            .synchronize()
            .with_context(|| format!("wait for {kernel} in clusters of {cluster}"))
    }

    /// Allows a kernel more dynamic shared memory than every block may have.
    pub fn allow_shared_bytes(&self, kernel: &str, bytes: u32) -> Result<()> {
        let function = self.module.get_function(kernel)?;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the handle lives.
        let code =
            unsafe { sys::cuFuncSetAttribute(function.to_raw(), attribute, bytes.cast_signed()) };
        ensure!(
            code == sys::cudaError_enum::CUDA_SUCCESS,
            "cuFuncSetAttribute of {kernel} gave {code:?}"
        );
        Ok(())
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub unsafe fn enqueue(
        &self,
        kernel: &str,
        shape: LaunchExtents,
        arguments: &[LaunchArgument],
    ) -> Result<()> {
        let function = self
            .module
            .get_function(kernel)
            .with_context(|| format!("find kernel {kernel}"))?;
        let mut parameters: Vec<*mut c_void> =
            arguments.iter().map(LaunchArgument::address).collect();
        let [x, y, z] = shape.grid;
        // SAFETY: the caller's; the parameters live until the call returns.
        let code = unsafe {
            sys::cuLaunchKernel(
                function.to_raw(),
                x,
                y,
                z,
                shape.threads,
                1,
                1,
                shape.shared_bytes,
                self.stream.as_inner(),
                parameters.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        ensure!(
            code == sys::cudaError_enum::CUDA_SUCCESS,
            "cuLaunchKernel of {kernel} gave {code:?}"
        );
        Ok(())
    }
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub enum LaunchArgument {
    Pointer(u64),
    U32(u32),
    Usize(usize),
    F32(f32),
}

impl LaunchArgument {
    fn address(&self) -> *mut c_void {
        match self {
            Self::Pointer(value) => std::ptr::from_ref(value).cast_mut().cast(),
            Self::U32(value) => std::ptr::from_ref(value).cast_mut().cast(),
            Self::Usize(value) => std::ptr::from_ref(value).cast_mut().cast(),
            Self::F32(value) => std::ptr::from_ref(value).cast_mut().cast(),
        }
    }
}

/// The argument that points to a buffer.
pub fn pointer<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> LaunchArgument {
    LaunchArgument::Pointer(buffer.as_device_ptr().as_raw())
}

/// A buffer that holds `values`.
pub fn upload<T: Pod + DeviceCopy>(values: &[T]) -> Result<DeviceBuffer<T>> {
    DeviceBuffer::from_slice(values).context("copy an input to the device")
}

/// What a buffer holds.
pub fn download<T: Pod + DeviceCopy>(buffer: &DeviceBuffer<T>) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); buffer.len()];
    buffer.copy_to(&mut values)?;
    Ok(values)
}

/// Numbers between -1 and 1 that differ by seed and index.
pub fn numbers(seed: u32, count: usize) -> Vec<f32> {
    (0..count as u32)
        .map(|i| {
            let mut bits = (i ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
            bits = (bits ^ bits >> 15).wrapping_mul(0xc2b2_ae35);
            ((bits >> 8) as f32 - 8_388_608.0) / 8_388_608.0
        })
        .collect()
}

/// Fails at the first element that is further from its reference than `tolerance`, or is not a number.
pub fn near(what: &str, found: &[f32], expected: &[f64], tolerance: f64) -> Result<()> {
    ensure!(found.len() == expected.len(), "{what}: another length");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        ensure!(
            error <= tolerance,
            "{what}: element {i} is {found}, the reference {expected}"
        );
    }
    Ok(())
}

//! Launches of kernels. `kernel<<<grid, block, shared, stream>>>(..)` becomes a call that pushes the configuration, and a
//! stub of nvcc that pops it and calls `cudaLaunchKernel` or `__cudaLaunchKernel`.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::call::{call_without_device, exports, set, stream_exports};
use crate::driver::{self, Handle, LaunchConfig};
use crate::error::{Error, Result};
use crate::registry;

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

impl Dim3 {
    pub(crate) fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }

    /// The number of elements, if there are any.
    fn volume(self) -> Option<u64> {
        let volume = self.array().iter().try_fold(1_u64, |volume, length| {
            volume.checked_mul(u64::from(*length))
        });
        volume.filter(|volume| *volume > 0)
    }
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
pub(crate) struct LaunchConfigT {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Handle,
    attributes: *const c_void,
    attribute_count: u32,
}

impl LaunchConfigT {
    /// The driver's form of the configuration, in `stream`.
    pub(crate) fn in_stream(&self, stream: Handle) -> Result<LaunchConfig> {
        Ok(LaunchConfig {
            grid: self.grid.array(),
            block: self.block.array(),
            shared_bytes: shared(self.shared_bytes)?,
            stream,
            attributes: self.attributes,
            attribute_count: self.attribute_count,
        })
    }

    /// The driver's form of the configuration.
    pub(crate) fn for_driver(&self) -> Result<LaunchConfig> {
        self.in_stream(self.stream)
    }
}

fn shared(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::INVALID_VALUE)
}

/// Limits of every device since compute capability 3.0.
const MAX_THREADS: u64 = 1024;
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];

/// Whether a launch of these shapes is impossible: the driver's error is then `cudaErrorInvalidValue`, and the runtime's
/// `cudaErrorInvalidConfiguration`.
fn is_impossible(grid: [u32; 3], block: [u32; 3]) -> bool {
    let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    let exceeds = |shape: [u32; 3], limits: [u32; 3]| {
        shape
            .iter()
            .zip(limits)
            .any(|(length, limit)| *length > limit)
    };
    dim(grid).volume().is_none()
        || dim(block)
            .volume()
            .is_none_or(|threads| threads > MAX_THREADS)
        || exceeds(block, MAX_BLOCK)
        || exceeds(grid, MAX_GRID)
}

/// # Safety
/// `arguments` points to the kernel's arguments.
unsafe fn launch(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    arguments: *mut *mut c_void,
    shared_bytes: usize,
    stream: Handle,
    cooperative: bool,
) -> Result {
    let kernel = registry::kernel(function)?;
    let (g, b, bytes) = (grid, block, shared(shared_bytes)?);
    // SAFETY: the caller passes the kernel's arguments.
    let launched = unsafe {
        if cooperative {
            driver::cuLaunchCooperativeKernel(
                kernel, g.x, g.y, g.z, b.x, b.y, b.z, bytes, stream, arguments,
            )
        } else {
            driver::cuLaunchKernel(
                kernel,
                g.x,
                g.y,
                g.z,
                b.x,
                b.y,
                b.z,
                bytes,
                stream,
                arguments,
                null_mut(),
            )
        }
    };
    launched.map_err(|error| configuration_error(error, grid.array(), block.array()))
}

fn configuration_error(error: Error, grid: [u32; 3], block: [u32; 3]) -> Error {
    if error == Error::INVALID_VALUE && is_impossible(grid, block) {
        Error::INVALID_CONFIGURATION
    } else {
        error
    }
}

stream_exports! {
    fn cudaLaunchKernel | cudaLaunchKernel_ptsz(
        function: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: Handle
    ) for stream {
        launch(function, grid, block, arguments, shared_bytes, stream, false)
    }
    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz(
        kernel: Handle, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: Handle
    ) for stream {
        launch(kernel, grid, block, arguments, shared_bytes, stream, false)
    }
    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz(
        function: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: Handle
    ) for stream {
        launch(function, grid, block, arguments, shared_bytes, stream, true)
    }
}

exports! {
    fn cudaLaunchKernelExC(config: *const LaunchConfigT, function: *const c_void, arguments: *mut *mut c_void) {
        let config = config.as_ref().ok_or(Error::INVALID_VALUE)?;
        launch_ex(config.for_driver()?, function, arguments)
    }
    fn cudaLaunchKernelExC_ptsz(config: *const LaunchConfigT, function: *const c_void, arguments: *mut *mut c_void) {
        let config = config.as_ref().ok_or(Error::INVALID_VALUE)?;
        launch_ex(config.in_stream(crate::stream::per_thread(config.stream))?, function, arguments)
    }
}

/// # Safety
/// `arguments` points to the kernel's arguments.
unsafe fn launch_ex(
    config: LaunchConfig,
    function: *const c_void,
    arguments: *mut *mut c_void,
) -> Result {
    let kernel = registry::kernel(function)?;
    // SAFETY: the caller passes the kernel's arguments.
    let launched = unsafe { driver::cuLaunchKernelEx(&config, kernel, arguments, null_mut()) };
    launched.map_err(|error| configuration_error(error, config.grid, config.block))
}

/// What `<<<>>>` says.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: usize,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Returns 0: nvcc's code launches nothing otherwise.
#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Handle,
) -> u32 {
    let pushed = Configuration {
        grid,
        block,
        shared_bytes,
        stream: stream as usize,
    };
    CONFIGURATIONS.with_borrow_mut(|stack| stack.push(pushed));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared_bytes: *mut usize,
    stream: *mut c_void,
) -> u32 {
    call_without_device(|| {
        let popped = CONFIGURATIONS
            .with_borrow_mut(Vec::pop)
            .ok_or(Error::MISSING_CONFIGURATION)?;
        // SAFETY: nvcc's code has room for each value.
        unsafe {
            set(grid, popped.grid)?;
            set(block, popped.block)?;
            set(shared_bytes, popped.shared_bytes)?;
            set(stream.cast(), popped.stream)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_shape_is_an_invalid_configuration_and_other_errors_stay() {
        let one = [1; 3];
        for (grid, block) in [
            ([0, 1, 1], one),
            (one, [0, 1, 1]),
            (one, [32, 33, 1]),
            (one, [1, 1, 65]),
            ([1, 65536, 1], one),
        ] {
            assert_eq!(
                configuration_error(Error::INVALID_VALUE, grid, block),
                Error::INVALID_CONFIGURATION
            );
        }
        assert_eq!(
            configuration_error(Error::INVALID_VALUE, one, [32, 32, 1]),
            Error::INVALID_VALUE
        );
        assert_eq!(configuration_error(Error(700), one, [0; 3]), Error(700));
    }

    #[test]
    fn configurations_are_popped_in_reverse() {
        let dim = |x| Dim3 { x, y: 1, z: 1 };
        __cudaPushCallConfiguration(dim(1), dim(2), 3, null_mut());
        __cudaPushCallConfiguration(dim(4), dim(5), 6, null_mut());
        let (mut grid, mut block, mut bytes, mut stream) = (dim(0), dim(0), 0, 0_usize);
        let mut pop = || {
            // SAFETY: there is room for each value.
            let result = unsafe {
                __cudaPopCallConfiguration(
                    &mut grid,
                    &mut block,
                    &mut bytes,
                    (&raw mut stream).cast(),
                )
            };
            (result, grid.x, block.x, bytes)
        };
        assert_eq!(pop(), (0, 4, 5, 6));
        assert_eq!(pop(), (0, 1, 2, 3));
        assert_eq!(pop().0, Error::MISSING_CONFIGURATION.0);
    }
}

//! Kernels as typed functions.
//!
//! An example declares the kernels it uses once, as it would declare foreign functions;
//! [`kernels!`](crate::kernels) makes a struct of them with one method per kernel. A launch takes
//! its stream from the buffers it is given: there is no stream to get wrong. Launching builds an
//! array of pointers to the arguments on the stack and calls `cuLaunchKernel`, no more.

use crate::device::{Device, Limits};
use crate::device_buffer::DeviceBuffer;
use crate::error::{Error, Result, check, name_of};
use crate::stream::{Stream, enqueue};
use bytemuck::Pod;
pub use cuda_std::signature::Signature;
use cust::sys::{self, CUfunction, CUjit_option, CUmodule, CUresult};
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A module of kernels, loaded from PTX.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

struct Loaded {
    raw: CUmodule,
    device: Device,
}

// SAFETY: module handles may be used from any thread whose current context is the module's.
unsafe impl Send for Loaded {}
// SAFETY: as above; a loaded module does not change.
unsafe impl Sync for Loaded {}

/// Bytes of the driver's compile log that an error shows.
const LOG_BYTES: usize = 16 * 1024;

impl Module {
    /// Compiles PTX for the device (`cuModuleLoadDataEx`). An error carries the log of the driver's
    /// compiler.
    pub fn load(device: &Device, ptx: &str) -> Result<Self> {
        let image = CString::new(ptx).map_err(|_| Error::Module {
            name: name_of(CUresult::CUDA_ERROR_INVALID_PTX as i32),
            log: "the text contains a zero byte".to_owned(),
        })?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
        let mut raw = std::ptr::null_mut();
        // SAFETY: the image is terminated; options and values are arrays of two, of the kinds that
        // the options ask for.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &mut raw,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if result != CUresult::CUDA_SUCCESS {
            let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
            let log = String::from_utf8_lossy(text).trim_end().to_owned();
            return Err(Error::Module {
                name: name_of(result as i32),
                log,
            });
        }
        Ok(Self(Arc::new(Loaded {
            raw,
            device: device.clone(),
        })))
    }

    /// The kernel of that name (`cuModuleGetFunction`).
    pub fn kernel(&self, name: &'static str) -> Result<Kernel> {
        let found = || format!("kernel {name}");
        let symbol = CString::new(name).map_err(|_| Error::NoKernel { name })?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module lives; the name is terminated; `raw` outlives the call.
        match unsafe { sys::cuModuleGetFunction(&mut raw, self.0.raw, symbol.as_ptr()) } {
            CUresult::CUDA_ERROR_NOT_FOUND => return Err(Error::NoKernel { name }),
            result => check("cuModuleGetFunction", result, found)?,
        }
        let mut threads = 0;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function was just found; `threads` outlives the call.
        let result = unsafe { sys::cuFuncGetAttribute(&mut threads, attribute, raw) };
        check("cuFuncGetAttribute", result, found)?;
        let limits = Limits {
            threads_per_block: threads.cast_unsigned(),
            ..*self.0.device.limits()
        };
        Ok(Kernel {
            raw,
            name,
            limits,
            module: self.clone(),
        })
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: no kernel of the module is left.
        unsafe { sys::cuModuleUnload(self.raw) };
    }
}

/// One kernel of a loaded module.
#[derive(Clone)]
pub struct Kernel {
    raw: CUfunction,
    name: &'static str,
    limits: Limits,
    module: Module,
}

// SAFETY: function handles live as long as their module and may be used where it may.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// The shape of a launch: blocks, threads of each, and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks in x, y and z.
    pub blocks: [u32; 3],
    /// Threads of a block in x, y and z.
    pub threads: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
}

impl Grid {
    /// A row of `blocks` blocks of `threads` threads.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self {
            blocks: [blocks, 1, 1],
            threads: [threads, 1, 1],
            shared_bytes: 0,
        }
    }

    /// As many blocks of `threads` threads as give every one of `elements` a thread. A number of
    /// blocks that does not fit is refused at the launch.
    pub fn cover(elements: usize, threads: u32) -> Self {
        let blocks = elements.div_ceil((threads as usize).max(1));
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), threads)
    }

    /// The same with dynamic shared memory.
    pub const fn with_shared_bytes(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }
}

impl Kernel {
    /// The name in the module.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The module it comes from.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The driver's handle, for calls that this crate does not wrap.
    pub fn raw(&self) -> CUfunction {
        self.raw
    }

    /// Starts a list of arguments.
    #[inline]
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            kernel: self,
            pointers: [const { MaybeUninit::uninit() }; MAX_ARGUMENTS],
            count: 0,
            stream: None,
        }
    }

    fn check_shape(&self, grid: &Grid) -> Result<()> {
        let extents = |what, values: &[u32; 3], limits: &[u32; 3]| {
            let bad = values
                .iter()
                .zip(limits)
                .find(|(value, limit)| **value == 0 || value > limit);
            match bad {
                None => Ok(()),
                Some((&value, limit)) => {
                    Err(self.bad_shape(what, u64::from(value), format!("must be 1 to {limit}")))
                }
            }
        };
        extents("the grid's extent", &grid.blocks, &self.limits.grid)?;
        extents("the block's extent", &grid.threads, &self.limits.block)?;
        let threads: u64 = grid.threads.iter().map(|&n| u64::from(n)).product();
        if threads > u64::from(self.limits.threads_per_block) {
            let limit = format!(
                "this kernel runs with at most {}",
                self.limits.threads_per_block
            );
            return Err(self.bad_shape("the number of threads per block", threads, limit));
        }
        Ok(())
    }

    #[cold]
    fn bad_shape(&self, what: &'static str, value: u64, limit: String) -> Error {
        Error::Shape {
            kernel: self.name,
            what,
            value,
            limit,
        }
    }
}

/// More parameters than any kernel of the examples has.
const MAX_ARGUMENTS: usize = 32;

/// The arguments of one launch: pointers to them, and the stream that their buffers belong to.
pub struct Arguments<'a> {
    kernel: &'a Kernel,
    pointers: [MaybeUninit<*mut c_void>; MAX_ARGUMENTS],
    count: usize,
    stream: Option<&'a Stream>,
}

impl<'a> Arguments<'a> {
    #[inline]
    fn push<V>(&mut self, value: &'a V) -> Result<()> {
        let Some(slot) = self.pointers.get_mut(self.count) else {
            return Err(Error::TooManyArguments {
                kernel: self.kernel.name,
                limit: MAX_ARGUMENTS,
            });
        };
        slot.write(std::ptr::from_ref(value).cast_mut().cast());
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn push_buffer<T: Pod>(&mut self, buffer: &'a DeviceBuffer<T>) -> Result<()> {
        match self.stream {
            Some(stream) if stream != buffer.stream() => {
                return Err(Error::TwoStreams {
                    kernel: self.kernel.name,
                    argument: self.count,
                    expected: stream.name().to_owned(),
                    found: buffer.stream().name().to_owned(),
                });
            }
            _ => self.stream = Some(buffer.stream()),
        }
        self.push(buffer.address_slot())
    }

    /// Enqueues the launch on the stream that the buffers among the arguments belong to
    /// (`cuLaunchKernel`).
    ///
    /// # Safety
    /// The arguments are those that the kernel declares, and a grid of this shape touches nothing
    /// outside the buffers among them.
    #[inline]
    pub unsafe fn launch(mut self, grid: Grid) -> Result<()> {
        let kernel = self.kernel;
        let stream = self.stream.ok_or(Error::NoStream {
            kernel: kernel.name,
        })?;
        kernel.check_shape(&grid)?;
        enqueue(|| {
            let ([bx, by, bz], [tx, ty, tz]) = (grid.blocks, grid.threads);
            let (raw, arguments) = (stream.raw()?, self.pointers.as_mut_ptr().cast());
            let no_extra = std::ptr::null_mut();
            // SAFETY: as many pointers as the kernel has parameters, to values that outlive the
            // call; the rest is the caller's promise.
            let result = unsafe {
                sys::cuLaunchKernel(
                    kernel.raw,
                    bx,
                    by,
                    bz,
                    tx,
                    ty,
                    tz,
                    grid.shared_bytes,
                    raw,
                    arguments,
                    no_extra,
                )
            };
            check("cuLaunchKernel", result, || {
                format!("kernel {}, stream {}, {grid:?}", kernel.name, stream.name())
            })
        })?;
        Ok(())
    }
}

/// A type that a kernel declares for a parameter, and what the host passes for it.
pub trait Parameter {
    /// What the host passes.
    type Argument<'a>;

    /// Adds the pointers that the driver wants for the argument.
    fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()>;
}

/// `#[kernel]` passes a slice as a pointer and a length.
impl<T: Pod> Parameter for &[T] {
    type Argument<'a> = &'a DeviceBuffer<T>;

    #[inline]
    fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()> {
        to.push_buffer(argument)?;
        to.push(argument.len_slot())
    }
}

impl<T: Pod> Parameter for &mut [T] {
    type Argument<'a> = &'a mut DeviceBuffer<T>;

    #[inline]
    fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()> {
        to.push_buffer(argument)?;
        to.push(argument.len_slot())
    }
}

impl<T: Pod> Parameter for *const T {
    type Argument<'a> = &'a DeviceBuffer<T>;

    #[inline]
    fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()> {
        to.push_buffer(argument)
    }
}

impl<T: Pod> Parameter for *mut T {
    type Argument<'a> = &'a mut DeviceBuffer<T>;

    #[inline]
    fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()> {
        to.push_buffer(argument)
    }
}

macro_rules! scalar_parameters {
    ($($scalar:ty)*) => {$(
        impl Parameter for $scalar {
            type Argument<'a> = $scalar;

            #[inline]
            fn push<'a>(argument: &'a Self::Argument<'_>, to: &mut Arguments<'a>) -> Result<()> {
                to.push(argument)
            }
        }
    )*};
}

scalar_parameters!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

/// Declares the kernels that an example uses, as foreign functions are declared, and makes a struct
/// of them.
///
/// ```
/// examples_host::kernels! {
///     /// The kernels of this example.
///     pub unsafe struct Kernels {
///         /// x = a·x + b in place.
///         fn affine(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine;
///         /// Waits for `ns` nanoseconds; writes one number per block.
///         fn spin(ns: u64, out: *mut u32) = gpu_kernels::spin;
///     }
/// }
/// ```
///
/// `Kernels::load(&device, ptx)` loads them all; `kernels.affine(grid, &mut buffer, 2.0, 1.0)`
/// launches on the stream that owns `buffer`. A slice or pointer parameter takes a
/// [`DeviceBuffer`]; a slice passes the length too.
///
/// After `=` stands the kernel, by whose name the module is asked.
///
/// The word `unsafe` is the promise that the signatures are those of the kernels, and that no
/// launch in the program touches anything outside the buffers that it passes. A kernel that takes
/// slices keeps it by itself; for one that takes a bare pointer, the grid must fit the buffer.
#[macro_export]
macro_rules! kernels {
    (
        $(#[$meta:meta])*
        $vis:vis unsafe struct $Kernels:ident {
            $(
                $(#[$kernel_meta:meta])*
                fn $kernel:ident($($argument:ident: $Parameter:ty),* $(,)?) = $signature:path;
            )*
        }
    ) => {
        $(#[$meta])*
        $vis struct $Kernels {
            $($kernel: $crate::kernel::Kernel,)*
        }

        impl $Kernels {
            /// Loads the module and finds every kernel in it.
            $vis fn load(device: &$crate::device::Device, ptx: &str) -> $crate::error::Result<Self> {
                let module = $crate::kernel::Module::load(device, ptx)?;
                Ok(Self { $($kernel: module.kernel(<$signature as $crate::kernel::Signature>::NAME)?,)* })
            }

            $(
                $(#[$kernel_meta])*
                #[allow(dead_code)]
                #[inline]
                $vis fn $kernel(
                    &self,
                    grid: $crate::kernel::Grid,
                    $($argument: <$Parameter as $crate::kernel::Parameter>::Argument<'_>,)*
                ) -> $crate::error::Result<()> {
                    let mut arguments = self.$kernel.arguments();
                    $(<$Parameter as $crate::kernel::Parameter>::push(&$argument, &mut arguments)?;)*
                    // SAFETY: the declaration promises that these are the kernel's parameters.
                    unsafe { arguments.launch(grid) }
                }
            )*
        }
    };
}

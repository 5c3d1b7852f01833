//! Kernels, launched as their signatures say.
//!
//! `#[kernel]` of `cuda_std` leaves a type of the kernel's name to the host, which implements [`Signature`]. [`kernels!`](crate::kernels)
//! makes a struct with a [`Kernel`] for each such type, [`launch!`](crate::launch) is cust's macro of that name with arguments that are
//! checked against the signature: a wrong type, order or number does not compile.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # libcuda::select(libcuda::Choice::Software)?;
//! # let _context = cust::quick_init()?;
//! use cuda_host::{kernels, launch};
//! use cust::memory::DeviceBuffer;
//! use cust::stream::{Stream, StreamFlags};
//!
//! kernels! { use gpu_kernels::{affine_x4, saxpy}; }
//!
//! let kernels = Kernels::load(gpu_kernels::SM_70)?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let x = DeviceBuffer::from_slice(&[1.0f32; 1024])?;
//! let mut y = DeviceBuffer::from_slice(&[2.0f32; 1024])?;
//! // SAFETY: the buffers outlive the launches, and `y` is as long as `x`.
//! unsafe {
//!     launch!(kernels.affine_x4<<<1, 256, 0, stream>>>(&mut y, 2.0, 1.0))?;
//!     launch!(kernels.saxpy<<<4, 256, 0, stream>>>(3.0, &x, &mut y))?;
//! }
//! stream.synchronize()?;
//! assert_eq!(y.as_host_vec()?, [8.0; 1024]);
//! # Ok(())
//! # }
//! ```

mod arguments;
mod load_error;

use crate::kernel::load_error::compiler_log;
use crate::launch_attributes::{self, Attribute};
use crate::result::ToResult;
use cust::error::{CudaError, CudaResult};
use cust::function::{BlockSize, Function, GridSize};
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUfunction};
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub use arguments::{KernelArgument, KernelArguments, Passed, PassedSlice};
pub use cuda_std::signature::Signature;
pub use load_error::LoadError;

/// Compiles PTX for the current context's device (`cuModuleLoadDataEx`).
///
/// # Errors
/// The driver refuses the text. The error carries the log of its compiler, for which the driver is asked once more.
pub fn load_module(ptx: &str) -> Result<Arc<Module>, LoadError> {
    let image = CString::new(ptx).map_err(|_| LoadError::Module {
        cause: CudaError::InvalidPtx,
        log: "the text contains a zero byte".to_owned(),
    })?;
    Module::from_ptx_cstr(&image, &[])
        .map(Arc::new)
        .map_err(|cause| LoadError::Module {
            cause,
            log: compiler_log(&image),
        })
}

/// A kernel of a loaded module. It keeps the module loaded.
pub struct Kernel<S> {
    // Not `'static`: as long-lived as the module, which the kernel owns a part of.
    function: Function<'static>,
    _module: Arc<Module>,
    signature: PhantomData<fn() -> S>,
}

impl<S: Signature> fmt::Debug for Kernel<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(&S::NAME).finish()
    }
}

impl<S: Signature> Kernel<S> {
    /// Finds the kernel in a module (`cuModuleGetFunction`).
    ///
    /// # Errors
    /// The module has no kernel of that name.
    pub fn find(module: &Arc<Module>) -> Result<Self, LoadError> {
        // SAFETY: the module lives as long as the kernel, which gives the function out for no longer than that.
        let loaded: &'static Module = unsafe { &*Arc::as_ptr(module) };
        let function = loaded
            .get_function(S::NAME)
            .map_err(|cause| LoadError::Kernel {
                name: S::NAME,
                cause,
            })?;
        Ok(Self {
            function,
            _module: Arc::clone(module),
            signature: PhantomData,
        })
    }

    /// The name in the module.
    pub fn name(&self) -> &'static str {
        S::NAME
    }

    /// cust's function, which knows the kernel's attributes and occupancy.
    pub fn function(&self) -> &Function<'_> {
        &self.function
    }

    /// The driver's handle, for calls that are not wrapped.
    pub fn raw(&self) -> CUfunction {
        self.function.to_raw()
    }

    /// Enqueues a launch (`cuLaunchKernel`). [`launch!`](crate::launch) is the short way to write it.
    ///
    /// `shared_bytes` is the dynamic shared memory of a block. The arguments are a tuple.
    ///
    /// # Errors
    /// What the driver says of the launch, or of earlier work on the device.
    ///
    /// # Safety
    /// What the kernel accesses through its arguments exists until the launch has run, is long enough for this grid, and
    /// is not accessed by anything else that is not ordered before or after the launch.
    #[inline]
    pub unsafe fn launch<A: KernelArguments<S::Parameters>>(
        &self,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_bytes: u32,
        stream: &Stream,
        arguments: A,
    ) -> CudaResult<()> {
        arguments.with_pointers(|pointers| {
            // SAFETY: a pointer for each of the kernel's parameters, to a value of its type; the rest is the caller's.
            unsafe { stream.launch(&self.function, grid, block, shared_bytes, pointers) }
        })
    }
}

impl<S: Signature> Kernel<S> {
    /// Allows launches with this much dynamic shared memory per block, in bytes (`cuFuncSetAttribute`): without it, 48 KiB are the
    /// most, whatever the device has.
    ///
    /// # Errors
    /// More than the device allows a block.
    pub fn allow_dynamic_shared_bytes(&self, bytes: u32) -> CudaResult<()> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the handle lives.
        unsafe { sys::cuFuncSetAttribute(self.raw(), attribute, bytes.cast_signed()) }.to_result()
    }

    /// Enqueues a launch whose blocks are all resident at the same time, so that they may wait for each other
    /// (`cuLaunchCooperativeKernel`).
    ///
    /// # Errors
    /// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`, which cust does not know, for more blocks than the device has room for; and
    /// those of [`Kernel::launch`].
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    pub unsafe fn launch_cooperative<A: KernelArguments<S::Parameters>>(
        &self,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_bytes: u32,
        stream: &Stream,
        arguments: A,
    ) -> CudaResult<()> {
        let (grid, block) = (grid.into(), block.into());
        arguments.with_pointers(|pointers| {
            // SAFETY: a pointer for each of the kernel's parameters, to a value of its type; the rest is the caller's.
            unsafe {
                sys::cuLaunchCooperativeKernel(
                    self.raw(),
                    grid.x,
                    grid.y,
                    grid.z,
                    block.x,
                    block.y,
                    block.z,
                    shared_bytes,
                    stream.as_inner(),
                    pointers.as_ptr().cast_mut(),
                )
            }
            .to_result()
        })
    }

    /// Enqueues a launch with attributes (`cuLaunchKernelEx`). [`launch!`](crate::launch) is the short way to write it.
    ///
    /// # Errors
    /// As for [`Kernel::launch`]; an attribute that the device does not support.
    ///
    /// # Safety
    /// As for [`Kernel::launch`]. A kernel that may begin before the one before it has ended waits for it before it touches what
    /// that one touches.
    pub unsafe fn launch_with<A: KernelArguments<S::Parameters>>(
        &self,
        attributes: &[Attribute],
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_bytes: u32,
        stream: &Stream,
        arguments: A,
    ) -> CudaResult<()> {
        let function = &self.function;
        arguments.with_pointers(|pointers| {
            // SAFETY: as above.
            unsafe {
                launch_attributes::launch(
                    function,
                    grid,
                    block,
                    shared_bytes,
                    stream,
                    attributes,
                    pointers,
                )
            }
        })
    }
}

/// Makes a struct of kernels, each a field of type [`Kernel`](crate::kernel::Kernel), with a function `load`.
///
/// `kernels! { use gpu_kernels::{affine_x4, saxpy}; }` declares
///
/// ```
/// # use cuda_host::kernel::{Kernel, LoadError};
/// struct Kernels {
///     affine_x4: Kernel<gpu_kernels::affine_x4>,
///     saxpy: Kernel<gpu_kernels::saxpy>,
/// }
/// # #[cfg(any())]
/// impl Kernels {
///     fn load(ptx: &str) -> Result<Self, LoadError> { .. }
/// }
/// ```
///
/// Another name and visibility stand before the kernels:
///
/// ```
/// cuda_host::kernels! {
///     /// The kernels for Hopper.
///     pub struct Hopper;
///     use gpu_kernels::{fma_tiles_bulk, fma_tiles_cp_async};
/// }
/// ```
#[macro_export]
macro_rules! kernels {
    (use $($path:tt)*) => {
        $crate::kernels! {
            /// The kernels of this module.
            struct Kernels;
            use $($path)*
        }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Kernels:ident;
        use $source:ident::$kernel:ident;
    ) => {
        $crate::kernels! { $(#[$meta])* $vis struct $Kernels; use $source::{$kernel}; }
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $Kernels:ident;
        use $source:ident::{$($kernel:ident),+ $(,)?};
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $Kernels {
            $(
                #[doc = concat!("The kernel `", stringify!($kernel), "`.")]
                $vis $kernel: $crate::kernel::Kernel<$source::$kernel>,
            )+
        }

        impl $Kernels {
            /// Loads the module and finds every kernel in it.
            ///
            /// # Errors
            /// The driver refuses the module, or the module lacks a kernel.
            $vis fn load(ptx: &str) -> ::core::result::Result<Self, $crate::kernel::LoadError> {
                let module = $crate::kernel::load_module(ptx)?;
                ::core::result::Result::Ok(Self {
                    $($kernel: $crate::kernel::Kernel::find(&module)?,)+
                })
            }
        }
    };
}

/// Enqueues a kernel on a stream: `launch!(kernels.saxpy<<<grid, block, shared_bytes, stream>>>(3.0, &x, &mut y))`.
///
/// The syntax is that of cust's `launch!`. It is one call of `cuLaunchKernel` and gives `CudaResult<()>`; the call is
/// `unsafe`, and [`Kernel::launch`](crate::kernel::Kernel::launch) says what the caller promises. Grid and block are
/// `u32` or tuples of two or three; the kernel and the stream are a variable or fields of one.
///
/// Behind the stream may stand an array of [`Attribute`](crate::launch_attributes::Attribute)s, such as the size of a cluster:
/// then it is one call of `cuLaunchKernelEx` ([`Kernel::launch_with`](crate::kernel::Kernel::launch_with)).
///
/// The arguments are those of the kernel's [`Signature`](crate::kernel::Signature):
///
/// | parameter | argument |
/// |---|---|
/// | `&[T]` | `&DeviceBuffer<T>`, `&DeviceSlice<T>`: pointer and length |
/// | `&mut [T]` | `&mut DeviceBuffer<T>`, `&mut DeviceSlice<T>`: pointer and length |
/// | `*const T` | as for `&[T]`, or a `DevicePointer<T>`: a pointer |
/// | `*mut T` | as for `&mut [T]`, or a `DevicePointer<T>`: a pointer |
/// | `*const *const T`, `*const *mut T` | the same with `DevicePointer<T>` as the element |
/// | a number | the number |
///
/// What the signature allows compiles:
///
/// ```no_run
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(3.0, &x, y));
/// # }
/// ```
///
/// A wrong type does not:
///
/// ```compile_fail,E0277
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(3u32, &x, y));
/// # }
/// ```
///
/// nor an element of another type,
///
/// ```compile_fail,E0277
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<u32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(3.0, &x, y));
/// # }
/// ```
///
/// a shared reference to what the kernel writes,
///
/// ```compile_fail,E0277
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(3.0, &x, &*y));
/// # }
/// ```
///
/// another order,
///
/// ```compile_fail,E0277
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(&x, 3.0, y));
/// # }
/// ```
///
/// another number,
///
/// ```compile_fail,E0277
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0, stream>>>(3.0, &x, y, 1));
/// # }
/// ```
///
/// or a launch without a stream:
///
/// ```compile_fail
/// # use cuda_host::{kernels, launch};
/// # use cust::{memory::{DeviceBuffer, DeviceSlice}, stream::Stream};
/// # kernels! { use gpu_kernels::{saxpy}; }
/// # unsafe fn f(kernels: Kernels, stream: &Stream, x: DeviceBuffer<f32>, y: &mut DeviceSlice<f32>) {
/// launch!(kernels.saxpy<<<1, 256, 0>>>(3.0, &x, y));
/// # }
/// ```
#[macro_export]
macro_rules! launch {
    (
        $kernel:ident $(.$field:ident)*
        <<<$grid:expr, $block:expr, $shared_bytes:expr, $stream:ident $(.$of:ident)*>>>
        ($($argument:expr),* $(,)?)
    ) => {
        $kernel$(.$field)*.launch(
            $grid,
            $block,
            $shared_bytes,
            &$stream$(.$of)*,
            ($($argument,)*),
        )
    };
    (
        $kernel:ident $(.$field:ident)*
        <<<$grid:expr, $block:expr, $shared_bytes:expr, $stream:ident $(.$of:ident)*, $attributes:ident $(.$from:ident)*>>>
        ($($argument:expr),* $(,)?)
    ) => {
        $kernel$(.$field)*.launch_with(
            &$attributes$(.$from)*,
            $grid,
            $block,
            $shared_bytes,
            &$stream$(.$of)*,
            ($($argument,)*),
        )
    };
}

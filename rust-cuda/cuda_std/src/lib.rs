//! The kernel-side API of Rust-CUDA on rustc's own NVPTX backend.
//!
//! A kernel is an `unsafe fn` under [`kernel`](macro@kernel); what CUDA C++ gives it as built-in variables and
//! functions are functions here, in modules named as in Rust-CUDA:
//!
//! - [`thread`][mod@thread]: where the thread is in its block and grid, barriers, fences
//! - [`warp`][mod@warp]: shuffles, votes, matches and reductions among 32 lanes
//! - [`shared`] and [`shared_array!`]: memory of the block
//! - [`atomic`][mod@atomic]: atomic types with a scope
//! - [`float`][mod@float]: maths on `f32` and `f64`, exact and approximate
//! - [`misc`][mod@misc]: clocks
//! - [`barrier`][mod@barrier]: named barriers, for a part of the block
//! - [`mbarrier`][mod@mbarrier], [`async_copy`][mod@async_copy] (sm_80): copies into shared memory that nobody waits for
//!   at once, and who is told of them
//! - [`bulk`][mod@bulk], [`cluster`][mod@cluster], [`fence`][mod@fence] (sm_90): copies of whole tiles, clusters of blocks
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// `y[i] = a x[i] + y[i]`
//! #[kernel]
//! pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < x.len() {
//!         // SAFETY: y is as long as x.
//!         let y = unsafe { &mut *y.add(i) };
//!         *y = a.mul_add(x[i], *y);
//!     }
//! }
//! ```
//!
//! Everything names the PTX instruction that it becomes and the section of NVIDIA's *PTX ISA* that defines it. What
//! threads do together (barriers, shuffles, votes, matches) goes through LLVM's intrinsics, which LLVM knows to be
//! convergent: unlike inline assembly it neither duplicates them nor moves them under a branch. The rest is inline
//! assembly where LLVM has no intrinsic.
//!
//! On the host the crate builds, so that kernels are checked with the rest of the workspace; what exists only on the
//! GPU panics there. A kernel leaves its [`signature`] to the host, which checks launches against it. Two things differ from Rust-CUDA: `mul_add` and the other maths are methods of
//! [`GpuFloat`](float::GpuFloat), as there, but without libdevice; and a reference that is not a slice cannot be a
//! kernel's parameter.

#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(
    target_os = "cuda",
    feature(
        asm_experimental_arch,
        core_float_math,
        link_llvm_intrinsics,
        stdarch_nvptx
    )
)]
#![cfg_attr(target_os = "cuda", allow(internal_features))]

// The macros name this crate by its path, also inside it.
extern crate self as cuda_std;

#[cfg(any(not(target_os = "cuda"), feature = "alloc"))]
extern crate alloc;

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub mod async_copy;
pub mod atomic;
pub mod barrier;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod bulk;
pub mod cfg;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod cluster;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod fence;
pub mod float;
mod float_ext;
pub mod io;
#[cfg(target_os = "cuda")]
mod llvm;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub mod mbarrier;
pub mod mem;
pub mod misc;
pub mod ptr;
#[cfg(target_os = "cuda")]
mod rt;
pub mod shared;
#[cfg(not(target_os = "cuda"))]
pub mod signature;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel, shared_array};
pub use float::GpuFloat;
pub use float_ext::FloatExt;
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
pub use io::{assert_eq, assert_ne};
#[cfg(not(target_os = "cuda"))]
pub use io::{print, println};
#[cfg(feature = "vek")]
pub use vek;

/// What a kernel's source usually imports.
pub mod prelude {
    #[cfg(feature = "half")]
    pub use crate::f16;
    pub use crate::float::{FastFloat, GpuFloat};
    pub use crate::{assert_eq, assert_ne, print, println};
    pub use crate::{atomic, barrier, gpu_only, kernel, misc, shared, shared_array, thread, warp};
    #[cfg(any(not(target_os = "cuda"), feature = "alloc"))]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec::Vec,
    };
}

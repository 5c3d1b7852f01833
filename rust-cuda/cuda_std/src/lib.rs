//! The kernel-side API of Rust-CUDA on rustc's own NVPTX backend.
//!
//! A kernel is an `unsafe fn` under [`kernel`](macro@kernel); what CUDA C++ gives it as built-in variables and
//! functions are functions here, in modules named as in Rust-CUDA:
//!
//! - [`thread`][mod@thread]: where the thread is in its block and grid, barriers, fences
//! - [`warp`][mod@warp]: shuffles, votes, matches and reductions among 32 lanes
//! - [`shared`] and [`shared_array!`]: memory of the block
//! - [`async_copy`][mod@async_copy]: copies from global to shared memory that the thread does not wait for
//! - [`atomic`][mod@atomic]: atomic types with a scope
//! - [`float`][mod@float]: maths on `f32` and `f64`, exact and approximate
//! - [`intrinsics`][mod@intrinsics]: the functions of libdevice by their names
//! - [`misc`][mod@misc]: the clock
//! - [`io`][mod@io], [`mem`][mod@mem]: printing, and the allocator behind `alloc`
//! - [`cfg`][mod@cfg]: what the module is compiled for
//!
//! What Rust-CUDA does not have is in [`extensions`]: a kernel that imports nothing from there, and does without the methods of
//! atomic types that `extensions` lists, is one of Rust-CUDA's.
//!
//! ```
//! use cuda_std::GpuFloat;
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
//! GPU panics there. The README of this repository's `rust-cuda/` tells what differs from Rust-CUDA.

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

pub mod async_copy;
pub mod atomic;
pub mod cfg;
pub mod extensions;
pub mod float;
mod float_ext;
pub mod intrinsics;
pub mod io;
#[cfg(target_os = "cuda")]
mod llvm;
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
#[cfg(feature = "glam")]
pub use glam;
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
pub use io::{assert_eq, assert_ne};
#[cfg(not(target_os = "cuda"))]
pub use io::{print, println};
#[cfg(feature = "vek")]
pub use vek;

/// What a kernel's source usually imports: what Rust-CUDA's prelude has.
pub mod prelude {
    #[cfg(feature = "half")]
    pub use crate::f16;
    pub use crate::{assert_eq, assert_ne, kernel, print, println, thread};
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

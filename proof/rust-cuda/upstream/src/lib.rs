//! The signatures of Rust-CUDA's `cuda_std`: for type checks alone. The macros are this repository's.
#![no_std]
#![allow(clippy::missing_safety_doc, clippy::result_unit_err, unused_variables)]

extern crate alloc;
// The macros name this crate by its path, also inside it.
extern crate self as cuda_std;

pub use cuda_std_macros::{address_space, externally_visible, gpu_only, kernel, shared_array};
pub use glam;
pub use half::{self, bf16, f16};

pub use crate::float::GpuFloat;
pub use crate::float_ext::FloatExt;

/// What no type check runs.
fn absent<T>() -> T {
    panic!("a signature")
}

macro_rules! functions {
    ($($module:ident {
        safe { $($safe:ident($($safe_name:ident: $safe_type:ty),*) -> $safe_result:ty;)* }
        unsafe { $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
    })*) => {
        mod functions {$(
            pub mod $module {
                #[allow(unused_imports)]
                use crate::names::*;
                $(pub fn $safe($($safe_name: $safe_type),*) -> $safe_result { crate::absent() })*
                $(pub unsafe fn $name($($argument: $type),*) -> $result { crate::absent() })*
            }
        )*}
    };
}

macro_rules! generic_functions {
    ($($module:ident {
        $($name:ident<T: $bound:ident>($($argument:ident: $type:ty),*) -> $result:ty, [$($of:ty)*];)*
    })*) => {
        mod generic_functions {$(
            pub mod $module {
                #[allow(unused_imports)]
                use crate::names::*;
                $(pub unsafe fn $name<T: $bound>($($argument: $type),*) -> $result { crate::absent() })*
            }
        )*}
    };
}

macro_rules! traits {
    ($($name:ident { $($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)* })*) => {
        mod traits {$(
            pub trait $name: Copy {
                $(fn $method(self $(, $argument: $type)*) -> $result { crate::absent() })*
            }
            impl $name for f32 {}
            impl $name for f64 {}
        )*}
    };
}

macro_rules! atomics {
    ($($name:ident($type:ty) [$($unsafety:ident)?];)*) => {
        mod atomics {
            use core::sync::atomic::Ordering;
            $(
                #[repr(C)]
                pub struct $name(core::cell::UnsafeCell<$type>);
                unsafe impl Sync for $name {}
                impl $name {
                    pub const fn new(v: $type) -> Self { Self(core::cell::UnsafeCell::new(v)) }
                    pub fn into_inner(self) -> $type { crate::absent() }
                    atomics! { @methods $type, [$($unsafety)?], fetch_add fetch_sub fetch_and fetch_or fetch_xor }
                    pub $($unsafety)? fn load(&self, order: Ordering) -> $type { crate::absent() }
                    pub $($unsafety)? fn store(&self, val: $type, order: Ordering) { crate::absent() }
                }
            )*
        }
    };
    (@methods $type:ty, [], $($method:ident)*) => {
        $(pub fn $method(&self, val: $type, order: Ordering) -> $type { crate::absent() })*
    };
    (@methods $type:ty, [unsafe], $($method:ident)*) => {
        $(pub unsafe fn $method(&self, val: $type, order: Ordering) -> $type { crate::absent() })*
    };
}

include!("signatures.rs");
include!("atomic_intrinsics.rs");

/// The names in signatures.
mod names {
    pub use core::sync::atomic::Ordering;

    pub use glam::{UVec2, UVec3};

    pub use crate::ptr::AddressSpace;
    pub use crate::warp::{WarpMatchValue, WarpReduceValue, WarpReductionOp, WarpShuffleValue};
}

pub mod thread {
    pub use crate::functions::thread::*;
}

pub mod intrinsics {
    pub use crate::functions::intrinsics::*;
}

pub mod misc {
    pub use crate::functions::misc::*;
}

pub mod mem {
    pub use crate::functions::mem::*;

    pub struct CUDAAllocator;
}

pub mod async_copy {
    pub use crate::functions::async_copy::*;
    pub use crate::generic_functions::async_copy::*;

    pub fn cp_async_wait_group<const N: u32>() {}
}

pub mod atomic {
    pub use crate::atomics::*;

    pub mod mid {
        pub use crate::functions::mid::*;
    }

    pub mod intrinsics {
        use cuda_std_macros::joined;

        macro_rules! function {
            ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
                pub unsafe fn $name($($argument: $type),*) -> $result { crate::absent() }
            };
        }
        atomic_intrinsics! { function }
    }
}

pub mod float {
    pub use crate::traits::GpuFloat;
}

mod float_ext {
    pub use crate::traits::FloatExt;
}

pub mod ptr {
    pub use crate::generic_functions::ptr::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AddressSpace {
        Global,
        Shared,
        Constant,
        Local,
    }
}

pub mod shared {
    pub fn dynamic_shared_mem<T>() -> *mut T {
        crate::absent()
    }

    /// What the macros of this repository call on the host.
    pub fn absent<T>() -> *mut T {
        crate::absent()
    }
}

pub mod warp {
    pub use crate::functions::warp::*;
    pub use crate::generic_functions::warp::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WarpReductionOp {
        Add,
        Min,
        Max,
        And,
        Or,
        Xor,
    }

    macro_rules! values {
        ($($name:ident: $($type:ty)*;)*) => {$(
            pub trait $name: Sized {}
            $(impl $name for $type {})*
        )*};
    }

    values! {
        WarpReduceValue: i32 u32;
        WarpMatchValue: i32 i64 u32 u64 f32 f64;
        WarpShuffleValue: i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 half::f16 half::bf16;
    }
}

pub mod io {
    pub fn print(arguments: core::fmt::Arguments<'_>) {}
}

#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => { $crate::io::print(::core::format_args!($($argument)*)) };
}

#[macro_export]
macro_rules! println {
    ($($argument:tt)*) => { $crate::io::print(::core::format_args!($($argument)*)) };
}

pub use core::{assert_eq, assert_ne};

pub mod prelude {
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec::Vec,
    };

    pub use crate::{assert_eq, assert_ne, f16, kernel, print, println, thread};
}

//! The operations of the atomic types as functions on pointers, by the names of Rust-CUDA.
//!
//! All share their safety contract: the pointer is valid and aligned, all threads that access the value meanwhile do so
//! atomically, and they are of the scope in the function's name.

use core::sync::atomic::Ordering;

use super::*;
#[cfg(target_os = "cuda")]
use crate::llvm;

macro_rules! fences {
    ($($name:ident, $llvm:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[crate::gpu_only]
        pub fn $name(ordering: Ordering) {
            if !matches!(ordering, Ordering::Relaxed) {
                // SAFETY: a fence has no preconditions.
                unsafe { llvm::$llvm() }
            }
        }
    )*};
}

fences! {
    block_thread_fence, fence_block, "A fence as the block sees it (PTX `membar.cta`).";
    device_thread_fence, fence_device, "A fence as the device sees it (PTX `membar.gl`).";
    system_thread_fence, fence_system, "A fence as the host and all devices see it (PTX `membar.sys`).";
}

macro_rules! load_store {
    ($($load:ident, $store:ident, $atomic:ident($type:ty);)*) => {$(
        #[doc = concat!("[`", stringify!($atomic), "::load`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn $load(ptr: *mut $type, ordering: Ordering) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).load(ordering) }
        }

        #[doc = concat!("[`", stringify!($atomic), "::store`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn $store(ptr: *mut $type, ordering: Ordering, val: $type) {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).store(val, ordering) }
        }
    )*};
}

macro_rules! fetch {
    ($($name:ident, $atomic:ident($type:ty), $method:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($atomic), "::", stringify!($method), "`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).$method(val, ordering) }
        }
    )*};
}

load_store! {
    atomic_load_32_device, atomic_store_32_device, AtomicU32(u32);
    atomic_load_64_device, atomic_store_64_device, AtomicU64(u64);
    atomic_load_32_block, atomic_store_32_block, BlockAtomicU32(u32);
    atomic_load_64_block, atomic_store_64_block, BlockAtomicU64(u64);
    atomic_load_32_system, atomic_store_32_system, SystemAtomicU32(u32);
    atomic_load_64_system, atomic_store_64_system, SystemAtomicU64(u64);
}

fetch! {
    atomic_fetch_and_u32_device, AtomicU32(u32), fetch_and;
    atomic_fetch_and_u64_device, AtomicU64(u64), fetch_and;
    atomic_fetch_and_i32_device, AtomicI32(i32), fetch_and;
    atomic_fetch_and_i64_device, AtomicI64(i64), fetch_and;
    atomic_fetch_and_f32_device, AtomicF32(f32), fetch_and;
    atomic_fetch_and_f64_device, AtomicF64(f64), fetch_and;
    atomic_fetch_or_u32_device, AtomicU32(u32), fetch_or;
    atomic_fetch_or_u64_device, AtomicU64(u64), fetch_or;
    atomic_fetch_or_i32_device, AtomicI32(i32), fetch_or;
    atomic_fetch_or_i64_device, AtomicI64(i64), fetch_or;
    atomic_fetch_or_f32_device, AtomicF32(f32), fetch_or;
    atomic_fetch_or_f64_device, AtomicF64(f64), fetch_or;
    atomic_fetch_xor_u32_device, AtomicU32(u32), fetch_xor;
    atomic_fetch_xor_u64_device, AtomicU64(u64), fetch_xor;
    atomic_fetch_xor_i32_device, AtomicI32(i32), fetch_xor;
    atomic_fetch_xor_i64_device, AtomicI64(i64), fetch_xor;
    atomic_fetch_xor_f32_device, AtomicF32(f32), fetch_xor;
    atomic_fetch_xor_f64_device, AtomicF64(f64), fetch_xor;
    atomic_fetch_add_u32_device, AtomicU32(u32), fetch_add;
    atomic_fetch_add_u64_device, AtomicU64(u64), fetch_add;
    atomic_fetch_add_i32_device, AtomicI32(i32), fetch_add;
    atomic_fetch_add_i64_device, AtomicI64(i64), fetch_add;
    atomic_fetch_add_f32_device, AtomicF32(f32), fetch_add;
    atomic_fetch_add_f64_device, AtomicF64(f64), fetch_add;
    atomic_fetch_sub_u32_device, AtomicU32(u32), fetch_sub;
    atomic_fetch_sub_u64_device, AtomicU64(u64), fetch_sub;
    atomic_fetch_sub_i32_device, AtomicI32(i32), fetch_sub;
    atomic_fetch_sub_i64_device, AtomicI64(i64), fetch_sub;
    atomic_fetch_sub_f32_device, AtomicF32(f32), fetch_sub;
    atomic_fetch_sub_f64_device, AtomicF64(f64), fetch_sub;
    atomic_fetch_min_u32_device, AtomicU32(u32), fetch_min;
    atomic_fetch_min_u64_device, AtomicU64(u64), fetch_min;
    atomic_fetch_min_i32_device, AtomicI32(i32), fetch_min;
    atomic_fetch_min_i64_device, AtomicI64(i64), fetch_min;
    atomic_fetch_max_u32_device, AtomicU32(u32), fetch_max;
    atomic_fetch_max_u64_device, AtomicU64(u64), fetch_max;
    atomic_fetch_max_i32_device, AtomicI32(i32), fetch_max;
    atomic_fetch_max_i64_device, AtomicI64(i64), fetch_max;
    atomic_fetch_exch_u32_device, AtomicU32(u32), swap;
    atomic_fetch_exch_u64_device, AtomicU64(u64), swap;
    atomic_fetch_exch_i32_device, AtomicI32(i32), swap;
    atomic_fetch_exch_i64_device, AtomicI64(i64), swap;
    atomic_fetch_exch_f32_device, AtomicF32(f32), swap;
    atomic_fetch_exch_f64_device, AtomicF64(f64), swap;
    atomic_fetch_and_u32_block, BlockAtomicU32(u32), fetch_and;
    atomic_fetch_and_u64_block, BlockAtomicU64(u64), fetch_and;
    atomic_fetch_and_i32_block, BlockAtomicI32(i32), fetch_and;
    atomic_fetch_and_i64_block, BlockAtomicI64(i64), fetch_and;
    atomic_fetch_and_f32_block, BlockAtomicF32(f32), fetch_and;
    atomic_fetch_and_f64_block, BlockAtomicF64(f64), fetch_and;
    atomic_fetch_or_u32_block, BlockAtomicU32(u32), fetch_or;
    atomic_fetch_or_u64_block, BlockAtomicU64(u64), fetch_or;
    atomic_fetch_or_i32_block, BlockAtomicI32(i32), fetch_or;
    atomic_fetch_or_i64_block, BlockAtomicI64(i64), fetch_or;
    atomic_fetch_or_f32_block, BlockAtomicF32(f32), fetch_or;
    atomic_fetch_or_f64_block, BlockAtomicF64(f64), fetch_or;
    atomic_fetch_xor_u32_block, BlockAtomicU32(u32), fetch_xor;
    atomic_fetch_xor_u64_block, BlockAtomicU64(u64), fetch_xor;
    atomic_fetch_xor_i32_block, BlockAtomicI32(i32), fetch_xor;
    atomic_fetch_xor_i64_block, BlockAtomicI64(i64), fetch_xor;
    atomic_fetch_xor_f32_block, BlockAtomicF32(f32), fetch_xor;
    atomic_fetch_xor_f64_block, BlockAtomicF64(f64), fetch_xor;
    atomic_fetch_add_u32_block, BlockAtomicU32(u32), fetch_add;
    atomic_fetch_add_u64_block, BlockAtomicU64(u64), fetch_add;
    atomic_fetch_add_i32_block, BlockAtomicI32(i32), fetch_add;
    atomic_fetch_add_i64_block, BlockAtomicI64(i64), fetch_add;
    atomic_fetch_add_f32_block, BlockAtomicF32(f32), fetch_add;
    atomic_fetch_add_f64_block, BlockAtomicF64(f64), fetch_add;
    atomic_fetch_sub_u32_block, BlockAtomicU32(u32), fetch_sub;
    atomic_fetch_sub_u64_block, BlockAtomicU64(u64), fetch_sub;
    atomic_fetch_sub_i32_block, BlockAtomicI32(i32), fetch_sub;
    atomic_fetch_sub_i64_block, BlockAtomicI64(i64), fetch_sub;
    atomic_fetch_sub_f32_block, BlockAtomicF32(f32), fetch_sub;
    atomic_fetch_sub_f64_block, BlockAtomicF64(f64), fetch_sub;
    atomic_fetch_min_u32_block, BlockAtomicU32(u32), fetch_min;
    atomic_fetch_min_u64_block, BlockAtomicU64(u64), fetch_min;
    atomic_fetch_min_i32_block, BlockAtomicI32(i32), fetch_min;
    atomic_fetch_min_i64_block, BlockAtomicI64(i64), fetch_min;
    atomic_fetch_max_u32_block, BlockAtomicU32(u32), fetch_max;
    atomic_fetch_max_u64_block, BlockAtomicU64(u64), fetch_max;
    atomic_fetch_max_i32_block, BlockAtomicI32(i32), fetch_max;
    atomic_fetch_max_i64_block, BlockAtomicI64(i64), fetch_max;
    atomic_fetch_exch_u32_block, BlockAtomicU32(u32), swap;
    atomic_fetch_exch_u64_block, BlockAtomicU64(u64), swap;
    atomic_fetch_exch_i32_block, BlockAtomicI32(i32), swap;
    atomic_fetch_exch_i64_block, BlockAtomicI64(i64), swap;
    atomic_fetch_exch_f32_block, BlockAtomicF32(f32), swap;
    atomic_fetch_exch_f64_block, BlockAtomicF64(f64), swap;
    atomic_fetch_and_u32_system, SystemAtomicU32(u32), fetch_and;
    atomic_fetch_and_u64_system, SystemAtomicU64(u64), fetch_and;
    atomic_fetch_and_i32_system, SystemAtomicI32(i32), fetch_and;
    atomic_fetch_and_i64_system, SystemAtomicI64(i64), fetch_and;
    atomic_fetch_and_f32_system, SystemAtomicF32(f32), fetch_and;
    atomic_fetch_and_f64_system, SystemAtomicF64(f64), fetch_and;
    atomic_fetch_or_u32_system, SystemAtomicU32(u32), fetch_or;
    atomic_fetch_or_u64_system, SystemAtomicU64(u64), fetch_or;
    atomic_fetch_or_i32_system, SystemAtomicI32(i32), fetch_or;
    atomic_fetch_or_i64_system, SystemAtomicI64(i64), fetch_or;
    atomic_fetch_or_f32_system, SystemAtomicF32(f32), fetch_or;
    atomic_fetch_or_f64_system, SystemAtomicF64(f64), fetch_or;
    atomic_fetch_xor_u32_system, SystemAtomicU32(u32), fetch_xor;
    atomic_fetch_xor_u64_system, SystemAtomicU64(u64), fetch_xor;
    atomic_fetch_xor_i32_system, SystemAtomicI32(i32), fetch_xor;
    atomic_fetch_xor_i64_system, SystemAtomicI64(i64), fetch_xor;
    atomic_fetch_xor_f32_system, SystemAtomicF32(f32), fetch_xor;
    atomic_fetch_xor_f64_system, SystemAtomicF64(f64), fetch_xor;
    atomic_fetch_add_u32_system, SystemAtomicU32(u32), fetch_add;
    atomic_fetch_add_u64_system, SystemAtomicU64(u64), fetch_add;
    atomic_fetch_add_i32_system, SystemAtomicI32(i32), fetch_add;
    atomic_fetch_add_i64_system, SystemAtomicI64(i64), fetch_add;
    atomic_fetch_add_f32_system, SystemAtomicF32(f32), fetch_add;
    atomic_fetch_add_f64_system, SystemAtomicF64(f64), fetch_add;
    atomic_fetch_sub_u32_system, SystemAtomicU32(u32), fetch_sub;
    atomic_fetch_sub_u64_system, SystemAtomicU64(u64), fetch_sub;
    atomic_fetch_sub_i32_system, SystemAtomicI32(i32), fetch_sub;
    atomic_fetch_sub_i64_system, SystemAtomicI64(i64), fetch_sub;
    atomic_fetch_sub_f32_system, SystemAtomicF32(f32), fetch_sub;
    atomic_fetch_sub_f64_system, SystemAtomicF64(f64), fetch_sub;
    atomic_fetch_min_u32_system, SystemAtomicU32(u32), fetch_min;
    atomic_fetch_min_u64_system, SystemAtomicU64(u64), fetch_min;
    atomic_fetch_min_i32_system, SystemAtomicI32(i32), fetch_min;
    atomic_fetch_min_i64_system, SystemAtomicI64(i64), fetch_min;
    atomic_fetch_max_u32_system, SystemAtomicU32(u32), fetch_max;
    atomic_fetch_max_u64_system, SystemAtomicU64(u64), fetch_max;
    atomic_fetch_max_i32_system, SystemAtomicI32(i32), fetch_max;
    atomic_fetch_max_i64_system, SystemAtomicI64(i64), fetch_max;
    atomic_fetch_exch_u32_system, SystemAtomicU32(u32), swap;
    atomic_fetch_exch_u64_system, SystemAtomicU64(u64), swap;
    atomic_fetch_exch_i32_system, SystemAtomicI32(i32), swap;
    atomic_fetch_exch_i64_system, SystemAtomicI64(i64), swap;
    atomic_fetch_exch_f32_system, SystemAtomicF32(f32), swap;
    atomic_fetch_exch_f64_system, SystemAtomicF64(f64), swap;
}

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

macro_rules! compare_and_swap {
    ($($name:ident, $atomic:ident($type:ty);)*) => {$(
        #[doc = concat!("[`", stringify!($atomic), "::compare_exchange`]: the value before, whether it was replaced or not.")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn $name(ptr: *mut $type, current: $type, new: $type, ordering: Ordering) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            let result = unsafe { $atomic::from_ptr(ptr).compare_exchange(current, new, ordering, failure(ordering)) };
            result.unwrap_or_else(|before| before)
        }
    )*};
}

compare_and_swap! {
    atomic_compare_and_swap_u32_block, BlockAtomicU32(u32);
    atomic_compare_and_swap_u32_device, AtomicU32(u32);
    atomic_compare_and_swap_u32_system, SystemAtomicU32(u32);
    atomic_compare_and_swap_u64_block, BlockAtomicU64(u64);
    atomic_compare_and_swap_u64_device, AtomicU64(u64);
    atomic_compare_and_swap_u64_system, SystemAtomicU64(u64);
    atomic_compare_and_swap_i32_block, BlockAtomicI32(i32);
    atomic_compare_and_swap_i32_device, AtomicI32(i32);
    atomic_compare_and_swap_i32_system, SystemAtomicI32(i32);
    atomic_compare_and_swap_i64_block, BlockAtomicI64(i64);
    atomic_compare_and_swap_i64_device, AtomicI64(i64);
    atomic_compare_and_swap_i64_system, SystemAtomicI64(i64);
    atomic_compare_and_swap_f32_block, BlockAtomicF32(f32);
    atomic_compare_and_swap_f32_device, AtomicF32(f32);
    atomic_compare_and_swap_f32_system, SystemAtomicF32(f32);
    atomic_compare_and_swap_f64_block, BlockAtomicF64(f64);
    atomic_compare_and_swap_f64_device, AtomicF64(f64);
    atomic_compare_and_swap_f64_system, SystemAtomicF64(f64);
}

/// Adds one, or begins again with 0 when `bound` is reached, by a loop of compare-and-swap (CUDA C++ `atomicInc`). Gives the value
/// before.
///
/// # Safety
/// The module's contract.
pub unsafe fn atomic_inc_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe { update(ptr, |value| if value >= bound { 0 } else { value + 1 }) }
}

/// Subtracts one, or begins again with `bound` from 0 and from above it, by a loop of compare-and-swap (CUDA C++ `atomicDec`). Gives
/// the value before.
///
/// # Safety
/// The module's contract.
pub unsafe fn atomic_dec_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    // SAFETY: the caller keeps the contract.
    unsafe {
        update(ptr, |value| {
            if value == 0 || value > bound {
                bound
            } else {
                value - 1
            }
        })
    }
}

/// # Safety
/// The module's contract.
#[inline(always)]
unsafe fn update(ptr: *mut u32, next: impl Fn(u32) -> u32) -> u32 {
    // SAFETY: the caller keeps the contract.
    let atomic = unsafe { AtomicU32::from_ptr(ptr) };
    let mut value = atomic.load(Ordering::Relaxed);
    loop {
        match atomic.compare_exchange(value, next(value), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(before) => return before,
            Err(found) => value = found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_counters_begin_again() {
        let mut value = 1;
        // SAFETY: one thread has the value.
        let before: [u32; 4] = core::array::from_fn(|_| unsafe {
            atomic_inc_bounded_relaxed_u32_device(&mut value, 2)
        });
        assert_eq!((before, value), ([1, 2, 0, 1], 2));
        // SAFETY: as above.
        let before: [u32; 4] = core::array::from_fn(|_| unsafe {
            atomic_dec_bounded_relaxed_u32_device(&mut value, 3)
        });
        assert_eq!((before, value), ([2, 1, 0, 3], 2));
        // SAFETY: as above.
        let swapped =
            unsafe { atomic_compare_and_swap_u32_device(&mut value, 7, 9, Ordering::AcqRel) };
        assert_eq!((swapped, value), (2, 2));
        // SAFETY: as above.
        let swapped =
            unsafe { atomic_compare_and_swap_u32_device(&mut value, 2, 9, Ordering::SeqCst) };
        assert_eq!((swapped, value), (2, 9));
    }
}

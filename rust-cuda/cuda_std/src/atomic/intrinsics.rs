//! The operations of the atomic types, one function for each operation, ordering, type and scope, by the names of Rust-CUDA:
//! `atomic_fetch_add_acquire_u32_block` is [`BlockAtomicU32::fetch_add`] with [`Ordering::Acquire`].
//!
//! `acqrel` is [`Ordering::AcqRel`]. `volatile` is PTX's access without an ordering: `ld.volatile` and `st.volatile`, and for the
//! operations that both read and write the relaxed ordering. `inc` and `dec` add and subtract one, wrapping; they are not
//! `atomicInc` and `atomicDec` of CUDA C++, which take a bound. Everything but the fences works on the host, too.
//!
//! All share their safety contract: the pointer is valid and aligned, all threads that access the value meanwhile do so
//! atomically, and they are of the scope in the function's name. Fences have no preconditions.

use cuda_std_macros::joined;

use super::*;
#[cfg(target_os = "cuda")]
use crate::llvm;

macro_rules! fences {
    ($($name:ident, $doc:literal, $fence:expr;)*) => {$(
        #[doc = $doc]
        ///
        /// # Safety
        /// A fence has no preconditions; it is unsafe as Rust-CUDA's.
        #[crate::gpu_only]
        pub unsafe fn $name() {
            // SAFETY: a fence has no preconditions.
            unsafe { $fence };
        }
    )*};
}

/// A `fence` instruction.
#[cfg(target_os = "cuda")]
macro_rules! fence_instruction {
    ($name:literal) => {
        core::arch::asm!(
            concat!("fence.", $name, ";"),
            options(nostack, preserves_flags)
        )
    };
}

fences! {
    membar_block, "A fence as the block sees it (PTX `membar.cta`).", llvm::fence_block();
    membar_device, "A fence as the device sees it (PTX `membar.gl`).", llvm::fence_device();
    membar_system, "A fence as the host and all devices see it (PTX `membar.sys`).", llvm::fence_system();
    fence_sc_block, "A sequentially consistent fence of the block (PTX `fence.sc.cta`).", fence_instruction!("sc.cta");
    fence_sc_device, "A sequentially consistent fence of the device (PTX `fence.sc.gpu`).", fence_instruction!("sc.gpu");
    fence_sc_system, "A sequentially consistent fence of the system (PTX `fence.sc.sys`).", fence_instruction!("sc.sys");
    fence_acqrel_block, "An acquire and release fence of the block (PTX `fence.acq_rel.cta`).", fence_instruction!("acq_rel.cta");
    fence_acqrel_device, "An acquire and release fence of the device (PTX `fence.acq_rel.gpu`).", fence_instruction!("acq_rel.gpu");
    fence_acqrel_system, "An acquire and release fence of the system (PTX `fence.acq_rel.sys`).", fence_instruction!("acq_rel.sys");
}

/// One of the four shapes of functions, for one type, ordering and scope. `$atomic` is the type whose method it calls.
macro_rules! function {
    (load $type:ident $width:literal $ordering:ident($order:ident) $scope:ident $atomic:ident) => { joined! {
        #[doc = concat!("[`", stringify!($atomic), "::load`] with [`Ordering::", stringify!($order), "`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_load_ $ordering _ $width _ $scope>](ptr: *const $type) -> $type {
            // SAFETY: the caller keeps the contract, and nothing is written.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr.cast_mut()).load(Ordering::$order) }
        }
    } };
    (store $type:ident $width:literal $ordering:ident($order:ident) $scope:ident $atomic:ident) => { joined! {
        #[doc = concat!("[`", stringify!($atomic), "::store`] with [`Ordering::", stringify!($order), "`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_store_ $ordering _ $width _ $scope>](ptr: *mut $type, val: $type) {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).store(val, Ordering::$order) }
        }
    } };
    (($name:ident, one, $method:ident) $type:ident $ordering:ident($order:ident) $scope:ident $atomic:ident) => { joined! {
        #[doc = concat!("[`", stringify!($atomic), "::", stringify!($method), "`] of 1 with [`Ordering::", stringify!($order), "`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $name _ $ordering _ $type _ $scope>](ptr: *mut $type) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).$method(1, Ordering::$order) }
        }
    } };
    (($name:ident, value, $method:ident) $type:ident $ordering:ident($order:ident) $scope:ident $atomic:ident) => { joined! {
        #[doc = concat!("[`", stringify!($atomic), "::", stringify!($method), "`] with [`Ordering::", stringify!($order), "`].")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $name _ $ordering _ $type _ $scope>](ptr: *mut $type, val: $type) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            unsafe { $atomic::from_ptr(ptr).$method(val, Ordering::$order) }
        }
    } };
    (cas $type:ident $ordering:ident($order:ident) $scope:ident $atomic:ident) => { joined! {
        #[doc = concat!("[`", stringify!($atomic), "::compare_exchange`] of `first_val` for `second_val` with [`Ordering::",
            stringify!($order), "`]: the value before, whether it was replaced or not.")]
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_cas_ $ordering _ $type _ $scope>](
            ptr: *mut $type,
            first_val: $type,
            second_val: $type,
        ) -> $type {
            // SAFETY: the caller keeps the contract.
            #[allow(unused_unsafe)]
            let result = unsafe {
                $atomic::from_ptr(ptr).compare_exchange(first_val, second_val, Ordering::$order, failure(Ordering::$order))
            };
            result.unwrap_or_else(|before| before)
        }
    } };
}

/// One operation on types, in every scope, with the orderings that it has.
macro_rules! functions {
    ($($operation:tt: $orderings:tt [$($type:ident $suffix:ident $($width:literal)?),*];)*) => {
        $($(functions! { @orderings $operation [$type $($width)?] $suffix $orderings })*)*
    };
    (@orderings $operation:tt $type:tt $suffix:ident [$($ordering:ident($order:ident))*]) => {$(
        functions! { @scopes $operation $type $suffix $ordering($order) }
    )*};
    (@scopes $operation:tt [$($type:tt)*] $suffix:ident $ordering:ident($order:ident)) => { joined! {
        function! { $operation $($type)* $ordering($order) block [<BlockAtomic $suffix>] }
        function! { $operation $($type)* $ordering($order) device [<Atomic $suffix>] }
        function! { $operation $($type)* $ordering($order) system [<SystemAtomic $suffix>] }
    } };
}

functions! {
    load: [relaxed(Relaxed) acquire(Acquire)] [u32 U32 32, u64 U64 64];
    store: [relaxed(Relaxed) release(Release)] [u32 U32 32, u64 U64 64];
}

/// The operations that read and write, which have all orderings.
macro_rules! fetch {
    ($($operation:tt: $types:tt;)*) => {
        functions! { $(
            $operation: [relaxed(Relaxed) acquire(Acquire) release(Release) acqrel(AcqRel) volatile(Relaxed)] $types;
        )* }
    };
}

fetch! {
    (inc, one, fetch_add): [u32 U32, u64 U64, i32 I32, i64 I64];
    (dec, one, fetch_sub): [u32 U32, u64 U64, i32 I32, i64 I64];
    (and, value, fetch_and): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (or, value, fetch_or): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (xor, value, fetch_xor): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (exch, value, swap): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (add, value, fetch_add): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (sub, value, fetch_sub): [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
    (min, value, fetch_min): [u32 U32, u64 U64, i32 I32, i64 I64];
    (max, value, fetch_max): [u32 U32, u64 U64, i32 I32, i64 I64];
    cas: [u32 U32, u64 U64, i32 I32, i64 I64, f32 F32, f64 F64];
}

/// Loads and stores that are neither left out nor merged, and that order nothing. They have no scope.
macro_rules! volatile {
    ($($type:ident $width:literal $scope:ident;)*) => {$( joined! {
        /// [`core::ptr::read_volatile`] (PTX `ld.volatile`).
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_load_volatile_ $width _ $scope>](ptr: *const $type) -> $type {
            // SAFETY: the caller keeps the contract.
            unsafe { ptr.read_volatile() }
        }

        /// [`core::ptr::write_volatile`] (PTX `st.volatile`).
        ///
        /// # Safety
        /// The module's contract.
        #[inline(always)]
        pub unsafe fn [<atomic_store_volatile_ $width _ $scope>](ptr: *mut $type, val: $type) {
            // SAFETY: the caller keeps the contract.
            unsafe { ptr.write_volatile(val) }
        }
    } )*};
}

volatile! {
    u32 32 block;
    u32 32 device;
    u32 32 system;
    u64 64 block;
    u64 64 device;
    u64 64 system;
}

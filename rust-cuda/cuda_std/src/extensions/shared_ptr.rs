//! Pointers that say which state space they point into.

#[cfg(target_os = "cuda")]
use core::arch::asm;
use core::marker::PhantomData;

use crate::gpu_only;

/// A pointer into the block's shared memory: 32 bits, and its accesses are `ld.shared` and `st.shared` wherever it comes from.
/// A `*mut T` from [`shared_array!`](crate::shared_array) has these only where LLVM sees that it comes from there.
///
/// Reads and writes of different threads still need a barrier between them, as through any pointer.
///
/// PTX ISA, *Addresses as Operands: Generic Addressing*, *Data Movement and Conversion Instructions: cvta, ld, st*.
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SharedPtr<T> {
    address: u32,
    to: PhantomData<*mut T>,
}

impl<T> Clone for SharedPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SharedPtr<T> {}

impl<T> SharedPtr<T> {
    /// The same place as `pointer`, which must point into the block's shared memory; otherwise the address is one of
    /// nothing, and accesses through it are undefined (PTX `cvta.to.shared`).
    #[gpu_only]
    pub fn new(pointer: *mut T) -> Self {
        let address: u64;
        // SAFETY: computes an address; touches no memory.
        unsafe {
            asm!(
                "cvta.to.shared.u64 {}, {};",
                out(reg64) address,
                in(reg64) pointer,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Self::at(address as u32)
    }

    /// The pointer with this address in the shared state space.
    #[inline(always)]
    pub const fn at(address: u32) -> Self {
        Self {
            address,
            to: PhantomData,
        }
    }

    /// The address in the shared state space, in bytes.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// The same place as a generic pointer (PTX `cvta.shared`).
    #[gpu_only]
    pub fn as_ptr(self) -> *mut T {
        let pointer: *mut T;
        // SAFETY: computes an address; touches no memory.
        unsafe {
            asm!(
                "cvta.shared.u64 {}, {};",
                out(reg64) pointer,
                in(reg64) u64::from(self.address),
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        pointer
    }

    /// `count` elements further on.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "named as on raw pointers")]
    pub const fn add(self, count: u32) -> Self {
        Self::at(
            self.address
                .wrapping_add(count.wrapping_mul(size_of::<T>() as u32)),
        )
    }

    /// The same address, another type.
    #[inline(always)]
    pub const fn cast<U>(self) -> SharedPtr<U> {
        SharedPtr::at(self.address)
    }
}

macro_rules! accesses {
    ($($type:ty, $register:ident, $load:literal, $store:literal;)*) => {$(
        impl SharedPtr<$type> {
            #[doc = concat!("Loads the value (PTX `", $load, "`).")]
            ///
            /// # Safety
            /// The pointer points to an initialised value, and no other thread stores to it meanwhile.
            #[gpu_only]
            pub unsafe fn read(self) -> $type {
                let value;
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!($load, " {}, [{}];"),
                        lateout($register) value,
                        in(reg32) self.address,
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                value
            }

            #[doc = concat!("Stores a value (PTX `", $store, "`).")]
            ///
            /// # Safety
            /// The pointer points to the block's shared memory, and no other thread accesses the place meanwhile.
            #[gpu_only]
            pub unsafe fn write(self, value: $type) {
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!($store, " [{}], {};"),
                        in(reg32) self.address,
                        in($register) value,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    )*};
}

accesses! {
    u32, reg32, "ld.shared.b32", "st.shared.b32";
    i32, reg32, "ld.shared.b32", "st.shared.b32";
    f32, reg32, "ld.shared.b32", "st.shared.b32";
    u64, reg64, "ld.shared.b64", "st.shared.b64";
    i64, reg64, "ld.shared.b64", "st.shared.b64";
    f64, reg64, "ld.shared.b64", "st.shared.b64";
}

impl SharedPtr<f32> {
    /// Loads four elements at once (PTX `ld.shared.v4.b32`).
    ///
    /// # Safety
    /// As for [`read`](Self::read), for four elements; the address is a multiple of 16.
    #[gpu_only]
    pub unsafe fn read_x4(self) -> [f32; 4] {
        let (a, b, c, d);
        // SAFETY: the caller's.
        unsafe {
            asm!(
                "ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
                lateout(reg32) a,
                lateout(reg32) b,
                lateout(reg32) c,
                lateout(reg32) d,
                in(reg32) self.address,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        [a, b, c, d]
    }

    /// Stores four elements at once (PTX `st.shared.v4.b32`).
    ///
    /// # Safety
    /// As for [`write`](Self::write), for four elements; the address is a multiple of 16.
    #[gpu_only]
    pub unsafe fn write_x4(self, [a, b, c, d]: [f32; 4]) {
        // SAFETY: the caller's.
        unsafe {
            asm!(
                "st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};",
                in(reg32) self.address,
                in(reg32) a,
                in(reg32) b,
                in(reg32) c,
                in(reg32) d,
                options(nostack, preserves_flags),
            );
        }
    }
}

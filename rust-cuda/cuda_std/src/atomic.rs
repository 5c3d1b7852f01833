//! Atomic types.
//!
//! They are for what `core::sync::atomic` does not say: how far an operation has to be seen. A type without a prefix
//! has device scope (PTX `.gpu`), `Block…` the block's (`.cta`), `System…` that of all devices and the host (`.sys`).
//! And there are floating-point ones, which the hardware adds to without a loop.
//!
//! Orderings are those of [`core::sync::atomic::Ordering`]. A sequentially consistent operation is a `fence.sc`, then
//! the operation with acquire ordering: NVIDIA's own mapping of the C++ memory model.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: atom*, *Data Movement: ld, st*, and *Memory
//! Consistency Model*.

use core::cell::UnsafeCell;
pub use core::sync::atomic::Ordering;

use crate::gpu_only;

/// `fence.sc` of a scope.
#[cfg(target_os = "cuda")]
macro_rules! fence {
    ($scope:literal) => {
        core::arch::asm!(
            concat!("fence.sc.", $scope, ";"),
            options(nostack, preserves_flags)
        )
    };
}

/// An `atom` instruction in the ordering that the program asks for.
#[cfg(target_os = "cuda")]
macro_rules! atom {
    ($self:ident, $ordering:expr, $scope:literal, $register:ident, $operation:expr; $($operand:ident),*) => {{
        let before;
        let address = $self.value.get();
        macro_rules! ordered {
            ($name:literal) => {
                // Where LLVM knows the address to be in global memory, one of the two is left.
                if crate::llvm::is_global(address.cast_const().cast()) {
                    ordered!($name, ".global.")
                } else {
                    ordered!($name, ".")
                }
            };
            ($name:literal, $space:literal) => {
                core::arch::asm!(
                    concat!("atom.", $name, ".", $scope, $space, $operation),
                    out($register) before,
                    in(reg64) address,
                    $(in($register) $operand,)*
                    options(nostack, preserves_flags),
                )
            };
        }
        // SAFETY: the cell is a valid, aligned address, and the hardware serialises what threads do to it.
        unsafe {
            match $ordering {
                Ordering::Relaxed => ordered!("relaxed"),
                Ordering::Acquire => ordered!("acquire"),
                Ordering::Release => ordered!("release"),
                Ordering::AcqRel => ordered!("acq_rel"),
                _ => {
                    fence!($scope);
                    ordered!("acquire")
                }
            }
        }
        before
    }};
}

/// Read-modify-write methods: their names and PTX operations.
macro_rules! fetch {
    ($type:ty, $scope:literal, $register:ident; $($method:ident: $operation:expr, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("Gives the value before (PTX `atom.", $operation, "`).")]
        #[gpu_only]
        pub fn $method(&self, value: $type, ordering: Ordering) -> $type {
            atom!(self, ordering, $scope, $register, concat!($operation, " {}, [{}], {};"); value)
        }
    )*};
}

/// What every atomic type has.
macro_rules! atomic {
    ($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal) => {
        #[doc = concat!("A `", stringify!($type), "` that threads share, in scope `.", $scope, "`.")]
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name {
            value: UnsafeCell<$type>,
        }

        // SAFETY: shared references reach the value through atomic instructions only.
        unsafe impl Sync for $name {}

        impl $name {
            /// A new atomic value.
            pub const fn new(value: $type) -> Self {
                Self { value: UnsafeCell::new(value) }
            }

            /// The atomic value at an address.
            ///
            /// # Safety
            /// The address is valid and aligned for `'a`, and is accessed atomically only while this reference lives.
            #[inline(always)]
            pub const unsafe fn from_ptr<'a>(address: *mut $type) -> &'a Self {
                // SAFETY: the type is transparent, and the caller vouches for the address.
                unsafe { &*address.cast() }
            }

            /// The value's address.
            pub const fn as_ptr(&self) -> *mut $type {
                self.value.get()
            }

            /// Reads the value (PTX `ld.relaxed`, `ld.acquire`).
            ///
            /// # Panics
            /// `ordering` is `Release` or `AcqRel`, which no load has.
            #[gpu_only]
            pub fn load(&self, ordering: Ordering) -> $type {
                let value;
                macro_rules! ordered {
                    ($ordering:literal) => {
                        core::arch::asm!(
                            concat!("ld.", $ordering, ".", $scope, ".", $bits, " {}, [{}];"),
                            out($register) value,
                            in(reg64) self.value.get(),
                            options(nostack, preserves_flags),
                        )
                    };
                }
                // SAFETY: the cell is a valid, aligned address.
                unsafe {
                    match ordering {
                        Ordering::Relaxed => ordered!("relaxed"),
                        Ordering::Acquire => ordered!("acquire"),
                        Ordering::SeqCst => {
                            fence!($scope);
                            ordered!("acquire")
                        }
                        _ => panic!("a load has no release ordering"),
                    }
                }
                value
            }

            /// Writes the value (PTX `st.relaxed`, `st.release`).
            ///
            /// # Panics
            /// `ordering` is `Acquire` or `AcqRel`, which no store has.
            #[gpu_only]
            pub fn store(&self, value: $type, ordering: Ordering) {
                macro_rules! ordered {
                    ($ordering:literal) => {
                        core::arch::asm!(
                            concat!("st.", $ordering, ".", $scope, ".", $bits, " [{}], {};"),
                            in(reg64) self.value.get(),
                            in($register) value,
                            options(nostack, preserves_flags),
                        )
                    };
                }
                // SAFETY: the cell is a valid, aligned address.
                unsafe {
                    match ordering {
                        Ordering::Relaxed => ordered!("relaxed"),
                        Ordering::Release => ordered!("release"),
                        Ordering::SeqCst => {
                            fence!($scope);
                            ordered!("relaxed")
                        }
                        _ => panic!("a store has no acquire ordering"),
                    }
                }
            }

            /// Stores `new` if the value is, bit for bit, `current`. Gives the value before, as `Ok` if it was stored
            /// (PTX `atom.cas`).
            ///
            /// # Errors
            /// The value that was there instead of `current`.
            #[gpu_only]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                let ordering = strongest(success, failure);
                let before: $type = atom!(
                    self, ordering, $scope, $register, concat!("cas.", $bits, " {}, [{}], {}, {};"); current, new
                );
                if before.to_ne_bytes() == current.to_ne_bytes() { Ok(before) } else { Err(before) }
            }

            fetch! { $type, $scope, $register;
                swap: concat!("exch.", $bits), "Replaces the value.";
            }
        }
    };
}

/// The one ordering of a compare-and-swap that has to have `success` and `failure`.
#[cfg(any(target_os = "cuda", test))]
fn strongest(success: Ordering, failure: Ordering) -> Ordering {
    match (success, failure) {
        (_, Ordering::SeqCst) => Ordering::SeqCst,
        (Ordering::Relaxed, Ordering::Acquire) => Ordering::Acquire,
        (Ordering::Release, Ordering::Acquire) => Ordering::AcqRel,
        _ => success,
    }
}

macro_rules! integers {
    ($($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal, $order:literal;)*) => {$(
        atomic! { $name($type), $scope, $register, $bits }

        impl $name {
            fetch! { $type, $scope, $register;
                fetch_add: concat!("add.", $sum), "Adds, wrapping.";
                fetch_and: concat!("and.", $bits), "Bitwise and.";
                fetch_or: concat!("or.", $bits), "Bitwise or.";
                fetch_xor: concat!("xor.", $bits), "Bitwise exclusive or.";
                fetch_min: concat!("min.", $order), "The smaller of the two values.";
                fetch_max: concat!("max.", $order), "The greater of the two values.";
            }

            /// Subtracts, wrapping: [`fetch_add`](Self::fetch_add) of the negated value.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $type, ordering: Ordering) -> $type {
                self.fetch_add(value.wrapping_neg(), ordering)
            }
        }
    )*};
}

macro_rules! floats {
    ($($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal;)*) => {$(
        atomic! { $name($type), $scope, $register, $bits }

        impl $name {
            fetch! { $type, $scope, $register;
                fetch_add: concat!("add.", $sum), "Adds, rounding to nearest even.";
            }

            /// Subtracts: [`fetch_add`](Self::fetch_add) of the negated value.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $type, ordering: Ordering) -> $type {
                self.fetch_add(-value, ordering)
            }
        }
    )*};
}

integers! {
    AtomicU32(u32), "gpu", reg32, "b32", "u32", "u32";
    AtomicI32(i32), "gpu", reg32, "b32", "s32", "s32";
    AtomicU64(u64), "gpu", reg64, "b64", "u64", "u64";
    AtomicI64(i64), "gpu", reg64, "b64", "u64", "s64";
    BlockAtomicU32(u32), "cta", reg32, "b32", "u32", "u32";
    BlockAtomicI32(i32), "cta", reg32, "b32", "s32", "s32";
    BlockAtomicU64(u64), "cta", reg64, "b64", "u64", "u64";
    BlockAtomicI64(i64), "cta", reg64, "b64", "u64", "s64";
    SystemAtomicU32(u32), "sys", reg32, "b32", "u32", "u32";
    SystemAtomicI32(i32), "sys", reg32, "b32", "s32", "s32";
    SystemAtomicU64(u64), "sys", reg64, "b64", "u64", "u64";
    SystemAtomicI64(i64), "sys", reg64, "b64", "u64", "s64";
}

floats! {
    AtomicF32(f32), "gpu", reg32, "b32", "f32";
    AtomicF64(f64), "gpu", reg64, "b64", "f64";
    BlockAtomicF32(f32), "cta", reg32, "b32", "f32";
    BlockAtomicF64(f64), "cta", reg64, "b64", "f64";
    SystemAtomicF32(f32), "sys", reg32, "b32", "f32";
    SystemAtomicF64(f64), "sys", reg64, "b64", "f64";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compare_exchange_has_the_ordering_of_both_outcomes() {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        for (success, failure, expected) in [
            (Relaxed, Relaxed, Relaxed),
            (Relaxed, Acquire, Acquire),
            (Release, Relaxed, Release),
            (Release, Acquire, AcqRel),
            (AcqRel, Acquire, AcqRel),
            (Acquire, SeqCst, SeqCst),
            (SeqCst, Relaxed, SeqCst),
        ] {
            assert_eq!(
                strongest(success, failure),
                expected,
                "{success:?}, {failure:?}"
            );
        }
    }
}

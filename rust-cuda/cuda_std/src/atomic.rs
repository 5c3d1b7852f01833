//! Atomic types.
//!
//! They are for what `core::sync::atomic` does not say: how far an operation has to be seen. A type without a prefix
//! has device scope (PTX `.gpu`), `Block…` the block's (`.cta`), `System…` that of all devices and the host (`.sys`).
//! And there are floating-point ones, which the hardware adds to without a loop.
//!
//! Orderings are those of [`core::sync::atomic::Ordering`]. A sequentially consistent operation is a `fence.sc`, then
//! the operation with acquire ordering: NVIDIA's own mapping of the C++ memory model.
//!
//! A value in a shared array is accessed by `.shared` instructions, one behind a kernel's parameter by `.global` ones. What LLVM
//! cannot follow to either, because the pointer went through memory, finds out at run time.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: atom*, *Data Movement: ld, st*, and *Memory
//! Consistency Model*.

use core::cell::UnsafeCell;
pub use core::sync::atomic::Ordering;

pub mod intrinsics;
pub mod mid;

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

/// An instruction on an address, in the address's state space. LLVM leaves one of the three where it knows the space; elsewhere the
/// hardware asks.
#[cfg(target_os = "cuda")]
macro_rules! in_state_space {
    ($before:expr, $after:expr, $address:expr; $($operands:tt)*) => {{
        let address = $address;
        if crate::llvm::is_global(address.cast_const().cast()) {
            in_state_space!(@one concat!($before, ".global.", $after), address; $($operands)*)
        } else if crate::llvm::is_shared(address.cast_const().cast()) {
            in_state_space!(@one concat!($before, ".shared.", $after), shared_address(address); $($operands)*)
        } else {
            in_state_space!(@one concat!($before, ".", $after), address; $($operands)*)
        }
    }};
    (@one $template:expr, $address:expr; $($operands:tt)*) => {
        core::arch::asm!(
            $template,
            $($operands)*,
            address = in(reg64) $address,
            options(nostack, preserves_flags),
        )
    };
}

/// Where in shared memory a generic address of it points to (PTX `cvta.to.shared`).
#[cfg(target_os = "cuda")]
#[inline(always)]
fn shared_address<T>(address: *mut T) -> u64 {
    let shared;
    // SAFETY: converts an address; touches no memory.
    unsafe {
        core::arch::asm!(
            "cvta.to.shared.u64 {}, {};",
            out(reg64) shared,
            in(reg64) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    shared
}

/// An `atom` instruction in the ordering that the program asks for.
#[cfg(target_os = "cuda")]
macro_rules! atom {
    ($self:ident, $ordering:expr, $scope:literal, $register:ident, $operation:expr; $($operand:ident),*) => {{
        let before;
        macro_rules! ordered {
            ($name:literal) => {
                in_state_space!(
                    concat!("atom.", $name, ".", $scope), $operation, $self.value.get();
                    out($register) before $(, in($register) $operand)*
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

/// Read-modify-write methods: their names, PTX operations, and what they compute on the host.
macro_rules! fetch {
    ($type:ty, $scope:literal, $register:ident, $unsafety:tt;
     $($method:ident: $operation:expr, $host:expr, $doc:literal;)*) => {
        $(fetch! { @one $type, $scope, $register, $unsafety; $method: $operation, $host, $doc })*
    };
    (@one $type:ty, $scope:literal, $register:ident, [$($unsafety:ident)?];
     $method:ident: $operation:expr, $host:expr, $doc:literal) => {
        #[doc = $doc]
        #[doc = concat!("Gives the value before (PTX `atom.", $operation, "`).")]
        $(#[doc = safety!($unsafety)])?
        #[inline(always)]
        pub $($unsafety)? fn $method(&self, value: $type, ordering: Ordering) -> $type {
            #[cfg(target_os = "cuda")]
            {
                atom!(self, ordering, $scope, $register, concat!($operation, " {}, [{address}], {};"); value)
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let combine: fn($type, $type) -> $type = $host;
                let failure = failure(ordering);
                let update = |bits| Some(combine(<$type>::from_bits(bits), value).to_bits());
                match self.bits().fetch_update(ordering, failure, update) {
                    Ok(bits) | Err(bits) => <$type>::from_bits(bits),
                }
            }
        }
    };
}

/// Why the methods of types with the block's scope are unsafe, as with Rust-CUDA.
macro_rules! safety {
    (unsafe) => {
        "\n\n# Safety\nNo thread of another block accesses the value at the same time."
    };
}

/// What every atomic type has.
macro_rules! atomic {
    ($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, [$($unsafety:ident)?], $host:ident) => {
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

            /// The value.
            pub const fn into_inner(self) -> $type {
                self.value.into_inner()
            }

            /// The host's atomic type over the same bits.
            #[cfg(not(target_os = "cuda"))]
            fn bits(&self) -> &core::sync::atomic::$host {
                // SAFETY: the cell is valid, aligned for its size, and only accessed atomically.
                unsafe { core::sync::atomic::$host::from_ptr(self.value.get().cast()) }
            }

            /// Reads the value (PTX `ld.relaxed`, `ld.acquire`).
            ///
            /// # Panics
            /// `ordering` is `Release` or `AcqRel`, which no load has.
            $(#[doc = safety!($unsafety)])?
            #[inline(always)]
            pub $($unsafety)? fn load(&self, ordering: Ordering) -> $type {
                #[cfg(not(target_os = "cuda"))]
                return <$type>::from_bits(self.bits().load(ordering));
                #[cfg(target_os = "cuda")]
                {
                let value;
                macro_rules! ordered {
                    ($ordering:literal) => {
                        in_state_space!(
                            concat!("ld.", $ordering, ".", $scope), concat!($bits, " {}, [{address}];"), self.value.get();
                            out($register) value
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
            }

            /// Writes the value (PTX `st.relaxed`, `st.release`).
            ///
            /// # Panics
            /// `ordering` is `Acquire` or `AcqRel`, which no store has.
            $(#[doc = safety!($unsafety)])?
            #[inline(always)]
            pub $($unsafety)? fn store(&self, value: $type, ordering: Ordering) {
                #[cfg(not(target_os = "cuda"))]
                self.bits().store(value.to_bits(), ordering);
                #[cfg(target_os = "cuda")]
                {
                macro_rules! ordered {
                    ($ordering:literal) => {
                        in_state_space!(
                            concat!("st.", $ordering, ".", $scope), concat!($bits, " [{address}], {};"), self.value.get();
                            in($register) value
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
            }

            /// Stores `new` if the value is, bit for bit, `current`. Gives the value before, as `Ok` if it was stored
            /// (PTX `atom.cas`).
            ///
            /// # Errors
            /// The value that was there instead of `current`.
            $(#[doc = safety!($unsafety)])?
            #[inline(always)]
            pub $($unsafety)? fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                #[cfg(not(target_os = "cuda"))]
                return self
                    .bits()
                    .compare_exchange(current.to_bits(), new.to_bits(), success, failure)
                    .map(<$type>::from_bits)
                    .map_err(<$type>::from_bits);
                #[cfg(target_os = "cuda")]
                {
                    let ordering = strongest(success, failure);
                    let before: $type = atom!(
                        self, ordering, $scope, $register, concat!("cas.", $bits, " {}, [{address}], {}, {};"); current, new
                    );
                    if before.to_ne_bytes() == current.to_ne_bytes() { Ok(before) } else { Err(before) }
                }
            }

            fetch! { $type, $scope, $register, [$($unsafety)?];
                swap: concat!("exch.", $bits), |_, new| new, "Replaces the value.";
            }
        }
    };
}

/// The ordering of a load that finds another value than was expected.
fn failure(success: Ordering) -> Ordering {
    match success {
        Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
        Ordering::SeqCst => Ordering::SeqCst,
        _ => Ordering::Acquire,
    }
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
    ($($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal, $order:literal,
       $unsafety:tt, $host:ident;)*) => {
        $(integers! { @one $name($type), $scope, $register, $bits, $sum, $order, $unsafety, $host })*
    };
    (@one $name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal, $order:literal, [$($unsafety:ident)?],
     $host:ident) => {
        atomic! { $name($type), $scope, $register, $bits, [$($unsafety)?], $host }

        impl $name {
            fetch! { $type, $scope, $register, [$($unsafety)?];
                fetch_add: concat!("add.", $sum), |a, b| a.wrapping_add(b), "Adds, wrapping.";
                fetch_and: concat!("and.", $bits), |a, b| a & b, "Bitwise and.";
                fetch_or: concat!("or.", $bits), |a, b| a | b, "Bitwise or.";
                fetch_xor: concat!("xor.", $bits), |a, b| a ^ b, "Bitwise exclusive or.";
                fetch_min: concat!("min.", $order), |a, b| a.min(b), "The smaller of the two values.";
                fetch_max: concat!("max.", $order), |a, b| a.max(b), "The greater of the two values.";
            }

            /// Subtracts, wrapping: [`fetch_add`](Self::fetch_add) of the negated value.
            $(#[doc = safety!($unsafety)])?
            #[inline(always)]
            pub $($unsafety)? fn fetch_sub(&self, value: $type, ordering: Ordering) -> $type {
                // SAFETY: if any, the caller's.
                #[allow(unused_unsafe)]
                unsafe { self.fetch_add(value.wrapping_neg(), ordering) }
            }
        }
    };
}

macro_rules! floats {
    ($($name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal,
       $unsafety:tt, $host:ident;)*) => {
        $(floats! { @one $name($type), $scope, $register, $bits, $sum, $unsafety, $host })*
    };
    (@one $name:ident($type:ty), $scope:literal, $register:ident, $bits:literal, $sum:literal, [$($unsafety:ident)?],
     $host:ident) => {
        atomic! { $name($type), $scope, $register, $bits, [$($unsafety)?], $host }

        impl $name {
            fetch! { $type, $scope, $register, [$($unsafety)?];
                fetch_add: concat!("add.", $sum), |a, b| a + b, "Adds, rounding to nearest even.";
                fetch_and: concat!("and.", $bits), |a, b| <$type>::from_bits(a.to_bits() & b.to_bits()),
                    "Bitwise and of the representations.";
                fetch_or: concat!("or.", $bits), |a, b| <$type>::from_bits(a.to_bits() | b.to_bits()),
                    "Bitwise or of the representations.";
                fetch_xor: concat!("xor.", $bits), |a, b| <$type>::from_bits(a.to_bits() ^ b.to_bits()),
                    "Bitwise exclusive or of the representations.";
            }

            /// Subtracts: [`fetch_add`](Self::fetch_add) of the negated value.
            $(#[doc = safety!($unsafety)])?
            #[inline(always)]
            pub $($unsafety)? fn fetch_sub(&self, value: $type, ordering: Ordering) -> $type {
                // SAFETY: if any, the caller's.
                #[allow(unused_unsafe)]
                unsafe { self.fetch_add(-value, ordering) }
            }
        }
    };
}

integers! {
    AtomicU32(u32), "gpu", reg32, "b32", "u32", "u32", [], AtomicU32;
    AtomicI32(i32), "gpu", reg32, "b32", "s32", "s32", [], AtomicU32;
    AtomicU64(u64), "gpu", reg64, "b64", "u64", "u64", [], AtomicU64;
    AtomicI64(i64), "gpu", reg64, "b64", "u64", "s64", [], AtomicU64;
    BlockAtomicU32(u32), "cta", reg32, "b32", "u32", "u32", [unsafe], AtomicU32;
    BlockAtomicI32(i32), "cta", reg32, "b32", "s32", "s32", [unsafe], AtomicU32;
    BlockAtomicU64(u64), "cta", reg64, "b64", "u64", "u64", [unsafe], AtomicU64;
    BlockAtomicI64(i64), "cta", reg64, "b64", "u64", "s64", [unsafe], AtomicU64;
    SystemAtomicU32(u32), "sys", reg32, "b32", "u32", "u32", [], AtomicU32;
    SystemAtomicI32(i32), "sys", reg32, "b32", "s32", "s32", [], AtomicU32;
    SystemAtomicU64(u64), "sys", reg64, "b64", "u64", "u64", [], AtomicU64;
    SystemAtomicI64(i64), "sys", reg64, "b64", "u64", "s64", [], AtomicU64;
}

floats! {
    AtomicF32(f32), "gpu", reg32, "b32", "f32", [], AtomicU32;
    AtomicF64(f64), "gpu", reg64, "b64", "f64", [], AtomicU64;
    BlockAtomicF32(f32), "cta", reg32, "b32", "f32", [unsafe], AtomicU32;
    BlockAtomicF64(f64), "cta", reg64, "b64", "f64", [unsafe], AtomicU64;
    SystemAtomicF32(f32), "sys", reg32, "b32", "f32", [], AtomicU32;
    SystemAtomicF64(f64), "sys", reg64, "b64", "f64", [], AtomicU64;
}

/// What the host's atomic types need.
#[cfg(not(target_os = "cuda"))]
mod host {
    /// Integers have the methods of floats, so that one macro serves both.
    pub(super) trait Bits: Copy {
        type Bits;
        fn to_bits(self) -> Self::Bits;
        fn from_bits(bits: Self::Bits) -> Self;
    }

    macro_rules! bits {
        ($($type:ty, $bits:ty;)*) => {$(
            impl Bits for $type {
                type Bits = $bits;

                fn to_bits(self) -> $bits {
                    self as $bits
                }

                fn from_bits(bits: $bits) -> Self {
                    bits as $type
                }
            }
        )*};
    }

    bits! { u32, u32; i32, u32; u64, u64; i64, u64; }
}

#[cfg(not(target_os = "cuda"))]
use host::Bits as _;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_computes_what_the_gpu_does() {
        let float = AtomicF32::new(1.5);
        assert_eq!(float.fetch_add(2.0, Ordering::AcqRel), 1.5);
        assert_eq!(float.fetch_sub(0.5, Ordering::SeqCst), 3.5);
        assert_eq!(float.fetch_and(2.0, Ordering::Relaxed), 3.0);
        assert_eq!(float.swap(-0.0, Ordering::Release), 2.0);
        assert_eq!(
            float.compare_exchange(0.0, 1.0, Ordering::AcqRel, Ordering::Acquire),
            Err(-0.0),
            "by bits"
        );
        let integer = SystemAtomicI64::new(-3);
        assert_eq!(integer.fetch_max(2, Ordering::Relaxed), -3);
        assert_eq!(integer.load(Ordering::Acquire), 2);
        let block = BlockAtomicU32::new(1);
        // SAFETY: there is no other thread.
        unsafe {
            assert_eq!(block.fetch_sub(2, Ordering::Relaxed), 1);
            block.store(block.load(Ordering::Relaxed) & 7, Ordering::Relaxed);
        }
        assert_eq!(block.into_inner(), 7);
    }

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

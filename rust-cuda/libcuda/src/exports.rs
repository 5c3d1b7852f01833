//! The exported functions: each one jump through its slot.
//!
//! A naked function has no prologue, so the jump leaves registers and stack as the caller set
//! them, and the driver returns straight to the caller.

use crate::names::with_names;
use crate::slots::SLOTS;
use crate::symbols::{COUNT, Symbol};
use core::arch::naked_asm;

#[cfg(target_arch = "x86_64")]
macro_rules! jump_through_slot {
    ($name:ident) => {
        naked_asm!(
            "jmp qword ptr [rip + {slots} + {offset}]",
            slots = sym SLOTS,
            offset = const size_of::<usize>() * Symbol::$name as usize,
        )
    };
}

// x16 is the register that the procedure call standard leaves to such jumps (IP0). The acquiring
// load orders what the driver reads after the filling of its slot, as x86-64 does by itself.
#[cfg(all(target_arch = "aarch64", not(target_vendor = "apple")))]
macro_rules! jump_through_slot {
    ($name:ident) => {
        naked_asm!(
            "adrp x16, {slots} + {offset}",
            "add x16, x16, :lo12:{slots} + {offset}",
            "ldar x16, [x16]",
            "br x16",
            slots = sym SLOTS,
            offset = const size_of::<usize>() * Symbol::$name as usize,
        )
    };
}

#[cfg(all(target_arch = "aarch64", target_vendor = "apple"))]
macro_rules! jump_through_slot {
    ($name:ident) => {
        naked_asm!(
            "adrp x16, {slots}@PAGE + {offset}",
            "add x16, x16, {slots}@PAGEOFF + {offset}",
            "ldar x16, [x16]",
            "br x16",
            slots = sym SLOTS,
            offset = const size_of::<usize>() * Symbol::$name as usize,
        )
    };
}

macro_rules! make_exports {
    ($($name:ident)*) => {
        $(
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                jump_through_slot!($name)
            }
        )*

        /// The exported functions in the order of the names. [`select`](crate::select) reads it,
        /// so a program that links `select` links them all.
        pub(crate) static EXPORTS: [unsafe extern "C" fn(); COUNT] = [$($name),*];
    };
}
with_names!(make_exports);

//! State spaces of addresses.
//!
//! PTX ISA, *Data Movement and Conversion Instructions: isspacep, cvta*.

use crate::gpu_only;

/// Where a pointer may point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device.
    Global,
    /// Memory of the block.
    Shared,
    /// Constants, which the whole device reads.
    Constant,
    /// Memory of the thread.
    Local,
}

/// Whether `ptr`, a generic address, lies in a state space (PTX `isspacep`).
///
/// # Safety
/// None: no memory is accessed.
#[gpu_only]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    macro_rules! test {
        ($space:literal) => {{
            let result: u32;
            // SAFETY: computes with an address; touches no memory.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred within;",
                    concat!("isspacep.", $space, " within, {1};"),
                    "selp.u32 {0}, 1, 0, within; }}",
                    out(reg32) result,
                    in(reg64) ptr,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            result != 0
        }};
    }
    match address_space {
        AddressSpace::Global => test!("global"),
        AddressSpace::Shared => test!("shared"),
        AddressSpace::Constant => test!("const"),
        AddressSpace::Local => test!("local"),
    }
}

macro_rules! conversion {
    ($(#[$doc:meta])* $name:ident, $direction:literal) => {
        $(#[$doc])*
        #[gpu_only]
        pub unsafe fn $name<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
            macro_rules! convert {
                ($space:literal) => {{
                    let result: *const T;
                    // SAFETY: computes an address; touches no memory.
                    unsafe {
                        core::arch::asm!(
                            concat!("cvta.", $direction, $space, ".u64 {}, {};"),
                            out(reg64) result,
                            in(reg64) ptr,
                            options(pure, nomem, nostack, preserves_flags),
                        );
                    }
                    result
                }};
            }
            match address_space {
                AddressSpace::Global => convert!("global"),
                AddressSpace::Shared => convert!("shared"),
                AddressSpace::Constant => convert!("const"),
                AddressSpace::Local => convert!("local"),
            }
        }
    };
}

conversion! {
    /// The address within a state space of a generic address (PTX `cvta.to`). Only assembly can access memory by it.
    ///
    /// # Safety
    /// `ptr` points into that space.
    convert_generic_to_specific_address_space, "to."
}

conversion! {
    /// The generic address of an address within a state space (PTX `cvta`).
    ///
    /// # Safety
    /// `ptr` is an address within that space.
    convert_specific_address_space_to_generic, ""
}

//! Shared memory: fast memory of one block, gone when the block ends.
//!
//! [`shared_array!`](crate::shared_array) reserves it at compile time, [`dynamic_shared_mem`] is what the launch
//! reserves. Both give pointers that every thread of the block can use, so every access needs the program's care:
//! nothing is initialised, and [`thread::sync_threads`](crate::thread::sync_threads) must separate one thread's store
//! from another's load.
//!
//! Where LLVM follows a pointer from there to an access, the access is `ld.shared` or `st.shared`. Where it cannot, because the
//! pointer went through memory or into a function that is not inlined, it is a generic `ld` or `st`, which the hardware resolves
//! at run time. [`SharedPtr`](crate::extensions::SharedPtr) keeps the state space in its type.
//!
//! PTX ISA, *State Spaces: Shared State Space*.

#[cfg(target_os = "cuda")]
use core::arch::{asm, global_asm};

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::gpu_only;
#[cfg(target_os = "cuda")]
use crate::llvm;

// One symbol for all kernels, as aligned as CUDA C++'s `extern __shared__` can be asked to be.
#[cfg(target_os = "cuda")]
global_asm!(".extern .shared .align 128 .b8 cuda_std_dynamic_shared[];");

/// The shared memory that the launch reserves, from its beginning, aligned to 128 bytes (PTX `.extern .shared`).
/// Every call gives the same address. How long it is only the launch knows.
#[gpu_only]
pub fn dynamic_shared_mem<T>() -> *mut T {
    /// More than a block can have, and within the window of generic addresses that shared memory has.
    const END: usize = 1 << 20;
    let end: *mut T;
    // SAFETY: takes an address; touches no memory.
    unsafe {
        asm!(
            "cvta.shared.u64 {}, cuda_std_dynamic_shared+{};",
            out(reg64) end,
            const END,
            options(pure, nomem, nostack, preserves_flags),
        );
        back(end, END)
    }
}

/// The shared address that is `bytes` before the address `end`. LLVM infers the state space of what is computed from an address
/// that it knows to be shared, and not of that address itself: so `end` is one that nothing is loaded from.
///
/// # Safety
/// `end` is a shared address.
#[doc(hidden)]
#[cfg(target_os = "cuda")]
#[inline(always)]
pub unsafe fn back<T>(end: *mut T, bytes: usize) -> *mut T {
    // SAFETY: the caller's.
    unsafe { core::hint::assert_unchecked(llvm::is_shared(end.cast_const().cast())) };
    end.wrapping_byte_sub(bytes)
}

/// Where a static in shared memory lies. `#[address_space(shared)]` implements it.
#[doc(hidden)]
pub trait Place {
    type Value;
    fn address() -> *mut Self::Value;
}

/// A static under [`#[address_space(shared)]`](macro@crate::address_space) outside of a kernel: it dereferences to the memory.
#[derive(Debug)]
pub struct Static<P>(PhantomData<P>);

impl<P> Static<P> {
    #[doc(hidden)]
    pub const NEW: Self = Self(PhantomData);
}

// SAFETY: it holds nothing; whoever declares the static vouches for how threads use the memory behind it.
unsafe impl<P> Sync for Static<P> {}

impl<P: Place> Deref for Static<P> {
    type Target = P::Value;

    #[inline(always)]
    fn deref(&self) -> &P::Value {
        // SAFETY: the address is of shared memory of that type; the declaration vouches for its contents.
        unsafe { &*P::address() }
    }
}

impl<P: Place> DerefMut for Static<P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut P::Value {
        // SAFETY: as above; only a `static mut` can be borrowed mutably.
        unsafe { &mut *P::address() }
    }
}

/// What [`shared_array!`](crate::shared_array) is on the host.
#[doc(hidden)]
#[cfg(not(target_os = "cuda"))]
pub fn absent<T>() -> *mut T {
    panic!("cuda_std: shared memory exists only on the GPU")
}

//! Memory that a kernel allocates, and the sizes of shared memory.
//!
//! With the feature `alloc`, which is on by default, `alloc`'s types allocate with CUDA's device-side `malloc`. Its heap has
//! 8 MiB unless the host sets `CU_LIMIT_MALLOC_HEAP_SIZE`, and it is slow: thousands of threads ask one allocator.
//!
//! CUDA C++ Programming Guide, *Dynamic Global Memory Allocation and Operations*; PTX ISA, *Special Registers*.

use crate::gpu_only;

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    /// Allocates `size` bytes, aligned to 16; null if the heap is full.
    pub fn malloc(size: usize) -> *mut core::ffi::c_void;

    /// Frees what [`malloc`] allocated.
    pub fn free(ptr: *mut core::ffi::c_void);
}

/// The device's `malloc` and `free` as Rust's allocator.
#[derive(Clone, Copy, Debug)]
pub struct CUDAAllocator;

#[cfg(all(target_os = "cuda", feature = "alloc"))]
mod allocator {
    use core::alloc::{GlobalAlloc, Layout};
    use core::ffi::c_void;

    use super::{CUDAAllocator, free, malloc};

    /// What `malloc` aligns to.
    const MALLOC_ALIGN: usize = 16;

    // SAFETY: `malloc` gives memory of that size to no other caller until `free`. For more than its alignment the memory is longer,
    // and the address that it gave stands in front of the one that is used.
    unsafe impl GlobalAlloc for CUDAAllocator {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: any size may be asked for; the block of an over-aligned layout has room for the pointer.
            unsafe {
                if layout.align() <= MALLOC_ALIGN {
                    return malloc(layout.size()).cast();
                }
                let block: *mut u8 = malloc(layout.size() + layout.align()).cast();
                if block.is_null() {
                    return block;
                }
                let aligned = block.add(layout.align() - block.addr() % layout.align());
                aligned.cast::<*mut u8>().sub(1).write(block);
                aligned
            }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: the caller's: `ptr` is of `alloc` with this layout.
            unsafe {
                let block: *mut c_void = match layout.align() <= MALLOC_ALIGN {
                    true => ptr.cast(),
                    false => ptr.cast::<*mut c_void>().sub(1).read(),
                };
                free(block);
            }
        }
    }
}

/// The allocator of `alloc`'s types.
#[cfg(all(target_os = "cuda", feature = "alloc"))]
#[global_allocator]
pub static GLOBAL_ALLOCATOR: CUDAAllocator = CUDAAllocator;

macro_rules! size {
    ($($(#[$doc:meta])* $name:ident, $register:literal;)*) => {$(
        $(#[$doc])*
        #[gpu_only]
        pub fn $name() -> u32 {
            let bytes;
            // SAFETY: reads a special register.
            unsafe {
                core::arch::asm!(
                    concat!("mov.u32 {}, ", $register, ";"),
                    out(reg32) bytes,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            bytes
        }
    )*};
}

size! {
    /// Bytes of shared memory that the launch reserves for each block (PTX `%dynamic_smem_size`).
    dynamic_smem_size, "%dynamic_smem_size";
    /// Bytes of shared memory that each block has, in the hardware's units (PTX `%total_smem_size`).
    total_smem_size, "%total_smem_size";
}

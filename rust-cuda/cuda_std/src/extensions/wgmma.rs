//! Matrix products of a warpgroup: four warps, of which the first one's number is a multiple of four. The tensor cores read both operands
//! from shared memory, asynchronously, while the sums stay in the threads' registers.
//!
//! A product is issued, not computed: between [`fence`] and the end of [`wait_group`] for its group, no thread may touch the sums' registers or
//! write to the operands. Copies that write operands as threads do need
//! [`fence::proxy_async`](crate::extensions::fence::proxy_async) before the product; those of tensor maps do not.
//!
//! The module needs sm_90a. The functions share their safety contract: all 128 threads of a warpgroup call them together.
//!
//! PTX ISA, *Asynchronous Warpgroup Level Matrix Instructions: wgmma.mma_async, wgmma.fence, wgmma.commit_group, wgmma.wait_group*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::gpu_only;

/// Where an operand lies in shared memory, and how (a *matrix descriptor*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Descriptor(u64);

impl Descriptor {
    /// Bytes between groups of eight rows, in units of 16.
    const STRIDE: u64 = 8 * 128 / 16;
    /// The mode of swizzling.
    const SWIZZLE_128B: u64 = 1;

    /// Rows of 128 bytes, 64 elements of 16 bits along the terms, one behind the other and swizzled: in groups of eight rows, aligned to
    /// 1024 bytes, the 16 bytes number `i` of row `r` lie in place `i ^ r`. Copies by tensor maps with a swizzle of 128 bytes write it.
    #[inline(always)]
    pub const fn swizzled_128<T>(place: SharedPtr<T>) -> Self {
        let address = ((place.address() & 0x3_ffff) >> 4) as u64;
        // The distance of neighbouring matrices along the terms is not used by swizzled rows; 1 by convention.
        Self(address | 1 << 16 | Self::STRIDE << 32 | Self::SWIZZLE_128B << 62)
    }

    /// The same rows from their element `terms` on, a multiple of 16 below 64.
    #[inline(always)]
    #[must_use]
    pub const fn skip(self, terms: u32) -> Self {
        Self(self.0 + (terms * 2 / 16) as u64)
    }
}

/// Makes the threads' earlier writes to the sums' registers visible to the products that follow (PTX `wgmma.fence`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn fence() {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "wgmma.fence.sync.aligned;",
            options(nostack, preserves_flags)
        )
    }
}

/// Closes the group of the products that were issued since the last time (PTX `wgmma.commit_group`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn commit_group() {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "wgmma.commit_group.sync.aligned;",
            options(nostack, preserves_flags)
        )
    }
}

/// Waits for all groups but the latest `PENDING`, at most 7 (PTX `wgmma.wait_group`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn wait_group<const PENDING: u32>() {
    // SAFETY: the caller's.
    unsafe {
        asm!("wgmma.wait_group.sync.aligned {};", const PENDING, options(nostack, preserves_flags));
    }
}

/// A thread's sums of a 64 x 256 matrix: of each eight columns two neighbouring elements of row `16 warp + lane / 4`, and the same two of the
/// row eight further down. `warp` is the warp's number in its warpgroup, the two columns are `2 (lane % 4)` and the next.
pub type Sums256 = [f32; 128];

/// Sums of nothing. A repeat expression in a kernel becomes a loop, which keeps the array out of registers.
pub const NO_SUMS: Sums256 = [0.0; 128];

macro_rules! m64n256k16 {
    ($first:literal $($i:literal)*) => {
        /// Issues A B + C of a 64 x 16 matrix A and a 16 x 256 matrix B of `bf16`, with sums of `f32`; both have their terms side by side, so
        /// the 256 rows behind `b` are B's columns. Without `add`, C counts as zero (PTX
        /// `wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16`).
        ///
        /// # Safety
        /// The module's contract; the operands are in shared memory and stay as they are, and no thread reads or writes `sums`, until
        /// [`wait_group`] says that it is done. A [`fence`] is between the last access to `sums` and this.
        #[gpu_only]
        pub unsafe fn m64n256k16_bf16(sums: &mut Sums256, a: Descriptor, b: Descriptor, add: bool) {
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    "{{ .reg .pred add; setp.ne.b32 add, {add}, 0;",
                    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
                    concat!("{{{}", $(m64n256k16!(@ $i),)* "}},"),
                    "{a}, {b}, add, 1, 1, 0, 0; }}",
                    inout(reg32) sums[$first],
                    $(inout(reg32) sums[$i],)*
                    add = in(reg32) u32::from(add),
                    a = in(reg64) a.0,
                    b = in(reg64) b.0,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
    (@ $i:literal) => { ", {}" };
}

m64n256k16! {
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
    16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
    48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79
    80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
    96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111
    112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127
}

//! Matrices whose elements the lanes of a warp hold together: the tensor cores' `mma.sync`, and how its operands come from
//! shared memory.
//!
//! A *fragment* is a lane's part of a matrix. An 8 x 8 matrix of 16-bit elements is one 32-bit register of each lane: lane `l` has
//! the elements `2 (l % 4)` and `2 (l % 4) + 1` of row `l / 4`, the first in the lower half. A 16 x 16 matrix is four of them: rows 0
//! to 7 and 8 to 15 of columns 0 to 7, then the same of columns 8 to 15.
//!
//! Everything here needs sm_80, what says so sm_90; in a module for older GPUs it does not exist. The functions share their safety
//! contract: all 32 lanes of a warp call them together.
//!
//! PTX ISA, *Warp Level Matrix Instructions: mma.m16n8k16, ldmatrix, stmatrix*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::extensions::SharedPtr;
use crate::gpu_only;

/// A B + C of a 16 x 16 matrix A and a 16 x 8 matrix B of `bf16`, with sums of `f32` (PTX
/// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`).
///
/// `a` is A's fragment. `b` is that of B's transposed matrix: terms 0 to 7 of the eight columns, then terms 8 to 15. A lane has of C two
/// neighbouring elements of row `lane / 4` and the same two of row `lane / 4 + 8`.
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn m16n8k16_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = c;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{0}, {1}, {2}, {3}}}, \
             {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) c0,
            inout(reg32) c1,
            inout(reg32) c2,
            inout(reg32) c3,
            in(reg32) a[0],
            in(reg32) a[1],
            in(reg32) a[2],
            in(reg32) a[3],
            in(reg32) b[0],
            in(reg32) b[1],
            options(nomem, nostack, preserves_flags),
        );
    }
    [c0, c1, c2, c3]
}

/// Loads four 8 x 8 matrices of 16-bit elements (PTX `ldmatrix.sync.aligned.m8n8.x4.shared.b16`). Lanes 0 to 7 name the rows of the
/// first one, lanes 8 to 15 those of the second, and so on: 16 bytes each.
///
/// # Safety
/// The module's contract; each lane's `row` points to 16 aligned and initialised bytes, to which no thread stores meanwhile.
#[gpu_only]
pub unsafe fn load_x4<T>(row: SharedPtr<T>) -> [u32; 4] {
    let (a, b, c, d);
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{}, {}, {}, {}}}, [{}];",
            lateout(reg32) a,
            lateout(reg32) b,
            lateout(reg32) c,
            lateout(reg32) d,
            in(reg32) row.address(),
            options(readonly, nostack, preserves_flags),
        );
    }
    [a, b, c, d]
}

/// Stores four 8 x 8 matrices of 16-bit elements, to rows named as for [`load_x4`] (PTX
/// `stmatrix.sync.aligned.m8n8.x4.shared.b16`, sm_90).
///
/// # Safety
/// The module's contract; each lane's `row` points to 16 aligned bytes, which no other thread accesses meanwhile.
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
#[gpu_only]
pub unsafe fn store_x4<T>(row: SharedPtr<T>, [a, b, c, d]: [u32; 4]) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};",
            in(reg32) row.address(),
            in(reg32) a,
            in(reg32) b,
            in(reg32) c,
            in(reg32) d,
            options(nostack, preserves_flags),
        );
    }
}

/// Two floats as `bf16`, rounded to the nearest, `low` in the lower half (PTX `cvt.rn.bf16x2.f32`). A lane may call it alone.
#[gpu_only]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    let packed;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "cvt.rn.bf16x2.f32 {}, {}, {};",
            lateout(reg32) packed,
            in(reg32) high,
            in(reg32) low,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    packed
}

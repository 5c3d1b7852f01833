//! Runs a function on a stack of its own. Signal handlers may have only a few KiB, and walking the stack needs more.

use std::arch::global_asm;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Bytes of the stack.
const BYTES: usize = 256 << 10;

// The frame pointer and the directives let the unwinder continue from the new stack to the old one.
global_asm!(
    ".pushsection .text.software_gpu_on_stack,\"ax\",@progbits",
    ".hidden software_gpu_on_stack",
    ".globl software_gpu_on_stack",
    ".type software_gpu_on_stack,@function",
    "software_gpu_on_stack:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rsp, rdi",
    "mov rdi, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size software_gpu_on_stack, . - software_gpu_on_stack",
    ".popsection",
);

unsafe extern "C" {
    /// Calls `function(argument)` with the stack pointer at `top`, which is a multiple of 16.
    fn software_gpu_on_stack(
        top: *mut c_void,
        function: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
}

/// Calls `body` on a new stack. Returns whether the system had memory for one.
pub(super) fn on_new_stack<F: FnMut()>(mut body: F) -> bool {
    extern "C" fn run<F: FnMut()>(body: *mut c_void) {
        // SAFETY: `on_new_stack` passes its own `body`, which nothing else uses meanwhile.
        unsafe { (*body.cast::<F>())() };
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let stack = unsafe { libc::mmap(null_mut(), BYTES, access, kind, -1, 0) };
    if stack == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: the top is a multiple of the page size, the mapping below it is this call's, and `run` does not unwind: a panic in a
    // function of the C ABI aborts.
    unsafe {
        let top = stack.byte_add(BYTES);
        software_gpu_on_stack(top, run::<F>, (&raw mut body).cast());
        libc::munmap(stack, BYTES);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_runs_on_the_new_stack_and_returns() {
        let here = 0_u8;
        let mut distance = 0;
        assert!(on_new_stack(|| {
            let there = 0_u8;
            distance = (&raw const here as usize).abs_diff(&raw const there as usize);
        }));
        assert!(distance > BYTES, "{distance} bytes");
    }
}

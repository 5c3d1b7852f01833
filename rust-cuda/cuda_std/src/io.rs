//! Printing from kernels, and assertions.
//!
//! [`print!`](crate::print!) formats on the GPU and hands the text to `vprintf`, which the driver prints when the host
//! synchronises. The text of one call is never mixed with that of another thread up to 255 bytes; longer texts are printed in
//! pieces. Formatting takes stack memory and many instructions: it is for debugging.
//!
//! CUDA C++ Programming Guide, *Formatted Output*, *Assertion*; PTX Interoperability, *System Calls*.

#[cfg(target_os = "cuda")]
use core::ffi::c_void;
#[cfg(target_os = "cuda")]
use core::fmt;

// The very macros of `core` and std where there are any: a name that a prelude and a glob import give to two macros is ambiguous.
pub use core::{assert_eq, assert_ne};
#[cfg(not(target_os = "cuda"))]
pub use std::{print, println};

#[cfg(target_os = "cuda")]
unsafe extern "C" {
    /// CUDA's `vprintf`: the format, and the arguments one behind the other, each aligned to its size.
    pub fn vprintf(format: *const u8, valist: *const c_void) -> i32;

    /// CUDA's failed `assert`: prints the message with block and thread, and ends the grid with an error. All texts end with
    /// a zero byte.
    pub fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_size: usize,
    );
}

/// A text that grows in the thread's own memory and ends with a zero byte.
#[cfg(target_os = "cuda")]
pub(crate) struct Text {
    bytes: [u8; 256],
    length: usize,
    /// What becomes of the text when it is full: printed, or else cut.
    prints: bool,
}

#[cfg(target_os = "cuda")]
impl Text {
    pub(crate) fn new(prints: bool) -> Self {
        Self {
            bytes: [0; 256],
            length: 0,
            prints,
        }
    }

    /// The zero-terminated text.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    fn print(&mut self) {
        let argument = self.as_ptr();
        // SAFETY: the format takes one pointer, to a text that ends with a zero byte.
        unsafe { vprintf(c"%s".as_ptr().cast(), (&raw const argument).cast()) };
        self.bytes = [0; 256];
        self.length = 0;
    }
}

#[cfg(target_os = "cuda")]
impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.length == 255 {
                match self.prints {
                    true => self.print(),
                    false => return Ok(()),
                }
            }
            // The last byte stays zero. The mask spares a check whose failure would be reported by this very function.
            self.bytes[self.length & 255] = byte;
            self.length += 1;
        }
        Ok(())
    }
}

/// What [`print!`](crate::print!) is on the GPU.
#[doc(hidden)]
#[cfg(target_os = "cuda")]
#[inline(never)]
pub fn print(arguments: fmt::Arguments<'_>) {
    let mut text = Text::new(true);
    // A type whose formatting fails prints what it had written.
    let _ = fmt::Write::write_fmt(&mut text, arguments);
    text.print();
}

/// Prints from a kernel, as std's `print!` does on the host. The text appears when the host synchronises.
#[cfg(target_os = "cuda")]
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!($($argument)*))
    };
}

/// [`print!`](crate::print!) and the end of the line.
#[cfg(target_os = "cuda")]
#[macro_export]
macro_rules! println {
    () => {
        $crate::print!("\n")
    };
    ($($argument:tt)*) => {
        $crate::io::print(::core::format_args!("{}\n", ::core::format_args!($($argument)*)))
    };
}

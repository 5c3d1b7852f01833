//! What the language needs of a run-time: a panic ends the grid as CUDA's failed `assert` does, with the message, the place in
//! the source, the block and the thread.

use core::fmt::Write;
use core::panic::PanicInfo;

use crate::io::{__assertfail, Text};

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let (mut message, mut file) = (Text::new(false), Text::new(false));
    let line = info.location().map_or(0, |location| {
        // A `Text` does not fail.
        let _ = file.write_str(location.file());
        location.line()
    });
    let _ = write!(message, "{}", info.message());
    // SAFETY: three texts that end with zero bytes, of characters of one byte; `trap` has no preconditions.
    unsafe {
        __assertfail(
            message.as_ptr(),
            file.as_ptr(),
            line,
            c"a panic".as_ptr().cast(),
            1,
        );
        core::arch::nvptx::trap()
    }
}

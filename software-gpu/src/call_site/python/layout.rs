//! Where CPython keeps what its frames are, on systems with 64 bits: `Include/internal/pycore_frame.h`, `Include/cpython/code.h`,
//! `Include/cpython/pystate.h` and `Include/cpython/unicodeobject.h` of each version, as `offsetof` says.

use crate::own_memory as memory;

/// The offset of the second field of a `PyVarObject` or a `str`: its length.
pub(super) const LENGTH: usize = 16;
/// The data of a `bytes` object.
pub(super) const BYTES: usize = 32;
/// The bit field `state` of a `str`: two bits of interning, three of the bytes of a character, whether the data follow, and
/// whether all is ASCII.
pub(super) const TEXT_STATE: usize = 32;

/// The offsets of one version of CPython, in bytes.
pub(super) struct Layout {
    /// In the state of a thread: its innermost frame, or in `frames` what points to it.
    thread: usize,
    /// Before 3.13 the frame is behind one more pointer.
    frames: Option<usize>,
    /// In a frame.
    pub(super) code_of_frame: usize,
    pub(super) previous: usize,
    pub(super) instruction: usize,
    /// In a code object.
    pub(super) first_line: usize,
    pub(super) file: usize,
    pub(super) line_table: usize,
    pub(super) instructions: usize,
    /// The data of a `str` of ASCII, and of another one.
    pub(super) text: usize,
    pub(super) other_text: usize,
}

const VERSIONS: [(u32, Layout); 3] = [
    (
        0x030b,
        Layout {
            thread: 56,
            frames: Some(8),
            code_of_frame: 32,
            previous: 48,
            instruction: 56,
            first_line: 72,
            file: 112,
            line_table: 136,
            instructions: 184,
            text: 48,
            other_text: 72,
        },
    ),
    (
        0x030c,
        Layout {
            thread: 56,
            frames: Some(0),
            code_of_frame: 0,
            previous: 8,
            instruction: 56,
            first_line: 68,
            file: 112,
            line_table: 136,
            instructions: 192,
            text: 40,
            other_text: 56,
        },
    ),
    (
        0x030d,
        Layout {
            thread: 72,
            frames: None,
            code_of_frame: 0,
            previous: 8,
            instruction: 56,
            first_line: 68,
            file: 112,
            line_table: 136,
            instructions: 200,
            text: 40,
            other_text: 56,
        },
    ),
];

impl Layout {
    /// The layout for a version as `Py_Version` gives it, `0x030d00f0`.
    #[cfg_attr(
        not(all(target_os = "linux", target_pointer_width = "64")),
        allow(dead_code)
    )]
    pub(super) fn of(version: u32) -> Option<&'static Self> {
        let known = VERSIONS.iter().find(|(known, _)| *known == version >> 16);
        known.map(|(_, layout)| layout)
    }

    /// The innermost frame of a thread.
    pub(super) fn current_frame(&self, state: usize) -> Option<usize> {
        let at = memory::word(state.wrapping_add(self.thread))?;
        match self.frames {
            Some(offset) => memory::word(at.wrapping_add(offset)),
            None => Some(at),
        }
    }
}

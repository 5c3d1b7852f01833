//! The lines of Python in which a call is made.
//!
//! CPython keeps the frames of its functions in memory of its own, which nothing of the C stack names. They are read as a
//! debugger reads them, from the thread's own state: the thread is inside of the call, so its frames stay as they are, with or without
//! the interpreter's lock. Python must not be called for it: the simulator is locked, and another thread may hold the
//! interpreter's lock and wait for the simulator.
//!
//! The structures are internal to CPython and differ between its versions: [`layout`] has those of 3.11 to 3.13. All reads go through the kernel, so
//! an invalid address ends the reading and not the program. Lines are unknown for other versions, for builds without a global lock, and on other
//! systems.

#[cfg_attr(
    not(all(target_os = "linux", target_pointer_width = "64")),
    path = "python/none.rs"
)]
mod interpreter;
mod layout;
mod line_table;

use crate::own_memory as memory;
use layout::Layout;

/// Frames that are read at most.
const DEPTH: usize = 24;
/// Longer names of files, and longer tables of lines, are not read.
const LONGEST: usize = 1 << 16;

/// A line of a Python source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PythonLine {
    file: String,
    line: u32,
}

impl PythonLine {
    /// Whether it belongs to Python or to an installed package, whose callers are the program.
    fn is_library(&self) -> bool {
        let is_in = |folder: &str| self.file.contains(folder);
        is_in("/site-packages/")
            || is_in("/dist-packages/")
            || is_in("/lib/python3")
            || self.file.starts_with("<frozen ")
    }
}

/// The lines that the present thread executes, the innermost first. None without Python.
pub(super) fn lines() -> Vec<PythonLine> {
    let Some((layout, state)) = interpreter::thread_state() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut frame = layout.current_frame(state).unwrap_or(0);
    for _ in 0..DEPTH {
        if frame == 0 {
            break;
        }
        lines.extend(line_of(layout, frame));
        frame = memory::word(frame.wrapping_add(layout.previous)).unwrap_or(0);
    }
    lines
}

/// The line of a frame; nothing of a frame that is not a function's.
fn line_of(layout: &Layout, frame: usize) -> Option<PythonLine> {
    let code = memory::word(frame.wrapping_add(layout.code_of_frame))?;
    if !interpreter::is_code(code)? {
        return None;
    }
    let instruction = memory::word(frame.wrapping_add(layout.instruction))?;
    let offset = instruction.checked_sub(code.wrapping_add(layout.instructions))?;
    let file = text(layout, memory::word(code.wrapping_add(layout.file))?)?;
    let table = bytes(memory::word(code.wrapping_add(layout.line_table))?)?;
    let first = memory::word(code.wrapping_add(layout.first_line))? as u32;
    let line = line_table::line(&table, first, offset)?;
    Some(PythonLine { file, line })
}

/// A `bytes` object's: its length and its data.
fn bytes(object: usize) -> Option<Vec<u8>> {
    let length = memory::word(object.wrapping_add(layout::LENGTH))?;
    memory::read(object.wrapping_add(layout::BYTES), length.min(LONGEST))
}

/// A `str` object's.
fn text(layout: &Layout, object: usize) -> Option<String> {
    let state = memory::word(object.wrapping_add(layout::TEXT_STATE))? as u32;
    let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    if !is_compact {
        return None;
    }
    let data = object.wrapping_add(if is_ascii {
        layout.text
    } else {
        layout.other_text
    });
    let length = memory::word(object.wrapping_add(layout::LENGTH))?.min(LONGEST);
    let data = memory::read(data, length * width as usize)?;
    decoded(&data, width)
}

/// Characters of one, two or four bytes.
fn decoded(data: &[u8], width: u32) -> Option<String> {
    let wide = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |c, byte| c << 8 | u32::from(*byte))
    };
    let characters = data.chunks(width.max(1) as usize);
    characters
        .map(|bytes| char::from_u32(wide(bytes)))
        .collect()
}

/// As reports name them: the first line of the program, and its callers. "Python", where no line is known.
pub(super) fn in_words(lines: &[PythonLine]) -> Vec<String> {
    let program = lines.iter().filter(|line| !line.is_library());
    let mut words: Vec<String> = Vec::new();
    for PythonLine { file, line } in program {
        words.push(format!("{}:{line}", super::shortened(file.as_ref())));
    }
    if words.is_empty() {
        words.push("Python".to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_packages_are_not_the_programs() {
        let line = |file: &str, line| PythonLine {
            file: file.to_owned(),
            line,
        };
        let lines = [
            line("/venv/lib/python3.12/site-packages/numba/cuda/driver.py", 5),
            line("/home/me/demo.py", 12),
            line("/usr/lib/python3.12/contextlib.py", 81),
            line("<stdin>", 1),
        ];
        assert_eq!(in_words(&lines), ["/home/me/demo.py:12", "<stdin>:1"]);
        assert_eq!(in_words(&lines[..1]), ["Python"]);
        assert_eq!(in_words(&[]), ["Python"]);
    }

    #[test]
    fn names_of_files_have_characters_of_any_width() {
        assert_eq!(decoded(b"a.py", 1).as_deref(), Some("a.py"));
        assert_eq!(decoded(&[0xe9, b'!'], 1).as_deref(), Some("\u{e9}!"));
        assert_eq!(decoded(&[0x3a, 0x04], 2).as_deref(), Some("\u{43a}"));
        assert_eq!(decoded(&[0, 0xf6, 1, 0], 4).as_deref(), Some("\u{1f600}"));
        assert_eq!(decoded(&[0, 0xd8], 2), None);
    }

    #[test]
    fn a_thread_without_python_has_no_lines() {
        assert_eq!(lines(), []);
    }
}

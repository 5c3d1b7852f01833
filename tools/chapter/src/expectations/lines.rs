//! JSON with the outer levels laid out and each entry of the innermost lists on a line of its own.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Lists and objects up to this depth are laid out.
const LAID_OUT: usize = 4;

/// The text, with a line feed at its end.
///
/// # Errors
/// When the value has no JSON.
pub fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    let lines = Lines {
        depth: 0,
        is_empty: true,
    };
    value.serialize(&mut Serializer::with_formatter(&mut text, lines))?;
    text.push(b'\n');
    Ok(String::from_utf8_lossy(&text).into_owned())
}

struct Lines {
    depth: usize,
    /// Nothing has been written since a bracket was opened.
    is_empty: bool,
}

impl Lines {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_empty = true;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let laid_out = self.depth <= LAID_OUT && !self.is_empty;
        self.is_empty = false;
        self.depth -= 1;
        if laid_out {
            self.new_line(out)?;
        }
        out.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.is_empty = false;
        if self.depth <= LAID_OUT {
            if !first {
                out.write_all(b",")?;
            }
            self.new_line(out)
        } else if first {
            Ok(())
        } else {
            out.write_all(b", ")
        }
    }

    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        writeln!(out)?;
        for _ in 0..self.depth {
            out.write_all(b"  ")?;
        }
        Ok(())
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

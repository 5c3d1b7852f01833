//! Standard output, written so that a reader who stops reading (`| head`) silences the program, which goes on to its
//! verdict: the exit code is the same.
//!
//! Text may be styled ([`crate::style`]): on a terminal that shows colours it is coloured, in a pipe, or with `NO_COLOR`
//! in the environment, the styles are left out.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static SILENT: AtomicBool = AtomicBool::new(false);

/// Writes no more lines: this process answers another one on standard output.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Writes a line.
pub fn line(text: impl std::fmt::Display) {
    if SILENT.load(Ordering::Relaxed) {
        return;
    }
    if let Err(error) = writeln!(anstream::stdout(), "{text}") {
        if error.kind() == ErrorKind::BrokenPipe {
            return silence();
        }
        // Standard output is full or closed: there is nowhere left to complain but standard error.
        eprintln!("error: cannot write to standard output: {error}");
        std::process::exit(1);
    }
}

/// Columns where standard output is no terminal.
const COLUMNS: usize = 80;
/// Charts and texts get no wider than this: the eye loses the line.
const MOST_COLUMNS: usize = 160;

/// Columns of the terminal; 80 where standard output is none.
pub fn columns() -> usize {
    let terminal = std::io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size);
    match terminal.flatten() {
        Some((width, _)) => usize::from(width.0).clamp(40, MOST_COLUMNS),
        None => COLUMNS,
    }
}

/// A text with its lines indented. Lines of prose that are too long for the terminal go on in the next line, further in;
/// lines of tables and charts, which have their columns, stay as they are.
pub fn indented(by: usize, text: &str) -> String {
    let width = columns();
    let lines = text.lines().map(|line| {
        let (label, prose) = split_label(line);
        let has_columns = prose.contains("  ") || line.contains(['|', '\x1b']);
        if has_columns || by + line.chars().count() <= width {
            return format!("{:by$}{line}", "");
        }
        let hang = if label.trim().is_empty() { 2 } else { 0 };
        let first = format!("{:by$}{label}", "");
        let others = " ".repeat(first.chars().count() + hang);
        let options = textwrap::Options::new(width)
            .break_words(false)
            .initial_indent(&first)
            .subsequent_indent(&others);
        textwrap::fill(prose, options)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A line's indentation, with a label such as `first:   ` where it has one, and what follows.
fn split_label(line: &str) -> (&str, &str) {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let label = match text.split_once(':') {
        Some((word, rest)) if word.chars().all(char::is_alphabetic) && rest.starts_with("  ") => {
            word.len() + 1 + rest.len() - rest.trim_start().len()
        }
        _ => 0,
    };
    line.split_at(indent + label)
}

/// A paragraph, filled anew to the terminal's width.
pub fn paragraph(by: usize, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let indent = " ".repeat(by);
    let options = textwrap::Options::new(columns())
        .break_words(false)
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    textwrap::fill(&words.join(" "), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_columns_are_not() {
        let prose = "a word ".repeat(20);
        let text = indented(4, prose.trim_end());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(
            text.starts_with("    a word") && text.contains("\n      "),
            "{text}"
        );
        let row = format!("name  {}", "1".repeat(90));
        assert_eq!(indented(2, &row), format!("  {row}"));
        let word = "x".repeat(100);
        assert_eq!(
            indented(0, &word).lines().last(),
            Some(&*format!("{word}")).map(str::trim)
        );
    }

    #[test]
    fn a_labelled_line_goes_on_behind_its_label() {
        let text = indented(
            2,
            &format!("  first:   {}", "a word ".repeat(15).trim_end()),
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("    first:   a word"), "{text}");
        assert!(
            lines[1].starts_with("             a word")
                || lines[1].starts_with("             word")
        );
    }

    #[test]
    fn a_paragraph_is_filled() {
        let text = paragraph(2, "one\ntwo\nthree");
        assert_eq!(text, "  one two three");
    }
}

//! Text in lines that fit the terminal.

use crate::{output, style};

/// Columns that a text takes on a terminal: its styles take none.
pub fn width(text: &str) -> usize {
    style::plain(text).chars().count()
}

/// The text in lines of at most `columns` columns, broken between words; a longer word gets a line of its own. Each line
/// of the text keeps its indentation, and its continuation is indented by `hang` columns more.
pub fn wrap(text: &str, columns: usize, hang: usize) -> Vec<String> {
    text.lines()
        .flat_map(|line| wrap_line(line, columns, hang))
        .collect()
}

/// Prints the text in lines that fit the terminal, as [`wrap`] breaks them.
pub fn print(text: impl std::fmt::Display, hang: usize) {
    for line in wrap(&text.to_string(), output::columns(), hang) {
        output::line(line);
    }
}

/// A text with its lines indented. Lines of prose that are too long for the terminal continue in the next line, further in or
/// behind their label; lines of tables and charts, which have their columns, stay as they are.
pub fn indented(by: usize, text: &str) -> String {
    let columns = output::columns();
    let lines = text.lines().map(|line| {
        let (label, prose) = split_label(line);
        let has_columns = prose.contains("  ") || line.contains(['|', '\x1b']);
        if has_columns || by + width(line) <= columns {
            return format!("{:by$}{line}", "");
        }
        let hang = if label.trim().is_empty() { 2 } else { 0 };
        let first = by + width(label);
        let others = format!("\n{:1$}", "", first + hang);
        let wrapped = wrap(prose, columns.saturating_sub(first + hang), 0);
        format!("{:by$}{label}{}", "", wrapped.join(&others))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A paragraph, filled anew to the terminal's width.
pub fn paragraph(by: usize, text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = format!("{:by$}{}", "", words.join(" "));
    wrap(&line, output::columns(), 0).join("\n")
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

fn wrap_line(line: &str, columns: usize, hang: usize) -> Vec<String> {
    if width(line) <= columns {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut current = " ".repeat(indent);
    let mut is_empty = true;
    for word in words(&line[indent..]) {
        let more = width(word) + usize::from(!is_empty);
        if !is_empty && width(&current) + more > columns {
            lines.push(current.trim_end().to_owned());
            current = " ".repeat(indent + hang);
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        } else if word.is_empty() {
            continue;
        }
        current += word;
        is_empty = false;
    }
    lines.push(current);
    lines
}

/// The text between single blanks, so that wider gaps stay. A number keeps its unit.
fn words(text: &str) -> Vec<&str> {
    const UNITS: [&str; 10] = ["ns", "µs", "ms", "s", "%", "B", "KiB", "MiB", "GiB", "MHz"];
    let mut words: Vec<&str> = Vec::new();
    let mut start = 0;
    for (end, _) in text.match_indices(' ').chain([(text.len(), "")]) {
        let word = &text[start..end];
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        let number = words
            .last_mut()
            .filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit()));
        match number {
            Some(number) => *number = &text[start - number.len() - 1..end],
            None => words.push(word),
        }
        start = end + 1;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang() {
        assert_eq!(wrap("one two three", 9, 2), ["one two", "  three"]);
        assert_eq!(wrap("  one two three", 9, 2), ["  one two", "    three"]);
        assert_eq!(wrap("one  two\nthree", 20, 2), ["one  two", "three"]);
        assert_eq!(
            wrap("it takes 12.5 µs, no more", 14, 0),
            ["it takes", "12.5 µs, no", "more"]
        );
        assert_eq!(
            wrap("incomprehensible it", 8, 0),
            ["incomprehensible", "it"]
        );
    }

    #[test]
    fn styles_take_no_columns() {
        let text = format!("{} two", style::bad("one"));
        assert_eq!(wrap(&text, 7, 0), [text.as_str()]);
        assert_eq!(width(&text), 7);
    }

    #[test]
    fn prose_is_wrapped_and_columns_are_not() {
        let prose = "a word ".repeat(20);
        let text = indented(4, prose.trim_end());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(
            text.starts_with("    a word") && text.contains("\n      "),
            "{text}"
        );
        let row = format!("name  {}", "1".repeat(90));
        assert_eq!(indented(2, &row), format!("  {row}"));
        let word = "x".repeat(100);
        assert_eq!(indented(0, &word).lines().last(), Some(word.as_str()));
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

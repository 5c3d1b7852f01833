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
}

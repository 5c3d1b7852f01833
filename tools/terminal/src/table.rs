//! Tables for the terminal: the first column left, figures right. [`Table::fitted`] breaks the first column between words
//! where the table would be wider than the terminal.

use crate::wrap::{width, wrap};
use std::fmt;

/// Columns between two cells.
const GAP: usize = 2;
/// The first column is not broken into less than this.
const NARROWEST: usize = 12;

/// A table under construction.
pub struct Table {
    titles: Vec<String>,
    rows: Vec<TableRow>,
}

enum TableRow {
    Cells(Vec<String>),
    Heading(String),
}

impl Table {
    /// A table with these column titles.
    pub fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self::of(titles)
    }

    /// A table with as many columns as there are titles.
    pub fn of<'t>(titles: impl IntoIterator<Item = &'t str>) -> Self {
        Self {
            titles: titles.into_iter().map(str::to_owned).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(cells.len(), self.titles.len(), "a cell per column");
        self.rows.push(TableRow::Cells(cells));
        self
    }

    /// Adds a line that goes across all columns.
    pub fn heading(&mut self, text: impl Into<String>) -> &mut Self {
        self.rows.push(TableRow::Heading(text.into()));
        self
    }

    /// The table in lines of at most `columns` columns, if its figures leave room for the first column.
    pub fn fitted(&self, columns: usize) -> String {
        let cells = || {
            let rows = self.rows.iter().filter_map(|row| match row {
                TableRow::Cells(cells) => Some(cells),
                TableRow::Heading(_) => None,
            });
            std::iter::once(&self.titles).chain(rows)
        };
        let widest = |place: usize| {
            cells()
                .filter_map(|row| row.get(place))
                .map(|c| width(c))
                .max()
        };
        let mut widths: Vec<usize> = (0..self.titles.len()).filter_map(widest).collect();
        let figures: usize = widths.iter().skip(1).map(|width| width + GAP).sum();
        if let Some(first) = widths.first_mut() {
            let room = columns.saturating_sub(figures + 1).max(NARROWEST);
            *first = room.min(*first);
        }
        let mut lines = line(&self.titles, &widths);
        for row in &self.rows {
            match row {
                TableRow::Cells(cells) => lines.extend(line(cells, &widths)),
                TableRow::Heading(text) => lines.extend(wrap(&format!(" {text}"), columns, 2)),
            }
        }
        lines.join("\n")
    }
}

/// A row, in more than one line where the first cell is broken.
fn line(cells: &[String], widths: &[usize]) -> Vec<String> {
    let Some((first, figures)) = cells.split_first() else {
        return Vec::new();
    };
    let room = widths.first().copied().unwrap_or(0);
    let mut lines = wrap(first, room, 2);
    if lines.is_empty() {
        lines.push(String::new());
    }
    // The figures stand in the first line.
    let blank = room.saturating_sub(width(&lines[0]));
    lines[0] += &" ".repeat(blank);
    for (cell, room) in figures.iter().zip(widths.iter().skip(1)) {
        lines[0] += &" ".repeat(GAP + room.saturating_sub(width(cell)));
        lines[0] += cell;
    }
    let lines = lines.iter();
    lines
        .map(|line| format!(" {line}").trim_end().to_owned())
        .collect()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fitted(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style;

    fn table() -> Table {
        let mut table = Table::new(["variant", "median", "of bound"]);
        table.heading("a heading that says more than the columns hold");
        table.row(["one stream", "1.00 ms", "50.0 %"]);
        table.row(["a stream for each stage", "600 µs", ""]);
        table
    }

    #[test]
    fn figures_are_aligned_right() {
        assert_eq!(
            table().fitted(80),
            " variant                   median  of bound\n \
             a heading that says more than the columns hold\n \
             one stream               1.00 ms    50.0 %\n \
             a stream for each stage   600 µs"
        );
    }

    #[test]
    fn a_narrow_terminal_breaks_the_first_column() {
        let text = table().fitted(36);
        assert!(text.lines().all(|line| width(line) <= 36), "{text}");
        assert!(
            text.contains("\n a stream for       600 µs\n   each stage"),
            "{text}"
        );
    }

    #[test]
    fn styles_do_not_move_a_column() {
        let mut table = Table::new(["part", "verdict", "of"]);
        table.row(["first", &style::good("ok"), "1"]);
        table.row(["second", "FAILED", "2"]);
        let text = style::plain(&table.fitted(80));
        assert!(text.contains("\n first        ok   1\n"), "{text}");
    }
}

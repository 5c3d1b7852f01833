//! Tables for the terminal: the first column left, figures right.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement};
use std::fmt;

/// A table under construction.
pub struct Table {
    inner: comfy_table::Table,
    columns: usize,
}

impl Table {
    /// A table with these column titles.
    pub fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self::of(titles)
    }

    /// A table with as many columns as there are titles.
    pub fn of<'t>(titles: impl IntoIterator<Item = &'t str>) -> Self {
        let titles: Vec<&str> = titles.into_iter().collect();
        let columns = titles.len();
        let mut inner = comfy_table::Table::new();
        inner
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(titles);
        for column in inner.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self { inner, columns }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(cells.len(), self.columns, "a cell per column");
        self.inner.add_row(cells);
        self
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.inner.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        f.write_str(&lines.join("\n"))
    }
}

//! Tables of an export whose columns differ between versions.

use super::NsightError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

/// One row: the requested columns, in that order; `None` for those that the table lacks and for NULL.
#[derive(Clone, Debug)]
pub struct ExportRow {
    values: Vec<Value>,
}

#[derive(Clone, Debug)]
enum Value {
    Nothing,
    Integer(i64),
    Text(String),
}

impl ExportRow {
    /// A column as a number.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.values.get(column) {
            Some(Value::Integer(value)) => Some(*value),
            // Some versions store numbers as text.
            Some(Value::Text(text)) => text.parse().ok(),
            _ => None,
        }
    }

    /// A column as a time in nanoseconds. A time decades away is `None`: differences and sums of times must not overflow.
    pub fn time(&self, column: usize) -> Option<i64> {
        let possible = |time: &i64| time.unsigned_abs() < 1 << 60;
        self.integer(column).filter(possible)
    }

    /// A column as a number that cannot be negative.
    pub fn natural(&self, column: usize) -> Option<u64> {
        u64::try_from(self.integer(column)?).ok()
    }

    /// A column as text.
    pub fn text(&self, column: usize) -> Option<&str> {
        match self.values.get(column) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Whether there is such a table.
pub fn exists(database: &Connection, table: &str) -> Result<bool, NsightError> {
    let found: Option<i64> = database
        .query_row(
            "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND name = ?1",
            [table],
            |row| row.get(0),
        )
        .optional()?;
    Ok(found.is_some())
}

/// The names of a table's columns; empty when there is no such table.
pub fn columns(database: &Connection, table: &str) -> Result<Vec<String>, NsightError> {
    let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// All rows of a table, in the order in which they were written; none when there is no such table. A column that the table
/// lacks is missing in each row; one of `required` that it lacks is an error. Columns are numbered in the order of the request, the required
/// first.
pub fn rows<const R: usize, const O: usize>(
    database: &Connection,
    table: &'static str,
    required: [&'static str; R],
    optional: [&'static str; O],
) -> Result<Vec<ExportRow>, NsightError> {
    let present = columns(database, table)?;
    if present.is_empty() {
        return Ok(Vec::new());
    }
    let has = |column: &str| present.iter().any(|name| name == column);
    if let Some(column) = required.into_iter().find(|column| !has(column)) {
        return Err(NsightError::Column { table, column });
    }
    let wanted = required.into_iter().chain(optional);
    // Names of this program's own: there is nothing in them to be quoted.
    let selected: Vec<String> = wanted
        .map(|column| match has(column) {
            true => format!("\"{column}\""),
            false => "NULL".to_owned(),
        })
        .collect();
    let sql = format!("SELECT {} FROM \"{table}\"", selected.join(", "));
    let mut statement = database.prepare(&sql)?;
    let read = statement.query_map([], |row| {
        let value = |place| row.get_ref(place).map(Value::from);
        let values = (0..R + O).map(value).collect::<Result<_, _>>()?;
        Ok(ExportRow { values })
    })?;
    Ok(read.collect::<Result<_, _>>()?)
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Self::Nothing,
        }
    }
}

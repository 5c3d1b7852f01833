//! What numbers of an export mean: strings, enumerations, processes and threads.

use super::NsightError;
use super::table::{ExportRow, rows};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// The export's strings by number.
pub struct Strings(BTreeMap<i64, String>);

impl Strings {
    /// Reads the names of an export.
    pub fn of(database: &Connection) -> Result<Self, NsightError> {
        let rows = rows(database, "StringIds", ["id", "value"], [])?;
        let pairs = rows
            .iter()
            .filter_map(|row| Some((row.integer(0)?, row.text(1)?.to_owned())));
        Ok(Self(pairs.collect()))
    }

    /// The string that a column points to, if it does.
    pub fn of_column(&self, row: &ExportRow, column: usize) -> Option<&str> {
        self.0.get(&row.integer(column)?).map(String::as_str)
    }
}

/// The names of threads by process and thread.
pub struct Threads(BTreeMap<(u64, u64), String>);

impl Threads {
    /// Reads the names of an export.
    pub fn of(database: &Connection, strings: &Strings) -> Result<Self, NsightError> {
        let rows = rows(database, "ThreadNames", ["nameId", "globalTid"], [])?;
        let named = rows.iter().filter_map(|row| {
            let name = strings.of_column(row, 0)?;
            let global = row.integer(1)?;
            Some(((process(global), thread(global)), name.to_owned()))
        });
        Ok(Self(named.collect()))
    }

    /// A thread's name, or its number if it has no name.
    pub fn name(&self, process: u64, thread: u64) -> String {
        let named = self.0.get(&(process, thread)).cloned();
        named.unwrap_or_else(|| format!("thread {thread}"))
    }
}

/// The process within a `globalPid` or a `globalTid`: these hold hardware and virtual machine, process and thread in 8, 8, 24
/// and 24 bits.
pub fn process(global: i64) -> u64 {
    global.cast_unsigned() >> 24 & 0xff_ffff
}

/// The thread within a `globalTid`.
pub fn thread(global: i64) -> u64 {
    global.cast_unsigned() & 0xff_ffff
}

/// The numbers of an enumeration whose names end in one of `endings`, or `usual` where the export has no such table.
pub fn numbers(
    database: &Connection,
    table: &'static str,
    ending: &str,
    usual: &[i64],
) -> Result<Vec<i64>, NsightError> {
    let rows = rows(database, table, ["id"], ["name", "label"])?;
    if rows.is_empty() {
        return Ok(usual.to_vec());
    }
    let named = rows
        .iter()
        .filter(|row| row.text(1).is_some_and(|name| name.ends_with(ending)));
    let found: Vec<i64> = named.filter_map(|row| row.integer(0)).collect();
    // An enumeration lists what occurs in the report, in some versions without names.
    let unnamed = rows.iter().all(|row| row.text(1).is_none());
    Ok(if unnamed { usual.to_vec() } else { found })
}

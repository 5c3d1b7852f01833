//! Reads the SQLite export of a report of Nsight Systems (`nsys export --type sqlite`).
//!
//! Its tables and their columns differ between versions, and a table exists only when there was something to be written into
//! it. So every column is looked up; what the reading cannot do without is little.

mod calls;
mod events;
mod machine;
mod names;
mod operations;
mod ranges;
mod table;
mod trace;

use chapter_results::intervals::Recording;
use chapter_timeline::analysis::facts::Facts;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// The operations of one process on one device.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Which device, and which process if there are several.
    pub title: String,
    /// What ran when.
    pub recording: Recording,
    /// Further contents of the export.
    pub facts: Facts,
}

/// An export.
#[derive(Clone, Debug)]
pub struct Export {
    /// What of the report cannot be seen here, and what was assumed: a sentence each.
    pub notes: Vec<String>,
    /// The traces; none when nothing ran on a device.
    pub traces: Vec<Trace>,
}

/// Why a database gives no traces.
#[derive(Debug, thiserror::Error)]
pub enum NsightError {
    /// SQLite cannot read it.
    #[error("SQLite cannot read it: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The path cannot be followed.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// It is another program's.
    #[error("a database, but not an export of Nsight Systems: it has no table StringIds")]
    Foreign,
    /// A table lacks what no version known here lacked.
    #[error("the table {table} has no column {column}: this version of Nsight Systems is unknown")]
    Column {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
}

/// A table that an export may lack, and what is unknown without it.
const TABLES: [(&str, &str); 8] = [
    ("CUPTI_ACTIVITY_KIND_KERNEL", "kernels"),
    ("CUPTI_ACTIVITY_KIND_MEMCPY", "copies"),
    ("CUPTI_ACTIVITY_KIND_MEMSET", "memsets"),
    ("CUPTI_ACTIVITY_KIND_RUNTIME", "the host's calls"),
    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "waits for events"),
    ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "records of events"),
    ("TARGET_INFO_GPU", "the device"),
    ("NVTX_EVENTS", "ranges"),
];

/// Reads an export. The file and its folder stay as they are.
///
/// # Errors
/// When SQLite cannot read it, or it is not an export of Nsight Systems.
pub fn read(path: &Path) -> Result<Export, NsightError> {
    let database = open(path)?;
    if !table::exists(&database, "StringIds")? {
        return Err(NsightError::Foreign);
    }
    let mut notes: Vec<String> = absent(&database)?.into_iter().collect();
    let traces = trace::all(&database, &mut notes)?;
    Ok(Export { notes, traces })
}

/// Opens a database read-only and immutable: SQLite then neither locks it nor makes files beside it.
fn open(path: &Path) -> Result<Connection, NsightError> {
    let uri = format!(
        "file:{}?mode=ro&immutable=1",
        percent(&path.canonicalize()?)
    );
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(PathBuf::from(uri), flags)?)
}

/// A path as part of a URI.
fn percent(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes();
    let escaped = bytes.iter().map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    escaped.collect()
}

/// Which tables there are not, as a sentence.
fn absent(database: &Connection) -> Result<Option<String>, NsightError> {
    let mut lacking = Vec::new();
    for (name, holds) in TABLES {
        if !table::exists(database, name)? {
            lacking.push(format!("{holds} ({name})"));
        }
    }
    Ok((!lacking.is_empty()).then(|| {
        format!(
            "The export has no table of {}: the program had no such records, or they were not traced.",
            lacking.join(", ")
        )
    }))
}

//! Phases that the program marked (NVTX).

use super::NsightError;
use super::names::{Strings, Threads, process, thread};
use super::table::rows;
use chapter_results::intervals::{Range, Span};
use rusqlite::Connection;

/// A range on the export's clock, with its process.
#[derive(Clone, Debug)]
pub struct RawRange {
    process: u64,
    name: String,
    thread: String,
    start: i64,
    end: i64,
}

/// Numbers of the events that are ranges: pushed and popped, and started and ended.
const RANGES: [i64; 2] = [59, 60];

/// The ranges of an export, without marks and ranges that never ended.
pub fn of(
    database: &Connection,
    strings: &Strings,
    threads: &Threads,
) -> Result<Vec<RawRange>, NsightError> {
    let columns = ["end", "eventType", "globalTid", "text", "textId"];
    let mut ranges = Vec::new();
    for row in rows(database, "NVTX_EVENTS", ["start"], columns)? {
        let times = row.time(0).zip(row.time(1));
        let Some((start, end)) = times.filter(|&(start, end)| start <= end) else {
            continue;
        };
        let is_range = row.integer(2).is_none_or(|kind| RANGES.contains(&kind));
        let name = row.text(4).or_else(|| strings.of_column(&row, 5));
        let Some(name) = name.filter(|_| is_range) else {
            continue;
        };
        let global = row.integer(3).unwrap_or(0);
        ranges.push(RawRange {
            process: process(global),
            name: name.to_owned(),
            thread: threads.name(process(global), thread(global)),
            start,
            end,
        });
    }
    ranges.sort_by(|a, b| (a.start, a.end, &a.name).cmp(&(b.start, b.end, &b.name)));
    Ok(ranges)
}

/// The ranges of a process on a clock that begins at `origin`, cut there; those that were over by then are left out.
pub fn since(ranges: &[RawRange], process: u64, origin: i64) -> Vec<Range> {
    let shifted = |time: i64| u64::try_from(time.saturating_sub(origin)).unwrap_or(0);
    let own = ranges
        .iter()
        .filter(|range| range.process == process && range.end > origin);
    own.map(|range| Range {
        name: range.name.clone(),
        thread: range.thread.clone(),
        span: Span {
            start: shifted(range.start),
            end: shifted(range.end),
        },
    })
    .collect()
}

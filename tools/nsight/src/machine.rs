//! The devices, contexts and streams of an export.

use super::NsightError;
use super::names::numbers;
use super::operations::OperationOrigin;
use super::table::{ExportRow, rows};
use chapter_timeline::analysis::facts::StreamKind;
use chapter_timeline::analysis::occupancy::Multiprocessors;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// The number that CUPTI gives to the first context's legacy stream; it serves where an export does not say which it is.
const USUAL_NULL_STREAM: i64 = 7;

/// A stream: process, context and number.
type StreamKey = (u64, i64, i64);

/// The streams of an export.
#[derive(Debug, Default)]
pub struct ExportedStreams {
    kinds: BTreeMap<StreamKey, StreamKind>,
    /// Where it is not the usual one, 0.
    priorities: BTreeMap<StreamKey, i32>,
    /// The legacy stream of a process's context.
    null: BTreeSet<StreamKey>,
    /// Whether the export says which are the legacy streams.
    null_known: bool,
}

impl ExportedStreams {
    /// Reads them from an export.
    pub fn of(database: &Connection) -> Result<Self, NsightError> {
        let mut streams = Self::default();
        let [non_blocking, null] = [("_NON_BLOCKING", 2), ("_NULL", 3)]
            .map(|(ending, usual)| numbers(database, "ENUM_CUPTI_STREAM_TYPE", ending, &[usual]));
        let (non_blocking, null) = (non_blocking?, null?);
        let columns = ["processId", "contextId", "streamId", "flag", "priority"];
        for row in rows(database, "TARGET_INFO_CUDA_STREAM", [], columns)? {
            if let Some((key, priority)) = stream_key(&row).zip(row.integer(4).and_then(priority)) {
                streams.priorities.insert(key, priority);
            }
            let Some((key, flag)) = stream_key(&row).zip(row.integer(3)) else {
                continue;
            };
            streams.null_known = true;
            let kind = if null.contains(&flag) {
                StreamKind::Legacy
            } else if non_blocking.contains(&flag) {
                StreamKind::NonBlocking
            } else {
                StreamKind::Blocking
            };
            streams.kinds.insert(key, kind);
        }
        let columns = ["processId", "contextId", "nullStreamId"];
        for row in rows(database, "TARGET_INFO_CUDA_CONTEXT_INFO", [], columns)? {
            if let Some(key) = stream_key(&row) {
                streams.null_known = true;
                streams.null.insert(key);
            }
        }
        Ok(streams)
    }

    /// What kind of stream that is, if the export says so.
    pub fn kind(&self, place: &OperationOrigin) -> Option<StreamKind> {
        let stream = place.stream?;
        let key = (place.process, place.context, stream);
        if self.null.contains(&key) || (!self.null_known && stream == USUAL_NULL_STREAM) {
            return Some(StreamKind::Legacy);
        }
        self.kinds.get(&key).copied()
    }

    /// A stream's priority, unless it is 0, as most streams' is, or not said.
    pub fn priority(&self, place: &OperationOrigin) -> Option<i32> {
        let key = (place.process, place.context, place.stream?);
        self.priorities.get(&key).copied()
    }

    /// Whether which stream is the legacy one is a guess.
    pub fn are_guessed(&self) -> bool {
        !self.null_known
    }
}

/// A priority other than 0. Exports write negative ones as 32 bits without a sign: 4294967291 is -5.
fn priority(written: i64) -> Option<i32> {
    let unsigned = u32::try_from(written).map(u32::cast_signed);
    let priority = unsigned.ok().or(i32::try_from(written).ok())?;
    (priority != 0).then_some(priority)
}

fn stream_key(row: &ExportRow) -> Option<StreamKey> {
    let process = row.natural(0)? & 0xff_ffff;
    Some((process, row.integer(1)?, row.integer(2)?))
}

/// A device as the export describes it.
#[derive(Clone, Debug)]
pub struct ExportedDevice {
    /// Its name.
    pub name: String,
    /// What its multiprocessors hold, where that is known.
    pub multiprocessors: Option<Multiprocessors>,
}

/// The devices of an export.
#[derive(Debug, Default)]
pub struct Devices {
    /// By their number in the machine.
    by_id: BTreeMap<i64, ExportedDevice>,
    /// The number in the machine of a process's device.
    ids: BTreeMap<(u64, i64), i64>,
}

impl Devices {
    /// Reads them from an export.
    pub fn of(database: &Connection) -> Result<Self, NsightError> {
        let mut devices = Self::default();
        let columns = [
            "id",
            "name",
            "smCount",
            "maxWarpsPerSm",
            "maxBlocksPerSm",
            "maxRegistersPerSm",
            "maxShmemPerSm",
            "computeMajor",
            "computeMinor",
        ];
        for row in rows(database, "TARGET_INFO_GPU", [], columns)? {
            let device = ExportedDevice {
                name: row.text(1).unwrap_or("a device").to_owned(),
                multiprocessors: multiprocessors(&row),
            };
            devices.by_id.insert(row.integer(0).unwrap_or(0), device);
        }
        for row in rows(
            database,
            "TARGET_INFO_CUDA_DEVICE",
            [],
            ["pid", "cudaId", "gpuId"],
        )? {
            let key = row.natural(0).zip(row.integer(1));
            if let Some(((process, device), id)) = key.zip(row.integer(2)) {
                devices.ids.insert((process & 0xff_ffff, device), id);
            }
        }
        Ok(devices)
    }

    /// The device that a process calls by a number.
    pub fn get(&self, process: u64, device: i64) -> Option<&ExportedDevice> {
        let id = self.ids.get(&(process, device)).unwrap_or(&device);
        self.by_id.get(id)
    }
}

fn multiprocessors(row: &ExportRow) -> Option<Multiprocessors> {
    let positive = |column| row.natural(column).filter(|&value| value > 0);
    let capability = row.natural(7).zip(row.natural(8));
    let usual = Multiprocessors::usual(positive(2)?, capability);
    Some(Multiprocessors {
        warps: positive(3).unwrap_or(usual.warps),
        blocks: positive(4).unwrap_or(usual.blocks),
        registers: positive(5),
        shared: positive(6),
        ..usual
    })
}

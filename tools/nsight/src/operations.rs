//! What ran on devices: kernels, copies and memsets.

use super::NsightError;
use super::names::{Strings, numbers, process};
use super::table::{ExportRow, rows};
use chapter_results::intervals::Engine;
use chapter_timeline::analysis::facts::HostMemory;
use chapter_timeline::analysis::occupancy::LaunchShape;
use rusqlite::Connection;

/// Where in the machine something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationOrigin {
    /// The process.
    pub process: u64,
    /// The device's number within it.
    pub device: i64,
    /// The context.
    pub context: i64,
    /// The stream; `None` for operations outside of streams, such as migrations of managed memory.
    pub stream: Option<i64>,
}

/// An operation as the export has it, in nanoseconds on the export's clock.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Where it ran.
    pub place: OperationOrigin,
    /// When it began.
    pub start: i64,
    /// When it ended.
    pub end: i64,
    /// What it occupied.
    pub engine: Engine,
    /// The kernel's name, or what kind of copy it was.
    pub name: String,
    /// Bytes moved; 0 for kernels.
    pub bytes: u64,
    /// The shape of a kernel's launch.
    pub launch: Option<LaunchShape>,
    /// For a copy from or to the host.
    pub memory: Option<HostMemory>,
    /// The correlation with the call that enqueued it.
    pub correlation: Option<i64>,
}

/// The operations, and what was left out of them.
#[derive(Debug, Default)]
pub struct Operations {
    /// All of them.
    pub all: Vec<Raw>,
    /// How many had no times, or impossible ones.
    pub without_times: usize,
    /// How many copies had both ends in host memory, or unknown ones.
    pub other_copies: usize,
}

/// The columns that all three tables have, in the order in which [`Operations::begin`] takes them.
const REQUIRED: [&str; 2] = ["start", "end"];

impl Operations {
    /// Reads the operations of an export.
    pub fn of(database: &Connection, strings: &Strings) -> Result<Self, NsightError> {
        let mut operations = Self::default();
        operations.kernels(database, strings)?;
        operations.copies(database)?;
        operations.sets(database)?;
        Ok(operations)
    }

    fn kernels(&mut self, database: &Connection, strings: &Strings) -> Result<(), NsightError> {
        let optional = [
            "globalPid",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "shortName",
            "demangledName",
            "mangledName",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "registersPerThread",
            "staticSharedMemory",
            "dynamicSharedMemory",
        ];
        for row in rows(database, "CUPTI_ACTIVITY_KIND_KERNEL", REQUIRED, optional)? {
            let name = (7..10).find_map(|column| strings.of_column(&row, column));
            let name = name.unwrap_or("kernel").to_owned();
            if let Some(raw) = self.begin(&row, Engine::Kernel, name) {
                let launch = launch(&row);
                self.all.push(Raw { launch, ..raw });
            }
        }
        Ok(())
    }

    fn copies(&mut self, database: &Connection) -> Result<(), NsightError> {
        let kinds = MemoryKinds::of(database)?;
        let optional = [
            "globalPid",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "bytes",
            "copyKind",
            "srcKind",
            "dstKind",
        ];
        for row in rows(database, "CUPTI_ACTIVITY_KIND_MEMCPY", REQUIRED, optional)? {
            let Some((engine, host)) = copy_engine(row.integer(8)) else {
                self.other_copies += 1;
                continue;
            };
            let memory = host.and_then(|column| kinds.of_column(&row, column));
            let name = copy_name(engine, memory);
            if let Some(raw) = self.begin(&row, engine, name) {
                let bytes = row.natural(7).unwrap_or(0);
                self.all.push(Raw {
                    bytes,
                    memory,
                    ..raw
                });
            }
        }
        Ok(())
    }

    fn sets(&mut self, database: &Connection) -> Result<(), NsightError> {
        let optional = [
            "globalPid",
            "deviceId",
            "contextId",
            "streamId",
            "correlationId",
            "bytes",
        ];
        for row in rows(database, "CUPTI_ACTIVITY_KIND_MEMSET", REQUIRED, optional)? {
            if let Some(raw) = self.begin(&row, Engine::Set, "memset".to_owned()) {
                let bytes = row.natural(7).unwrap_or(0);
                self.all.push(Raw { bytes, ..raw });
            }
        }
        Ok(())
    }

    /// What all three tables say in their first columns.
    fn begin(&mut self, row: &ExportRow, engine: Engine, name: String) -> Option<Raw> {
        let times = row.time(0).zip(row.time(1));
        // Both are 0 when the profiler could not tell.
        let Some((start, end)) = times.filter(|&(start, end)| start <= end && end != 0) else {
            self.without_times += 1;
            return None;
        };
        Some(Raw {
            place: OperationOrigin {
                process: row.integer(2).map_or(0, process),
                device: row.integer(3).unwrap_or(0),
                context: row.integer(4).unwrap_or(0),
                stream: row.integer(5),
            },
            correlation: row.integer(6),
            start,
            end,
            engine,
            name,
            bytes: 0,
            launch: None,
            memory: None,
        })
    }
}

/// The shape of a launch; `None` where the table does not have it.
fn launch(row: &ExportRow) -> Option<LaunchShape> {
    let product = |from: usize| {
        let sizes = (from..from + 3).map(|column| row.natural(column));
        let sizes: Option<Vec<u64>> = sizes.collect();
        sizes?.into_iter().try_fold(1u64, u64::checked_mul)
    };
    let shared = [17, 18].map(|column| row.natural(column).unwrap_or(0));
    Some(LaunchShape {
        blocks: product(10)?,
        threads: product(13)?,
        registers: row.natural(16).unwrap_or(0),
        shared: shared[0].saturating_add(shared[1]),
    })
}

/// The engine of a kind of copy (CUPTI's numbers), and the column that says what host memory it was. `None` for copies that
/// occupy no engine of a device.
fn copy_engine(kind: Option<i64>) -> Option<(Engine, Option<usize>)> {
    const SOURCE: Option<usize> = Some(9);
    const DESTINATION: Option<usize> = Some(10);
    match kind? {
        // To a device or an array; 11 is managed memory that moves by itself.
        1 | 3 | 11 => Some((Engine::HostToDevice, SOURCE)),
        2 | 4 | 12 => Some((Engine::DeviceToHost, DESTINATION)),
        5..=8 | 10 | 13 => Some((Engine::DeviceToDevice, None)),
        _ => None,
    }
}

fn copy_name(engine: Engine, memory: Option<HostMemory>) -> String {
    let kind = match memory {
        Some(HostMemory::Pageable) => ", pageable",
        Some(HostMemory::Pinned) => ", page-locked",
        Some(HostMemory::Managed) => ", managed",
        None => "",
    };
    format!("{engine}{kind}")
}

/// The numbers of kinds of memory. They are Nsight's own, not CUPTI's.
struct MemoryKinds {
    pageable: Vec<i64>,
    pinned: Vec<i64>,
    managed: Vec<i64>,
}

impl MemoryKinds {
    fn of(database: &Connection) -> Result<Self, NsightError> {
        let of = |ending, usual: &[i64]| numbers(database, "ENUM_CUDA_MEM_KIND", ending, usual);
        Ok(Self {
            pageable: of("_PAGEABLE", &[0])?,
            pinned: of("_PINNED", &[1])?,
            managed: of("_MANAGED", &[4])?,
        })
    }

    fn of_column(&self, row: &ExportRow, column: usize) -> Option<HostMemory> {
        let kind = row.integer(column)?;
        let kinds = [
            (&self.pageable, HostMemory::Pageable),
            (&self.pinned, HostMemory::Pinned),
            (&self.managed, HostMemory::Managed),
        ];
        let found = kinds.into_iter().find(|(own, _)| own.contains(&kind));
        found.map(|(_, memory)| memory)
    }
}

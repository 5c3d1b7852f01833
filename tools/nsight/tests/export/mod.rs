//! Exports as Nsight Systems writes them, in the columns of two of its versions. A table is made when its first row is written.

use rusqlite::{Connection, params_from_iter, types::Value};
use std::path::Path;

/// Whose columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2021.5: no tables of streams, contexts, enumerations or events' records.
    V2021,
    /// 2026.1, with `--cuda-event-trace=true`.
    V2026,
}

pub const PROCESS: i64 = 4242;
const GLOBAL_PROCESS: i64 = 1 << 48 | PROCESS << 24;
/// The main thread, as `globalTid` says it.
pub const THREAD: i64 = GLOBAL_PROCESS | PROCESS;

/// The session's clock when the first operation of a test runs, in nanoseconds. All other times are in microseconds since then.
pub const BEGIN: i64 = 1_000_000_000;

const KERNEL: &str = "start,end,deviceId,contextId,GREEN,streamId,correlationId,globalPid,demangledName,shortName,mangledName,\
    launchType,cacheConfig,registersPerThread,gridX,gridY,gridZ,blockX,blockY,blockZ,staticSharedMemory,dynamicSharedMemory,\
    localMemoryPerThread,localMemoryTotal,gridId,sharedMemoryExecuted,graphNodeId,sharedMemoryLimitConfig";
const MEMCPY: &str = "start,end,deviceId,contextId,GREEN,streamId,correlationId,globalPid,bytes,copyKind,deprecatedSrcId,srcKind,\
    dstKind,srcDeviceId,srcContextId,dstDeviceId,dstContextId,migrationCause,graphNodeId,virtualAddress,copyCount";
const MEMSET: &str = "start,end,deviceId,contextId,GREEN,streamId,correlationId,globalPid,value,bytes,graphNodeId,memKind";
const RUNTIME: &str = "start,end,eventClass,globalTid,correlationId,nameId,returnValue,callchainId";
const NVTX: &str =
    "start,end,eventType,rangeId,category,color,text,globalTid,endGlobalTid,textId,domainId";

/// A time as the export has it.
fn at(microseconds: i64) -> Value {
    (BEGIN + 1000 * microseconds).into()
}

/// The tables that can be filled with anything.
pub const TABLES: [&str; 9] = [
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "NVTX_EVENTS",
    "TARGET_INFO_GPU",
    "TARGET_INFO_CUDA_STREAM",
];

/// An export that is being written.
pub struct Export {
    database: Connection,
    version: Version,
    strings: Vec<String>,
    correlation: i64,
}

type NamedValues<'a> = &'a [(&'a str, Value)];

impl Export {
    /// A new one of this version.
    pub fn create(path: &Path, version: Version) -> Self {
        let mut export = Self {
            database: Connection::open(path).unwrap(),
            version,
            strings: Vec::new(),
            correlation: 0,
        };
        // Nothing of it need outlive the test.
        let fast = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF";
        export.database.execute_batch(fast).unwrap();
        let sql = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)";
        export.database.execute(sql, []).unwrap();
        if version == Version::V2026 {
            export.enumerations();
            let context = [
                ("nullStreamId", 7.into()),
                ("processId", PROCESS.into()),
                ("deviceId", 0.into()),
                ("contextId", 1.into()),
            ];
            export.insert("TARGET_INFO_CUDA_CONTEXT_INFO", &context);
            export.stream(7, 3);
        }
        export
    }

    fn enumerations(&mut self) {
        let all: [(&str, &[(i64, &str)]); 3] = [
            (
                "ENUM_CUDA_MEM_KIND",
                &[
                    (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE"),
                    (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED"),
                    (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE"),
                ],
            ),
            (
                "ENUM_CUPTI_STREAM_TYPE",
                &[
                    (1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT"),
                    (2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING"),
                    (3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL"),
                ],
            ),
            (
                "ENUM_CUPTI_SYNC_TYPE",
                &[
                    (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT"),
                    (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"),
                ],
            ),
        ];
        for (table, numbers) in all {
            for &(id, name) in numbers {
                let row = [("id", id.into()), ("name", name.to_owned().into())];
                self.insert(table, &row);
            }
        }
    }

    /// The columns of a table in this version.
    fn columns(&self, table: &str) -> String {
        let old = self.version == Version::V2021;
        let columns = match table {
            "CUPTI_ACTIVITY_KIND_KERNEL" => KERNEL,
            "CUPTI_ACTIVITY_KIND_MEMCPY" => MEMCPY,
            "CUPTI_ACTIVITY_KIND_MEMSET" => MEMSET,
            "CUPTI_ACTIVITY_KIND_RUNTIME" => RUNTIME,
            "NVTX_EVENTS" => NVTX,
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" if old => {
                "start,end,deviceId,contextId,streamId,correlationId,globalPid,deprecatedSyncType,syncType,eventId"
            }
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" => {
                "start,end,deviceId,contextId,GREEN,streamId,correlationId,globalPid,syncType,eventId,eventSyncId"
            }
            "CUPTI_ACTIVITY_KIND_CUDA_EVENT" => {
                "timestamp,deviceId,contextId,GREEN,streamId,correlationId,globalPid,eventId,eventSyncId"
            }
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" => {
                "start,end,deviceId,contextId,GREEN,streamId,correlationId,globalPid,graphId,graphExecId"
            }
            "TARGET_INFO_GPU" => {
                "vmId,id,name,busLocation,isDiscrete,l2CacheSize,totalMemory,memoryBandwidth,clockRate,smCount,uuid,\
                 maxRegistersPerBlock,maxShmemPerBlock,maxShmemPerSm,maxRegistersPerSm,threadsPerWarp,asyncEngines,\
                 maxWarpsPerSm,maxBlocksPerSm,maxThreadsPerBlock,computeMajor,computeMinor"
            }
            "TARGET_INFO_CUDA_STREAM" => "streamId,hwId,vmId,processId,contextId,priority,flag",
            "TARGET_INFO_CUDA_CONTEXT_INFO" => {
                "nullStreamId,hwId,vmId,processId,deviceId,contextId,parentContextId,isGreenContext"
            }
            "ThreadNames" => "nameId,priority,globalTid",
            _ => "id,name,label",
        };
        let green = if old { "" } else { "greenContextId," };
        columns.replace("GREEN,", green)
    }

    /// Writes those columns of a row that the table has in this version.
    pub fn insert(&mut self, table: &str, row: NamedValues) {
        let columns = self.columns(table);
        let typed: Vec<String> = columns
            .split(',')
            .map(|column| format!("\"{column}\""))
            .collect();
        let sql = format!("CREATE TABLE IF NOT EXISTS {table} ({})", typed.join(", "));
        self.database.execute(&sql, []).unwrap();
        let values: Vec<Value> = columns
            .split(',')
            .map(|column| {
                let given = row.iter().find(|(name, _)| *name == column);
                given.map_or(Value::Null, |(_, value)| value.clone())
            })
            .collect();
        let marks = vec!["?"; values.len()].join(", ");
        let sql = format!("INSERT INTO {table} VALUES ({marks})");
        self.database
            .execute(&sql, params_from_iter(values))
            .unwrap();
    }

    /// Writes a row of a table, column by column; surplus values are left out. What rows are brought together by is the same
    /// in all.
    pub fn fill(&mut self, table: &str, values: &[Value]) {
        let columns = self.columns(table);
        let value = |(column, value): (&'_ str, &Value)| match column {
            "globalPid" | "globalTid" | "deviceId" | "contextId" | "correlationId" => 0.into(),
            _ => value.clone(),
        };
        let names = columns.split(',');
        let row: Vec<(&str, Value)> = names.zip(values).map(|(n, v)| (n, value((n, v)))).collect();
        self.insert(table, &row);
    }

    /// The number of a string.
    pub fn string(&mut self, text: &str) -> Value {
        let known = self.strings.iter().position(|string| string == text);
        let place = known.unwrap_or_else(|| {
            self.strings.push(text.to_owned());
            let id = self.strings.len() as i64;
            let sql = "INSERT INTO StringIds VALUES (?1, ?2)";
            self.database.execute(sql, (id, text)).unwrap();
            self.strings.len() - 1
        });
        (place as i64 + 1).into()
    }

    /// A stream and its type: 1 blocking, 2 non-blocking, 3 the legacy one.
    pub fn stream(&mut self, stream: i64, flag: i64) {
        self.stream_with_priority(stream, flag, 0);
    }

    /// As [`Export::stream`], with a priority as the export writes it.
    pub fn stream_with_priority(&mut self, stream: i64, flag: i64, priority: i64) {
        let row = [
            ("priority", priority.into()),
            ("streamId", stream.into()),
            ("processId", PROCESS.into()),
            ("contextId", 1.into()),
            ("flag", flag.into()),
        ];
        if self.version == Version::V2026 {
            self.insert("TARGET_INFO_CUDA_STREAM", &row);
        }
    }

    /// An H200.
    pub fn device(&mut self) {
        let row = [
            ("id", 0.into()),
            ("name", "NVIDIA H200".to_owned().into()),
            ("smCount", 132.into()),
            ("maxShmemPerSm", 233_472.into()),
            ("maxRegistersPerSm", 65_536.into()),
            ("maxWarpsPerSm", 64.into()),
            ("maxBlocksPerSm", 32.into()),
            ("computeMajor", 9.into()),
            ("computeMinor", 0.into()),
        ];
        self.insert("TARGET_INFO_GPU", &row);
    }

    /// A call; returns its correlation.
    pub fn call(&mut self, name: &str, times: (i64, i64)) -> i64 {
        self.correlation += 1;
        let name = self.string(name);
        let row = [
            ("start", at(times.0)),
            ("end", at(times.1)),
            ("globalTid", THREAD.into()),
            ("correlationId", self.correlation.into()),
            ("nameId", name),
        ];
        self.insert("CUPTI_ACTIVITY_KIND_RUNTIME", &row);
        self.correlation
    }

    fn operation(
        &self,
        stream: i64,
        times: (i64, i64),
        correlation: i64,
    ) -> Vec<(&'static str, Value)> {
        vec![
            ("start", at(times.0)),
            ("end", at(times.1)),
            ("deviceId", 0.into()),
            ("contextId", 1.into()),
            ("streamId", stream.into()),
            ("correlationId", correlation.into()),
            ("globalPid", GLOBAL_PROCESS.into()),
        ]
    }

    /// A kernel of this many blocks of 256 threads, enqueued within those times.
    pub fn kernel(
        &mut self,
        name: &str,
        blocks: i64,
        stream: i64,
        called: (i64, i64),
        ran: (i64, i64),
    ) {
        let correlation = self.call("cuLaunchKernel", called);
        let mut row = self.operation(stream, ran, correlation);
        let name = self.string(name);
        row.extend([("shortName", name.clone()), ("demangledName", name)]);
        row.extend([("gridX", blocks.into()), ("blockX", 256.into())]);
        row.extend(["gridY", "gridZ", "blockY", "blockZ"].map(|size| (size, 1.into())));
        row.extend([
            ("registersPerThread", 32.into()),
            ("staticSharedMemory", 0.into()),
        ]);
        row.push(("dynamicSharedMemory", 0.into()));
        self.insert("CUPTI_ACTIVITY_KIND_KERNEL", &row);
    }

    /// A graph of one kernel in stream 13, launched and run within those times.
    pub fn graph_with_a_kernel(&mut self, called: (i64, i64), ran: (i64, i64)) {
        let correlation = self.call("cuGraphLaunch", called);
        let mut row = self.operation(13, ran, correlation);
        row.push(("shortName", self.string("node")));
        self.insert("CUPTI_ACTIVITY_KIND_KERNEL", &row);
    }

    /// A copy of 4 MiB: kind 1 to the device, 2 from it; host memory 0 pageable, 1 page-locked.
    pub fn copy(
        &mut self,
        kind: i64,
        memory: i64,
        stream: i64,
        called: (i64, i64),
        ran: (i64, i64),
    ) {
        let correlation = self.call("cudaMemcpyAsync_v3020", called);
        let mut row = self.operation(stream, ran, correlation);
        let (source, destination) = if kind == 1 { (memory, 2) } else { (2, memory) };
        row.extend([("bytes", (4 << 20).into()), ("copyKind", kind.into())]);
        row.extend([("srcKind", source.into()), ("dstKind", destination.into())]);
        self.insert("CUPTI_ACTIVITY_KIND_MEMCPY", &row);
    }

    /// An event is recorded in a stream at a time of the host's.
    pub fn record(&mut self, event: i64, sync: i64, stream: i64, at: i64) {
        let correlation = self.call("cudaEventRecord_v3020", (at, at + 1));
        let mut row = self.operation(stream, (0, 0), correlation);
        row.extend([("eventId", event.into()), ("eventSyncId", sync.into())]);
        if self.version == Version::V2026 {
            self.insert("CUPTI_ACTIVITY_KIND_CUDA_EVENT", &row);
        }
    }

    /// A call of `cuStreamWaitEvent`.
    pub fn wait(&mut self, event: i64, sync: i64, stream: i64, at: i64) {
        self.synchronisation("cudaStreamWaitEvent_v3020", 2, (event, sync), stream, at);
    }

    /// A call that synchronises, with the type that the export gives it, and the numbers of an event and its record.
    pub fn synchronisation(
        &mut self,
        call: &str,
        kind: i64,
        (event, sync): (i64, i64),
        stream: i64,
        at: i64,
    ) {
        let correlation = self.call(call, (at, at + 1));
        let mut row = self.operation(stream, (at, at + 1), correlation);
        row.extend([("eventId", event.into()), ("eventSyncId", sync.into())]);
        row.push(("syncType", kind.into()));
        self.insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &row);
    }

    /// A range of the main thread; by number, or as text.
    pub fn range(&mut self, name: &str, as_text: bool, times: (i64, i64)) {
        let number = self.string(name);
        let name = match as_text {
            true => ("text", name.to_owned().into()),
            false => ("textId", number),
        };
        let row = [
            ("start", at(times.0)),
            ("end", at(times.1)),
            ("eventType", 59.into()),
            ("globalTid", THREAD.into()),
            name,
        ];
        self.insert("NVTX_EVENTS", &row);
    }
}

//! Activity records of CUPTI, NVIDIA's profiling library: when each kernel and copy really ran.
//!
//! The library belongs to the CUDA toolkit, not to the driver, so it is looked for at run time and
//! never required. CUPTI asks for buffers, fills them with records, and hands them back, all
//! through callbacks. The layouts of records grow at their ends with each version; what is read
//! here lies before that and has been the same since CUDA 11.

use super::cupti_buffers;
use super::record::DeviceRecord;
use crate::intervals::{Engine, Span};
use crate::machine::library::Library;
use cust::sys::{CUcontext, CUstream};
use std::ffi::{CStr, OsString, c_char};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs, ptr};

type Status = u32;
type RequestBuffer = extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type BufferCompleted = extern "C" fn(CUcontext, u32, *mut u8, usize, usize);

/// The functions used, and the library that they live in.
pub(crate) struct Cupti {
    enable: unsafe extern "C" fn(kind: u32) -> Status,
    disable: unsafe extern "C" fn(kind: u32) -> Status,
    flush_all: unsafe extern "C" fn(flags: u32) -> Status,
    next_record: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> Status,
    stream_id: unsafe extern "C" fn(CUcontext, CUstream, per_thread: u8, *mut u32) -> Status,
    context_id: unsafe extern "C" fn(CUcontext, *mut u32) -> Status,
    timestamp: unsafe extern "C" fn(*mut u64) -> Status,
    _library: Library,
}

/// `CUpti_ActivityKind`.
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const CONCURRENT_KERNEL: u32 = 10;
/// Copies between devices.
const MEMCPY2: u32 = 22;
const KINDS: [u32; 4] = [MEMCPY, MEMSET, CONCURRENT_KERNEL, MEMCPY2];
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: hand back buffers that are not full, too.
const FLUSH_FORCED: u32 = 1;
/// Where the records that are read have their start, and behind it their end. A stream's operations start in the order in
/// which they were enqueued.
const START: usize = 16;
static RECORDS: Mutex<Vec<DeviceRecord>> = Mutex::new(Vec::new());
static LOADED: OnceLock<Result<Cupti, String>> = OnceLock::new();

fn records() -> MutexGuard<'static, Vec<DeviceRecord>> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CUPTI, loaded at the first call, or why it is missing.
pub(crate) fn cupti() -> Result<&'static Cupti, &'static str> {
    LOADED
        .get_or_init(Cupti::load)
        .as_ref()
        .map_err(String::as_str)
}

impl Cupti {
    fn load() -> Result<Self, String> {
        if let Some(why) = unwanted(env::var_os) {
            return Err(why.to_owned());
        }
        let library = candidates()
            // SAFETY: loading CUPTI runs its initialisers, which need no more than a loaded driver.
            .find_map(|path| unsafe { Library::new(path) }.ok())
            .ok_or("libcupti.so not found")?;
        // SAFETY: the types are those that cupti_activity.h declares for these names.
        unsafe { Self::bind(library) }.map_err(|error| error.to_string())
    }

    /// # Safety
    /// The library is CUPTI.
    unsafe fn bind(library: Library) -> Result<Self, Box<dyn std::error::Error>> {
        // SAFETY: the caller's promise; each type is the header's.
        unsafe {
            type Register = unsafe extern "C" fn(RequestBuffer, BufferCompleted) -> Status;
            let register: Register = *library.get(b"cuptiActivityRegisterCallbacks")?;
            match register(request_buffer, buffer_completed) {
                0 => {}
                status => {
                    return Err(format!("cuptiActivityRegisterCallbacks: error {status}").into());
                }
            }
            Ok(Self {
                enable: *library.get(b"cuptiActivityEnable")?,
                disable: *library.get(b"cuptiActivityDisable")?,
                flush_all: *library.get(b"cuptiActivityFlushAll")?,
                next_record: *library.get(b"cuptiActivityGetNextRecord")?,
                stream_id: *library.get(b"cuptiGetStreamIdEx")?,
                context_id: *library.get(b"cuptiGetContextId")?,
                timestamp: *library.get(b"cuptiGetTimestamp")?,
                _library: library,
            })
        }
    }

    /// Starts reporting; what was reported before is forgotten.
    pub(super) fn start(&self) -> Result<(), String> {
        cupti_buffers::prepare();
        for kind in KINDS {
            // SAFETY: the kind is one of CUPTI's.
            let status = unsafe { (self.enable)(kind) };
            if status != 0 {
                self.disable_all();
                return Err(format!("cuptiActivityEnable({kind}): error {status}"));
            }
        }
        records().clear();
        Ok(())
    }

    /// Goes on reporting; what was reported before is forgotten. The device has nothing left to do.
    pub(super) fn forget(&self) {
        // SAFETY: as in `stop`.
        unsafe { (self.flush_all)(FLUSH_FORCED) };
        records().clear();
    }

    /// Stops reporting and returns what was reported. The device has nothing left to do.
    pub(super) fn stop(&self) -> Vec<DeviceRecord> {
        // SAFETY: the flag is CUPTI's. Buffers come back through `buffer_completed` before it
        // returns.
        unsafe { (self.flush_all)(FLUSH_FORCED) };
        self.disable_all();
        std::mem::take(&mut records())
    }

    fn disable_all(&self) {
        for kind in KINDS {
            // SAFETY: the kind is one of CUPTI's.
            unsafe { (self.disable)(kind) };
        }
    }

    /// The present on the clock of records, in nanoseconds.
    pub(crate) fn now(&self) -> Option<u64> {
        let mut now = 0;
        // SAFETY: `now` outlives the call.
        let status = unsafe { (self.timestamp)(&mut now) };
        (status == 0).then_some(now)
    }

    /// The number that records have for a stream of the context, as [`stream_number`] makes it; for a default stream, give the
    /// null handle and whether the calling thread's own is meant.
    pub(crate) fn stream_id(
        &self,
        context: CUcontext,
        stream: CUstream,
        per_thread: bool,
    ) -> Option<u64> {
        let (mut of_context, mut id) = (0, 0);
        // SAFETY: context and stream live, and both numbers outlive the calls.
        let status = unsafe {
            (self.stream_id)(context, stream, per_thread.into(), &mut id)
                | (self.context_id)(context, &mut of_context)
        };
        (status == 0).then(|| stream_number(of_context, id))
    }
}

/// CUPTI numbers the streams of each context anew: both numbers together identify a stream.
fn stream_number(context: u32, stream: u32) -> u64 {
    u64::from(context) << 32 | u64::from(stream)
}

/// Why CUPTI is not to be used, with the environment's variables. Programs that call CUPTI cannot be traced by tools that use it
/// themselves (CUPTI's documentation, Limitations); `nsys` sets the second variable for the program that it starts.
fn unwanted(variable: impl Fn(&'static str) -> Option<OsString>) -> Option<&'static str> {
    if variable("CUPTI").is_some_and(|value| value == "off") {
        return Some("CUPTI=off");
    }
    variable("NSYS_PROFILING_SESSION_ID").map(|_| "Nsight Systems has CUPTI")
}

/// The first CUPTI library that can be loaded, or why none is used.
///
/// # Errors
/// The library is missing, `CUPTI=off` says not to use it, or Nsight Systems traces the program.
pub fn profiling_library() -> Result<PathBuf, String> {
    if let Some(why) = unwanted(env::var_os) {
        return Err(why.to_owned());
    }
    candidates()
        // SAFETY: loading CUPTI runs its initialisers, which need no more than a loaded driver.
        .find(|path| unsafe { Library::new(path) }.is_ok())
        .ok_or_else(|| "libcupti.so not found".to_owned())
}

/// Where CUPTI may be: what the system's search finds by name, then the usual folders of toolkits.
fn candidates() -> impl Iterator<Item = PathBuf> {
    const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];
    let named = NAMES.map(PathBuf::from);
    let folders = toolkits().into_iter().flat_map(|toolkit| {
        let targets = subfolders(&toolkit.join("targets"), |_| true)
            .into_iter()
            .map(|target| target.join("lib"));
        let mut folders = vec![toolkit.join("extras/CUPTI/lib64"), toolkit.join("lib64")];
        folders.extend(targets);
        folders
    });
    named
        .into_iter()
        .chain(folders.flat_map(|folder| NAMES.map(|name| folder.join(name))))
}

/// Installed toolkits: the one that the environment names, then `/usr/local/cuda*`, newest first.
fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from);
    let mut installed = subfolders("/usr/local".as_ref(), |name| name.starts_with("cuda"));
    installed.reverse();
    named.chain(installed).collect()
}

fn subfolders(folder: &std::path::Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&wanted))
        .map(|entry| entry.path())
        .collect();
    found.sort_unstable();
    found
}

extern "C" fn request_buffer(buffer: *mut *mut u8, size: *mut usize, max_records: *mut usize) {
    let taken = cupti_buffers::take();
    // SAFETY: CUPTI passes three places to fill. A null buffer tells CUPTI to drop records.
    unsafe {
        *buffer = taken;
        *size = if taken.is_null() {
            0
        } else {
            cupti_buffers::BYTES
        };
        *max_records = 0;
    }
}

extern "C" fn buffer_completed(_: CUcontext, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    if let Some(Ok(cupti)) = LOADED.get() {
        let mut record = ptr::null_mut();
        let mut records = records();
        // SAFETY: CUPTI hands back one of our buffers with `valid` bytes of records, and finds them
        // in it one after the other.
        unsafe {
            while (cupti.next_record)(buffer, valid, &mut record) == 0 {
                records.extend(read(record));
            }
        }
    }
    // SAFETY: `request_buffer` took it, and CUPTI is done with it.
    unsafe { cupti_buffers::give_back(buffer) };
}

/// Reads the part of a record that all versions of CUPTI share. Records without times give none.
///
/// # Safety
/// `record` points at a record of CUPTI's, of any kind.
unsafe fn read(record: *const u8) -> Option<DeviceRecord> {
    // SAFETY: the caller's promise; the offsets are those of the kind's structure in
    // cupti_activity.h.
    unsafe {
        let record = match at::<u32>(record, 0) {
            CONCURRENT_KERNEL => DeviceRecord {
                device: at(record, 40),
                engine: Engine::Kernel,
                name: text(at(record, 104)),
                stream: stream_number(at(record, 44), at(record, 48)),
                enqueued: at(record, START),
                span: span(record, START),
                bytes: 0,
            },
            MEMCPY | MEMCPY2 => {
                let (engine, name) = copy_kind(at::<u8>(record, 4));
                let stream = stream_number(at(record, 36), at(record, 40));
                let bytes = at(record, 8);
                DeviceRecord {
                    device: at(record, 32),
                    engine,
                    name: name.to_owned(),
                    stream,
                    enqueued: at(record, START),
                    span: span(record, START),
                    bytes,
                }
            }
            MEMSET => {
                let stream = stream_number(at(record, 36), at(record, 40));
                let bytes = at(record, 8);
                DeviceRecord {
                    device: at(record, 32),
                    engine: Engine::Set,
                    name: "set".to_owned(),
                    stream,
                    enqueued: at(record, START),
                    span: span(record, START),
                    bytes,
                }
            }
            _ => return None,
        };
        (record.span.start != 0 && record.span.start <= record.span.end).then_some(record)
    }
}

/// `CUpti_ActivityMemcpyKind`, with the names that the examples' own records have.
fn copy_kind(kind: u8) -> (Engine, &'static str) {
    match kind {
        1 | 3 => (Engine::HostToDevice, "copy in"),
        2 | 4 => (Engine::DeviceToHost, "copy out"),
        _ => (Engine::DeviceToDevice, "copy"),
    }
}

/// # Safety
/// A `T` lies at this offset from `record`.
unsafe fn at<T: Copy>(record: *const u8, offset: usize) -> T {
    // SAFETY: the caller's promise; CUPTI packs records, so no alignment is assumed.
    unsafe { record.add(offset).cast::<T>().read_unaligned() }
}

/// # Safety
/// Two times lie at this offset from `record`.
unsafe fn span(record: *const u8, offset: usize) -> Span {
    // SAFETY: the caller's promise.
    unsafe {
        Span {
            start: at(record, offset),
            end: at(record, offset + 8),
        }
    }
}

/// # Safety
/// `name` is null or a terminated string.
unsafe fn text(name: *const c_char) -> String {
    if name.is_null() {
        return "kernel".to_owned();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cupti_is_left_to_nsight_systems_and_to_who_turns_it_off() {
        let with = |name: &'static str, value: &'static str| {
            unwanted(move |asked| (asked == name).then(|| value.into()))
        };
        assert_eq!(with("CUPTI", "off"), Some("CUPTI=off"));
        let session = with("NSYS_PROFILING_SESSION_ID", "1016350");
        assert_eq!(session, Some("Nsight Systems has CUPTI"));
        assert_eq!(with("CUPTI", "on"), None);
        assert_eq!(with("HOME", "off"), None);
    }

    /// A record as CUPTI would write it: zeros, with values put at offsets.
    struct Raw([u8; 200]);

    impl Raw {
        fn new(kind: u32) -> Self {
            Self([0; 200]).put(0, &kind.to_ne_bytes())
        }

        fn put(mut self, offset: usize, bytes: &[u8]) -> Self {
            self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
            self
        }

        fn read(&self) -> Option<DeviceRecord> {
            // SAFETY: long enough for every kind that is read.
            unsafe { read(self.0.as_ptr()) }
        }
    }

    #[test]
    fn kernel_records() {
        let name = c"affine";
        let raw = Raw::new(CONCURRENT_KERNEL)
            .put(16, &100u64.to_ne_bytes())
            .put(24, &250u64.to_ne_bytes())
            .put(40, &1u32.to_ne_bytes())
            .put(44, &2u32.to_ne_bytes())
            .put(48, &7u32.to_ne_bytes())
            .put(104, &(name.as_ptr() as usize).to_ne_bytes());
        let span = Span {
            start: 100,
            end: 250,
        };
        let expected = DeviceRecord {
            device: 1,
            engine: Engine::Kernel,
            name: "affine".into(),
            stream: (2 << 32) + 7,
            enqueued: 100,
            span,
            bytes: 0,
        };
        assert_eq!(raw.read(), Some(expected));
    }

    #[test]
    fn copy_records() {
        for (kind, copy, engine) in [
            (MEMCPY, 2, Engine::DeviceToHost),
            (MEMCPY2, 10, Engine::DeviceToDevice),
        ] {
            let raw = Raw::new(kind)
                .put(4, &[copy])
                .put(8, &4096u64.to_ne_bytes())
                .put(16, &100u64.to_ne_bytes())
                .put(24, &250u64.to_ne_bytes())
                .put(32, &3u32.to_ne_bytes())
                .put(40, &9u32.to_ne_bytes());
            let record = raw.read().unwrap();
            assert_eq!(
                (record.device, record.engine, record.stream, record.bytes),
                (3, engine, 9, 4096)
            );
        }
    }

    #[test]
    fn records_without_times_and_of_other_kinds_are_left_out() {
        assert_eq!(Raw::new(MEMSET).read(), None);
        assert_eq!(Raw::new(47).put(16, &[1; 16]).read(), None);
    }
}

//! NCCL, NVIDIA's library of collective operations, loaded at run time.
//!
//! The library belongs to neither the driver nor the toolkit, so it is looked for and never required. It talks to NVIDIA's
//! driver by itself: it cannot use software GPUs. Types and numbers are those of `nccl.h` 2.x.

use cust::sys::CUstream;
use libcuda::Driver;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::{env, fs, ptr};

type Status = c_int;
type Comm = *mut c_void;

/// `ncclUniqueId`: what all ranks of a communicator have in common.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct UniqueId(pub [u8; 128]);

const SUCCESS: Status = 0;
/// `ncclFloat32`.
const FLOAT32: c_int = 7;
/// `ncclSum`.
const SUM: c_int = 0;

/// The error of an NCCL call.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// It is not used.
    #[error("{0}")]
    Absent(String),
    /// A function failed.
    #[error("{call}: {text}")]
    Failed {
        /// The function.
        call: &'static str,
        /// NCCL's words for the error.
        text: String,
    },
}

/// The functions that are used, and the library that they live in.
pub struct Nccl {
    get_version: unsafe extern "C" fn(*mut c_int) -> Status,
    get_unique_id: unsafe extern "C" fn(*mut UniqueId) -> Status,
    comm_init_all: unsafe extern "C" fn(*mut Comm, c_int, *const c_int) -> Status,
    comm_init_rank: unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int) -> Status,
    comm_destroy: unsafe extern "C" fn(Comm) -> Status,
    all_reduce: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        c_int,
        Comm,
        CUstream,
    ) -> Status,
    group_start: unsafe extern "C" fn() -> Status,
    group_end: unsafe extern "C" fn() -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    /// Stays loaded to the end: NCCL's threads outlive its communicators.
    _library: ManuallyDrop<Library>,
}

impl Nccl {
    /// The first library that can be loaded.
    ///
    /// # Errors
    /// The library is missing, the driver is not NVIDIA's, or `NCCL=off` says not to use it.
    pub fn load() -> Result<Self, Error> {
        let absent = |why: &str| Err(Error::Absent(why.to_owned()));
        if libcuda::selected().is_none_or(|selected| selected.driver != Driver::Nvidia) {
            return absent("NCCL cannot use software GPUs");
        }
        if env::var_os("NCCL").is_some_and(|value| value == "off") {
            return absent("NCCL=off");
        }
        // SAFETY: loading NCCL runs its initialisers, which need no more than a loaded driver.
        let Some(library) = candidates().find_map(|path| unsafe { Library::new(path) }.ok()) else {
            return absent("libnccl.so.2 not found");
        };
        // SAFETY: the types are those that nccl.h declares for these names.
        unsafe { Self::bind(library) }.map_err(|error| Error::Absent(error.to_string()))
    }

    /// # Safety
    /// The library is NCCL.
    unsafe fn bind(library: Library) -> Result<Self, libloading::Error> {
        // SAFETY: the caller's promise; each type is the header's.
        unsafe {
            Ok(Self {
                get_version: *library.get(b"ncclGetVersion")?,
                get_unique_id: *library.get(b"ncclGetUniqueId")?,
                comm_init_all: *library.get(b"ncclCommInitAll")?,
                comm_init_rank: *library.get(b"ncclCommInitRank")?,
                comm_destroy: *library.get(b"ncclCommDestroy")?,
                all_reduce: *library.get(b"ncclAllReduce")?,
                group_start: *library.get(b"ncclGroupStart")?,
                group_end: *library.get(b"ncclGroupEnd")?,
                error_string: *library.get(b"ncclGetErrorString")?,
                _library: ManuallyDrop::new(library),
            })
        }
    }

    /// Its version: 2.27.3, for instance.
    pub fn version(&self) -> Result<String, Error> {
        let mut version = 0;
        // SAFETY: `version` outlives the call.
        self.check("ncclGetVersion", unsafe { (self.get_version)(&mut version) })?;
        Ok(format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100))
    }

    /// A new id, which one rank makes and sends to all others.
    pub fn unique_id(&self) -> Result<UniqueId, Error> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: `id` outlives the call.
        self.check("ncclGetUniqueId", unsafe { (self.get_unique_id)(&mut id) })?;
        Ok(id)
    }

    /// A communicator for each of the first `count` devices, all of this process.
    pub fn init_all(&self, count: usize) -> Result<Vec<Communicator>, Error> {
        let mut comms = vec![ptr::null_mut(); count];
        let devices: Vec<c_int> = (0..count as c_int).collect();
        // SAFETY: room for `count` communicators, and as many devices.
        let status =
            unsafe { (self.comm_init_all)(comms.as_mut_ptr(), count as c_int, devices.as_ptr()) };
        self.check("ncclCommInitAll", status)?;
        let destroy = self.comm_destroy;
        Ok(comms.into_iter().map(|raw| Communicator { raw, destroy }).collect())
    }

    /// The communicator of one rank, on the current context's device. Returns when all ranks have called it.
    pub fn init_rank(
        &self,
        id: UniqueId,
        rank: usize,
        world: usize,
    ) -> Result<Communicator, Error> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` outlives the call, and the id is one that NCCL has made.
        let status = unsafe { (self.comm_init_rank)(&mut raw, world as c_int, id, rank as c_int) };
        self.check("ncclCommInitRank", status)?;
        Ok(Communicator { raw, destroy: self.comm_destroy })
    }

    /// What `calls` enqueue for several communicators of one thread belongs together (`ncclGroupStart`, `ncclGroupEnd`).
    pub fn group(&self, calls: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        // SAFETY: neither takes anything.
        self.check("ncclGroupStart", unsafe { (self.group_start)() })?;
        let done = calls();
        // SAFETY: as above.
        let ended = self.check("ncclGroupEnd", unsafe { (self.group_end)() });
        done.and(ended)
    }

    /// Adds up `elements` floats in place (`ncclAllReduce`).
    ///
    /// # Safety
    /// Device memory of that length at `data`, which nothing else uses before the stream has come past the call.
    pub unsafe fn all_reduce(
        &self,
        communicator: &Communicator,
        data: u64,
        elements: usize,
        stream: CUstream,
    ) -> Result<(), Error> {
        let data = data as *mut c_void;
        // SAFETY: the caller's promise.
        let status = unsafe {
            (self.all_reduce)(data, data, elements, FLOAT32, SUM, communicator.raw, stream)
        };
        self.check("ncclAllReduce", status)
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), Error> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: NCCL returns a static string for any number.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(Error::Failed { call, text: text.to_string_lossy().into_owned() })
    }
}

/// A GPU's membership in a communicator.
pub struct Communicator {
    raw: Comm,
    destroy: unsafe extern "C" fn(Comm) -> Status,
}

impl Drop for Communicator {
    fn drop(&mut self) {
        // SAFETY: it was made and not destroyed; the library stays loaded, because its owner is dropped later.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// Where NCCL may be: where the environment says, what the system's search finds by name, then the folders in which Python's
/// packages have it.
fn candidates() -> impl Iterator<Item = PathBuf> {
    const NAME: &str = "libnccl.so.2";
    let named = env::var_os("NCCL_LIBRARY").map(PathBuf::from);
    let pythons = ["/usr/lib", "/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib"];
    let folders = pythons.into_iter().flat_map(subfolders).flat_map(|python| {
        ["dist-packages", "site-packages"]
            .map(|packages| python.join(packages).join("nvidia/nccl/lib"))
    });
    let known = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/local/nccl/lib",
        "/usr/local/cuda/lib64",
    ];
    let known = known.map(PathBuf::from).into_iter().chain(folders);
    named.into_iter().chain([PathBuf::from(NAME)]).chain(known.map(|folder| folder.join(NAME)))
}

fn subfolders(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort_unstable();
    found
}

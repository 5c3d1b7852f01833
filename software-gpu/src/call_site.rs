//! Where in the program a call of the driver was made.
//!
//! A call only notes return addresses; symbols are looked up when a report is written. Walking the stack costs microseconds, so a
//! thread remembers the stacks that it has walked, and where in the stack each return address was: if all of them are still there,
//! it is the same stack. Frames of the driver itself, of libraries that wrap it and of nvcc's headers say nothing to the reader,
//! nor do those of the C library, which starts the program and its threads and calls its functions at exit: the first frame
//! outside of them is the call site. The C library's debug information may be installed where the program's is not. Where no frame
//! is left, as in a program without line numbers, the call site is unknown, and two such calls are distinguished by their return
//! addresses.
//!
//! The frames behind the call site, up to `main`, are its callers. A program that tests or measures another one is not a caller:
//! which of its functions have frames differs between machines. Behind CPython's frames come the lines of Python, which
//! [`python`] reads when the call is made: the interpreter's own stack is the same for all of them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::order::{Locate, identity_of};

mod frames;
mod nvcc;
mod object;
mod python;
mod script;

use frames::Frames;
use object::Object;
use python::PythonLine;
use script::ScriptLine;

pub use script::note_script_line;

/// Frames that are noted at most. Wrappers of the driver are rarely deeper.
const DEPTH: usize = 40;

/// Folders of sources that hold no call sites.
static WRAPPERS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
/// This crate's sources.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
/// The crate that exports the `cu*` symbols: its frames lie between the program and the driver.
const SYMBOLS: &str = "rust-cuda/libcuda/src/";
/// How the paths of Rust's own libraries begin, and where cargo keeps libraries such as cust.
const RUST: &str = "/rustc/";
const REGISTRY: &str = "/registry/src/";
/// The file that `cargo vendor` writes into the folder of each library.
const VENDORED: &str = ".cargo-checksum.json";
/// Folders of the C library's sources, whose paths are relative in the debug information of most distributions.
const LIBC_FOLDERS: [&str; 3] = ["csu", "nptl", "sysdeps"];
/// What calls `main` and a thread's function in the C library. `start_thread` is not here: it could be the program's own.
const STARTS: [&str; 6] = [
    "__libc_start_call_main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "_start",
    "__clone3",
    "__GI___clone3",
];

/// Parts of the paths of sources whose functions call a program as its harness.
static HARNESSES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Says that the sources whose paths contain `path` call the program to test or to measure it: reports name no callers from there on.
pub fn add_harness(path: &'static str) {
    let mut harnesses = HARNESSES.lock().unwrap_or_else(PoisonError::into_inner);
    if !harnesses.contains(&path) {
        harnesses.push(path);
    }
}

/// Says that the sources in `folder` wrap the driver: their callers are the call sites. A crate passes
/// `env!("CARGO_MANIFEST_DIR")`.
pub fn add_wrapper(folder: &'static str) {
    let mut wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !wrappers.contains(&folder) {
        wrappers.push(folder);
    }
}

/// Notes that the calling thread's next calls of the driver are made at `location`. A program in WebAssembly says so, because
/// nothing can walk its stack; elsewhere the note has no effect.
pub fn note(location: &'static Location<'static>) {
    #[cfg(target_family = "wasm")]
    NOTED.set(Some(location));
    #[cfg(not(target_family = "wasm"))]
    let _ = location;
}

#[cfg(target_family = "wasm")]
thread_local! {
    static NOTED: std::cell::Cell<Option<&'static Location<'static>>> = const { std::cell::Cell::new(None) };
}

/// The call site that the calling thread has noted last.
#[cfg(target_family = "wasm")]
fn noted() -> Option<&'static Location<'static>> {
    NOTED.get()
}

/// The return addresses of a call of the driver.
pub(crate) struct CallSite {
    addresses: Vec<usize>,
    frames: Frames,
    /// The lines of Python that made the call, the innermost first.
    python: Vec<PythonLine>,
    /// The line of the interpreted program that made it.
    script: Option<ScriptLine>,
    /// Its line and those of its callers, once a report has asked for them.
    lines: OnceLock<Vec<String>>,
}

thread_local! {
    /// Stacks that this thread has walked, by where they end. The last one found is the first.
    static WALKED: RefCell<HashMap<usize, Vec<Stack>>> = RefCell::default();
}

/// How many stacks with one end a thread remembers, and how many ends.
const STACKS: usize = 16;
const ENDS: usize = 256;

/// A stack that was walked.
struct Stack {
    /// Where its return addresses are.
    slots: Vec<usize>,
    site: Arc<CallSite>,
}

impl CallSite {
    /// The present call's.
    #[inline(never)]
    pub(crate) fn here() -> Arc<Self> {
        let (python, script) = (python::lines(), script::line());
        let site = Self::of_stack();
        if site.python == python && site.script == script {
            return site;
        }
        Arc::new(Self {
            addresses: site.addresses.clone(),
            frames: site.frames.clone(),
            python,
            script,
            lines: OnceLock::new(),
        })
    }

    /// The present call's without lines of Python.
    #[inline(never)]
    fn of_stack() -> Arc<Self> {
        let end = 0_u8;
        let end = &raw const end as usize;
        let known = WALKED.try_with(|walked| {
            let mut walked = walked.borrow_mut();
            if walked.len() > ENDS {
                walked.clear();
            }
            let stacks = walked.entry(end).or_default();
            if let Some(index) = stacks.iter().position(Stack::is_present) {
                stacks.swap(0, index);
                return Arc::clone(&stacks[0].site);
            }
            let stack = Stack::walk(end);
            let site = Arc::clone(&stack.site);
            if !stack.slots.is_empty() {
                stacks.truncate(STACKS - 1);
                stacks.insert(0, stack);
            }
            site
        });
        // The thread is about to end.
        known.unwrap_or_else(|_| Stack::walk(end).site)
    }

    /// The place of an instruction on whose behalf a signal handler runs: `address` is that of its frame, which the handler's frames
    /// lie inside.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn from_frame(address: usize) -> Arc<Self> {
        let mut addresses = Vec::with_capacity(DEPTH);
        frames::walk(|frame, _| {
            if frame == address || !addresses.is_empty() {
                addresses.push(frame);
            }
            addresses.len() < DEPTH
        });
        if addresses.is_empty() {
            addresses.push(address);
        }
        Arc::new(Self {
            addresses,
            frames: Frames::here(),
            python: Vec::new(),
            script: None,
            lines: OnceLock::new(),
        })
    }

    /// `FILE:LINE` of the call and of each of its callers, where symbols allow.
    fn resolve(&self) -> Vec<String> {
        if let Some(line) = &self.script {
            return vec![line.to_string()];
        }
        let wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
        let harnesses = HARNESSES.lock().unwrap_or_else(PoisonError::into_inner);
        let symbols = self.frames.symbols(&self.addresses);
        let mut lines: Vec<String> = Vec::new();
        let mut callee: Option<&frames::FrameSymbol> = None;
        for address in &self.addresses {
            match object::of(*address) {
                Object::System => continue,
                Object::Python => {
                    lines.extend(python::in_words(&self.python));
                    return lines;
                }
                Object::Program => {}
            }
            for symbol in symbols.iter().filter(|symbol| symbol.address == *address) {
                if !lines.is_empty() && is_harness(&symbol.file, &harnesses) {
                    return lines;
                }
                let is_host_function =
                    callee.is_some_and(|stub| nvcc::is_host_function(stub, symbol));
                callee = Some(symbol);
                if is_host_function
                    || nvcc::is_generated(&symbol.file)
                    || is_wrapper(&symbol.file, &wrappers)
                    || is_libc(&symbol.file, symbol.function.as_deref())
                {
                    continue;
                }
                let line = format!("{}:{}", shortened(&symbol.file), symbol.line);
                if lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
        }
        lines
    }

    fn lines(&self) -> &[String] {
        self.lines.get_or_init(|| self.resolve())
    }
}

impl Stack {
    /// The frames whose return addresses are above `end`. Where these are is not known of every processor: then there are
    /// no slots.
    fn walk(end: usize) -> Self {
        let (mut addresses, mut slots) = (Vec::with_capacity(DEPTH), Vec::new());
        frames::walk(|address, stack_pointer| {
            let slot = stack_pointer.wrapping_sub(size_of::<usize>());
            if slot > end || stack_pointer == 0 {
                addresses.push(address);
                slots.push(slot);
            }
            addresses.len() < DEPTH
        });
        let mut stack = Self {
            slots,
            site: Arc::new(CallSite {
                addresses,
                frames: Frames::here(),
                python: Vec::new(),
                script: None,
                lines: OnceLock::new(),
            }),
        };
        // The outermost frame has no return address.
        stack
            .slots
            .truncate(stack.site.addresses.len().saturating_sub(1));
        if !cfg!(target_arch = "x86_64") || !stack.is_present() {
            stack.slots.clear();
        }
        stack
    }

    /// Whether the return addresses are where they were.
    fn is_present(&self) -> bool {
        let mut slots = self.slots.iter().zip(&self.site.addresses);
        // SAFETY: the slots lie in this thread's stack, above the frame of the caller: that memory stays readable. They are
        // aligned, as return addresses are.
        let same = slots
            .all(|(slot, address)| unsafe { (*slot as *const usize).read_volatile() == *address });
        same && !self.slots.is_empty()
    }
}

/// Whether the source belongs to the driver or to a library around it.
fn is_wrapper(file: &Path, wrappers: &[&str]) -> bool {
    let path = file.to_string_lossy();
    file.starts_with(OWN)
        || wrappers.iter().any(|folder| file.starts_with(folder))
        || path.contains(SYMBOLS)
        || path.starts_with(RUST)
        || path.contains(REGISTRY)
        || is_vendored(file)
}

/// Whether the source belongs to what calls the program.
fn is_harness(file: &Path, harnesses: &[&str]) -> bool {
    let path = file.to_string_lossy().replace('\\', "/");
    harnesses.iter().any(|harness| path.contains(harness))
}

/// Whether the source is of a library that `cargo vendor` has put beside the program.
fn is_vendored(file: &Path) -> bool {
    let mut folders = file.ancestors().skip(1);
    file.is_absolute() && folders.any(|folder| folder.join(VENDORED).exists())
}

/// Whether the frame is the C library's: by its function, or by its source as distributions build it.
fn is_libc(file: &Path, function: Option<&str>) -> bool {
    let mut folders = file.components().map(|folder| folder.as_os_str());
    let is_of_libc = if file.is_relative() {
        folders.any(|folder| LIBC_FOLDERS.iter().any(|name| folder == *name))
    } else {
        folders.any(|folder| folder.to_string_lossy().starts_with("glibc"))
    };
    is_of_libc || function.is_some_and(|name| STARTS.contains(&name))
}

/// The path from the working directory, if it lies there.
pub(crate) fn shortened(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(here)
        .unwrap_or(file)
        .display()
        .to_string()
}

impl Locate for CallSite {
    fn locate(&self) -> Option<String> {
        self.lines().first().cloned()
    }

    fn callers(&self) -> &[String] {
        self.lines().get(1..).unwrap_or_default()
    }

    fn identity(&self) -> u64 {
        match (&self.script, self.python.is_empty()) {
            (Some(line), _) => identity_of(line),
            (None, true) => identity_of(&self.addresses),
            (None, false) => identity_of(&(&self.addresses, &self.python)),
        }
    }
}

impl fmt::Debug for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.addresses).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_the_first_source_outside_of_the_wrappers() {
        let is_wrapper = |file: &str| is_wrapper(Path::new(file), &["/home/examples-host"]);
        assert!(is_wrapper("/home/examples-host/src/stream.rs"));
        assert!(is_wrapper(
            "/home/me/.cargo/registry/src/index/cust-0.3.2/src/stream.rs"
        ));
        assert!(is_wrapper("/rustc/f2d3/library/core/src/ops/function.rs"));
        assert!(is_wrapper(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/driver/stream.rs"
        )));
        assert!(is_wrapper(
            "/home/me/streams/rust-cuda/libcuda/src/observe.rs"
        ));
        assert!(!is_wrapper(
            "/home/me/streams/rust-cuda/libcuda/tests/program.rs"
        ));
        assert!(!is_wrapper("/home/examples-host-2/src/main.rs"));
        assert!(!is_wrapper("/home/me/cust-demo/nptl/main.c"));
    }

    #[test]
    fn vendored_libraries_hold_no_call_sites() {
        let root = tempfile::tempdir().expect("a folder");
        let cust = root.path().join("vendor/cust");
        std::fs::create_dir_all(&cust).expect("a folder");
        std::fs::write(cust.join(VENDORED), "{}").expect("a file");
        let is_wrapper = |file: &str| is_wrapper(&root.path().join(file), &[]);
        assert!(is_wrapper("vendor/cust/src/memory/device/device_slice.rs"));
        assert!(!is_wrapper("vendor/demo/src/main.rs"));
        assert!(!is_wrapper("labs/exercises/01_first_stream.rs"));
    }

    #[test]
    fn frames_of_the_c_library_are_no_call_sites() {
        let is_libc = |file: &str, function: &str| is_libc(Path::new(file), Some(function));
        for file in [
            "./csu/../sysdeps/nptl/libc_start_call_main.h",
            "./nptl/pthread_create.c",
            "../sysdeps/unix/sysv/linux/x86_64/clone3.S",
            "../csu/libc-start.c",
            "/usr/src/debug/glibc-2.38/csu/libc-start.c",
        ] {
            assert!(is_libc(file, "main"), "{file}");
        }
        for function in ["__libc_start_main_impl", "_start", "__GI___clone3"] {
            assert!(is_libc("/elsewhere/start.c", function), "{function}");
        }
        assert!(!is_libc("/home/me/cust-demo/nptl/main.c", "main"));
        assert!(!is_libc("/home/me/demo/src/main.rs", "demo::start_copies"));
        assert!(!is_libc("src/main.rs", "demo::main"));
    }

    /// Whether its debug information is installed or not. A call through it, from `qsort` here, is made by the program.
    #[cfg(all(target_os = "linux", not(target_env = "musl")))]
    #[test]
    fn a_call_through_the_c_library_is_the_programs() {
        use std::cell::RefCell;
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn qsort(
                base: *mut c_void,
                count: usize,
                size: usize,
                compare: extern "C" fn(*const c_void, *const c_void) -> c_int,
            );
        }
        thread_local! { static SITE: RefCell<Option<Arc<CallSite>>> = const { RefCell::new(None) }; }
        extern "C" fn compare(_: *const c_void, _: *const c_void) -> c_int {
            SITE.set(Some(CallSite::here()));
            0
        }
        let mut values = [2u8, 1];
        // SAFETY: two elements of a byte, and a function that reads neither.
        unsafe { qsort(values.as_mut_ptr().cast(), 2, 1, compare) };
        let site = SITE.take().expect("a comparison");
        let addresses = &site.addresses;
        let system: Vec<bool> = addresses
            .iter()
            .map(|a| object::of(*a) == Object::System)
            .collect();
        assert!(!system[0], "the comparison is the program's");
        let of_libc = system.iter().position(|&system| system).expect("qsort");
        // From the first frame of the C library on, as if the comparison had no line numbers.
        let system = addresses[of_libc..].iter().copied();
        let rest = CallSite {
            addresses: system
                .filter(|a| object::of(*a) == Object::System)
                .collect(),
            frames: site.frames.clone(),
            python: Vec::new(),
            script: None,
            lines: OnceLock::new(),
        };
        assert_eq!(rest.locate(), None);
    }

    /// Reports merge by call site: sites without a line must differ where their addresses do.
    #[test]
    fn calls_without_a_line_are_distinguished_by_their_addresses() {
        let site = |address: usize| CallSite {
            addresses: vec![address],
            frames: Frames::none(),
            python: Vec::new(),
            script: None,
            lines: OnceLock::new(),
        };
        let (one, other) = (site(1), site(2));
        assert_eq!((one.locate(), other.locate()), (None, None));
        assert_ne!(one.identity(), other.identity());
        assert_eq!(one.identity(), site(1).identity());
    }

    #[test]
    fn a_harness_is_recognised_by_a_part_of_its_path() {
        let is_harness = |file: &str| is_harness(Path::new(file), &["/src/verdicts/"]);
        assert!(is_harness("/home/me/demo/src/verdicts/events.rs"));
        assert!(is_harness("C:\\demo\\src\\verdicts\\events.rs"));
        assert!(!is_harness("/home/me/demo/src/events.rs"));
    }

    /// A remembered stack is taken for another one only if they are the same.
    #[test]
    fn the_same_call_has_the_same_site_and_another_call_another_one() {
        #[inline(never)]
        fn deep(levels: u32) -> Arc<CallSite> {
            match levels {
                0 => CallSite::here(),
                _ => std::hint::black_box(deep(levels - 1)),
            }
        }
        let mut loops = Vec::new();
        // One call in the machine's code, too.
        for _ in 0..std::hint::black_box(3) {
            loops.push(deep(2).identity());
        }
        assert_eq!(loops, [loops[0]; 3]);
        let (one, other) = (deep(2).identity(), deep(2).identity());
        assert_ne!(one, other, "from two places");
        assert_ne!(deep(3).identity(), one, "through another caller");
        let unremembered = Stack::walk(0).site.addresses.len();
        assert!(unremembered > 3);
    }
}

//! Where in the program a call of the driver was made.
//!
//! A call only notes return addresses, which costs about a microsecond; symbols are looked up when a report is
//! written. Frames of the driver itself and of libraries that wrap it say nothing to the reader: the first frame
//! outside of them is the call site.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::order::{Locate, identity_of};

/// Frames that are noted at most. Wrappers of the driver are rarely deeper.
const DEPTH: usize = 40;

/// Folders of sources that hold no call sites.
static WRAPPERS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
/// This crate's sources; how the paths of Rust's libraries and of what starts programs and threads begin; and where cargo
/// keeps libraries such as cust.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
const LIBRARIES: [&str; 4] = ["/rustc/", "./nptl/", "../csu/", "../sysdeps/"];
const REGISTRY: &str = "/registry/src/";

/// Says that the sources in `folder` wrap the driver: their callers are the call sites. A crate passes
/// `env!("CARGO_MANIFEST_DIR")`.
pub fn add_wrapper(folder: &'static str) {
    let mut wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !wrappers.contains(&folder) {
        wrappers.push(folder);
    }
}

/// The return addresses of a call of the driver.
#[derive(Clone, Copy)]
pub(crate) struct CallSite {
    addresses: [usize; DEPTH],
    len: usize,
}

impl CallSite {
    /// The present call's.
    pub(crate) fn here() -> Self {
        let mut site = Self {
            addresses: [0; DEPTH],
            len: 0,
        };
        backtrace::trace(|frame| {
            site.addresses[site.len] = frame.ip() as usize;
            site.len += 1;
            site.len < DEPTH
        });
        site
    }

    /// `file:line` in the program, where symbols allow.
    fn resolve(&self) -> Option<String> {
        let wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = None;
        for address in &self.addresses[..self.len] {
            backtrace::resolve(*address as *mut _, |symbol| {
                if let (None, Some(file), Some(line)) = (&found, symbol.filename(), symbol.lineno())
                    && !is_wrapper(file, &wrappers)
                {
                    found = Some(format!("{}:{line}", shortened(file)));
                }
            });
            if found.is_some() {
                break;
            }
        }
        found
    }
}

/// Whether the source belongs to the driver or to a library around it.
fn is_wrapper(file: &Path, wrappers: &[&str]) -> bool {
    let path = file.to_string_lossy();
    file.starts_with(OWN)
        || wrappers.iter().any(|folder| file.starts_with(folder))
        || LIBRARIES.iter().any(|start| path.starts_with(start))
        || path.contains(REGISTRY)
}

/// The path from the working directory, if it lies there.
fn shortened(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(here)
        .unwrap_or(file)
        .display()
        .to_string()
}

impl Locate for CallSite {
    fn locate(&self) -> Option<String> {
        self.resolve()
    }

    fn identity(&self) -> u64 {
        identity_of(&self.addresses[..self.len])
    }
}

impl fmt::Debug for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.addresses[..self.len]).finish()
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
        assert!(is_wrapper("./nptl/pthread_create.c"));
        assert!(!is_wrapper("/home/examples-host-2/src/main.rs"));
        assert!(!is_wrapper("/home/me/cust-demo/nptl/main.c"));
    }
}

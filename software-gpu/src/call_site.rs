//! Where in the program a call of the driver was made.
//!
//! A call only notes return addresses, which costs about a microsecond; symbols are looked up when a report is
//! written. Frames of the driver itself and of libraries that wrap it say nothing to the reader: the first frame
//! outside of them is the call site.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Frames that are noted at most. Wrappers of the driver are rarely deeper.
const DEPTH: usize = 24;

/// Where a function's path starts that is no call site.
static WRAPPERS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
const OWN: [&str; 7] = [
    "software_gpu::",
    "libcuda::",
    "cust::",
    "core::",
    "std::",
    "alloc::",
    "cu",
];

/// Says that functions of the crate `name` wrap the driver: their callers are the call sites.
pub fn add_wrapper(name: &'static str) {
    let mut wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if !wrappers.contains(&name) {
        wrappers.push(name);
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
        let is_wrapper = |name: &str| {
            OWN.iter()
                .chain(wrappers.iter())
                .any(|prefix| is_of(name, prefix))
        };
        let mut found = None;
        for address in &self.addresses[..self.len] {
            backtrace::resolve(*address as *mut _, |symbol| {
                let name = symbol
                    .name()
                    .map(|name| format!("{name:#}"))
                    .unwrap_or_default();
                if let (None, Some(file), Some(line)) = (&found, symbol.filename(), symbol.lineno())
                    && !is_wrapper(&name)
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

/// Whether the function `name`, such as `<cust::stream::Stream>::new` or `cuLaunchKernel`, is of the crate `prefix`.
fn is_of(name: &str, prefix: &str) -> bool {
    let name = name.trim_start_matches(['<', '&', '*']);
    let name = name.strip_prefix("mut ").unwrap_or(name);
    if prefix == "cu" {
        return name
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(char::is_uppercase));
    }
    name.starts_with(prefix)
}

/// The path from the working directory, if it lies there.
fn shortened(file: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    file.strip_prefix(here)
        .unwrap_or(file)
        .display()
        .to_string()
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.resolve() {
            Some(place) => f.write_str(&place),
            None => f.write_str("unknown place (build the program with line tables to see it)"),
        }
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
    fn a_call_is_known_by_the_first_function_outside_of_the_wrappers() {
        assert!(is_of("<cust::stream::Stream>::synchronize", "cust::"));
        assert!(is_of(
            "&mut cust::stream::Stream as core::fmt::Debug",
            "cust::"
        ));
        assert!(is_of("cuLaunchKernel", "cu"));
        assert!(!is_of("custom::main", "cu"));
        assert!(!is_of("custom::main", "cust::"));
    }
}

//! Why a call failed, in a sentence: what was wrong, whose call it was, and what to do.
//!
//! The code that decides on an error gives the reason by [`because`]; the entry point that returns the error prints the sentence, once for each
//! call site. Sentences are not reports: they change neither what calls return nor how a program ends. They are printed where
//! reports are, so the same switch silences them. An error that a program expects, such as `CUDA_ERROR_NOT_READY` of a query,
//! has no sentence.
//!
//! | module | of what |
//! |---|---|
//! | `arguments` | arguments that do not match a kernel's parameters |
//! | `capture` | stream capture |
//! | `devices` | devices that do not exist |
//! | `events` | events of other contexts, and the time between two events |
//! | `handles` | handles of objects that are gone or are something else |
//! | `launches` | launches that cannot fit |
//! | `memory` | out of memory, memory of other devices' pools, memory that is gone |
//! | `names` | names that a module does not have |

mod arguments;
mod capture;
mod devices;
mod events;
mod handles;
mod launches;
mod memory;
mod names;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(in crate::driver) use arguments::WrongArguments;
pub(in crate::driver) use devices::because_no_such_device;
pub(in crate::driver) use events::{because_not_reached, because_unrecorded, because_untimed};
pub(in crate::driver) use handles::Buried;
pub(in crate::driver) use launches::Limit;
pub(in crate::driver) use memory::{because_freed, because_out_of_reach};
pub(in crate::driver) use names::because_unknown;

use super::c_abi::errors::CudaError;
use super::host::threads::{ThreadSerial, current};
use crate::call_site::CallSite;
use crate::order::{Locate, called_from};
use crate::reports::{self, ReportMode};

/// The page that explains the sentences.
const PAGE: &str = "docs/software-gpu/errors.md";

/// Why a call fails.
#[derive(Debug)]
struct Reason {
    error: CudaError,
    what: String,
    remedy: String,
}

thread_local! {
    static CALL: Cell<&'static str> = const { Cell::new("") };
    static REASON: RefCell<Option<Reason>> = const { RefCell::new(None) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The call that continues, where it comes from, and from which thread.
#[derive(Clone, Debug)]
pub(in crate::driver) struct Caller {
    name: &'static str,
    site: Option<Arc<CallSite>>,
    pub(in crate::driver) thread: ThreadSerial,
}

impl Caller {
    /// The present call's.
    pub(in crate::driver) fn here() -> Self {
        Self {
            name: CALL.get(),
            site: is_on().then(CallSite::here),
            thread: current::serial(),
        }
    }

    /// `cuStreamBeginCapture at main.c:12`.
    fn in_words(&self) -> String {
        let line = self.site.as_ref().and_then(|site| site.locate());
        let name = plain(self.name);
        line.map_or_else(|| name.to_owned(), |line| format!("{name} at {line}"))
    }

    /// ` in another thread`, if it was made there.
    fn elsewhere(&self) -> &'static str {
        match self.thread == current::serial() {
            true => "",
            false => " in another thread",
        }
    }
}

/// Whether sentences are printed; [`last`] has them in any case.
static PRINTED: AtomicBool = AtomicBool::new(true);

/// Whether the sentences of failed calls are printed from now on.
pub(in crate::driver) fn print(printed: bool) {
    PRINTED.store(printed, Ordering::Relaxed);
}

/// Whether sentences are enabled.
fn is_on() -> bool {
    reports::mode() != ReportMode::Off
}

/// The error, and why it is returned.
pub(in crate::driver) fn because(
    error: CudaError,
    what: impl Into<String>,
    remedy: impl Into<String>,
) -> CudaError {
    let (what, remedy) = (what.into(), remedy.into());
    let reason = Reason {
        error,
        what,
        remedy,
    };
    // A thread that ends has no use for it.
    let _ = REASON.try_with(|place| place.replace(Some(reason)));
    error
}

/// An entry point is called.
pub(in crate::driver) fn begins(name: &'static str) {
    let _ = CALL.try_with(|call| call.set(name));
    let _ = REASON.try_with(RefCell::take);
}

/// The call of the entry point fails with this error.
#[cold]
pub(in crate::driver) fn fails(error: CudaError) {
    let reason = REASON.try_with(RefCell::take).ok().flatten();
    let _ = LAST.try_with(RefCell::take);
    let Some(reason) = reason.filter(|reason| reason.error == error && is_on()) else {
        return;
    };
    let name = CALL.get();
    let code = super::c_abi::errors::name_of(error.code());
    let code = code.map_or_else(String::new, |code| code.to_string_lossy().into_owned());
    let Reason { what, remedy, .. } = reason;
    let _ = LAST
        .try_with(|last| last.replace(Some(format!("{}: {code}: {what}; {remedy}", plain(name)))));
    let site = CallSite::here();
    if !PRINTED.load(Ordering::Relaxed)
        || reports::are_collected()
        || !is_new(error, name, site.identity())
    {
        return;
    }
    let line = site.locate();
    let line = line.map_or_else(String::new, |line| format!(" ({line})"));
    crate::say!(
        "software GPU: {}{line} returns {code}: {what}{}\n  do:      {remedy}\n  see:     {PAGE}",
        plain(name),
        called_from(site.callers())
    );
}

/// Why the last call of this thread that failed did so, if that has a sentence.
pub(in crate::driver) fn last() -> Option<String> {
    LAST.with_borrow(Clone::clone)
}

/// Whether nothing has been said yet of this error of this call from there.
fn is_new(error: CudaError, name: &'static str, site: u64) -> bool {
    static SAID: Mutex<BTreeSet<(CudaError, &str, u64)>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.insert((error, name, site))
}

/// The name of the call as programs write it.
fn plain(name: &str) -> &str {
    let name = name.strip_suffix("_ptsz").unwrap_or(name);
    let name = name.strip_suffix("_ptds").unwrap_or(name);
    name.strip_suffix("_v2").unwrap_or(name)
}

//! Observes all driver calls of a program, whether they are made through cust, through `cust::sys`, or by address.
//!
//! [`start`] puts a function of this module in front of the driver for each call in the list of `calls`. It passes the
//! arguments on as they are and shows an [`Observer`] what they mean: which [`Action`], in which stream, of how many
//! bytes. Before [`start`] the slots lead straight into the driver, so that observing costs nothing where it is not
//! asked for.
//!
//! ```text
//! cust ── cuLaunchKernel ──> export: jmp [slot] ──> calls::cuLaunchKernel ──> libcuda.so.1 or software_gpu
//!                                                      │ before, after
//!                                                      └──> Observer
//! ```
//!
//! What an observer calls of the driver itself is not shown to it. Calls that are not in the list pass unseen, and so do
//! those through addresses that `cuGetProcAddress` gave out.

mod action;
mod calls;
mod failure;
mod stream_names;

pub use action::{Action, Copied, StreamHandle};
pub use failure::{Failure, take_failure};
pub use stream_names::{name_of_stream, name_stream};

use crate::result::{CuResult, SUCCESS};
use std::cell::Cell;
use std::sync::OnceLock;

/// One call of the driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The function as the programming guide calls it, without the suffixes of its versions: `cuMemcpyHtoDAsync`.
    pub name: &'static str,
    /// What it does.
    pub action: Action,
}

/// The observer of the calls. The functions run on the thread that calls, between the program and the driver.
pub trait Observer: Sync {
    /// A call of a stream's operation is about to be made.
    fn before(&self, _call: &Call) {}

    /// A call has returned. `succeeded` says whether the driver returned success.
    fn after(&self, call: &Call, succeeded: bool);

    /// The program has named a stream.
    fn named(&self, _stream: StreamHandle, _name: &str) {}
}

static OBSERVER: OnceLock<&'static dyn Observer> = OnceLock::new();

thread_local! {
    /// Whether the calls of this thread are the observer's own.
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
}

/// Shows `observer` every listed call from now on, until the process ends. Call it once the driver is
/// [selected](crate::select); a process has one observer, and the first one stays.
pub fn start(observer: &'static dyn Observer) {
    if OBSERVER.set(observer).is_ok() {
        calls::stand_between();
    }
}

/// Reports a stream's name to the observer.
fn tell_name(stream: StreamHandle, name: &str) {
    if let Some(observer) = OBSERVER.get() {
        observer.named(stream, name);
    }
}

/// Runs `body`, whose calls of the driver the observer is not shown: measuring is no part of what is measured.
pub fn unobserved<R>(body: impl FnOnce() -> R) -> R {
    /// Restores on every way out.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            OBSERVING.set(self.0);
        }
    }
    let _restore = Restore(OBSERVING.replace(true));
    body()
}

/// Makes a call, and shows it. `action` is called before the call, and again after it where the driver stores the new
/// object.
#[inline]
fn pass(
    name: &'static str,
    moment: Moment,
    action: impl Fn() -> Action,
    call: impl FnOnce() -> CuResult,
) -> CuResult {
    let observer = match OBSERVER.get() {
        Some(observer) if !OBSERVING.get() => *observer,
        _ => return call(),
    };
    if moment == Moment::Around {
        let about = Call {
            name,
            action: action(),
        };
        unobserved(|| observer.before(&about));
    }
    let result = call();
    let about = Call {
        name,
        action: if moment == Moment::Around || result == SUCCESS {
            action()
        } else {
            Action::Other
        },
    };
    match about.action {
        _ if !matches!(result, SUCCESS | NOT_READY) => failure::note(&about, result),
        Action::CreateStream { stream, .. } | Action::DestroyStream { stream } => {
            stream_names::forget(stream);
        }
        _ => {}
    }
    unobserved(|| observer.after(&about, result == SUCCESS));
    result
}

/// `CUDA_ERROR_NOT_READY`: the answer of a query, and no failure.
const NOT_READY: CuResult = 600;

/// When the action of a call is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The arguments say it.
    Around,
    /// The driver stores a part of it: it is known when the call has succeeded.
    After,
}

//! How long a program's calls of the allocator take, each by itself, wherever they are made.
//!
//! The calls are timed where they pass into the driver, so that a loop holds nothing but its own work.

use crate::host_clock;
use crate::recording;
use libcuda::observe::{Action, Call};
use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Calls of the allocator on one host thread, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// Each call that allocates.
    pub allocate: Vec<Duration>,
    /// Each call that frees. `cuMemFree` counts with the wait for a stream right before it: where the memory's last use is
    /// waited for there, `cuMemFree` itself finds nothing to wait for.
    pub free: Vec<Duration>,
    /// How often the program waited for a stream, or freed memory in no stream, which waits for the device.
    pub waits: usize,
}

impl CallTimes {
    /// All of them together.
    pub fn total(&self) -> Duration {
        self.allocate.iter().chain(&self.free).sum()
    }

    /// Adds the calls of another piece of the program.
    pub fn append(&mut self, more: &mut Self) {
        self.allocate.append(&mut more.allocate);
        self.free.append(&mut more.free);
        self.waits += std::mem::take(&mut more.waits);
    }
}

thread_local! {
    static BEGUN: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// What the wait for a stream took, if that was the latest call.
    static WAITED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static TIMES: RefCell<CallTimes> = const { RefCell::new(CallTimes { allocate: Vec::new(), free: Vec::new(), waits: 0 }) };
}

/// Runs `body` and returns the times of the allocator's calls that it made on this thread.
///
/// # Errors The
/// error of `body`.
pub fn timed<R, E>(body: impl FnOnce() -> Result<R, E>) -> Result<(R, CallTimes), E> {
    drop(TIMES.take());
    let timing = recording::time_calls();
    let done = body();
    drop(timing);
    Ok((done?, TIMES.take()))
}

/// The slowest allocation of `body`, in the fastest of this many runs, because disturbances of a call do not come from the allocator.
///
/// # Errors The
/// error of `body`.
pub fn slowest_allocation<E>(
    runs: usize,
    mut body: impl FnMut() -> Result<(), E>,
) -> Result<Duration, E> {
    let mut quickest = Duration::MAX;
    for _ in 0..runs.max(1) {
        let ((), times) = timed(&mut body)?;
        quickest = quickest.min(times.allocate.into_iter().max().unwrap_or_default());
    }
    Ok(quickest)
}

/// A call is about to be made.
pub(crate) fn begin() {
    BEGUN.set(host_clock::now());
}

/// The call has returned.
pub(crate) fn end(call: &Call) {
    let time = host_clock::now() - BEGUN.get();
    let waited = WAITED.take();
    match call.action {
        Action::Allocate { .. } => TIMES.with_borrow_mut(|times| times.allocate.push(time)),
        Action::Free { stream: None } => {
            TIMES.with_borrow_mut(|times| {
                times.free.push(waited + time);
                times.waits += 1;
            });
        }
        Action::Free { .. } => TIMES.with_borrow_mut(|times| times.free.push(time)),
        Action::Synchronize {
            stream: Some(_), ..
        } => {
            WAITED.set(time);
            TIMES.with_borrow_mut(|times| times.waits += 1);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use cuda_host::stream;
    use cust::error::CudaError;
    use cust::memory::DeviceBuffer;
    use libcuda::Choice;

    #[test]
    fn the_allocators_calls_are_timed_and_no_others() {
        let _device = Device::open(Choice::Software).unwrap();
        let [stream] = stream::non_blocking_named(["s"]).unwrap();
        let body = || {
            // SAFETY: the memory is not used.
            let (a, b) = unsafe {
                let a = DeviceBuffer::<u8>::uninitialized(1 << 10)?;
                (
                    a,
                    DeviceBuffer::<u8>::uninitialized_async(1 << 10, &stream)?,
                )
            };
            b.drop_async(&stream)?;
            drop(a);
            stream.synchronize()
        };
        let ((), times) = timed(body).unwrap();
        assert_eq!((times.allocate.len(), times.free.len()), (2, 2));
        assert!(times.total() > Duration::ZERO);
        body().unwrap();
        let ((), none) = timed(|| Ok::<_, CudaError>(())).unwrap();
        assert_eq!(none, CallTimes::default());
    }

    #[test]
    fn a_free_counts_with_the_wait_right_before_it() {
        let _device = Device::open(Choice::Software).unwrap();
        let [stream] = stream::non_blocking_named(["s"]).unwrap();
        let free = |wait: bool| {
            let ((), times) = timed(|| {
                // SAFETY: the memory is not used.
                let memory = unsafe { DeviceBuffer::<u8>::uninitialized(1 << 10)? };
                if wait {
                    stream.synchronize()?;
                }
                drop(memory);
                Ok::<_, CudaError>(())
            })
            .unwrap();
            times.free[0]
        };
        assert!(free(true) > free(false));
    }
}

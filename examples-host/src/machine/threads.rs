//! Host threads that use the device together.

use crate::device::Device;
use crate::error::Error;
use crate::profiler_names::name_thread;
use crate::tally;

/// Runs `body(0)` … `body(count - 1)` on host threads of their own, each with the device's context current
/// (`cuCtxSetCurrent`), and returns their results in that order. Operations that they enqueue count as the caller's work.
///
/// # Errors
/// What a thread returns.
pub fn on_threads<R: Send, E: From<Error> + Send>(
    device: &Device,
    count: usize,
    body: impl Fn(usize) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let results = libcuda::host::threads(count, |index| {
        device.make_current()?;
        name_thread(&format!("host thread {index}"));
        let before = tally::enqueued();
        let result = body(index)?;
        Ok((result, tally::enqueued() - before))
    });
    let counted = results.into_iter().map(|result: Result<_, E>| {
        let (value, work) = result?;
        tally::add(work);
        Ok(value)
    });
    counted.collect()
}

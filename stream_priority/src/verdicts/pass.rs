//! What one pass took: the load, and the requests that arrived meanwhile.

use cuda_host::prelude::*;
use std::time::Duration;

/// What one pass took: the load, and each request from its arrival to its end.
pub struct Pass {
    /// The load, from its start to its end.
    pub load: Duration,
    /// The requests.
    pub requests: Vec<Duration>,
    /// How many of the requests had arrived when the load had not ended.
    pub under_load: usize,
    /// How many of them had ended, too.
    pub beside: usize,
}

impl Pass {
    /// What events say that were recorded in front of the load and behind it, when a request arrived and when it had ended.
    ///
    /// # Errors
    /// The errors of `cuEventElapsedTime`: an event has no times, or was not reached.
    pub fn between<'e>(
        (began, ended): (&Event, &Event),
        requests: impl IntoIterator<Item = (&'e Event, &'e Event)>,
    ) -> CudaResult<Self> {
        let mut pass =
            Self { load: time(began, ended)?, requests: Vec::new(), under_load: 0, beside: 0 };
        for (arrived, answered) in requests {
            pass.requests.push(time(arrived, answered)?);
            pass.under_load += usize::from(!time(arrived, ended)?.is_zero());
            pass.beside += usize::from(!time(answered, ended)?.is_zero());
        }
        Ok(pass)
    }
}

/// From one event to a later one; zero where it was not later.
fn time(begin: &Event, end: &Event) -> CudaResult<Duration> {
    let milliseconds = end.elapsed_time_f32(begin)?;
    Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
}

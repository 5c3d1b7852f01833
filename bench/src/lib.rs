//! What the comparisons share: one context, interleaved timing, medians.
//!
//! Both binaries take something that `nvcc` made from `bench/cuda/`, and run it in turn with this project's route
//! in one process, one context and one stream: A B A B, so that clock and temperature changes meet both alike.

use anyhow::{Context as _, Result};
use cust::{
    context::Context,
    event::{Event, EventFlags},
    prelude::*,
};

/// A context on the first NVIDIA device. The comparisons mean nothing on the software GPU.
pub fn open() -> Result<Context> {
    libcuda::select(libcuda::Choice::Nvidia)?;
    cust::quick_init().context("cuInit and cuCtxCreate on device 0")
}

/// The median of a list of figures; zero when there are none.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// Device time of `work` in µs, between two events on `stream`.
pub fn device_time(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let (start, end) = (
        Event::new(EventFlags::DEFAULT)?,
        Event::new(EventFlags::DEFAULT)?,
    );
    start.record(stream)?;
    work()?;
    end.record(stream)?;
    end.synchronize()?;
    Ok(f64::from(end.elapsed_time_f32(&start)?) * 1e3)
}

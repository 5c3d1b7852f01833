//! Operations a second, and the data sheet's.

use crate::shape::GemmShape;
use anyhow::Result;
use cust::device::DeviceAttribute;
use examples_host::prelude::*;
use std::time::Duration;

/// Multiplications and additions of all products.
fn operations(GemmShape { products, m, n, k }: GemmShape) -> f64 {
    2.0 * [products, m as usize, n as usize, k as usize]
        .map(|len| len as f64)
        .iter()
        .product::<f64>()
}

/// Operations a second.
pub struct Rate(f64);

impl Rate {
    /// What the data sheet promises of bf16, where it is one number for the compute capability.
    pub fn peak(device: &Device) -> Result<Option<Self>> {
        // Multiply-adds of a multiprocessor in a cycle.
        let in_a_cycle = match device.compute_capability()? {
            (8, 0) => 1024.0,
            (9, 0) => 2048.0,
            _ => return Ok(None),
        };
        let hertz = f64::from(device.attribute(DeviceAttribute::ClockRate)?) * 1e3;
        Ok(Some(Self(2.0 * in_a_cycle * f64::from(device.multiprocessors()?) * hertz)))
    }

    /// What the products take at this rate.
    pub fn time(&self, shape: GemmShape) -> Duration {
        Duration::from_secs_f64(operations(shape) / self.0)
    }
}

/// A table of times and rates, with what share of the peak they are.
pub fn table(outcomes: &[MeasuredVariant], shape: GemmShape, peak: Option<&Rate>) -> Table {
    let mut table = Table::new(["variant", "time", "speed-up", "rate", "of the peak"]);
    for outcome in outcomes {
        let time = outcome.median();
        let rate = operations(shape) / time.as_secs_f64();
        table.row([
            outcome.name.to_string(),
            units::time(time),
            units::ratio(outcomes[0].median().div_duration_f64(time)),
            format!("{:.1} TFLOP/s", rate / 1e12),
            peak.map_or("-".to_owned(), |peak| units::percent(rate / peak.0)),
        ]);
    }
    table
}

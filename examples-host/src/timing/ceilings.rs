//! What memory and arithmetic allow a kernel, each measured alone.
//!
//! Both are differences of two lengths, which leave out what starting an operation costs. The lengths take turns, and the
//! least time of each counts: a device that still raises its clock would make the first of them too long, and the ceiling
//! too low.

use crate::device::Device;
use crate::intervals::{Engine, Recording, Span};
use crate::part::Part;
use crate::recording::record;
use anyhow::Context;
use std::time::Duration;

/// What memory and arithmetic take for an array, each alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// Reading and writing it once.
    pub memory: Duration,
    /// A thousand multiply-adds of each element.
    pub thousand_rounds: Duration,
}

impl Ceilings {
    /// What the arithmetic of that many rounds takes.
    pub fn arithmetic(&self, rounds: u32) -> Duration {
        self.thousand_rounds.mul_f64(f64::from(rounds) / 1000.0)
    }

    /// No kernel takes less.
    pub fn bound(&self, rounds: u32) -> Duration {
        self.memory.max(self.arithmetic(rounds))
    }

    /// What overlapping memory and arithmetic gains over one after the other.
    pub fn gain(&self, rounds: u32) -> f64 {
        let sum = self.memory + self.arithmetic(rounds);
        sum.as_secs_f64() / self.bound(rounds).as_secs_f64()
    }

    /// Which of these numbers of rounds gains most: where memory and arithmetic take about the same time.
    pub fn balance(&self, rounds: &[u32]) -> u32 {
        let gain = |rounds: &u32| self.gain(*rounds);
        let most = rounds.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
        most.copied().unwrap_or(1)
    }

    /// How much of its bound a kernel of that many rounds reaches.
    pub fn reached(&self, rounds: u32, time: Duration) -> f64 {
        self.bound(rounds).as_secs_f64() / time.as_secs_f64()
    }
}

impl Part<'_> {
    /// Measures the ceilings of an array of `elements` elements. `copy` enqueues a copy of the given number of them within
    /// the device, `compute` a kernel that does so many multiply-adds of each of `in_registers` elements and nothing else.
    ///
    /// # Errors
    /// What the two return, or the driver.
    pub fn ceilings(
        &self,
        elements: usize,
        in_registers: usize,
        mut copy: impl FnMut(usize) -> anyhow::Result<()>,
        mut compute: impl FnMut(u32) -> anyhow::Result<()>,
    ) -> anyhow::Result<Ceilings> {
        let (device, runs) = (self.device(), self.iterations(10));
        let lengths = [elements / 2, elements];
        let [half, whole] = in_turns(device, runs, (Engine::DeviceToDevice, lengths), &mut copy)?;
        let [few, many] = in_turns(device, runs, (Engine::Kernel, [500, 1500]), &mut compute)?;
        Ok(Ceilings {
            memory: whole
                .saturating_sub(half)
                .mul_f64(elements as f64 / elements.div_ceil(2) as f64),
            thousand_rounds: many
                .saturating_sub(few)
                .mul_f64(elements as f64 / in_registers as f64),
        })
    }
}

/// The least that the engine's operation takes at either length, which `body` enqueues: both once, then in turns.
fn in_turns<L: Copy>(
    device: &Device,
    runs: usize,
    (engine, lengths): (Engine, [L; 2]),
    body: &mut impl FnMut(L) -> anyhow::Result<()>,
) -> anyhow::Result<[Duration; 2]> {
    let recording: Recording = record(device, || {
        (0..=runs).try_for_each(|_| lengths.into_iter().try_for_each(&mut *body))
    })?;
    least_of_each(&recording.of(engine)).context("too few operations were recorded")
}

/// The least time of the even ones and that of the odd ones, without the first of each.
fn least_of_each(spans: &[Span]) -> Option<[Duration; 2]> {
    let least = |first: usize| {
        let spans = spans.iter().skip(2 + first).step_by(2);
        spans
            .map(|span| span.nanoseconds())
            .min()
            .map(Duration::from_nanos)
    };
    Some([least(0)?, least(1)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_is_gained_where_memory_and_arithmetic_take_the_same() {
        let ceilings = Ceilings {
            memory: Duration::from_micros(64),
            thousand_rounds: Duration::from_micros(1000),
        };
        assert_eq!(ceilings.gain(64), 2.0);
        assert!(ceilings.gain(32) < 2.0 && ceilings.gain(128) < 2.0);
        assert_eq!(ceilings.balance(&[1, 32, 64, 128]), 64);
        assert_eq!(ceilings.bound(32), Duration::from_micros(64));
        assert_eq!(ceilings.bound(128), Duration::from_micros(128));
    }

    #[test]
    fn a_disturbed_measurement_changes_no_ceiling() {
        let mut now = 0;
        let mut span = |length| {
            now += 2 * length;
            Span {
                start: now - length,
                end: now,
            }
        };
        // The first pair while the clock still rises, later ones once disturbed.
        let spans = [900, 2000, 500, 1900, 700, 1500, 500, 1500].map(&mut span);
        let least = [500, 1500].map(Duration::from_nanos);
        assert_eq!(least_of_each(&spans), Some(least));
        assert_eq!(least_of_each(&spans[..3]), None);
    }
}

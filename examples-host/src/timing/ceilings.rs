//! What memory and arithmetic allow a kernel, each measured alone.
//!
//! Both are differences of two lengths, which leave out what starting an operation costs. Each length is timed in turn with
//! the others, and the least time counts: what disturbs a run makes it longer, and a ceiling measured too low would be passed.

use crate::device::Device;
use crate::intervals::Engine;
use crate::part::Part;
use crate::recording::record;
use anyhow::ensure;
use std::time::Duration;

/// What memory and arithmetic take for an array, each alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    elements: usize,
    in_registers: usize,
    /// Copies of half and of all elements; [`FEW`] and [`MANY`] multiply-adds of each element in registers.
    least: [Duration; 4],
}

const FEW: u32 = 500;
const MANY: u32 = 1500;

impl Ceilings {
    /// Reading and writing the array once.
    pub fn memory(&self) -> Duration {
        let [half, whole, ..] = self.least;
        let half_elements = self.elements.div_ceil(2) as f64;
        let rest = whole.saturating_sub(half);
        rest.mul_f64(self.elements as f64 / half_elements)
    }

    /// What the arithmetic of that many rounds takes.
    pub fn arithmetic(&self, rounds: u32) -> Duration {
        let [.., few, many] = self.least;
        let of_all_rounds = f64::from(rounds) / f64::from(MANY - FEW);
        let of_all_elements = self.elements as f64 / self.in_registers as f64;
        many.saturating_sub(few)
            .mul_f64(of_all_rounds * of_all_elements)
    }

    /// No kernel takes less.
    pub fn bound(&self, rounds: u32) -> Duration {
        self.memory().max(self.arithmetic(rounds))
    }

    /// What overlapping memory and arithmetic gains over one after the other.
    pub fn gain(&self, rounds: u32) -> f64 {
        let sum = self.memory() + self.arithmetic(rounds);
        sum.as_secs_f64() / self.bound(rounds).as_secs_f64()
    }

    /// Finds the number of rounds with the greatest gain: where memory and arithmetic take about the same time.
    pub fn balance(&self, rounds: &[u32]) -> u32 {
        let gain = |rounds: &u32| self.gain(*rounds);
        let most = rounds.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
        most.copied().unwrap_or(1)
    }

    /// How much of its bound a kernel of that many rounds reaches.
    pub fn reached(&self, rounds: u32, time: Duration) -> f64 {
        self.bound(rounds).as_secs_f64() / time.as_secs_f64()
    }

    /// With what was measured of the same array at another time: clocks may have come up since.
    pub fn or_less(mut self, other: Self) -> Self {
        for (least, other) in self.least.iter_mut().zip(other.least) {
            *least = other.min(*least);
        }
        self
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
        let device = self.device();
        let mut least = [Duration::MAX; 4];
        for _ in 0..self.iterations(5) {
            let times = [
                time(device, Engine::DeviceToDevice, || copy(elements / 2))?,
                time(device, Engine::DeviceToDevice, || copy(elements))?,
                time(device, Engine::Kernel, || compute(FEW))?,
                time(device, Engine::Kernel, || compute(MANY))?,
            ];
            for (least, time) in least.iter_mut().zip(times) {
                *least = time.min(*least);
            }
        }
        Ok(Ceilings {
            elements,
            in_registers,
            least,
        })
    }
}

/// How long the engine's one operation takes that `body` enqueues.
fn time(
    device: &Device,
    engine: Engine,
    body: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    let time = record(device, body)?.busy(engine);
    ensure!(!time.is_zero(), "nothing was recorded");
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(times: [u64; 4]) -> Ceilings {
        Ceilings {
            elements: 1000,
            in_registers: 1000,
            least: times.map(Duration::from_micros),
        }
    }

    #[test]
    fn most_is_gained_where_memory_and_arithmetic_take_the_same() {
        // 64 µs of memory, and 1 µs of arithmetic a round, beside 5 µs to start anything.
        let ceilings = us([37, 69, 505, 1505]);
        assert_eq!(ceilings.gain(64), 2.0);
        assert!(ceilings.gain(32) < 2.0 && ceilings.gain(128) < 2.0);
        assert_eq!(ceilings.balance(&[1, 32, 64, 128]), 64);
        assert_eq!(ceilings.bound(32), Duration::from_micros(64));
        assert_eq!(ceilings.bound(128), Duration::from_micros(128));
    }

    #[test]
    fn a_ceiling_is_as_high_as_it_was_ever_measured() {
        let (cold, warm) = (us([48, 90, 655, 1955]), us([37, 99, 505, 1505]));
        let both = cold.or_less(warm);
        assert_eq!(both, us([37, 90, 505, 1505]));
        assert!(both.bound(64) < cold.bound(64).max(warm.bound(64)));
        assert_eq!(both.arithmetic(64), warm.arithmetic(64));
    }
}

//! One array in device memory, the time of each kernel over it, and the ceilings that no kernel passes.

use super::forms::{Form, Forms};
use crate::data::{Batch, Expected};
use anyhow::Context;
use examples_host::intervals::Span;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

const DATA: Batch = Batch::new(31);

/// One launch that is to be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub form: Form,
    /// Blocks per multiprocessor.
    pub blocks: u32,
    /// Multiply-adds per element.
    pub rounds: u32,
}

/// The array, and what must become of it.
pub struct Bench<'f> {
    forms: &'f Forms,
    input: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
    host: HostBuffer<f32>,
    /// By rounds.
    expected: Vec<(u32, Expected)>,
}

/// What memory and arithmetic take for the array, each alone.
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
}

impl<'f> Bench<'f> {
    /// An array of `elements` elements on `stream`, to be worked on with each number of `rounds`.
    pub fn new(stream: &Stream, forms: &'f Forms, elements: usize, rounds: &[u32]) -> Result<Self> {
        let mut host = HostBuffer::page_locked(stream.device(), elements)?;
        DATA.fill(&mut host)?;
        let mut input = DeviceBuffer::new(stream, elements)?;
        input.copy_from(&host)?;
        Ok(Self {
            forms,
            input,
            output: DeviceBuffer::new(stream, elements)?,
            host,
            expected: rounds
                .iter()
                .map(|&rounds| (rounds, Expected::after(rounds)))
                .collect(),
        })
    }

    /// How long the kernel ran; with `check`, whether every element is right.
    pub fn time(
        &mut self,
        launch: Launch,
        check: bool,
    ) -> anyhow::Result<(Duration, Option<anyhow::Result<Checked>>)> {
        self.output.poison()?;
        let device = self.input.stream().device().clone();
        let Launch {
            form,
            blocks,
            rounds,
        } = launch;
        let recording = record(&device, || {
            self.forms
                .launch(form, blocks, &self.input, &mut self.output, rounds)
        })?;
        let time = recording.busy(Engine::Kernel);
        Ok((time, check.then(|| self.check(launch))))
    }

    fn check(&mut self, Launch { form, rounds, .. }: Launch) -> anyhow::Result<Checked> {
        let of_rounds = self.expected.iter().find(|(of, _)| *of == rounds);
        let (_, expected) = of_rounds.context("a number of rounds that was not announced")?;
        self.output.copy_to(&mut self.host)?;
        let what = format!("{form}, {rounds} rounds");
        Ok(check::equal(&what, 0, self.host.read()?, |index| {
            expected.of(DATA, index)
        })?)
    }

    /// Measures the ceilings: differences of two lengths each, which leave out what starting costs.
    pub fn ceilings(&mut self, part: &Part) -> anyhow::Result<Ceilings> {
        let (stream, elements) = (self.input.stream().clone(), self.input.len());
        let device = stream.device().clone();
        let runs = part.iterations(5);
        let copy = |bench: &mut Self, len| -> anyhow::Result<Duration> {
            bench.input.set_len(len)?;
            let recording = record(&device, || {
                (0..runs).try_for_each(|_| bench.output.copy_from_device(&bench.input))
            })?;
            median(recording.of(Engine::DeviceToDevice))
        };
        let half = copy(self, elements / 2)?;
        let whole = copy(self, elements)?;

        let mut registers = DeviceBuffer::new(&stream, self.forms.in_registers())?;
        registers.fill_bytes(0)?;
        let mut compute = |rounds| -> anyhow::Result<Duration> {
            let recording = record(&device, || {
                (0..runs).try_for_each(|_| self.forms.compute(&mut registers, rounds))
            })?;
            median(recording.of(Engine::Kernel))
        };
        let (few, many) = (compute(500)?, compute(1500)?);
        let arrays = elements as f64 / self.forms.in_registers() as f64;
        Ok(Ceilings {
            memory: whole
                .saturating_sub(half)
                .mul_f64(elements as f64 / elements.div_ceil(2) as f64),
            thousand_rounds: many.saturating_sub(few).mul_f64(arrays),
        })
    }
}

fn median(spans: Vec<Span>) -> anyhow::Result<Duration> {
    let times = spans
        .iter()
        .map(|span| Duration::from_nanos(span.nanoseconds()));
    let times = Durations::new(times.collect()).context("nothing was recorded")?;
    Ok(times.median())
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
        assert_eq!(ceilings.bound(32), Duration::from_micros(64));
        assert_eq!(ceilings.bound(128), Duration::from_micros(128));
    }
}

//! How long requests wait that arrive while the device is under load.

use crate::check::{self, Checked};
use crate::expect::right;
use crate::label::Label;
use crate::latency::cells;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use cust::error::CudaResult;
use cust::event::Event;
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
    /// Those of `cuEventElapsedTime`: an event has no times, or was not reached.
    pub fn between<'e>(
        (began, ended): (&Event, &Event),
        requests: impl IntoIterator<Item = (&'e Event, &'e Event)>,
    ) -> CudaResult<Self> {
        let mut pass = Self {
            load: time(began, ended)?,
            requests: Vec::new(),
            under_load: 0,
            beside: 0,
        };
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
    Ok(Duration::from_secs_f64(
        f64::from(milliseconds.max(0.0)) / 1e3,
    ))
}

/// What all passes of a variant took.
pub struct Latencies {
    /// The variant.
    pub label: Label,
    /// The load.
    pub load: Durations,
    /// The requests of all passes.
    pub requests: Durations,
    /// The share of the requests that had arrived when the load had not ended.
    pub under_load: f64,
    /// The share of the requests that had ended by then.
    pub beside: f64,
}

impl Part<'_> {
    /// The median time of the load without any request, over so many passes; one where times are modelled.
    ///
    /// # Errors
    /// What `pass` returns.
    pub fn load_alone(
        &self,
        passes: usize,
        mut pass: impl FnMut() -> anyhow::Result<Pass>,
    ) -> anyhow::Result<Duration> {
        for _ in 0..self.warm_up() {
            pass()?;
        }
        let times: anyhow::Result<Vec<_>> = (0..self.iterations(passes))
            .map(|_| Ok(pass()?.load))
            .collect();
        Ok(Durations::new(times?).context("no pass")?.median())
    }

    /// Passes of each variant in turn, so many times `--iterations`, and the distributions of what the requests waited.
    /// `load` says what the load is. After the last pass of a variant, `check` compares what it has left. Claims that every
    /// element is right.
    ///
    /// # Errors
    /// What `pass` or `check` returns.
    pub fn under_load<S, T, const N: usize>(
        &mut self,
        (requests, load): (&'static str, &str),
        passes: usize,
        work: &mut S,
        variants: &[(Label, T); N],
        mut pass: impl FnMut(&mut S, &T) -> anyhow::Result<Pass>,
        check: impl Fn(&S, &T) -> anyhow::Result<Checked>,
    ) -> anyhow::Result<[Latencies; N]> {
        let mut found = [const { (Vec::new(), Vec::new(), 0, 0) }; N];
        let mut checked = Ok(Checked::default());
        let rounds = self.warm_up() + passes * self.iterations(1);
        for round in 1..=rounds {
            for ((_, variant), (loads, requests, under_load, beside)) in
                variants.iter().zip(&mut found)
            {
                let took = pass(work, variant)?;
                if round > self.warm_up() {
                    loads.push(took.load);
                    requests.extend(took.requests);
                    *under_load += took.under_load;
                    *beside += took.beside;
                }
                if round == rounds || self.options().validate {
                    check::add(&mut checked, check(work, variant))?;
                }
            }
        }
        let mut table = Table::new([requests, "number", "p50", "p99", "max", load]);
        let mut all = Vec::new();
        for ((label, _), (loads, times, under_load, beside)) in variants.iter().zip(found) {
            let loads = Durations::new(loads).context("no pass")?;
            let times = Durations::new(times).context("no request")?;
            let name = [label.to_string(), times.sorted().len().to_string()];
            let last = [units::time(loads.median())];
            table.row(name.into_iter().chain(cells(&times)).chain(last));
            self.timed(requests, label, Kind::Other, &times);
            all.push(Latencies {
                label: label.clone(),
                load: loads,
                under_load: under_load as f64 / times.sorted().len() as f64,
                beside: beside as f64 / times.sorted().len() as f64,
                requests: times,
            });
        }
        self.say(table);
        let sentence = "every element is right";
        self.expect("elements", sentence, right(&checked, "elements"));
        let all = <[Latencies; N]>::try_from(all).ok();
        all.context("a variant was not tried")
    }
}

//! Ways to time one piece of work, some of them wrong: each is a program that says how long the work took.

use crate::label::Label;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use std::time::Duration;

/// A way to time the work: a label, and what does the work and says how long it took.
pub struct Way<'w, S> {
    label: Label,
    body: Body<'w, S>,
}

type Body<'w, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<Duration> + 'w>;

/// A way: its label (an id, or an id with the text to print), and the program.
pub fn way<'w, S>(
    label: impl Into<Label>,
    body: impl FnMut(&mut S) -> anyhow::Result<Duration> + 'w,
) -> Way<'w, S> {
    Way {
        label: label.into(),
        body: Box::new(body),
    }
}

/// What a way said of the work.
pub struct Said {
    /// The way.
    pub label: Label,
    /// The times that it gave.
    pub times: Durations,
}

impl Part<'_> {
    /// Tries the ways in turn and prints what each said, beside how long the work really takes. The device is idle when one
    /// begins.
    ///
    /// # Errors
    /// What a way returns, or the driver.
    pub fn ways<S, const N: usize>(
        &mut self,
        group: &'static str,
        truth: Duration,
        work: &mut S,
        mut ways: [Way<'_, S>; N],
    ) -> anyhow::Result<[Said; N]> {
        let mut times = [const { Vec::new() }; N];
        for round in 0..self.warm_up() + self.iterations(10) {
            for (way, times) in ways.iter_mut().zip(&mut times) {
                self.device().synchronize()?;
                let time = (way.body)(work)?;
                if round >= self.warm_up() {
                    times.push(time);
                }
            }
        }
        self.device().synchronize()?;
        let median = format!("median, {}", self.device().times());
        let mut table = Table::new(["timed by", &median, "spread", "of the real time"]);
        let mut said = Vec::new();
        for (way, times) in ways.into_iter().zip(times) {
            let Some(times) = Durations::new(times) else {
                anyhow::bail!("no run was timed");
            };
            table.row([
                way.label.to_string(),
                units::time(times.median()),
                units::percent(times.spread()),
                units::percent(times.median().div_duration_f64(truth)),
            ]);
            self.timed(group, &way.label, Kind::Other, &times);
            said.push(Said {
                label: way.label,
                times,
            });
        }
        self.say(table);
        match <[Said; N]>::try_from(said) {
            Ok(said) => Ok(said),
            Err(_) => anyhow::bail!("a way was not tried"),
        }
    }
}

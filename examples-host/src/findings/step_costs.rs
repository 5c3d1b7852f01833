//! What each step of a program costs the host, and how long it leaves the device idle.

use crate::expect::{Expected, Found, share};
use crate::idle::idle;
use crate::measure::Outcome;
use crate::part::Part;
use crate::results::Kind;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use std::time::Duration;

impl Part<'_> {
    /// Prints, for each variant of `steps` launches of `kernel`, what a step takes, how long it keeps the host's thread, the
    /// share of that in which the thread burned CPU time, and how long the device is idle before the next step. Returns
    /// these idle times, in the order of the variants: medians.
    ///
    /// # Errors
    /// A variant has fewer than two such launches.
    pub fn step_costs<const N: usize>(
        &mut self,
        what: &str,
        kernel: &str,
        steps: usize,
        outcomes: &[Outcome; N],
    ) -> anyhow::Result<[Duration; N]> {
        let titles = ["a step", "host's thread", "CPU busy", "GPU idle"];
        let mut table = Table::of([what].into_iter().chain(titles));
        let mut medians = [Duration::ZERO; N];
        for (outcome, median) in outcomes.iter().zip(&mut medians) {
            let gaps = idle(&outcome.recording, kernel);
            let gaps = gaps.with_context(|| format!("{}: no two steps", outcome.name))?;
            *median = gaps.median();
            let burnt = outcome
                .cpu_busy
                .map_or_else(|| "-".to_owned(), units::percent);
            table.row([
                outcome.name.to_string(),
                units::time(outcome.median() / steps as u32),
                units::time(outcome.issuing.median() / steps as u32),
                burnt,
                units::time(*median),
            ]);
            self.timed("idle-before-a-step", &outcome.name, Kind::Other, &gaps);
            self.keep(&outcome.name, &outcome.recording);
        }
        self.say(table);
        if outcomes.iter().all(|outcome| outcome.cpu_busy.is_none()) {
            self.say("The software GPU does not model how busy the CPU is.");
        }
        Ok(medians)
    }

    /// Claims something of the share of the host thread's time in which it burned CPU time, where that is measured.
    pub fn expect_cpu_busy(
        &mut self,
        id: &str,
        sentence: &str,
        outcome: &Outcome,
        expected: impl FnOnce(Found) -> Expected,
    ) {
        if let Some(busy) = outcome.cpu_busy {
            self.expect(id, sentence, expected(share(busy)));
        }
    }
}

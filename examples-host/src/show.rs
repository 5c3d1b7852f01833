//! Printing what variants took where no bound is known.

use crate::intervals::Recording;
use crate::measure::{self, Outcome};
use crate::part::Part;
use crate::table::Table;
use crate::units;

impl Part<'_> {
    /// Prints the outcomes: median, spread, and speed-up over the first of them.
    pub fn show(&mut self, outcomes: &[Outcome]) {
        self.say(measure::table(outcomes, self.device().times()));
    }

    /// Prints the outcomes: median, and for each title a share that `shares` reads off the recording, where there is one.
    pub fn show_shares<const N: usize>(
        &mut self,
        outcomes: &[Outcome],
        titles: [&str; N],
        shares: impl Fn(&Recording) -> [Option<f64>; N],
    ) {
        let median = format!("median, {}", self.device().times());
        let mut table = Table::of(["variant", &median].into_iter().chain(titles));
        for outcome in outcomes {
            let shares = shares(&outcome.recording)
                .map(|share| share.map_or_else(|| "-".to_owned(), units::percent));
            let cells = [outcome.name.to_string(), units::time(outcome.median())];
            table.row(cells.into_iter().chain(shares));
        }
        self.say(table);
    }
}

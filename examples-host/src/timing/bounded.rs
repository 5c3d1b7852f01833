//! Outcomes beside the bounds that their stages set.

use crate::bound::{Overlap, Stages};
use crate::device::TimeSource;
use crate::label::Label;
use crate::measure::{self, Outcome};
use crate::part::{NOISE, Part};
use crate::table::Table;
use crate::units;
use std::time::Duration;

impl Part<'_> {
    /// Predicts what a pipeline of copies in, kernels and copies out takes, from its stages.
    pub fn predict_pipeline(&mut self, stages: &Stages) {
        self.predict(format!(
            "Alone: copies in {}, kernel {}, copies out {};\n\
             both directions together {}. One stream takes the sum of the stages,\n\
             {}, however many chunks there are. Three streams take the bound, {},\n\
             plus 1/C of (sum - bound) to fill and drain a pipeline of C chunks.",
            units::time(stages.copy_in),
            units::time(stages.kernel),
            units::time(stages.copy_out),
            units::time(stages.both_copies),
            units::time(stages.bound(Overlap::None)),
            units::time(stages.bound(Overlap::Duplex)),
        ));
    }

    /// Prints the outcomes beside the bounds that the stages set, and claims of each that it is not faster than its bound.
    pub fn show_bounded(&mut self, outcomes: &[Outcome], stages: &Stages) {
        self.say(table_with_bounds(outcomes, stages, self.device().times()));
        for outcome in outcomes {
            self.keep(&outcome.name, &outcome.recording);
            self.claim_not_below_bound(&outcome.name, stages, outcome.median());
        }
    }

    /// Claims that a time is not below what the stages allow, but for [`NOISE`]: if it is, the
    /// measurement is wrong.
    pub fn claim_not_below_bound(&mut self, variant: &Label, stages: &Stages, time: Duration) {
        self.note_bounds(stages);
        let checked = stages.check(&variant.text, time, NOISE);
        let found = checked
            .as_ref()
            .map_or_else(ToString::to_string, |()| units::time(time));
        let limit = format!("not below {}", units::time(stages.bound(Overlap::Duplex)));
        self.claim(
            format!("not-below-bound/{}", variant.id),
            &format!("{variant} is not faster than its bound"),
            checked.is_ok(),
            found,
            limit,
        );
    }

    /// Notes for `--json` what bounds the variants of the group that was timed last.
    fn note_bounds(&mut self, stages: &Stages) {
        for overlap in Overlap::ALL {
            self.add_bound(overlap.label(), stages.bound(overlap));
        }
    }
}

/// A table of outcomes with the bounds that the stages set, and how much of the duplex-aware bound
/// each reaches.
fn table_with_bounds(outcomes: &[Outcome], stages: &Stages, times: TimeSource) -> Table {
    let mut table = Table::new([
        "variant",
        &format!("median, {times}"),
        "spread",
        "speed-up",
        "of the bound",
    ]);
    for outcome in outcomes {
        let reached = units::percent(stages.reached(Overlap::Duplex, outcome.median()));
        table.row(
            measure::cells(outcomes, outcome)
                .into_iter()
                .chain([reached]),
        );
    }
    for overlap in Overlap::ALL {
        let bound = stages.bound(overlap);
        let speedup = units::ratio(measure::speedup(outcomes, bound));
        table.row([
            overlap.label().text,
            units::time(bound),
            String::new(),
            speedup,
            String::new(),
        ]);
    }
    table
}

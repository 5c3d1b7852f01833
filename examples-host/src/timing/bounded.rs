//! Outcomes beside the bounds that their stages set.

use crate::alone::DisturbedLink;
use crate::bound::{Overlap, Stages};
use crate::device::TimeSource;
use crate::expect::{Measured, share, truth};
use crate::measure::{self, MeasuredVariant};
use crate::part::{NOISE, Part};
use crate::table::Table;
use crate::units;

impl Part<'_> {
    /// Prints the outcomes beside the bounds that the stages set, and claims of each that it is not faster than its bound. A measurement on a
    /// disturbed link gives no bound: it is printed and not judged.
    pub fn show_bounded(
        &mut self,
        outcomes: &[MeasuredVariant],
        stages: &Stages,
        disturbed: Option<DisturbedLink>,
    ) {
        self.say(table_with_bounds(outcomes, stages, self.device().times()));
        for outcome in outcomes {
            self.keep(&outcome.name, &outcome.recording);
            // Operations in one stream do not overlap.
            let overlap = match outcome.recording.streams().len() {
                ..=1 => Overlap::None,
                _ => Overlap::Duplex,
            };
            self.claim_not_below_bound(outcome, stages, overlap, disturbed);
        }
    }

    /// Claims that the least time is not below what the stages allow, up to [`NOISE`]: if it is, the measurement is wrong.
    pub fn claim_not_below_bound(
        &mut self,
        outcome: &MeasuredVariant,
        stages: &Stages,
        overlap: Overlap,
        disturbed: Option<DisturbedLink>,
    ) {
        let (variant, time) = (&outcome.name, outcome.times.min());
        self.note_bounds(stages);
        let checked = stages.check(&variant.text, (time, overlap), NOISE);
        let found = checked
            .as_ref()
            .map_or_else(ToString::to_string, |()| units::time(time));
        let limit = format!("not below {}", units::time(stages.bound(overlap)));
        let expected = truth(checked.is_ok(), found, limit).unless_disturbed(disturbed);
        let sentence = format!("{variant} is not faster than its bound");
        self.expect(outcome.id("not-below-bound"), &sentence, expected);
    }

    /// Notes for `--json` what bounds the variants of the group that was timed last.
    fn note_bounds(&mut self, stages: &Stages) {
        for overlap in Overlap::ALL {
            self.add_bound(overlap.label(), stages.bound(overlap));
        }
    }
}

impl MeasuredVariant {
    /// How much of the bound the best run reaches, if everything overlaps that may: 1 at the bound, less above it.
    pub fn reached(&self, stages: &Stages) -> Measured {
        share(stages.reached(Overlap::Duplex, self.times.min()))
    }
}

/// A table of outcomes with the bounds that the stages set, and how much of the duplex-aware bound
/// each reaches.
fn table_with_bounds(outcomes: &[MeasuredVariant], stages: &Stages, times: TimeSource) -> Table {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::intervals::{Recording, Source};
    use crate::label::Label;
    use crate::options::Options;
    use crate::part_info::PartInfo;
    use crate::statistics::Durations;
    use crate::verdict::Claim;
    use libcuda::Choice;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// The claim about a variant that took 8 ms against a bound of 10 ms, with this time of both directions between the variants.
    fn below_its_bound(both_copies: Duration) -> Claim {
        let device = Device::open(Choice::Software).unwrap();
        let options = Options::default();
        let info = PartInfo {
            name: "part",
            question: "Is it below?",
            uses: &[],
            needs: &[],
        };
        let mut part = Part::new(info, &device, &options);
        let took = |time| Durations::new(vec![time]).unwrap();
        let outcome = MeasuredVariant {
            group: measure::VARIANTS,
            name: Label::new("streams", "streams"),
            times: took(8 * MS),
            host_times: took(8 * MS),
            issuing: took(MS),
            cpu_busy: None,
            recording: Recording::new(Source::Cupti, Vec::new()),
        };
        let stages = Stages {
            copy_in: 9 * MS,
            kernel: MS,
            copy_out: 9 * MS,
            both_copies: 10 * MS,
        };
        let disturbed = DisturbedLink::found(stages.both_copies, &[both_copies]);
        part.claim_not_below_bound(&outcome, &stages, Overlap::Duplex, disturbed);
        part.claims()[0].clone()
    }

    #[test]
    fn a_result_below_its_bound_is_an_error_unless_the_link_was_disturbed() {
        let steady = below_its_bound(10 * MS);
        assert!(!steady.counts_as_holding());
        assert!(steady.found.contains("less than the bound"), "{steady}");
        let disturbed = below_its_bound(14 * MS);
        assert!(disturbed.counts_as_holding() && !disturbed.holds);
        assert!(
            disturbed.to_string().contains("the link was disturbed"),
            "{disturbed}"
        );
    }
}

//! What a lesson expects, declared in a line: an id, a sentence, a figure and its limit.
//!
//! ```text
//! part.expect("duplex/one-stream", "one stream: copies in overlap copies out", share(found).at_most(0.01));
//! part.expect("faster/events", "events beat the host's waiting", ratio(found).at_least(1.5));
//! ```
//!
//! A limit is made for the part's own parameters. Where the command line gives others, a figure is printed and not judged,
//! unless [`Expected::for_any`] says that its limit follows them. What is right or wrong whatever the parameters
//! ([`truth`], [`right`]) is always judged.

use crate::check::{self, Checked, Mismatch, REFERENCE};
use crate::device::TimeSource;
use crate::part_option::PartOption;
use crate::results::{Figure, Unit};
use crate::units;
use std::fmt::{self, Display};
use std::time::Duration;

/// What was found, and what is required of it.
#[derive(Clone, Debug)]
pub struct Expected {
    pub(crate) found: String,
    pub(crate) limit: String,
    pub(crate) holds: bool,
    pub(crate) figure: Option<Figure>,
    /// Options under which the limit holds as well.
    pub(crate) follows: &'static [PartOption],
    /// Of which devices it is not claimed, and why.
    pub(crate) not_claimed_of: Option<(TimeSource, &'static str)>,
}

/// A figure that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found(Figure);

/// A share: 1 is all.
pub fn share(value: f64) -> Found {
    let unit = Unit::Share;
    Found(Figure { value, unit })
}

/// A ratio, of times mostly.
pub fn ratio(value: f64) -> Found {
    let unit = Unit::Ratio;
    Found(Figure { value, unit })
}

/// A time.
pub fn time(time: Duration) -> Found {
    let (value, unit) = (time.as_nanos() as f64 / 1e3, Unit::Microseconds);
    Found(Figure { value, unit })
}

/// Something that is so or not.
pub fn truth(holds: bool, found: impl Display, limit: impl Display) -> Expected {
    Expected {
        found: found.to_string(),
        limit: limit.to_string(),
        holds,
        figure: None,
        follows: PartOption::ALL.as_slice(),
        not_claimed_of: None,
    }
}

/// Every element is right; the elements are called `things`.
pub fn right(checked: &Result<Checked, Mismatch>, things: &str) -> Expected {
    let found = match checked {
        Ok(Checked { elements, .. }) => format!("{elements} {things}"),
        Err(mismatch) => mismatch.to_string(),
    };
    truth(checked.is_ok(), found, REFERENCE)
}

/// As [`right`], of a check that a lesson makes by itself.
///
/// # Errors
/// The check failed for another reason than a wrong element.
pub fn checked(checked: anyhow::Result<Checked>, things: &str) -> anyhow::Result<Expected> {
    let mut found = Ok(Checked::default());
    check::add(&mut found, checked)?;
    Ok(right(&found, things))
}

impl Found {
    /// At least so much.
    pub fn at_least(self, least: f64) -> Expected {
        self.limited(
            self.0.value >= least,
            format!("at least {}", self.shown(least)),
        )
    }

    /// At most so much.
    pub fn at_most(self, most: f64) -> Expected {
        self.limited(
            self.0.value <= most,
            format!("at most {}", self.shown(most)),
        )
    }

    /// Within `tolerance`, a share, of another time.
    pub fn near(self, expected: Duration, tolerance: f64) -> Expected {
        let expected = expected.as_nanos() as f64 / 1e3;
        let off = (self.0.value / expected - 1.0).abs();
        let (tolerated, expected) = (units::percent(tolerance), self.shown(expected));
        self.limited(
            off <= tolerance,
            format!("within {tolerated} of {expected}"),
        )
    }

    fn limited(self, holds: bool, limit: String) -> Expected {
        Expected {
            found: self.shown(self.0.value),
            limit,
            holds,
            figure: Some(self.0),
            follows: &[],
            not_claimed_of: None,
        }
    }

    fn shown(self, value: f64) -> String {
        match self.0.unit {
            Unit::Share => units::percent(value),
            Unit::Ratio => units::ratio(value),
            Unit::Microseconds => units::time(Duration::from_secs_f64(value.max(0.0) / 1e6)),
        }
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown(self.0.value))
    }
}

impl Expected {
    /// The limit follows these options: it is judged with any values of them.
    pub fn for_any(mut self, follows: &'static [PartOption]) -> Self {
        self.follows = follows;
        self
    }

    /// The model of a device cannot show it, for this reason: there it is printed and not claimed.
    pub fn not_of_the_model(mut self, reason: &'static str) -> Self {
        self.not_claimed_of = Some((TimeSource::Modelled, reason));
        self
    }

    /// On a GPU something else decides, for this reason: there it is printed and not claimed.
    pub fn not_of_a_gpu(mut self, reason: &'static str) -> Self {
        self.not_claimed_of = Some((TimeSource::Measured, reason));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::part::Part;
    use crate::part_info::PartInfo;
    use libcuda::Choice;
    use std::num::NonZeroUsize;

    const INFO: PartInfo = PartInfo {
        name: "part",
        question: "Does it hold?",
        uses: &[PartOption::Chunks],
        needs: &[],
    };

    /// Whether each claim is judged and counts as holding, with this number of chunks.
    fn claims(chunks: Option<usize>, expected: &[Expected]) -> Vec<(bool, bool)> {
        let device = crate::device::Device::open(Choice::Software).unwrap();
        let options = Options {
            chunks: chunks.and_then(NonZeroUsize::new),
            ..Options::default()
        };
        let mut part = Part::new(INFO, &device, &options);
        for (index, expected) in expected.iter().enumerate() {
            part.expect(format!("claim-{index}"), "it holds", expected.clone());
        }
        let of = |claim: &crate::verdict::Claim| (claim.judged, claim.counts_as_holding());
        part.claims().iter().map(of).collect()
    }

    #[test]
    fn a_figure_is_judged_by_its_limit() {
        let wrong = [share(0.5).at_least(0.6), ratio(2.0).at_most(1.9)];
        assert_eq!(claims(None, &wrong), [(true, false); 2]);
        let ms = Duration::from_millis;
        let near = [
            time(ms(21)).near(ms(20), 0.1),
            time(ms(23)).near(ms(20), 0.1),
        ];
        assert_eq!(claims(None, &near), [(true, true), (true, false)]);
    }

    #[test]
    fn with_other_parameters_a_limit_is_judged_only_where_it_follows_them() {
        let low = share(0.5).at_least(0.6);
        let expected = [
            low.clone(),
            low.for_any(&[PartOption::Chunks]),
            truth(false, "found", "limit"),
        ];
        assert_eq!(
            claims(Some(2), &expected),
            [(false, true), (true, false), (true, false)]
        );
    }

    #[test]
    fn what_the_model_cannot_show_is_not_claimed_of_it() {
        let expected = [ratio(0.5).at_least(1.0).not_of_the_model("a reason")];
        assert_eq!(claims(None, &expected), []);
    }

    #[test]
    fn what_a_gpu_leaves_open_is_claimed_of_the_model() {
        let expected = [ratio(0.5).at_least(1.0).not_of_a_gpu("a reason")];
        assert_eq!(claims(None, &expected), [(true, false)]);
    }
}

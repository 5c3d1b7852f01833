//! What a lesson expects, declared in a line each by [`expect!`]: an id, a sentence, a figure and its limit.
//!
//! ```text
//! expect! { part;
//!     "duplex/one-stream", "one stream: copies in overlap copies out" => one.overlap(copy_out, copy_in).at_most(0.01);
//!     "faster/events", "events beat the host's waiting" => events.speedup_over(host_sync).at_least(1.5);
//! }
//! ```
//!
//! A limit is made for the part's own parameters. Where the command line gives others, a figure is printed and not judged,
//! unless [`Expected::for_any`] says that its limit follows them. Statements that are right or wrong for all parameters
//! ([`truth`], [`right`]) is always judged, unless something disturbed it ([`Expected::unless_disturbed`]).

use crate::check::{self, Checked, Mismatch, REFERENCE};
use crate::device::TimeSource;
use crate::intervals::{Recording, Source};
use crate::part_option::PartOption;
use crate::results::{Figure, Unit};
use crate::units;
use std::fmt::{self, Display};
use std::time::Duration;

/// The finding, and the condition on it.
#[derive(Clone, Debug)]
pub struct Expected {
    pub(crate) found: String,
    pub(crate) limit: String,
    pub(crate) holds: bool,
    pub(crate) figure: Option<Figure>,
    /// Options under which the limit holds as well.
    pub(crate) follows: &'static [PartOption],
    /// The devices for which it is not claimed, with the reason for each.
    not_claimed_of: Vec<(TimeSource, &'static str)>,
    /// What disturbed the measurement, if something did.
    pub(crate) disturbed: Option<String>,
    /// It takes records of what ran, and they are missing.
    pub(crate) unrecorded: bool,
}

/// Claims in a table, one a line: an id, a sentence, and what is expected ([`Expected`]). They are added to the part in their order.
///
/// Sentences, and ids that are literals, are formatted: `{name}` stands for a variable of that name. An id may be any other
/// expression as well.
///
/// ```
/// # use examples_host::prelude::*;
/// # fn expectations(part: &mut Part, [one_stream, events]: &[MeasuredVariant; 2], streams: usize) {
/// let (kernel, copy_in) = (Engine::Kernel, Engine::HostToDevice);
/// expect! { part;
///     "faster/events", "events beat one stream" => events.speedup_over(one_stream).at_least(1.5);
///     "beside/streams-{streams}", "{streams} streams: kernels run during copies in" => events.overlap(kernel, copy_in).at_least(0.5);
///     one_stream.id("beside"), "one stream: nothing does" => one_stream.overlap(kernel, copy_in).at_most(0.01);
/// }
/// # }
/// ```
#[doc(inline)]
pub use crate::__expect as expect;

#[doc(hidden)]
#[macro_export]
macro_rules! __expect {
    ($part:ident;) => {};
    ($part:ident; $id:literal, $sentence:literal => $expected:expr; $($more:tt)*) => {
        $crate::__expect! { $part; ::std::format!($id), $sentence => $expected; $($more)* }
    };
    ($part:ident; $id:expr, $sentence:literal => $expected:expr; $($more:tt)*) => {
        let expected: $crate::expect::Expected = $expected;
        $part.expect($id, &::std::format!($sentence), expected);
        $crate::__expect! { $part; $($more)* }
    };
}

/// A figure that was found.
#[derive(Clone, Copy, Debug)]
pub struct Measured(Figure);

/// A share: 1 is all.
pub fn share(value: f64) -> Measured {
    let unit = Unit::Share;
    Measured(Figure { value, unit })
}

/// A ratio, of times mostly.
pub fn ratio(value: f64) -> Measured {
    let unit = Unit::Ratio;
    Measured(Figure { value, unit })
}

/// A time.
pub fn time(time: Duration) -> Measured {
    let (value, unit) = (time.as_nanos() as f64 / 1e3, Unit::Microseconds);
    Measured(Figure { value, unit })
}

/// Something that is so or not.
pub fn truth(holds: bool, found: impl Display, limit: impl Display) -> Expected {
    Expected {
        found: found.to_string(),
        limit: limit.to_string(),
        holds,
        figure: None,
        follows: PartOption::ALL.as_slice(),
        not_claimed_of: Vec::new(),
        disturbed: None,
        unrecorded: false,
    }
}

/// The finding equals `expected`: a count, or the driver's answer.
pub fn exactly<F: Display + PartialEq<E>, E: Display>(found: F, expected: E) -> Expected {
    truth(found == expected, found, expected)
}

/// The number found.
#[derive(Clone, Copy, Debug)]
pub struct Count(usize);

/// A count: of kernels that ran together, of calls, of waits.
pub fn count(found: usize) -> Count {
    Count(found)
}

impl Count {
    /// At least this many.
    pub fn at_least(self, least: usize) -> Expected {
        truth(self.0 >= least, self.0, format!("at least {least}"))
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
/// The check failed for a reason other than a wrong element.
pub fn checked(checked: anyhow::Result<Checked>, things: &str) -> anyhow::Result<Expected> {
    let mut found = Ok(Checked::default());
    check::add(&mut found, checked)?;
    Ok(right(&found, things))
}

impl Measured {
    /// At least this much.
    pub fn at_least(self, least: f64) -> Expected {
        self.limited(
            self.0.value >= least,
            format!("at least {}", self.shown(least)),
        )
    }

    /// At most this much.
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
            not_claimed_of: Vec::new(),
            disturbed: None,
            unrecorded: false,
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

impl Display for Measured {
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

    /// Only records show it, such as the kernels of a graph or the host's calls: nothing is claimed where the recording comes from
    /// events around calls.
    pub fn in_records_of(mut self, recording: &Recording) -> Self {
        self.unrecorded = matches!(recording.source, Source::Events(_));
        self
    }

    /// The model of a device cannot show it, for this reason: there it is printed and not claimed.
    pub fn not_of_the_model(mut self, reason: &'static str) -> Self {
        self.not_claimed_of.push((TimeSource::Modelled, reason));
        self
    }

    /// On a GPU something else decides, for this reason: there it is printed and not claimed.
    pub fn not_of_a_gpu(mut self, reason: &'static str) -> Self {
        self.not_claimed_of.push((TimeSource::Measured, reason));
        self
    }

    /// If something disturbed the measurement, it is printed with what did, and not judged. What that is has to be found without
    /// a look at the figure: a disturbance that is looked for when a limit is missed is always found.
    pub fn unless_disturbed(mut self, disturbed: Option<impl Display>) -> Self {
        self.disturbed = disturbed.map(|by| by.to_string());
        self
    }

    /// Why it is not claimed of a device with such times, if so.
    pub(crate) fn not_claimed(&self, times: TimeSource) -> Option<&'static str> {
        let of = |(of, reason): &(TimeSource, _)| (*of == times).then_some(*reason);
        self.not_claimed_of.iter().find_map(of)
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
    fn a_figure_is_not_judged_if_something_disturbed_it() {
        let low = || share(0.5).at_least(0.6).for_any(&[PartOption::Chunks]);
        let expected = [
            low().unless_disturbed(Some("a neighbour")),
            low().unless_disturbed(None::<&str>),
        ];
        let judged = [(false, true), (true, false)];
        assert_eq!(claims(None, &expected), judged);
        assert_eq!(claims(Some(2), &expected), judged);
    }

    #[test]
    fn a_table_has_a_claim_a_line_with_formatted_ids_and_sentences() {
        let device = crate::device::Device::open(Choice::Software).unwrap();
        let options = Options::default();
        let part = &mut Part::new(INFO, &device, &options);
        let (name, streams) = ("events", 4);
        let other = || format!("other/{name}");
        expect! { part;
            "streams-{streams}", "{name}: {streams} streams" => count(streams).at_least(4);
            other(), "and five" => count(streams).at_least(5);
            "exactly", "or three" => exactly(streams, 3);
        }
        let of =
            |claim: &crate::verdict::Claim| (claim.id.clone(), claim.sentence.clone(), claim.holds);
        let owned =
            |(id, sentence, holds): (&str, &str, bool)| (id.to_owned(), sentence.to_owned(), holds);
        let expected = [
            ("streams-4", "events: 4 streams", true),
            ("other/events", "and five", false),
            ("exactly", "or three", false),
        ];
        assert_eq!(
            part.claims().iter().map(of).collect::<Vec<_>>(),
            expected.map(owned)
        );
    }

    #[test]
    fn what_the_model_cannot_show_is_not_claimed_of_it() {
        let expected = [ratio(0.5).at_least(1.0).not_of_the_model("a reason")];
        assert_eq!(claims(None, &expected), []);
    }

    #[test]
    fn what_neither_can_show_keeps_both_reasons() {
        let expected = ratio(0.5).at_least(1.0);
        let expected = expected.not_of_the_model("one").not_of_a_gpu("two");
        assert_eq!(expected.not_claimed(TimeSource::Modelled), Some("one"));
        assert_eq!(expected.not_claimed(TimeSource::Measured), Some("two"));
    }

    #[test]
    fn what_a_gpu_leaves_open_is_claimed_of_the_model() {
        let expected = [ratio(0.5).at_least(1.0).not_of_a_gpu("a reason")];
        assert_eq!(claims(None, &expected), [(true, false)]);
    }
}

//! What a file says of one part: what was timed, what bounds it, what ran when, what was claimed.

use crate::intervals::Recording;
use crate::statistics::Durations;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a result times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All the work of a variant, from its start to its end.
    Makespan,
    /// One copy.
    Copy,
    /// What a part notes besides, such as what a call takes.
    Other,
}

/// One thing that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// What the variants are variants of, mostly the plan of the work in words; results of one group can be ranked.
    pub group: String,
    /// The variant.
    pub variant: String,
    /// What is timed.
    pub kind: Kind,
    /// Each run in microseconds, from the shortest to the longest; never empty.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub samples_us: Vec<f64>,
}

impl Timed {
    /// A result of these times.
    pub fn new(group: &str, variant: &str, kind: Kind, times: &Durations) -> Self {
        let samples = times.sorted().iter();
        Self {
            group: group.to_owned(),
            variant: variant.to_owned(),
            kind,
            samples_us: samples.map(|time| time.as_nanos() as f64 / 1e3).collect(),
        }
    }

    /// The samples; `None` when there are none.
    pub fn times(&self) -> Option<Durations> {
        let time = |us: &f64| Duration::from_nanos((us * 1e3).round().max(0.0) as u64);
        Durations::new(self.samples_us.iter().map(time).collect())
    }

    /// The median in microseconds; 0 without samples.
    pub fn median_us(&self) -> f64 {
        self.times()
            .map_or(0.0, |times| times.median().as_nanos() as f64 / 1e3)
    }

    /// The distance between the quartiles as a share of the median.
    pub fn spread(&self) -> f64 {
        self.times().map_or(0.0, |times| times.spread())
    }
}

/// The shortest time that a schedule could take, computed from stages measured alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// The group whose variants it bounds.
    pub group: String,
    /// What may overlap: `no overlap`, `duplex` …
    pub name: String,
    /// Microseconds.
    pub us: f64,
}

/// What a claim's figure is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A share: 1 is all.
    Share,
    /// How many times.
    Ratio,
    /// Microseconds.
    Microseconds,
}

/// The number behind what was found, where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number.
    pub value: f64,
    /// What it is a number of.
    pub unit: Unit,
}

/// A claim that a part makes, and whether it was found to be true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What must be true.
    pub sentence: String,
    /// What was found.
    pub found: String,
    /// What is required of it.
    pub limit: String,
    /// Whether it is.
    pub holds: bool,
    /// What was found, as a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds { "ok    " } else { "FAILED" };
        write!(
            f,
            "{word}  {}: {} ({})",
            self.sentence, self.found, self.limit
        )
    }
}

/// When a variant's operations ran, in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The variant.
    pub variant: String,
    /// What ran when.
    pub recording: Recording,
}

/// One part of an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartResults {
    /// The name for `--part`.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// A hash of what it had to do; see [`crate::workload`].
    pub workload: String,
    /// What was timed, in order.
    pub timed: Vec<Timed>,
    /// What bounds it.
    pub bounds: Vec<Bound>,
    /// What ran when.
    pub timelines: Vec<Timeline>,
    /// What was claimed. A part that claims nothing does not hold.
    pub claims: Vec<Claim>,
    /// Whether every claim holds.
    pub holds: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: bool) -> Claim {
        Claim {
            sentence: "kernels overlap".into(),
            found: "97.0 %".into(),
            limit: "> 90 %".into(),
            holds,
            figure: None,
        }
    }

    #[test]
    fn a_claim_is_one_line() {
        assert_eq!(
            claim(true).to_string(),
            "ok      kernels overlap: 97.0 % (> 90 %)"
        );
        assert_eq!(
            claim(false).to_string(),
            "FAILED  kernels overlap: 97.0 % (> 90 %)"
        );
    }
}

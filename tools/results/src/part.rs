//! What a file says of one part: what was timed, what bounds it, what ran when, what was claimed.

use crate::intervals::Recording;
use crate::label::{self, Label};
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

impl Kind {
    /// Its name in files.
    pub fn id(self) -> &'static str {
        match self {
            Self::Makespan => "makespan",
            Self::Copy => "copy",
            Self::Other => "other",
        }
    }

    /// How far from a GPU's a model's may be, as a share, where both do the same work. Other times are not compared.
    pub fn model_tolerance(self) -> Option<f64> {
        match self {
            Self::Makespan => Some(0.10),
            Self::Copy => Some(0.05),
            Self::Other => None,
        }
    }
}

/// The work that each variant of a group does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The group's id.
    pub group: String,
    /// Bytes copied from host to device.
    pub bytes_in: u64,
    /// Bytes copied from device to host.
    pub bytes_out: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Elements that all launches together work on.
    pub elements: u64,
}

impl Plan {
    /// Its numbers, in the order of the fields.
    pub fn numbers(&self) -> [u64; 4] {
        [self.bytes_in, self.bytes_out, self.launches, self.elements]
    }
}

/// One thing that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timed {
    /// What the variants are variants of; results of one group can be ranked. Its text is mostly the plan in words.
    pub group: Label,
    /// The variant; a group has each once.
    pub variant: Label,
    /// What is timed.
    pub kind: Kind,
    /// Each run in microseconds, from the shortest to the longest; never empty.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub samples_us: Vec<f64>,
    /// Whether it is a model's time that is not claimed: the model is known to differ from GPUs by more than it should.
    #[serde(default, skip_serializing_if = "is_no")]
    pub unclaimed: bool,
}

impl Timed {
    /// A result of these times.
    pub fn new(
        group: impl Into<Label>,
        variant: impl Into<Label>,
        kind: Kind,
        times: &Durations,
    ) -> Self {
        let samples = times.sorted().iter();
        Self {
            group: group.into(),
            variant: variant.into(),
            kind,
            samples_us: samples.map(|time| time.as_nanos() as f64 / 1e3).collect(),
            unclaimed: false,
        }
    }

    /// The samples; `None` without samples.
    pub fn times(&self) -> Option<Durations> {
        let time = |us: &f64| Duration::from_nanos((us * 1e3).round().max(0.0) as u64);
        Durations::new(self.samples_us.iter().map(time).collect())
    }

    /// The median in microseconds; 0 without samples.
    pub fn median_us(&self) -> f64 {
        self.times()
            .map_or(0.0, |times| times.median().as_nanos() as f64 / 1e3)
    }

    /// What is compared with another run, in microseconds; 0 without samples. The shortest makespan and copies are kept: what disturbs
    /// them, such as other programs on the same host, only adds to them. Other times, such as a request's latency, differ from one
    /// time to the next by their nature: of them the median.
    pub fn compared_us(&self) -> f64 {
        match self.kind {
            Kind::Makespan | Kind::Copy => self
                .times()
                .map_or(0.0, |times| times.min().as_nanos() as f64 / 1e3),
            Kind::Other => self.median_us(),
        }
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
    /// The id of the group whose variants it bounds.
    pub group: String,
    /// What may overlap: `no-overlap`, `duplex` …
    pub label: Label,
    /// Microseconds.
    pub us: f64,
}

/// The unit of a claim's figure.
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
    /// The unit of the number.
    pub unit: Unit,
}

/// A claim that a part makes, and whether it was found to be true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its identifier, unique within a part.
    pub id: String,
    /// The required condition.
    pub sentence: String,
    /// What was found.
    pub found: String,
    /// The condition on it.
    pub limit: String,
    /// Whether it is.
    pub holds: bool,
    /// Whether it is judged: false where the arguments are such that nothing is predicted, or where something disturbed what was
    /// measured. Then it counts as holding, and its figure is compared with nothing.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub judged: bool,
    /// What disturbed the measurement, if that is why it is not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
    /// The finding, as a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Figure>,
}

fn yes() -> bool {
    true
}

fn is_no(value: &bool) -> bool {
    !value
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl Claim {
    /// Whether it holds, or is not judged.
    pub fn counts_as_holding(&self) -> bool {
        self.holds || !self.judged
    }

    /// Why it is not judged; `None` if it is.
    pub fn not_judged(&self) -> Option<&str> {
        let why = self.disturbed.as_deref().unwrap_or("your parameters");
        (!self.judged).then_some(why)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sentence,
            found,
            limit,
            ..
        } = self;
        match (self.not_judged(), self.holds) {
            (None, true) => write!(f, "ok      {sentence}: {found} ({limit})"),
            (None, false) => write!(f, "FAILED  {sentence}: {found} ({limit})"),
            (Some(why), _) => write!(f, "-       {sentence}: {found} (not judged: {why})"),
        }
    }
}

/// When a variant's operations ran, in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The variant.
    pub variant: Label,
    /// What ran when.
    pub recording: Recording,
}

/// One part of an example.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartResults {
    /// The name for `--part`.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// What is expected, in words, before anything is measured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prediction: String,
    /// What to remember of it, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub take_away: String,
    /// A hash of what it had to do; see [`crate::workload`].
    pub workload: String,
    /// The work of each group that has a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Plan>,
    /// The measurements, in order.
    pub timed: Vec<Timed>,
    /// What bounds it.
    pub bounds: Vec<Bound>,
    /// What ran when.
    pub timelines: Vec<Timeline>,
    /// What was claimed. A part that claims nothing does not hold.
    pub claims: Vec<Claim>,
    /// Whether every judged claim holds.
    pub holds: bool,
    /// Whether a run that did not hold was discarded as disturbed, before two that did.
    #[serde(default, skip_serializing_if = "is_no")]
    pub discarded: bool,
}

impl PartResults {
    /// The first contradiction that the types cannot rule out: a malformed or repeated id, a claim both disturbed and judged, an
    /// impossible time or interval.
    pub fn contradiction(&self) -> Option<String> {
        self.wrong_id()
            .or_else(|| self.repeated_id())
            .or_else(|| self.judged_though_disturbed())
            .or_else(|| self.impossible_time())
            .or_else(|| self.impossible_timeline())
    }

    fn wrong_id(&self) -> Option<String> {
        let timed = self.timed.iter();
        let timed = timed.flat_map(|timed| [&timed.group.id, &timed.variant.id]);
        let bounds = self.bounds.iter();
        let bounds = bounds.flat_map(|bound| [&bound.group, &bound.label.id]);
        let mut ids = timed
            .chain(bounds)
            .chain(self.plans.iter().map(|plan| &plan.group))
            .chain(self.timelines.iter().map(|timeline| &timeline.variant.id))
            .chain(self.claims.iter().map(|claim| &claim.id));
        let wrong = ids.find(|id| !label::is_id(id))?;
        Some(format!(
            "{wrong:?} is not an id: lower-case letters and digits, joined by -, / or ."
        ))
    }

    fn repeated_id(&self) -> Option<String> {
        let claims = self.claims.iter().map(|claim| &claim.id);
        if let Some(id) = label::repeated(claims) {
            return Some(format!("two claims have the id {id}"));
        }
        let timed = self.timed.iter();
        let timed = timed.map(|timed| (&timed.group.id, &timed.variant.id));
        if let Some((group, variant)) = label::repeated(timed) {
            return Some(format!(
                "group {group} has two variants of the id {variant}"
            ));
        }
        let plans = self.plans.iter().map(|plan| &plan.group);
        label::repeated(plans).map(|group| format!("group {group} has two plans"))
    }

    fn judged_though_disturbed(&self) -> Option<String> {
        let both = |claim: &&Claim| claim.judged && claim.disturbed.is_some();
        let claim = self.claims.iter().find(both)?;
        Some(format!("claim {} was disturbed, and judged", claim.id))
    }

    fn impossible_time(&self) -> Option<String> {
        let sane = |us: &f64| us.is_finite() && *us >= 0.0;
        let possible =
            |timed: &&Timed| !timed.samples_us.is_empty() && timed.samples_us.iter().all(sane);
        let Timed { group, variant, .. } = self.timed.iter().find(|timed| !possible(timed))?;
        Some(format!(
            "{}, {}: no times, or impossible ones",
            group.id, variant.id
        ))
    }

    fn impossible_timeline(&self) -> Option<String> {
        self.timelines.iter().find_map(|timeline| {
            let reason = timeline.recording.contradiction()?;
            Some(format!("{}: {reason}", timeline.variant.id))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: bool) -> Claim {
        Claim {
            id: "overlap".into(),
            sentence: "kernels overlap".into(),
            found: "97.0 %".into(),
            limit: "> 90 %".into(),
            holds,
            judged: true,
            disturbed: None,
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

    #[test]
    fn what_is_not_judged_counts_as_holding() {
        let claim = Claim {
            judged: false,
            ..claim(false)
        };
        assert!(claim.counts_as_holding());
        assert_eq!(
            claim.to_string(),
            "-       kernels overlap: 97.0 % (not judged: your parameters)"
        );
        let text = serde_json::to_string(&claim).unwrap();
        assert_eq!(serde_json::from_str::<Claim>(&text).unwrap(), claim);
        let judged = text.replace(r#","judged":false"#, "");
        assert!(serde_json::from_str::<Claim>(&judged).unwrap().judged);
    }

    #[test]
    fn what_was_disturbed_says_by_what() {
        let claim = Claim {
            judged: false,
            disturbed: Some("the link was busy".into()),
            ..claim(false)
        };
        assert!(claim.counts_as_holding());
        assert_eq!(
            claim.to_string(),
            "-       kernels overlap: 97.0 % (not judged: the link was busy)"
        );
        let text = serde_json::to_string(&claim).unwrap();
        assert_eq!(serde_json::from_str::<Claim>(&text).unwrap(), claim);
        let part = |judged| PartResults {
            claims: vec![Claim {
                judged,
                ..claim.clone()
            }],
            ..PartResults::default()
        };
        assert_eq!(part(false).contradiction(), None);
        let contradiction = part(true).contradiction();
        assert_eq!(
            contradiction.as_deref(),
            Some("claim overlap was disturbed, and judged")
        );
    }
}

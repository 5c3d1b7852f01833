//! The outcome of a comparison with expectations, and its text.

use chapter_results::device::Fingerprint;
use chapter_results::units::counted;
use chapter_terminal::Exit;
use chapter_terminal::style;
use std::fmt;
use std::path::PathBuf;

/// What a figure's difference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Worse than the tolerance allows. For a modelled figure, any change.
    Regression,
    /// Better than the tolerance explains.
    Better,
}

/// A figure that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it means.
    pub change: Change,
    /// The figure, in words: the quantity and its variant.
    pub figure: String,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// How far from it would have been within what is tolerated.
    pub tolerance: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            figure,
            found,
            expected,
            tolerance,
            ..
        } = self;
        write!(f, "{figure}: {found}, expected {expected} ({tolerance})")?;
        match self.change {
            Change::Regression => Ok(()),
            Change::Better => f.write_str(": better than recorded; update the expectations?"),
        }
    }
}

/// The judgement of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It was compared.
    Compared {
        /// The number of compared figures.
        figures: usize,
        /// Times that are only observed, because the recorded runs are too far apart.
        observed: usize,
        /// The compared values that differ.
        differences: Vec<Difference>,
    },
    /// The entry is outdated, for this reason.
    Void(String),
    /// The part was not compared, for this reason.
    NotJudged(String),
}

impl Judgement {
    /// Results worse than expected.
    pub fn regressions(&self) -> impl Iterator<Item = &Difference> {
        self.differences()
            .iter()
            .filter(|difference| difference.change == Change::Regression)
    }

    /// Deviations from the expectations.
    pub fn differences(&self) -> &[Difference] {
        match self {
            Self::Compared { differences, .. } => differences,
            Self::Void(_) | Self::NotJudged(_) => &[],
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let regressions = self.regressions().count();
        match self {
            Self::Compared {
                figures, observed, ..
            } => {
                let of = counted(*figures, "figure");
                match regressions {
                    0 => write!(f, "as expected, {of}")?,
                    _ => write!(f, "NOT AS EXPECTED, {regressions} of {of}")?,
                }
                f.write_str(&only_observed(*observed))
            }
            Self::Void(why) => write!(f, "expectation outdated: {why}"),
            Self::NotJudged(why) => write!(f, "not judged: {why}"),
        }
    }
}

/// A run of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetOutcome {
    /// The target.
    pub target: String,
    /// On what it ran.
    pub device: Fingerprint,
    /// Where its expectations are, or would be.
    pub file: PathBuf,
    /// A note on the comparison.
    pub note: Option<String>,
    /// Its parts.
    pub parts: Vec<(String, Judgement)>,
    /// Parts that are recorded and did not run.
    pub did_not_run: Vec<String>,
}

impl TargetOutcome {
    /// Its lines: a single one if all parts are the same.
    fn lines(&self, all_of_it: bool) -> Vec<String> {
        let target = &self.target;
        let mut lines = match self.alike() {
            Some(judgement) => vec![format!("  {target}: {judgement}")],
            None => {
                let widest = self.parts.iter().map(|(name, _)| name.chars().count());
                let widest = widest.max().unwrap_or(0);
                let part = |(name, judgement): &(String, Judgement)| {
                    format!("    {name:widest$}  {}", coloured(judgement))
                };
                let parts = self.parts.iter().map(part);
                std::iter::once(format!("  {target}:"))
                    .chain(parts)
                    .collect()
            }
        };
        lines.extend(self.note.iter().map(|note| format!("    {note}")));
        if all_of_it {
            let absent = self.did_not_run.iter();
            lines.extend(absent.map(|name| format!("    {name}: recorded, but not run")));
        }
        lines
    }

    /// One text for all parts, if they are the same.
    fn alike(&self) -> Option<String> {
        let (_, first) = self.parts.first()?;
        match first {
            Judgement::Compared { .. } => {
                let (mut compared, mut not) = (0, 0);
                for (_, judgement) in &self.parts {
                    match judgement {
                        Judgement::Compared {
                            figures, observed, ..
                        } if judgement.regressions().next().is_none() => {
                            compared += figures;
                            not += observed;
                        }
                        _ => return None,
                    }
                }
                Some(format!(
                    "{}, {} of {}{}",
                    style::good("as expected"),
                    counted(compared, "figure"),
                    counted(self.parts.len(), "part"),
                    only_observed(not),
                ))
            }
            _ => {
                let same = self.parts.iter().all(|(_, other)| other == first);
                same.then(|| coloured(first))
            }
        }
    }
}

/// Words about the times that are only observed; empty without any.
fn only_observed(times: usize) -> String {
    match times {
        0 => String::new(),
        _ => format!(
            "; {} more between recorded runs than may be expected",
            match times {
                1 => "1 time varies".to_owned(),
                _ => format!("{times} times vary"),
            }
        ),
    }
}

/// The judgement, green where nothing is worse than expected and red where something is.
fn coloured(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Compared { .. } if judgement.regressions().next().is_none() => {
            style::good(judgement)
        }
        Judgement::Compared { .. } | Judgement::Void(_) => style::bad(judgement),
        Judgement::NotJudged(_) => judgement.to_string(),
    }
}

/// All runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunComparison {
    /// In the order in which they were given.
    pub targets: Vec<TargetOutcome>,
}

impl RunComparison {
    fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        let parts = self.targets.iter().flat_map(|target| &target.parts);
        parts.map(|(_, judgement)| judgement)
    }

    /// What the command ends with. A regression is a failure; so is an outdated entry of a model, whose work changes with the
    /// program only, while a part may choose its work by measuring; and so is a comparison in which entries are outdated and nothing
    /// could be compared at all. If all of it is requested, each missing comparison counts as well.
    pub fn exit(&self, all_of_it: bool) -> Exit {
        let compared = |judgement: &Judgement| matches!(judgement, Judgement::Compared { .. });
        let void = |judgement: &Judgement| matches!(judgement, Judgement::Void(_));
        let regressed = self
            .judgements()
            .any(|judgement| judgement.regressions().next().is_some());
        let changed = self.targets.iter().any(|target| {
            let is_model = target.device.profile.is_some();
            is_model && target.parts.iter().any(|(_, judgement)| void(judgement))
        });
        let nothing = self.judgements().any(void) && !self.judgements().any(compared);
        let incomplete = !self.judgements().all(compared)
            || self
                .targets
                .iter()
                .any(|target| !target.did_not_run.is_empty());
        if regressed || changed || nothing || all_of_it && incomplete {
            Exit::LessonFails
        } else {
            Exit::LessonHolds
        }
    }

    /// The text, in lines.
    pub fn lines(&self, all_of_it: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let mut device = None;
        for target in &self.targets {
            if device != Some(&target.device) {
                lines.push(format!("Expectations of {}", target.device));
                device = Some(&target.device);
            }
            lines.extend(target.lines(all_of_it));
        }
        lines.extend(self.differences());
        if self.exit(all_of_it) == Exit::LessonFails {
            lines.push(
                "If the change is intended, record it with `cargo chapter run --update-expectations` on the same device, and commit the files."
                    .to_owned(),
            );
        }
        lines
    }

    /// A line for each difference.
    fn differences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for target in &self.targets {
            for (part, judgement) in &target.parts {
                for difference in judgement.differences() {
                    let word = match difference.change {
                        Change::Regression => style::bad("REGRESSION"),
                        Change::Better => style::good("improvement"),
                    };
                    lines.push(format!("{word}: {} {part}: {difference}", target.target));
                }
            }
        }
        lines
    }
}

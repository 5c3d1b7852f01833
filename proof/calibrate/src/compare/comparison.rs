//! The rules: how far the model may be from what was measured, and when it ranks two variants otherwise.

use super::{ComparedTime, Medians};
use anyhow::{Result, ensure};
use examples_host::options::UsageError;
use examples_host::results::Kind;

/// How far a modelled makespan may be from the measured ones.
pub const MAKESPAN: f64 = 0.15;
/// How far a modelled copy may be from the measured ones.
pub const COPY: f64 = 0.08;
/// How far a time may be off that the program does not claim of the model.
const UNCLAIMED: f64 = 0.5;

/// One result of the model beside those of the device.
#[derive(Debug)]
pub struct Line {
    pub part: String,
    pub group: String,
    pub variant: String,
    pub kind: Kind,
    /// The least and the greatest median of all measurements, and their middle, in µs.
    pub least: f64,
    pub greatest: f64,
    pub middle: f64,
    /// The greatest spread, as a share.
    spread: f64,
    pub modelled: f64,
    pub unclaimed: bool,
    pub is_judged: bool,
}

impl Line {
    fn new(modelled: &ComparedTime, measured: &[Medians]) -> Result<Self> {
        let is_same = |timed: &&ComparedTime| {
            (&timed.part, &timed.group, &timed.variant)
                == (&modelled.part, &modelled.group, &modelled.variant)
        };
        let name = || {
            format!(
                "{}: {}: {}",
                modelled.part, modelled.group, modelled.variant
            )
        };
        let found: Result<Vec<&ComparedTime>> = measured
            .iter()
            .map(|results| {
                let found = results.timed.iter().find(is_same);
                found.ok_or_else(|| other_work(modelled, "measured").into())
            })
            .collect();
        let found = found?;
        let mut medians: Vec<f64> = found.iter().map(|timed| timed.median_us).collect();
        medians.sort_by(f64::total_cmp);
        let (Some(&least), Some(&greatest)) = (medians.first(), medians.last()) else {
            anyhow::bail!("the measured results hold no times");
        };
        let middle = 0.5 * (medians[(medians.len() - 1) / 2] + medians[medians.len() / 2]);
        ensure!(
            least > 0.0 && modelled.median_us > 0.0,
            "{} takes no time",
            name()
        );
        Ok(Self {
            part: modelled.part.clone(),
            group: modelled.group.clone(),
            variant: modelled.variant.clone(),
            kind: modelled.kind,
            least,
            greatest,
            middle,
            spread: found.iter().map(|timed| timed.spread).fold(0.0, f64::max),
            modelled: modelled.median_us,
            unclaimed: modelled.unclaimed,
            is_judged: true,
        })
    }

    pub fn limit(&self) -> Option<f64> {
        match self.kind {
            _ if !self.is_judged => None,
            Kind::Makespan | Kind::Copy if self.unclaimed => Some(UNCLAIMED),
            Kind::Makespan => Some(MAKESPAN),
            Kind::Copy => Some(COPY),
            Kind::Other => None,
        }
    }

    /// How far the model is outside of what was measured, as a share: 0 inside.
    pub fn outside(&self) -> f64 {
        let above = self.modelled / self.greatest - 1.0;
        let below = 1.0 - self.modelled / self.least;
        above.max(below).max(0.0)
    }

    pub fn is_near(&self) -> bool {
        self.limit().is_none_or(|limit| self.outside() <= limit)
    }

    /// Whether the measurement cannot distinguish the two.
    fn ties_with(&self, other: &Self) -> bool {
        let apart = (self.middle - other.middle).abs();
        apart <= self.spread * self.middle + other.spread * other.middle
            || self.least <= other.greatest && other.least <= self.greatest
    }

    /// Whether the model ranks the two otherwise than the measurement.
    fn contradicts(&self, other: &Self) -> bool {
        let measured = self.middle.total_cmp(&other.middle);
        let modelled = self.modelled.total_cmp(&other.modelled);
        modelled.is_ne() && modelled != measured && !self.ties_with(other)
    }
}

/// The actions of only one side.
fn other_work(timed: &ComparedTime, side: &str) -> UsageError {
    let ComparedTime {
        part,
        group,
        variant,
        ..
    } = timed;
    UsageError(format!(
        "{part}: {group}: {variant} was not {side}; run both with the same options"
    ))
}

/// All results, side by side.
pub struct Comparison {
    pub lines: Vec<Line>,
    pub runs: usize,
}

impl Comparison {
    pub fn new(measured: &[Medians], modelled: &Medians) -> Result<Self> {
        for results in measured {
            if results.options != modelled.options {
                let why = "--size, --chunks, --streams or --rounds differ; run both with the same options";
                return Err(UsageError(why.to_owned()).into());
            }
            for timed in &results.timed {
                let is_modelled = |other: &ComparedTime| {
                    (&timed.part, &timed.group, &timed.variant)
                        == (&other.part, &other.group, &other.variant)
                };
                if !modelled.timed.iter().any(is_modelled) {
                    return Err(other_work(timed, "modelled").into());
                }
            }
        }
        let lines: Result<Vec<Line>> = modelled
            .timed
            .iter()
            .map(|timed| Line::new(timed, measured))
            .collect();
        Ok(Self {
            lines: lines?,
            runs: measured.len(),
        })
    }

    /// Shows these parts without judging them.
    pub fn leave_unjudged(&mut self, parts: &[String]) -> Result<(), UsageError> {
        for part in parts {
            let mut lines = self.lines.iter_mut().filter(|line| line.part == *part);
            let Some(first) = lines.next() else {
                let why = format!("--not-judged {part}: there is no such part in the results");
                return Err(UsageError(why));
            };
            first.is_judged = false;
            lines.for_each(|line| line.is_judged = false);
        }
        Ok(())
    }

    /// Pairs of a group that the model ranks otherwise.
    pub fn contradictions(&self) -> Vec<(&Line, &Line)> {
        let mut found = Vec::new();
        let judged = self.lines.iter().enumerate();
        for (index, line) in judged.filter(|(_, line)| line.is_judged) {
            let same_group =
                |other: &&Line| (&other.part, &other.group) == (&line.part, &line.group);
            found.extend(
                self.lines[index + 1..]
                    .iter()
                    .filter(same_group)
                    .filter(|other| line.contradicts(other))
                    .map(|other| (line, other)),
            );
        }
        found
    }

    /// For each group with several variants: whether the model ranks them as the measurement does.
    pub fn rankings(&self) -> Vec<[String; 4]> {
        let contradictions = self.contradictions();
        let mut rows = Vec::new();
        for (index, first) in self.lines.iter().enumerate() {
            let same_group = |line: &Line| (&line.part, &line.group) == (&first.part, &first.group);
            let others = self.lines[index + 1..].iter();
            let count = 1 + others.filter(|line| same_group(line)).count();
            if count == 1 || self.lines[..index].iter().any(same_group) {
                continue;
            }
            let wrong = contradictions.iter().filter(|(one, _)| same_group(one));
            let ranked = match wrong.count() {
                _ if !first.is_judged => "not judged".to_owned(),
                0 => "equally".to_owned(),
                wrong => format!(
                    "another order: {wrong} of {} pairs",
                    count * (count - 1) / 2
                ),
            };
            let [part, group] = [&first.part, &first.group].map(Clone::clone);
            rows.push([part, group, count.to_string(), ranked]);
        }
        rows
    }

    pub fn holds(&self) -> bool {
        self.lines.iter().all(Line::is_near) && self.contradictions().is_empty()
    }
}

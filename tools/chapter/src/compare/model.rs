//! A model beside its device: every figure that was recorded on a GPU and what the software GPU gives for the same work.

use crate::expectations::{Recorded, RecordedPart};
use chapter_results::Results;
use chapter_results::part::{Kind, PartResults};
use chapter_results::units;
use chapter_terminal::style;
use chapter_terminal::table::Table;
use std::fmt::Write as _;
use std::time::Duration;

/// How far what was not used to fit the model may be from a GPU's, as a share; of the rest see [`Kind::model_tolerance`].
const HELD_OUT: f64 = 0.15;
/// How far what its program does not claim may be off.
const UNCLAIMED: f64 = 0.5;
/// Two variants are ranked when the one takes this many times as long as the other.
const APART: f64 = 1.10;

/// One figure of both.
#[derive(Clone, Debug)]
struct Line {
    group: String,
    variant: String,
    kind: Kind,
    /// Microseconds.
    measured: f64,
    /// How far from it a run of the device may be, as a share.
    tolerance: f64,
    modelled: f64,
    /// The program says that it is not claimed of the model.
    unclaimed: bool,
}

impl Line {
    fn deviation(&self) -> f64 {
        self.modelled / self.measured - 1.0
    }

    /// How far the model may be off; `None` for what is compared by its rank alone.
    fn limit(&self, held_out: bool) -> Option<f64> {
        let tolerance = self.kind.model_tolerance()?;
        Some(if held_out { HELD_OUT } else { tolerance })
    }

    fn judged(&self, held_out: bool) -> Judged {
        match self.limit(held_out) {
            None => Judged::Not,
            Some(limit) if self.deviation().abs() <= limit => Judged::Near,
            Some(limit) if self.tolerance > limit && self.deviation().abs() <= self.tolerance => {
                Judged::Spread
            }
            Some(_) if self.unclaimed && self.deviation().abs() <= UNCLAIMED => Judged::Unclaimed,
            Some(_) => Judged::Off,
        }
    }

    /// Which of the two takes longer, if one takes clearly longer.
    fn rank(&self, other: &Self, of: fn(&Self) -> f64) -> Option<bool> {
        let ratio = of(self) / of(other);
        (!(1.0 / APART..=APART).contains(&ratio)).then_some(ratio > 1.0)
    }
}

/// The verdict on one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    /// Times of single calls: their ranks are judged.
    Not,
    Near,
    /// Beyond the limit, but the device's own runs are as far apart.
    Spread,
    /// Off, and the program says so: it is not claimed of the model.
    Unclaimed,
    Off,
}

impl Judged {
    fn word(self) -> &'static str {
        match self {
            Self::Not => "",
            Self::Near => "ok",
            Self::Spread => "within the device's spread",
            Self::Unclaimed => "off, not claimed",
            Self::Off => "off",
        }
    }
}

/// One part of both.
struct PartComparison {
    name: String,
    held_out: bool,
    /// Why there is nothing to compare, if so.
    absent: Option<String>,
    lines: Vec<Line>,
}

impl PartComparison {
    fn new(target: &str, recorded: &RecordedPart, found: Option<&PartResults>) -> Self {
        let name = format!("{target}:{}", recorded.name);
        let absent = match found {
            _ if recorded.times.is_empty() => Some("times nothing".to_owned()),
            None => Some("not modelled".to_owned()),
            Some(found) if !is_same_work(recorded, found) => {
                Some("modelled with other work".to_owned())
            }
            Some(_) => None,
        };
        let mut lines = Vec::new();
        for (recorded, found) in recorded.times.iter().filter_map(|time| {
            let alike = |timed: &&chapter_results::part::Timed| {
                (&timed.group.id, &timed.variant.id) == (&time.group, &time.variant)
            };
            Some((time, found?.timed.iter().find(alike)?))
        }) {
            lines.push(Line {
                group: recorded.group.clone(),
                variant: recorded.variant.clone(),
                kind: recorded.kind,
                measured: recorded.us,
                tolerance: recorded.tolerance_us / recorded.us,
                modelled: found.compared_us(),
                unclaimed: found.unclaimed,
            });
        }
        if absent.is_some() {
            lines.clear();
        }
        Self {
            name,
            held_out: false,
            absent,
            lines,
        }
    }

    /// Pairs of one group that are more than 10 % apart on both sides, and whether both sides agree on the longer one.
    fn pairs(&self) -> Vec<(&Line, &Line, bool)> {
        let mut pairs = Vec::new();
        for (index, one) in self.lines.iter().enumerate() {
            for other in self.lines[index + 1..]
                .iter()
                .filter(|other| other.group == one.group)
            {
                let ranks = [
                    one.rank(other, |line| line.measured),
                    one.rank(other, |line| line.modelled),
                ];
                if let [Some(measured), Some(modelled)] = ranks {
                    pairs.push((one, other, measured == modelled));
                }
            }
        }
        pairs
    }
}

/// Whether both did the same: by the hash, or by equal plans.
fn is_same_work(recorded: &RecordedPart, found: &PartResults) -> bool {
    recorded.workload == found.workload
        || !recorded.plans.is_empty() && recorded.plans == found.plans
}

/// Everything recorded on one device beside what was modelled.
pub struct Comparison {
    device: String,
    parts: Vec<PartComparison>,
}

impl Comparison {
    /// Compares; `held_out` names parts, as `TARGET:PART`, whose figures were not used to fit the model.
    pub fn new(recorded: &[Recorded], modelled: &[Results], held_out: &[String]) -> Self {
        let mut parts = Vec::new();
        for one in recorded {
            for part in &one.parts {
                let results = modelled
                    .iter()
                    .filter(|results| results.example == one.target);
                let all = results.flat_map(|results| &results.parts);
                let mut found: Vec<_> = all.filter(|found| found.name == part.name).collect();
                // Several runs may hold the part, with several sizes.
                found.sort_by_key(|found| !is_same_work(part, found));
                let found = found.first().copied();
                let mut part = PartComparison::new(&one.target, part, found);
                part.held_out = held_out.contains(&part.name);
                parts.push(part);
            }
        }
        let device = recorded
            .first()
            .map_or_else(String::new, |one| one.device.to_string());
        Self { device, parts }
    }

    /// Whether everything is within its limit and ranked as measured, and everything was compared.
    pub fn holds(&self) -> bool {
        self.parts.iter().all(|part| {
            let near = |line: &Line| line.judged(part.held_out) != Judged::Off;
            let compared =
                part.absent.is_none() || part.lines.is_empty() && part.is_empty_by_nature();
            compared && part.lines.iter().all(near) && part.pairs().iter().all(|(.., agree)| *agree)
        })
    }

    /// For the terminal.
    pub fn text(&self, columns: usize) -> String {
        let mut table = Table::new(["variant", "measured", "modelled", "deviation", ""]);
        for part in &self.parts {
            let note = part.note();
            table.heading(format!("{}{note}", style::bold(&part.name)));
            let mut last = None;
            for line in &part.lines {
                if last != Some(&line.group) {
                    table.heading(format!("  {}", line.group));
                    last = Some(&line.group);
                }
                let judged = line.judged(part.held_out);
                let word = match judged {
                    Judged::Off => style::bad(judged.word()),
                    _ => judged.word().to_owned(),
                };
                let variant = format!("    {}", line.variant);
                table.row([
                    variant,
                    measured(line),
                    time(line.modelled),
                    deviation(line),
                    word,
                ]);
            }
        }
        format!(
            "{}: recorded, and modelled\n\n{}\n\n{}",
            self.device,
            table.fitted(columns),
            self.summary()
        )
    }

    /// For a page.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}\n", self.summary());
        for part in self.parts.iter().filter(|part| !part.lines.is_empty()) {
            let _ = write!(text, "\n### {}{}\n\n", part.name, part.note());
            text += "| group | variant | measured | modelled | deviation |  |\n|---|---|---|---|---|---|\n";
            for line in &part.lines {
                let cells = [
                    line.group.clone(),
                    line.variant.clone(),
                    measured(line),
                    time(line.modelled),
                    deviation(line),
                    line.judged(part.held_out).word().to_owned(),
                ];
                let _ = writeln!(
                    text,
                    "| {} |",
                    cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
                );
            }
        }
        text
    }

    /// How many figures are near, how many pairs are ranked as measured, and which are not.
    fn summary(&self) -> String {
        let mut text = String::new();
        let classes = [
            ("Makespans", Kind::Makespan, false),
            ("Copies", Kind::Copy, false),
            ("Held out, not used to fit", Kind::Makespan, true),
        ];
        for (name, kind, held_out) in classes {
            let tolerance = kind.model_tolerance().unwrap_or_default();
            let limit = if held_out { HELD_OUT } else { tolerance };
            let lines: Vec<&Line> = self
                .parts
                .iter()
                .filter(|part| part.held_out == held_out)
                .flat_map(|part| &part.lines)
                .filter(|line| line.kind == kind)
                .collect();
            if lines.is_empty() {
                continue;
            }
            let count = |judged| {
                lines
                    .iter()
                    .filter(|line| line.judged(held_out) == judged)
                    .count()
            };
            let _ = write!(
                text,
                "{name}: {} of {} within {}",
                count(Judged::Near),
                lines.len(),
                units::percent(limit)
            );
            let beyond = [
                (count(Judged::Spread), "within the device's own spread"),
                (count(Judged::Unclaimed), "off and not claimed of the model"),
                (count(Judged::Off), "off"),
            ];
            for (count, what) in beyond.into_iter().filter(|(count, _)| *count > 0) {
                let _ = write!(text, ", {count} {what}");
            }
            text += ".\n";
        }
        let pairs: Vec<_> = self
            .parts
            .iter()
            .flat_map(|part| part.pairs().into_iter().map(move |pair| (part, pair)))
            .collect();
        let wrong: Vec<_> = pairs.iter().filter(|(_, (.., agree))| !agree).collect();
        let _ = writeln!(
            text,
            "Pairs of variants more than 10 % apart, measured and modelled: {}; ranked differently: {}.",
            pairs.len(),
            wrong.len()
        );
        for (part, (one, other, _)) in wrong {
            let _ = writeln!(
                text,
                "- {}, {}: {} takes {} times as long as {} measured, {} modelled",
                part.name,
                one.group,
                one.variant,
                units::digits(one.measured / other.measured),
                other.variant,
                units::digits(one.modelled / other.modelled),
            );
        }
        for part in &self.parts {
            if let Some(why) = part.absent.as_ref().filter(|_| !part.is_empty_by_nature()) {
                let _ = writeln!(text, "- {}: {why}", part.name);
            }
        }
        text
    }
}

impl PartComparison {
    /// Parts that show something else than times.
    fn is_empty_by_nature(&self) -> bool {
        self.absent.as_deref() == Some("times nothing")
    }

    fn note(&self) -> String {
        match (&self.absent, self.held_out) {
            (Some(why), _) => format!(" ({why})"),
            (None, true) => " (held out)".to_owned(),
            (None, false) => String::new(),
        }
    }
}

fn time(us: f64) -> String {
    units::time(Duration::from_nanos((us * 1e3).round() as u64))
}

/// The median and how far a run may be from it.
fn measured(line: &Line) -> String {
    format!("{} ± {:.0} %", time(line.measured), line.tolerance * 100.0)
}

fn deviation(line: &Line) -> String {
    format!("{:+.1} %", line.deviation() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::results;
    use crate::expectations::RecordedTime;
    use chapter_results::device::TimeSource::Modelled;

    /// A part of a GPU's expectations: variants with their medians and tolerances in µs.
    fn recorded(kind: Kind, times: &[(&str, f64, f64)]) -> Vec<Recorded> {
        let times = times
            .iter()
            .map(|(variant, us, tolerance_us)| RecordedTime {
                group: "variants".into(),
                variant: (*variant).into(),
                kind,
                us: *us,
                tolerance_us: *tolerance_us,
            });
        vec![Recorded {
            target: "basic_streams".into(),
            device: results(Modelled, &[]).device,
            parts: vec![RecordedPart {
                name: "three-way".into(),
                workload: "1f".into(),
                plans: Vec::new(),
                times: times.collect(),
            }],
        }]
    }

    fn compared(
        kind: Kind,
        measured: &[(&str, f64, f64)],
        modelled: &[(&str, f64)],
        held_out: &[&str],
    ) -> Comparison {
        let samples: Vec<[f64; 1]> = modelled.iter().map(|(_, us)| [*us]).collect();
        let timed = modelled.iter().zip(&samples);
        let timed: Vec<(&str, &[f64])> = timed
            .map(|((variant, _), samples)| (*variant, &samples[..]))
            .collect();
        let held_out: Vec<String> = held_out.iter().map(|name| (*name).to_owned()).collect();
        Comparison::new(
            &recorded(kind, measured),
            &[results(Modelled, &timed)],
            &held_out,
        )
    }

    const PART: &str = "basic_streams:three-way";

    #[test]
    fn each_kind_has_its_limit_on_both_sides() {
        for (kind, within, without) in [
            (Kind::Makespan, [109.0, 91.0], [111.0, 89.0]),
            (Kind::Copy, [104.0, 96.0], [106.0, 94.0]),
        ] {
            for us in within {
                assert!(compared(kind, &[("a", 100.0, 1.0)], &[("a", us)], &[]).holds());
            }
            for us in without {
                assert!(!compared(kind, &[("a", 100.0, 1.0)], &[("a", us)], &[]).holds());
            }
        }
        let other = compared(Kind::Other, &[("a", 100.0, 1.0)], &[("a", 300.0)], &[]);
        assert!(other.holds());
    }

    #[test]
    fn held_out_parts_have_more_room() {
        let of = |us| compared(Kind::Makespan, &[("a", 100.0, 1.0)], &[("a", us)], &[PART]);
        assert!(of(114.0).holds());
        assert!(!of(116.0).holds());
        assert!(of(114.0).text(100).contains("(held out)"));
        assert!(
            of(114.0)
                .markdown()
                .contains("Held out, not used to fit: 1 of 1")
        );
    }

    #[test]
    fn a_device_that_varies_more_than_the_limit_excuses_what_lies_within() {
        let of = |us| compared(Kind::Makespan, &[("a", 100.0, 50.0)], &[("a", us)], &[]);
        assert!(of(140.0).holds());
        assert!(of(140.0).markdown().contains("within the device's spread"));
        assert!(!of(160.0).holds());
    }

    #[test]
    fn a_deviation_that_is_not_claimed_is_reported_without_a_failure() {
        let of = |us: f64, unclaimed| {
            let mut modelled = results(Modelled, &[("a", &[us])]);
            modelled.parts[0].timed[0].unclaimed = unclaimed;
            let recorded = recorded(Kind::Makespan, &[("a", 100.0, 1.0)]);
            Comparison::new(&recorded, &[modelled], &[])
        };
        assert!(!of(130.0, false).holds());
        assert!(of(130.0, true).holds());
        assert!(!of(160.0, true).holds());
        let page = of(130.0, true).markdown();
        assert!(page.contains("| +30.0 % | off, not claimed |"), "{page}");
        assert!(
            page.contains("0 of 1 within 10.0 %, 1 off and not claimed of the model."),
            "{page}"
        );
        assert!(of(105.0, true).markdown().contains("| +5.0 % | ok |"));
    }

    #[test]
    fn another_order_is_named_when_both_sides_are_clearly_apart() {
        let measured = [("a", 100.0, 100.0), ("b", 120.0, 100.0)];
        let ranked = |a, b| compared(Kind::Other, &measured, &[("a", a), ("b", b)], &[]);
        assert!(ranked(50.0, 60.0).holds());
        assert!(ranked(52.0, 50.0).holds(), "nearly the same is no order");
        let wrong = ranked(60.0, 50.0);
        assert!(!wrong.holds());
        let text = wrong.markdown();
        assert!(
            text.contains("modelled: 1; ranked differently: 1"),
            "{text}"
        );
        assert!(
            text.contains("a takes 0.83 times as long as b measured, 1.20 modelled"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_compared_does_not_hold() {
        let mut other_work = recorded(Kind::Makespan, &[("a", 100.0, 1.0)]);
        other_work[0].parts[0].workload = "2e".into();
        let modelled = [results(Modelled, &[("a", &[100.0])])];
        let comparison = Comparison::new(&other_work, &modelled, &[]);
        assert!(!comparison.holds());
        assert!(comparison.text(100).contains("modelled with other work"));
        let nothing = Comparison::new(&recorded(Kind::Makespan, &[("a", 1.0, 1.0)]), &[], &[]);
        assert!(!nothing.holds());
        let no_times = Comparison::new(&recorded(Kind::Makespan, &[]), &modelled, &[]);
        assert!(no_times.holds());
    }
}

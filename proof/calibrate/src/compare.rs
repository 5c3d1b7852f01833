//! Modelled against measured: the same program's results on the software GPU and on a GPU, side by side.

use anyhow::{Context, Result, ensure};
use examples_host::options::UsageError;
use examples_host::output;
use examples_host::results::{Kind, Results};
use examples_host::table::Table;
use examples_host::units;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How far a modelled makespan may be from the measured ones.
const MAKESPAN: f64 = 0.15;
/// How far a modelled copy may be from the measured ones.
const COPY: f64 = 0.08;

/// What is compared.
#[derive(clap::Args)]
pub struct Arguments {
    /// What was measured, one file for each time: `--json` of an example on a GPU
    #[arg(required = true, value_name = "MEASURED.json")]
    measured: Vec<PathBuf>,

    /// What was modelled: `--json` of the same example on the software GPU
    #[arg(long, value_name = "FILE.json")]
    modelled: PathBuf,

    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Prints the comparison, and returns whether the model is right.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let modelled = read(&arguments.modelled, true)?;
    let measured: Result<Vec<Medians>> = arguments
        .measured
        .iter()
        .map(|path| read(path, false))
        .collect();
    let comparison = Comparison::new(&measured?, &modelled)?;
    output::line(comparison.text(arguments.markdown).trim_end());
    Ok(comparison.holds())
}

/// Longer is no median of a run, in µs.
const LONGEST_US: f64 = 1e12;

/// What is compared of a file.
struct Medians(Vec<Timed>);

/// One thing that was timed.
struct Timed {
    part: String,
    group: String,
    variant: String,
    kind: Kind,
    median_us: f64,
    /// The distance between the quartiles as a share of the median.
    spread: f64,
}

impl Medians {
    fn of(results: &Results) -> Self {
        let timed = results.timed().map(|(part, timed)| Timed {
            part: part.to_owned(),
            group: timed.group.text.clone(),
            variant: timed.variant.text.clone(),
            kind: timed.kind,
            median_us: timed.median_us(),
            spread: timed.spread(),
        });
        Self(timed.collect())
    }
}

fn read(path: &Path, modelled: bool) -> Result<Medians> {
    let usage = |why: String| UsageError(format!("{}: {why}", path.display()));
    let results = Results::read(path).map_err(|error| UsageError(error.to_string()))?;
    if results.are_modelled() != modelled {
        return Err(usage(format!("these results are {}", results.times)).into());
    }
    let medians = Medians::of(&results);
    if medians.0.is_empty() {
        return Err(usage("there are no results in it".to_owned()).into());
    }
    for timed in &medians.0 {
        let time = timed.median_us;
        if !(time > 0.0 && time < LONGEST_US) {
            let (part, variant) = (&timed.part, &timed.variant);
            return Err(usage(format!("{part}: {variant}: {time} µs is not a valid time")).into());
        }
    }
    Ok(medians)
}

/// One result of the model beside those of the device.
#[derive(Debug)]
struct Line {
    part: String,
    group: String,
    variant: String,
    kind: Kind,
    /// The least and the greatest median of all measurements, and their middle, in µs.
    least: f64,
    greatest: f64,
    middle: f64,
    /// The greatest spread, as a share.
    spread: f64,
    modelled: f64,
}

impl Line {
    fn new(modelled: &Timed, measured: &[Medians]) -> Result<Self> {
        let alike = |timed: &&Timed| {
            (&timed.part, &timed.group, &timed.variant)
                == (&modelled.part, &modelled.group, &modelled.variant)
        };
        let name = || {
            format!(
                "{}: {}: {}",
                modelled.part, modelled.group, modelled.variant
            )
        };
        let found: Result<Vec<&Timed>> = measured
            .iter()
            .map(|results| {
                let found = results.0.iter().find(alike);
                found.with_context(|| {
                    format!(
                        "{} was not measured; run both with the same options",
                        name()
                    )
                })
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
        })
    }

    fn limit(&self) -> Option<f64> {
        match self.kind {
            Kind::Makespan => Some(MAKESPAN),
            Kind::Copy => Some(COPY),
            Kind::Other => None,
        }
    }

    /// How far the model is outside of what was measured, as a share: 0 inside.
    fn outside(&self) -> f64 {
        let above = self.modelled / self.greatest - 1.0;
        let below = 1.0 - self.modelled / self.least;
        above.max(below).max(0.0)
    }

    fn is_near(&self) -> bool {
        self.limit().is_none_or(|limit| self.outside() <= limit)
    }

    /// Whether the measurement cannot tell the two apart.
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

/// All results, side by side.
struct Comparison {
    lines: Vec<Line>,
    runs: usize,
}

impl Comparison {
    fn new(measured: &[Medians], modelled: &Medians) -> Result<Self> {
        for results in measured {
            for timed in &results.0 {
                let is_modelled = |other: &Timed| {
                    (&timed.part, &timed.group, &timed.variant)
                        == (&other.part, &other.group, &other.variant)
                };
                ensure!(
                    modelled.0.iter().any(is_modelled),
                    "{}: {}: {} was not modelled; run both with the same options",
                    timed.part,
                    timed.group,
                    timed.variant
                );
            }
        }
        let lines: Result<Vec<Line>> = modelled
            .0
            .iter()
            .map(|timed| Line::new(timed, measured))
            .collect();
        Ok(Self {
            lines: lines?,
            runs: measured.len(),
        })
    }

    /// Pairs of a group that the model ranks otherwise.
    fn contradictions(&self) -> Vec<(&Line, &Line)> {
        let mut found = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
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

    /// Of each group with several variants: whether the model ranks them as the measurement does.
    fn rankings(&self) -> Vec<[String; 4]> {
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

    fn holds(&self) -> bool {
        self.lines.iter().all(Line::is_near) && self.contradictions().is_empty()
    }

    fn text(&self, markdown: bool) -> String {
        let header = [
            "part",
            "group",
            "variant",
            "measured",
            "modelled",
            "deviation",
            "",
        ];
        let rows = self.lines.iter().map(|line| {
            let judged = match (line.limit(), line.is_near()) {
                (None, _) => "not judged",
                (Some(_), true) => "ok",
                (Some(_), false) => "FAILED",
            };
            let [part, group, variant] = [&line.part, &line.group, &line.variant].map(Clone::clone);
            [
                part,
                group,
                variant,
                measured(line),
                time(line.modelled),
                format!("{:+.1} %", (line.modelled / line.middle - 1.0) * 100.0),
                judged.to_owned(),
            ]
        });
        let mut text = shown(markdown, header, rows);
        text += "\n";
        text += &shown(
            markdown,
            ["part", "group", "variants", "ranked"],
            self.rankings().into_iter(),
        );
        for (one, other) in self.contradictions() {
            let _ = writeln!(
                text,
                "FAILED: {}: {}: {} and {} are in another order",
                one.part, one.group, one.variant, other.variant
            );
        }
        let worst = |kind| {
            let of_kind = self.lines.iter().filter(|line| line.kind == kind);
            units::percent(of_kind.map(Line::outside).fold(0.0, f64::max))
        };
        let _ = writeln!(
            text,
            "\n{} results, measured {} times. Furthest outside the measured range: makespans {} (limit {}), copies {} \
             (limit {}). Pairs in another order: {}.",
            self.lines.len(),
            self.runs,
            worst(Kind::Makespan),
            units::percent(MAKESPAN),
            worst(Kind::Copy),
            units::percent(COPY),
            self.contradictions().len()
        );
        text
    }
}

fn time(microseconds: f64) -> String {
    units::time(Duration::from_secs_f64(microseconds * 1e-6))
}

/// One time, or the least and the greatest of several.
fn measured(line: &Line) -> String {
    match (time(line.least), time(line.greatest)) {
        (least, greatest) if least == greatest => least,
        (least, greatest) => format!("{least} to {greatest}"),
    }
}

/// A table for the terminal or for a page.
fn shown<const N: usize>(
    markdown: bool,
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    if markdown {
        return markdown_table(header, rows);
    }
    let mut table = Table::new(header);
    for row in rows {
        table.row(row);
    }
    format!("{table}\n")
}

fn markdown_table<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(
            text,
            "| {} |",
            row.map(|cell| cell.replace('|', "\\|")).join(" | ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(medians: &[(&str, Kind, f64, f64)]) -> Medians {
        let timed = |&(variant, kind, median_us, spread): &(&str, Kind, f64, f64)| Timed {
            part: "part".into(),
            group: "group".into(),
            variant: variant.into(),
            kind,
            median_us,
            spread,
        };
        Medians(medians.iter().map(timed).collect())
    }

    fn holds(measured: &[&[(&str, Kind, f64, f64)]], modelled: &[(&str, Kind, f64, f64)]) -> bool {
        let measured: Vec<Medians> = measured.iter().map(|medians| results(medians)).collect();
        let comparison = Comparison::new(&measured, &results(modelled)).expect("the same variants");
        assert_eq!(
            comparison.text(false).contains("FAILED"),
            !comparison.holds()
        );
        comparison.holds()
    }

    use Kind::{Copy, Makespan, Other};

    #[test]
    fn each_kind_has_its_limit() {
        for (kind, within, without) in [(Makespan, 114.0, 116.0), (Copy, 107.0, 109.0)] {
            assert!(holds(
                &[&[("a", kind, 100.0, 0.0)]],
                &[("a", kind, within, 0.0)]
            ));
            assert!(!holds(
                &[&[("a", kind, 100.0, 0.0)]],
                &[("a", kind, without, 0.0)]
            ));
        }
        assert!(!holds(
            &[&[("a", Makespan, 100.0, 0.0)]],
            &[("a", Makespan, 84.0, 0.0)]
        ));
        assert!(holds(
            &[&[("a", Other, 100.0, 0.0)]],
            &[("a", Other, 300.0, 0.0)]
        ));
    }

    #[test]
    fn a_model_between_two_measurements_is_right() {
        let leases: [&[_]; 2] = [&[("a", Copy, 100.0, 0.0)], &[("a", Copy, 200.0, 0.0)]];
        assert!(holds(&leases, &[("a", Copy, 150.0, 0.0)]));
        assert!(holds(&leases, &[("a", Copy, 215.0, 0.0)]));
        assert!(!holds(&leases, &[("a", Copy, 220.0, 0.0)]));
    }

    #[test]
    fn another_ranking_is_wrong_unless_the_measurement_ties() {
        let measured = |spread| {
            [
                ("a", Makespan, 100.0, spread),
                ("b", Makespan, 105.0, spread),
            ]
        };
        let modelled = [("a", Makespan, 104.0, 0.0), ("b", Makespan, 103.0, 0.0)];
        assert!(!holds(&[&measured(0.01)], &modelled));
        assert!(holds(&[&measured(0.03)], &modelled));
        assert!(holds(&[&measured(0.01)], &measured(0.0)));
    }

    #[test]
    fn other_variants_cannot_be_compared() {
        let measured = [results(&[("a", Makespan, 1.0, 0.0)])];
        let modelled = results(&[("b", Makespan, 1.0, 0.0)]);
        assert!(Comparison::new(&measured, &modelled).is_err());
        let more = results(&[("a", Makespan, 1.0, 0.0), ("b", Makespan, 1.0, 0.0)]);
        assert!(Comparison::new(&measured, &more).is_err());
    }

    #[test]
    fn markdown_has_a_row_for_each_result() {
        let measured = [results(&[("a|b", Makespan, 1000.0, 0.0)])];
        let modelled = results(&[("a|b", Makespan, 1100.0, 0.0)]);
        let text = Comparison::new(&measured, &modelled)
            .expect("alike")
            .text(true);
        assert!(
            text.contains("| part | group | a\\|b | 1.00 ms | 1.10 ms | +10.0 % | ok |"),
            "{text}"
        );
    }
}

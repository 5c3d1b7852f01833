//! `report`: the results of a run as one HTML page and as Markdown.

mod html;
mod markdown;

use crate::compare::single;
use crate::expectations::{self, Judgement, RunComparison};
use crate::folder::{self, Summary};
use crate::targets::Targets;
use anyhow::Result;
use chapter_results::Results;
use chapter_results::label::Label;
use chapter_results::new_file::NewFile;
use chapter_results::part::PartResults;
use chapter_terminal::Exit;
use chapter_terminal::UsageError;
use chapter_terminal::output;
use std::fs;
use std::iter;
use std::path::PathBuf;

/// The reported results, and their destination.
#[derive(clap::Args)]
pub struct ReportArguments {
    /// A result folder of `run`; by default that of the last run
    folder: Option<PathBuf>,

    /// The folder for `report.html` and `report.md`; by default that of the results
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// The folder of expectations; by default `expectations` in the workspace, or beside this program
    #[arg(long, value_name = "FOLDER")]
    expectations: Option<PathBuf>,
}

/// Writes it.
pub fn run(arguments: &ReportArguments) -> Result<Exit> {
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => Targets::find()?.results(),
    };
    let (summary, results) = folder::read(&folder)?;
    let usual = || Targets::find().map_or_else(|_| "expectations".into(), |t| t.expectations());
    let expected = arguments.expectations.clone().unwrap_or_else(usual);
    let outcome = expectations::check(&results, &expected)?;
    let report = ChapterReport {
        summary: &summary,
        results: &results,
        outcome: &outcome,
    };
    let out = arguments.out.clone().unwrap_or(folder);
    let refused = |error| {
        UsageError(format!(
            "--out {}: cannot create it: {error}",
            out.display()
        ))
    };
    fs::create_dir_all(&out).map_err(refused)?;
    let page = NewFile::create("--out", out.join("report.html")).map_err(UsageError::from)?;
    let text = NewFile::create("--out", out.join("report.md")).map_err(UsageError::from)?;
    let page = page.write(|file| Ok(file.write_all(html::page(&report).as_bytes())?))?;
    let text = text.write(|file| Ok(file.write_all(markdown::text(&report).as_bytes())?))?;
    output::line(format!(
        "wrote {}\nwrote {}",
        page.display(),
        text.display()
    ));
    Ok(Exit::LessonHolds)
}

/// The contents of both forms.
struct ChapterReport<'a> {
    summary: &'a Summary,
    results: &'a [Results],
    outcome: &'a RunComparison,
}

impl ChapterReport<'_> {
    /// The results of a target, with what can be said of its parts.
    fn target(&self, name: &str) -> Option<(&Results, Vec<&Judgement>)> {
        let place = self.results.iter().position(|one| one.example == name)?;
        let judged = self.outcome.targets.get(place)?;
        let judgements = judged.parts.iter().map(|(_, judgement)| judgement);
        Some((self.results.get(place)?, judgements.collect()))
    }

    /// How many parts hold, how many do not, how many were skipped, and how many targets left no results behind.
    fn tally(&self) -> String {
        let parts = || self.results.iter().flat_map(|one| &one.parts);
        let holding = parts().filter(|part| part.holds).count();
        let failing = parts().count() - holding;
        let skipped: usize = self.summary.targets.iter().map(|t| t.skipped.len()).sum();
        let broken = self.summary.targets.iter().filter(|t| t.error.is_some());
        let words = |count: usize, [one, many]: [&str; 2]| {
            let what = if count == 1 { one } else { many };
            format!("{count} {what}")
        };
        let hold = ["part holds", "parts hold"];
        let others = [
            (failing, ["part does NOT hold", "parts do NOT hold"]),
            (
                broken.count(),
                ["target left NO results", "targets left NO results"],
            ),
            (skipped, ["part skipped", "parts skipped"]),
        ];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, what)| words(count, what));
        let words: Vec<String> = iter::once(words(holding, hold)).chain(others).collect();
        words.join(", ")
    }

    /// What the columns mean, and the star beside a time if one has it.
    fn legend(&self) -> impl Iterator<Item = &'static str> {
        let star = crate::compare::star_note(self.results);
        iter::once(LEGEND).chain(star)
    }

    /// The devices that the results name, with where their times come from.
    fn devices(&self) -> Vec<String> {
        let mut devices: Vec<String> = Vec::new();
        for one in self.results {
            let device = format!("{}: times are {}", one.device, one.times);
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        devices
    }
}

/// The titles of a table of figures.
const TITLES: [&str; 6] = [
    "variant", "median", "spread", "bound", "of bound", "speed-up",
];

/// The rows of the table of a group.
fn rows(part: &PartResults) -> Vec<(&Label, Vec<[String; 6]>)> {
    let groups = crate::compare::groups(part).into_iter();
    let groups = groups.map(|(group, members)| {
        let bound = single::bound(part, &group.id);
        let row = |timed: &&chapter_results::part::Timed| {
            let [median, spread, bound, share, ratio] = single::cells(timed, &members, bound, "");
            [
                timed.variant.to_string(),
                median,
                spread,
                bound,
                share,
                ratio,
            ]
        };
        (group, members.iter().map(row).collect())
    });
    groups.collect()
}

/// For each group with several variants, which one was the fastest, by how much, and how near it came to the bound.
fn take_aways(part: &PartResults) -> Vec<String> {
    let groups = crate::compare::groups(part).into_iter();
    let groups = groups.filter(|(_, members)| members.len() > 1);
    let lines = groups.filter_map(|(group, members)| {
        let fastest = members
            .iter()
            .min_by(|a, b| a.median_us().total_cmp(&b.median_us()))?;
        let bound = single::bound(part, &group.id);
        let [median, _, _, share, ratio] = single::cells(fastest, &members, bound, "");
        let first = members.first()?;
        let faster = match first.variant == fastest.variant {
            true => String::new(),
            false => {
                let times = ratio.trim_end_matches('x');
                format!(", {times} times as fast as {}", first.variant)
            }
        };
        let near = match bound {
            Some(_) => format!("; the bound is {share} of that"),
            None => String::new(),
        };
        let variant = &fastest.variant;
        Some(format!(
            "{group}: the fastest is {variant} with {median}{faster}{near}."
        ))
    });
    lines.collect()
}

/// What the columns mean.
const LEGEND: &str = "spread: the distance between the quartiles, as a share of the median; bound: the shortest time that any schedule \
                      could take, computed from stages measured alone; speed-up: the first variant's time divided by this one's.";

#[cfg(test)]
mod tests;

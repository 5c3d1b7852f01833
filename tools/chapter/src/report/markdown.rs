//! The same in Markdown, with charts in letters.

use super::{ChapterReport, TITLES, rows, take_aways};
use crate::expectations::Judgement;
use crate::folder::TargetSummary;
use chapter_results::intervals::Recording;
use chapter_results::part::{Claim, PartResults};
use chapter_terminal::gantt::{Gantt, Rows};

/// The text. Text from results is escaped.
pub fn text(report: &ChapterReport<'_>) -> String {
    let mut lines = vec!["# The lessons' results".to_owned(), String::new()];
    lines.push(escape(&report.summary.device));
    for device in report.devices() {
        lines.extend([String::new(), format!("{}.", escape(&device))]);
    }
    lines.extend([String::new(), format!("**{}.**", report.tally())]);
    for summary in &report.summary.targets {
        target(&mut lines, report, summary);
    }
    for line in report.legend() {
        lines.extend([String::new(), escape(line)]);
    }
    lines.push(String::new());
    lines.join("\n")
}

fn target(lines: &mut Vec<String>, report: &ChapterReport<'_>, summary: &TargetSummary) {
    lines.extend([String::new(), format!("## {}", escape(&summary.name))]);
    if let Some((results, judgements)) = report.target(&summary.name) {
        for (one, judgement) in results.parts.iter().zip(judgements) {
            part(lines, one, judgement);
        }
        if !results.reports.is_empty() {
            lines.extend([String::new(), "### Found by the checkers".to_owned()]);
        }
        for text in &results.reports {
            code(lines, text);
        }
    }
    for skipped in &summary.skipped {
        let (part, lacking) = (escape(&skipped.part), escape(&skipped.lacking));
        let line = format!("{part}: skipped, the device lacks {lacking}");
        lines.extend([String::new(), line]);
    }
    if let Some(error) = &summary.error {
        lines.extend([
            String::new(),
            "**FAILED**: it left no results behind.".to_owned(),
        ]);
        code(lines, error);
    }
}

fn part(lines: &mut Vec<String>, part: &PartResults, judgement: &Judgement) {
    let heading = format!("### {}: {}", escape(&part.name), verdict(part.holds));
    lines.extend([
        String::new(),
        heading,
        String::new(),
        escape(&part.question),
        String::new(),
    ]);
    for line in take_aways(part) {
        lines.extend([format!("**{}**", escape(&line)), String::new()]);
    }
    for claim in &part.claims {
        let [sentence, found, limit] =
            [&claim.sentence, &claim.found, &claim.limit].map(|text| escape(text));
        let verdict = claimed(claim);
        lines.push(format!("- {verdict}: {sentence}: {found} ({limit})"));
    }
    for (group, rows) in rows(part) {
        lines.extend([
            String::new(),
            format!("{}:", escape(&group.text)),
            String::new(),
        ]);
        lines.push(row(TITLES.map(str::to_owned)));
        lines.push("|---|---:|---:|---:|---:|---:|".to_owned());
        lines.extend(rows.into_iter().map(row));
    }
    let status = format!("Expectations: {}", escape(&judgement.to_string()));
    lines.extend([String::new(), status]);
    if !judgement.differences().is_empty() {
        lines.push(String::new());
    }
    for difference in judgement.differences() {
        lines.push(format!("- {}", escape(&difference.to_string())));
    }
    for timeline in &part.timelines {
        let chart = Gantt::new(&timeline.recording, chart_rows(&timeline.recording));
        code(lines, &format!("{}\n{chart}", timeline.variant));
    }
}

/// Engines, unless all that ran was of one engine in several streams: then one row would say nothing.
fn chart_rows(recording: &Recording) -> Rows {
    let mut engines = recording.intervals.iter().map(|interval| interval.engine);
    let first = engines.next();
    if engines.all(|engine| Some(engine) == first) && recording.streams().len() > 1 {
        Rows::Streams
    } else {
        Rows::Engines
    }
}

fn verdict(holds: bool) -> &'static str {
    if holds { "ok" } else { "**FAILED**" }
}

fn claimed(claim: &Claim) -> String {
    match claim.not_judged() {
        None => verdict(claim.holds).to_owned(),
        Some(why) => format!("not judged ({})", escape(why)),
    }
}

fn row(cells: [String; 6]) -> String {
    format!("| {} |", cells.map(|cell| escape(&cell)).join(" | "))
}

/// A block of text as it is, between fences longer than any run of backquotes in it.
fn code(lines: &mut Vec<String>, text: &str) {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    lines.extend([String::new(), format!("{fence}text")]);
    lines.extend(text.lines().map(str::to_owned));
    lines.push(fence);
}

/// Text on one line in which no sign means anything.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

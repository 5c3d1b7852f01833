//! The HTML page: it needs no other file, no network and no script, and follows the reader's choice of light or dark.

use super::{ChapterReport, TITLES, rows, take_aways};
use crate::expectations::Judgement;
use crate::folder::TargetSummary;
use chapter_results::part::{Claim, PartResults};
use chapter_timeline::svg::{self, Chart, Form};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The page. Text from results is escaped.
pub fn page(report: &ChapterReport<'_>) -> String {
    let title = "The lessons' results";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                main {
                    h1 { (title) }
                    p { (report.summary.device) }
                    @for device in report.devices() { p { (device) "." } }
                    p { strong { (report.tally()) } "." }
                    (overview(report))
                    @for summary in &report.summary.targets { (target(report, summary)) }
                    @for line in report.legend() { p.quiet { (line) } }
                }
            }
        }
    };
    page.into_string()
}

/// A line for each part, with a link to it.
fn overview(report: &ChapterReport<'_>) -> Markup {
    html! {
        div.wide { table {
            thead { tr { th { "target" } th { "part" } th { "lesson" } th { "expectations" } } }
            tbody {
                @for summary in &report.summary.targets {
                    @if let Some((results, judgements)) = report.target(&summary.name) {
                        @for (part, judgement) in results.parts.iter().zip(judgements) {
                            tr {
                                td { (summary.name) }
                                td { a href={ "#" (anchor(&summary.name, &part.name)) } { (part.name) } }
                                td { (verdict(part.holds)) }
                                td { (status(judgement)) }
                            }
                        }
                    }
                    @if let Some(error) = &summary.error {
                        tr { td { (summary.name) } td {} td { (verdict(false)) } td { (error) } }
                    }
                    @for skipped in &summary.skipped {
                        tr {
                            td { (summary.name) }
                            td { (skipped.part) }
                            td { "skipped" }
                            td { "the device lacks " (skipped.lacking) }
                        }
                    }
                }
            }
        } }
    }
}

fn target(report: &ChapterReport<'_>, summary: &TargetSummary) -> Markup {
    html! {
        section {
            h2 { (summary.name) }
            @if let Some((results, judgements)) = report.target(&summary.name) {
                @for (one, judgement) in results.parts.iter().zip(judgements) {
                    (part(&summary.name, one, judgement))
                }
                @if !results.reports.is_empty() {
                    h3 { "Found by the checkers" }
                    @for text in &results.reports { pre { (text) } }
                }
            }
            @if let Some(error) = &summary.error { pre { (error) } }
        }
    }
}

fn part(target: &str, part: &PartResults, judgement: &Judgement) -> Markup {
    html! {
        article id=(anchor(target, &part.name)) {
            h3 { (part.name) " " (verdict(part.holds)) }
            p { (part.question) }
            @if !part.prediction.is_empty() { p { "Prediction: " (part.prediction) } }
            @if !part.take_away.is_empty() { p { strong { (part.take_away) } } }
            @for line in take_aways(part) { p { strong { (line) } } }
            ul.claims { @for claim in &part.claims {
                li {
                    (claimed(claim)) " " (claim.sentence) ": " (claim.found)
                    " " span.quiet { "(" (claim.limit) ")" }
                }
            } }
            @for (group, rows) in rows(part) {
                div.wide { table {
                    caption { (group.text) }
                    thead { tr { @for title in TITLES { th { (title) } } } }
                    tbody { @for row in rows { tr {
                        @for (title, cell) in TITLES.iter().zip(row) { td data-title=(title) { (cell) } }
                    } } }
                } }
            }
            p { "Expectations: " (status(judgement)) }
            @if !judgement.differences().is_empty() {
                ul { @for difference in judgement.differences() { li { (difference.to_string()) } } }
            }
            @if !part.timelines.is_empty() { (picture(part)) }
        }
    }
}

/// All timelines of a part on one scale.
fn picture(part: &PartResults) -> Markup {
    let charts = part.timelines.iter().map(|timeline| Chart {
        title: &timeline.variant.text,
        recording: &timeline.recording,
    });
    let charts: Vec<_> = charts.collect();
    html! {
        details open {
            summary { "Timelines, on one scale" }
            div.wide { (PreEscaped(svg::draw(&charts, Form::Whole))) }
        }
    }
}

fn verdict(holds: bool) -> Markup {
    if holds {
        html! { span.ok { "ok" } }
    } else {
        html! { strong.failed { "FAILED" } }
    }
}

fn claimed(claim: &Claim) -> Markup {
    match claim.not_judged() {
        None => verdict(claim.holds),
        Some(why) => html! { "not judged (" (why) ")" },
    }
}

fn status(judgement: &Judgement) -> Markup {
    let regressed = judgement.regressions().next().is_some();
    html! { span.failed[regressed] { (judgement.to_string()) } }
}

/// The id of a part's section.
fn anchor(target: &str, part: &str) -> String {
    format!("{target}-{part}")
}

//! Timelines as a page: one HTML file that needs nothing else, not even a network.
//!
//! The page draws what it is given; where things stand in their rows, and when engines overlap, is found out here.

use crate::figure::{Drawn, Figure};
use crate::overlap::overlapped;
use crate::rows::{Kind, rows};
use crate::{class, summary};
use chapter_results::Results;
use chapter_results::intervals::{Recording, Span};
use serde::Serialize;

/// What the page knows.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    notes: &'a [String],
    figures: Vec<PageFigure<'a>>,
}

#[derive(Serialize)]
struct PageFigure<'a> {
    part: &'a str,
    question: &'a str,
    variant: &'a str,
    charts: Vec<PageChart<'a>>,
}

#[derive(Serialize)]
struct PageChart<'a> {
    label: &'a str,
    summary: String,
    rows: Vec<PageRow>,
    operations: Vec<Operation<'a>>,
    /// Name, thread, start, end.
    ranges: Vec<(&'a str, &'a str, u64, u64)>,
    dependencies: Vec<(usize, usize)>,
    overlap: Vec<(u64, u64)>,
    findings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct PageRow {
    /// `engine`, `stream` or `host`.
    kind: &'static str,
    name: String,
    /// The operations, in a host thread's row the ranges, of each lane in order of their starts.
    lanes: Vec<Vec<usize>>,
}

/// Name, stream, engine, colour, start, end, bytes.
type Operation<'a> = (&'a str, &'a str, String, &'static str, u64, u64, u64);

#[derive(Serialize)]
struct Finding<'a> {
    text: &'a str,
    operations: &'a [usize],
}

/// The page of these figures. `title` says what ran; `notes` are the lines below it, such as the devices.
pub fn page(title: &str, notes: &[String], figures: &[Figure<'_>]) -> String {
    let page = Page {
        title,
        notes,
        figures: figures.iter().map(figure).collect(),
    };
    // Text and numbers: nothing in it can fail to become JSON.
    let data = serde_json::to_string(&page).unwrap_or_default();
    assemble(title, &data)
}

/// Where a file's times come from and on what it ran, in a line.
pub fn device_note(results: &Results) -> String {
    format!("{}: {}", results.times, results.device)
}

/// The page's text. Within a script's element only `<` can end it or open a comment, and in JSON it stands in strings alone,
/// where it can be written otherwise.
fn assemble(title: &str, data: &str) -> String {
    let data = data.replace('<', "\\u003c");
    let parts = [
        ("TITLE", crate::svg::escape(title)),
        (
            "STYLE",
            [
                include_str!("assets/palette.css"),
                include_str!("assets/page.css"),
            ]
            .concat(),
        ),
        ("SCRIPT", SCRIPTS.concat()),
        // Last, for what it holds is not looked at any more.
        ("DATA", data),
    ];
    let mut page = String::new();
    let mut rest = include_str!("assets/page.html");
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let part = parts.iter().find(|(part, _)| *part == name);
        page.push_str(part.map_or("", |(_, text)| text.as_str()));
        rest = after;
    }
    page.push_str(rest);
    page
}

/// The page's program.
const SCRIPTS: [&str; 5] = [
    include_str!("assets/units.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/paint.js"),
    include_str!("assets/input.js"),
    include_str!("assets/page.js"),
];

fn figure<'a>(figure: &'a Figure<'_>) -> PageFigure<'a> {
    PageFigure {
        part: figure.part,
        question: figure.question,
        variant: &figure.variant,
        charts: figure.drawn.iter().map(chart).collect(),
    }
}

fn chart<'a>(drawn: &'a Drawn<'_>) -> PageChart<'a> {
    let recording = drawn.recording;
    let ends = |span: &Span| (span.start, span.end);
    PageChart {
        label: &drawn.label,
        summary: summary(recording),
        rows: page_rows(recording),
        operations: recording
            .intervals
            .iter()
            .map(|i| {
                let engine = i.engine.to_string();
                (
                    i.name.as_str(),
                    i.stream.as_str(),
                    engine,
                    class(i.engine),
                    i.span.start,
                    i.span.end,
                    i.bytes,
                )
            })
            .collect(),
        ranges: recording
            .ranges
            .iter()
            .map(|r| (r.name.as_str(), r.thread.as_str(), r.span.start, r.span.end))
            .collect(),
        dependencies: recording
            .dependencies
            .iter()
            .map(|d| (d.from, d.to))
            .collect(),
        overlap: overlapped(recording).iter().map(ends).collect(),
        findings: recording
            .findings
            .iter()
            .map(|f| Finding {
                text: &f.text,
                operations: &f.intervals,
            })
            .collect(),
    }
}

fn page_rows(recording: &Recording) -> Vec<PageRow> {
    let rows = rows(recording).into_iter().map(|row| {
        let mut lanes = vec![Vec::new(); row.lanes];
        for place in &row.places {
            lanes[place.lane].push(place.index);
        }
        let kind = match row.kind {
            Kind::Engine(_) => "engine",
            Kind::Stream => "stream",
            Kind::Thread => "host",
        };
        PageRow {
            kind,
            name: row.name,
            lanes,
        }
    });
    rows.collect()
}

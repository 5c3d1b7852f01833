//! Timelines as a page: one HTML file that needs nothing else, not even a network.
//!
//! The page draws what it is given; where things stand in their rows, and when engines overlap, is found out here.

mod gaps;
mod packed;

use crate::analysis::facts::{Facts, legacy_barriers};
use crate::critical::{self, PathStep};
use crate::figure::{Drawn, VariantFigure};
use crate::overlap::overlapped;
use crate::{class, summary};
use chapter_results::Results;
use chapter_results::intervals::{Engine, Interval, Recording, Span, total};
use chapter_results::units;
use chapter_trace::rows::{Kind, rows};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// The data of the page.
#[derive(Serialize)]
struct HtmlPage<'a> {
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
    /// How near the run came to the bound, and how much of it its critical path is.
    path: String,
    /// The shortest time that any schedule could take, if it is known.
    bound: Option<f64>,
    rows: Vec<PageRow>,
    operations: Vec<OperationRow<'a>>,
    /// Name, thread, start, end.
    ranges: Vec<(&'a str, &'a str, u64, u64)>,
    calls: Vec<CallRow<'a>>,
    dependencies: Vec<(usize, usize)>,
    overlap: Vec<(u64, u64)>,
    /// When the legacy default stream held the blocking streams up.
    barriers: Vec<(u64, u64)>,
    /// The critical path: operations, and why each follows the one before it.
    critical: Vec<(usize, &'static str)>,
    findings: Vec<FindingRow<'a>>,
    gaps: Option<gaps::PageGaps>,
}

#[derive(Serialize)]
struct PageRow {
    /// `engine`, `stream`, `phases` or `calls`.
    kind: &'static str,
    name: String,
    /// The operations, in a host thread's rows the ranges or the calls, of each lane in order of their starts.
    lanes: Vec<Vec<usize>>,
}

/// Name, stream, engine, colour, start, end, bytes, number; the number is 0 where there is one operation of its kind.
type OperationRow<'a> = (&'a str, &'a str, String, &'static str, u64, u64, u64, usize);

#[derive(Serialize)]
struct CallRow<'a> {
    name: &'a str,
    thread: &'a str,
    start: i64,
    end: i64,
    stream: Option<&'a str>,
    /// The operation that it enqueued.
    enqueued: Option<i64>,
    /// Whether the host waits in it.
    waits: bool,
    /// The operation whose end let the host continue.
    released_by: Option<usize>,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    text: &'a str,
    operations: &'a [usize],
}

/// The page of these figures. `title` says what ran; `notes` are the lines below it, such as the devices.
pub fn page(title: &str, notes: &[String], figures: &[VariantFigure<'_>]) -> String {
    let mut page = HtmlPage {
        title,
        notes,
        figures: figures.iter().map(figure).collect(),
    };
    let charts = page.figures.iter_mut().flat_map(|own| &mut own.charts);
    let mut charts: Vec<&mut PageChart<'_>> = charts.collect();
    let is_large = packed::are_many(charts.iter().map(|chart| chart.operations.len()).sum());
    if is_large {
        charts
            .iter_mut()
            .for_each(|chart| packed::make_differences(chart));
    }
    // Text and numbers: nothing in it can fail to become JSON.
    let data = serde_json::to_string(&page).unwrap_or_default();
    match is_large {
        true => assemble(title, "application/gzip", &packed::packed(&data)),
        false => assemble(title, "application/json", &data),
    }
}

/// Where a file's times come from and on what it ran, in a line.
pub fn device_note(results: &Results) -> String {
    format!("{}: {}", results.times, results.device)
}

/// The page's text. Within a script's element only `<` can end it or open a comment, and in JSON it stands in strings alone,
/// where it can be written otherwise.
fn assemble(title: &str, form: &str, data: &str) -> String {
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
        ("FORM", form.to_owned()),
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
const SCRIPTS: [&str; 13] = [
    include_str!("assets/unpack.js"),
    include_str!("assets/units.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/facts.js"),
    include_str!("assets/paint.js"),
    include_str!("assets/marks.js"),
    include_str!("assets/view.js"),
    include_str!("assets/measure.js"),
    include_str!("assets/minimap.js"),
    include_str!("assets/legend.js"),
    include_str!("assets/lists.js"),
    include_str!("assets/input.js"),
    include_str!("assets/page.js"),
];

fn figure<'a>(figure: &'a VariantFigure<'_>) -> PageFigure<'a> {
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
    let critical = critical::path(recording);
    let facts = match drawn.facts {
        Some(facts) => Cow::Borrowed(facts),
        None => Cow::Owned(Facts::of(recording)),
    };
    PageChart {
        label: &drawn.label,
        summary: summary(recording),
        gaps: gaps::gaps(recording, &facts),
        path: path_text(drawn, &critical),
        bound: drawn.bound_us.map(|us| us * 1e3),
        rows: page_rows(recording),
        operations: operations(recording),
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
        calls: calls(recording),
        overlap: overlapped(recording).iter().map(ends).collect(),
        barriers: legacy_barriers(recording).iter().map(ends).collect(),
        critical: critical
            .iter()
            .map(|step| (step.place, step.why.map_or("", critical::Why::text)))
            .collect(),
        findings: recording
            .findings
            .iter()
            .map(|f| FindingRow {
                text: &f.text,
                operations: &f.intervals,
            })
            .collect(),
    }
}

fn path_text(drawn: &Drawn<'_>, critical: &[PathStep]) -> String {
    let whole = drawn.recording.makespan();
    let mut text = String::new();
    if let Some(us) = drawn.bound_us {
        let bound = Duration::from_nanos((us * 1e3).round() as u64);
        let share = units::percent(bound.as_secs_f64() / whole.as_secs_f64().max(1e-9));
        text = format!("The bound is {}, {share} of this run. ", units::time(bound));
    }
    let intervals = &drawn.recording.intervals;
    let busy = critical.iter().map(|step| intervals[step.place].span);
    let busy = total(&busy.collect::<Vec<_>>());
    let operations = match critical.len() {
        1 => "one operation, which runs".to_owned(),
        count => format!("{count} operations, which run"),
    };
    let (busy, whole) = (units::time(busy), units::time(whole));
    text + &format!("The critical path has {operations} for {busy} of {whole}.")
}

fn operations(recording: &Recording) -> Vec<OperationRow<'_>> {
    fn kind(i: &Interval) -> (&str, Engine, &str) {
        (&i.stream, i.engine, &i.name)
    }
    let mut kinds: BTreeMap<_, usize> = BTreeMap::new();
    for interval in &recording.intervals {
        *kinds.entry(kind(interval)).or_default() += 1;
    }
    let numbered = recording.intervals.iter().zip(recording.numbers());
    let operations = numbered.map(|(i, number)| {
        let alone = kinds.get(&kind(i)) == Some(&1);
        (
            i.name.as_str(),
            i.stream.as_str(),
            i.engine.to_string(),
            class(i.engine),
            i.span.start,
            i.span.end,
            i.bytes,
            if alone { 0 } else { number },
        )
    });
    operations.collect()
}

fn calls(recording: &Recording) -> Vec<CallRow<'_>> {
    let released = critical::released_by(recording);
    let calls = recording.calls.iter().zip(released);
    let calls = calls.map(|(call, released_by)| CallRow {
        name: &call.name,
        thread: &call.thread,
        start: call.span.start,
        end: call.span.end,
        stream: call.stream.as_deref(),
        enqueued: call.interval.and_then(|place| i64::try_from(place).ok()),
        waits: call.waits(),
        released_by,
    });
    calls.collect()
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
            Kind::Thread => "phases",
            Kind::Calls => "calls",
        };
        PageRow {
            kind,
            name: row.name,
            lanes,
        }
    });
    rows.collect()
}

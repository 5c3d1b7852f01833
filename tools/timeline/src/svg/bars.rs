//! What ran, as bars in their rows.

use super::layout::{self, Frame, Stand};
use super::text::{escape, number, titled, width};
use crate::class;
use chapter_results::intervals::{Recording, Span};
use chapter_results::units;
use chapter_trace::rows::{ChartRow, Kind};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

/// The least width at which a thing is drawn alone; narrower neighbours become one.
const NARROW: f64 = 1.0;

/// Where an operation stands in its stream's row.
#[derive(Clone, Copy, Default)]
pub struct Bar {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// Neighbours that are too narrow to be seen alone.
struct Crowd {
    bar: Bar,
    count: usize,
    class: &'static str,
    /// The title of the first.
    title: String,
}

/// A thing to be drawn.
struct Thing<'a> {
    span: Span,
    class: &'static str,
    name: &'a str,
    /// All that is known of it.
    title: String,
}

/// Draws all rows; returns where the operations stand.
pub fn draw(out: &mut String, frame: &Frame, recording: &Recording, stands: &[Stand]) -> Vec<Bar> {
    let found = recording
        .findings
        .iter()
        .flat_map(|finding| &finding.intervals);
    let marked: BTreeSet<usize> = found.copied().collect();
    let mut bars = vec![Bar::default(); recording.intervals.len()];
    for stand in stands {
        let row = &stand.row;
        let edges = |lane: usize| {
            let top = stand.top + 1.0 + stand.lane * lane as f64;
            (top, top + layout::bar(stand.lane))
        };
        let mut crowds: Vec<Option<Crowd>> = (0..row.lanes).map(|_| None).collect();
        for place in &row.places {
            let thing = describe(recording, row, place.index);
            let (left, right) = (frame.x(thing.span.start), frame.x(thing.span.end));
            let (top, bottom) = edges(place.lane);
            let bar = Bar {
                left,
                right,
                top,
                bottom,
            };
            let in_stream = row.kind == Kind::Stream;
            let alone = right - left >= NARROW || in_stream && marked.contains(&place.index);
            if in_stream {
                bars[place.index] = bar;
            }
            let crowd = &mut crowds[place.lane];
            if alone {
                flush(out, crowd);
                single(out, row, &thing, bar);
            } else {
                gather(out, crowd, &thing, bar);
            }
        }
        for crowd in &mut crowds {
            flush(out, crowd);
        }
    }
    bars
}

/// One bar, with its name where there is room.
fn single(out: &mut String, row: &ChartRow, thing: &Thing<'_>, bar: Bar) {
    let Bar {
        left,
        right,
        top,
        bottom,
    } = bar;
    // Neighbours that touch stay apart to the eye.
    let apart = if right - left > 4.0 { 1.0 } else { 0.0 };
    let wide = (right - left - apart).max(0.6);
    titled(
        out,
        thing.class,
        left,
        top,
        wide,
        bottom - top,
        &thing.title,
    );
    if bottom - top >= 13.0 && width(thing.name) + 4.0 <= wide {
        let style = if row.kind == Kind::Thread {
            "phase"
        } else {
            "in"
        };
        let _ = writeln!(
            out,
            "<text class=\"{style}\" x=\"{}\" y=\"{}\">{}</text>",
            number(left + 4.0),
            number((top + bottom) / 2.0 + 4.0),
            escape(thing.name)
        );
    }
}

/// Joins a narrow thing to those before it, unless it stands apart or has another colour.
fn gather(out: &mut String, crowd: &mut Option<Crowd>, thing: &Thing<'_>, bar: Bar) {
    match crowd {
        Some(crowd) if bar.left - crowd.bar.right < 0.5 && crowd.class == thing.class => {
            crowd.bar.right = bar.right;
            crowd.count += 1;
        }
        _ => {
            flush(out, crowd);
            *crowd = Some(Crowd {
                bar,
                count: 1,
                class: thing.class,
                title: thing.title.clone(),
            });
        }
    }
}

fn flush(out: &mut String, crowd: &mut Option<Crowd>) {
    if let Some(Crowd {
        bar,
        count,
        class,
        title,
    }) = crowd.take()
    {
        let title = match count {
            1 => title,
            _ => format!("{count} short operations"),
        };
        let wide = (bar.right - bar.left).max(0.6);
        titled(
            out,
            class,
            bar.left,
            bar.top,
            wide,
            bar.bottom - bar.top,
            &title,
        );
    }
}

fn describe<'a>(recording: &'a Recording, row: &ChartRow, index: usize) -> Thing<'a> {
    let time = |nanoseconds| units::time(Duration::from_nanos(nanoseconds));
    let when = |span: Span| {
        let (start, long) = (time(span.start), time(span.nanoseconds()));
        format!("at {start}, for {long}")
    };
    if row.kind == Kind::Thread {
        let range = &recording.ranges[index];
        let when = when(range.span);
        return Thing {
            span: range.span,
            class: "range",
            name: &range.name,
            title: format!("{}\nhost thread {}\n{when}", range.name, range.thread),
        };
    }
    let interval = &recording.intervals[index];
    let mut title = format!(
        "{}\n{}, stream {}\n{}",
        interval.name,
        interval.engine,
        interval.stream,
        when(interval.span)
    );
    if let Some(bandwidth) = interval.bandwidth() {
        let _ = write!(title, "\n{}, {bandwidth}", units::bytes(interval.bytes));
    }
    Thing {
        span: interval.span,
        class: class(interval.engine),
        name: &interval.name,
        title,
    }
}

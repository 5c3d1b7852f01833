//! One recording of a picture.

use super::layout::{self, Frame, MARGIN};
use super::text::{escape, number, rect, shortened};
use super::{Chart, bars, marks};
use crate::axis;
use crate::overlap::overlapped;
use crate::rows::{Kind, Row, rows};
use crate::summary;
use chapter_results::intervals::{Recording, Span};
use std::fmt::Write;

/// Distance between rows.
const GAP: f64 = 3.0;

/// Draws the chart from `y` downwards; returns where it ends.
pub fn draw(out: &mut String, frame: &Frame, chart: &Chart<'_>, y: f64) -> f64 {
    let recording = chart.recording;
    let _ = writeln!(
        out,
        "<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>",
        number(MARGIN),
        number(y + 12.0),
        escape(&shortened(chart.title, 820.0))
    );
    let _ = writeln!(
        out,
        "<text class=\"quiet\" x=\"{}\" y=\"{}\">{}</text>",
        number(MARGIN),
        number(y + 29.0),
        escape(&shortened(&summary(recording), 960.0))
    );
    let top = y + 40.0;
    if recording.intervals.is_empty() {
        return top + 6.0;
    }
    let rows = rows(recording);
    let (tops, bottom) = positions(&rows, top);
    backgrounds(out, frame, recording, &rows, &tops, top, bottom);
    let bars = bars::draw(out, frame, recording, &rows, &tops);
    marks::arrows(out, recording, &bars);
    marks::flags(out, recording, &bars);
    marks::reports(out, recording, bottom + 36.0)
}

/// The rows' tops, and the bottom of the last. A group of rows begins with its heading.
fn positions(rows: &[Row], top: f64) -> (Vec<f64>, f64) {
    let mut y = top;
    let mut tops = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        if heading(rows, i).is_some() {
            y += if i == 0 { 14.0 } else { 20.0 };
        }
        tops.push(y);
        y += layout::height(row) + GAP;
    }
    (tops, y)
}

/// The heading above a row that is the first of its kind.
fn heading(rows: &[Row], i: usize) -> Option<&'static str> {
    let heading = |row: &Row| match row.kind {
        Kind::Engine(_) => "engines",
        Kind::Stream => "streams",
        Kind::Thread => "host",
    };
    let own = heading(&rows[i]);
    (i == 0 || heading(&rows[i - 1]) != own).then_some(own)
}

/// Everything that lies under the bars: labels, rows, the shade of overlap, the axis.
fn backgrounds(
    out: &mut String,
    frame: &Frame,
    recording: &Recording,
    rows: &[Row],
    tops: &[f64],
    top: f64,
    bottom: f64,
) {
    for (i, (row, &y)) in rows.iter().zip(tops).enumerate() {
        let height = layout::height(row);
        if let Some(heading) = heading(rows, i) {
            let _ = writeln!(
                out,
                "<text class=\"group\" x=\"{}\" y=\"{}\">{heading}</text>",
                number(MARGIN),
                number(y - 5.0)
            );
        }
        rect(out, "row", frame.left, y, frame.right - frame.left, height);
        let _ = writeln!(
            out,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
            number(frame.labels),
            number(y + height / 2.0 + 4.0),
            escape(&shortened(&row.name, frame.label())),
            escape(&row.name)
        );
    }
    let engines = rows
        .iter()
        .zip(tops)
        .filter(|(row, _)| matches!(row.kind, Kind::Engine(_)));
    let end = engines
        .map(|(row, y)| y + layout::height(row))
        .fold(top, f64::max);
    let begin = tops.first().copied().unwrap_or(top);
    for Span { start, end: stop } in visible(frame, &overlapped(recording)) {
        let (left, right) = (frame.x(start), frame.x(stop));
        rect(out, "overlap", left, begin, right - left, end - begin);
    }
    for tick in axis::ticks(frame.total, 8) {
        let x = number(frame.x(tick.time));
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x} {}V{}\"/><text class=\"quiet middle\" x=\"{x}\" y=\"{}\">{}</text>",
            number(begin),
            number(bottom + 2.0),
            number(bottom + 16.0),
            tick.label
        );
    }
}

/// The same spans at the picture's resolution: what is less than half a unit apart is one.
fn visible(frame: &Frame, spans: &[Span]) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if frame.x(span.start) - frame.x(last.end) < 0.5 => last.end = span.end,
            _ => joined.push(*span),
        }
    }
    joined
}

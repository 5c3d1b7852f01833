//! One recording of a picture.

use super::layout::{self, Frame, MARGIN, Stand};
use super::text::{escape, middle_shortened, number, rect, shortened};
use super::{Chart, Form, bars, marks};
use crate::axis;
use crate::overlap::overlapped;
use crate::summary;
use chapter_results::intervals::{Recording, Span};
use chapter_trace::rows::Kind;
use std::fmt::Write;

/// Draws the chart from `y` downwards; returns where it ends.
pub fn draw(out: &mut String, frame: &Frame, chart: &Chart<'_>, y: f64) -> f64 {
    let recording = chart.recording;
    let _ = writeln!(
        out,
        "<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>",
        number(MARGIN),
        number(y + 12.0),
        escape(&shortened(chart.title, 0.82 * frame.form.width()))
    );
    let mut top = y + 23.0;
    if frame.form == Form::Whole || recording.intervals.is_empty() {
        top += 17.0;
        let _ = writeln!(
            out,
            "<text class=\"quiet\" x=\"{}\" y=\"{}\">{}</text>",
            number(MARGIN),
            number(y + 29.0),
            escape(&shortened(&summary(recording), 0.96 * frame.form.width()))
        );
    }
    if recording.intervals.is_empty() {
        return top + 6.0;
    }
    let stands = layout::stands(recording, frame.form, top);
    let bottom = stands.last().map_or(top, Stand::bottom) + 3.0;
    backgrounds(out, frame, recording, &stands, bottom);
    let bars = bars::draw(out, frame, recording, &stands);
    marks::arrows(out, recording, &bars);
    marks::flags(out, recording, &bars);
    marks::reports(out, recording, frame.form, bottom + 36.0)
}

/// Everything that lies under the bars: labels, rows, the shade of overlap, the axis.
fn backgrounds(
    out: &mut String,
    frame: &Frame,
    recording: &Recording,
    stands: &[Stand],
    bottom: f64,
) {
    for stand in stands {
        let (y, height) = (stand.top, stand.height());
        if let Some(heading) = stand.heading {
            let _ = writeln!(
                out,
                "<text class=\"group\" x=\"{}\" y=\"{}\">{heading}</text>",
                number(MARGIN),
                number(y - 5.0)
            );
        }
        rect(out, "row", frame.left, y, frame.right - frame.left, height);
        if stand.labelled {
            label(out, frame, &stand.row.name, y + height / 2.0 + 4.0);
        }
    }
    let engine = |stand: &&Stand| matches!(stand.row.kind, Kind::Engine(_));
    let begin = stands.first().map_or(bottom, |stand| stand.top);
    let end = stands.iter().rfind(engine).map_or(begin, Stand::bottom);
    for Span { start, end: stop } in visible(frame, &overlapped(recording)) {
        let (left, right) = (frame.x(start), frame.x(stop));
        if end > begin {
            rect(out, "overlap", left, begin, right - left, end - begin);
        }
    }
    let ticks = match frame.form {
        Form::Whole => 8,
        Form::Narrow => 4,
    };
    for tick in axis::ticks(frame.total, ticks) {
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

fn label(out: &mut String, frame: &Frame, name: &str, y: f64) {
    let _ = writeln!(
        out,
        "<text class=\"end\" x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
        number(frame.labels),
        number(y),
        escape(&middle_shortened(name, frame.label())),
        escape(name)
    );
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

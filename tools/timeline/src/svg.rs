//! Timelines as a picture: SVG that stands alone, in a Markdown page or within an HTML page.
//!
//! Engines, streams and host threads are rows, time goes to the right. Shaded columns are the time in which two or more
//! engines worked; arrows say what waited for what through events; numbers in red mark the operations of a finding, whose
//! text is below. Colours follow the reader's choice of light or dark. The same recording gives the same picture, byte for
//! byte.

mod bars;
mod chart;
mod layout;
mod marks;
mod text;

use crate::class;
use chapter_results::intervals::{Engine, Recording};
use layout::Frame;
use std::fmt::Write;
pub(crate) use text::escape;
use text::number;

/// How wide a picture is and how much it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// 1000 wide: engines, streams and host threads, and the whole text of each finding.
    Whole,
    /// 400 wide, so that a phone shows its letters in a readable size: streams, and the first sentence of each finding.
    Narrow,
}

impl Form {
    /// The width in the picture's own units.
    fn width(self) -> f64 {
        match self {
            Self::Whole => 1000.0,
            Self::Narrow => 400.0,
        }
    }
}

/// A recording and what is written above it.
#[derive(Clone, Copy, Debug)]
pub struct Chart<'a> {
    /// Such as `three streams, measured`.
    pub title: &'a str,
    /// What ran when.
    pub recording: &'a Recording,
}

/// Draws one recording, or several below one another on the same scale.
pub fn draw(charts: &[Chart<'_>], form: Form) -> String {
    let frame = Frame::of(charts, form);
    let mut body = String::new();
    let mut y = layout::MARGIN;
    for chart in charts {
        y = chart::draw(&mut body, &frame, chart, y);
    }
    y = legend(&mut body, charts, form, y);
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title).collect();
    let (width, height) = (number(form.width()), number(y + layout::MARGIN));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{}\">\n<style>\n{}{}</style>\n<defs>\
         <marker id=\"timeline-arrow\" viewBox=\"0 0 6 6\" refX=\"5\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" \
         orient=\"auto\"><path class=\"tip\" d=\"M0 0L6 3L0 6z\"/></marker></defs>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        escape(&format!("Timeline: {}", titles.join("; "))),
        include_str!("assets/palette.css"),
        include_str!("svg/style.css"),
    )
}

/// What the colours and signs mean, as far as the charts have them.
fn legend(out: &mut String, charts: &[Chart<'_>], form: Form, mut y: f64) -> f64 {
    let any = |which: &dyn Fn(&Recording) -> bool| charts.iter().any(|c| which(c.recording));
    let mut entries: Vec<(String, String)> = Vec::new();
    for engine in Engine::ALL {
        if any(&|r| r.intervals.iter().any(|i| i.engine == engine)) {
            entries.push((class(engine).to_owned(), engine.to_string()));
        }
    }
    let whole = form == Form::Whole;
    if whole && any(&|r| !r.ranges.is_empty()) {
        entries.push(("range".to_owned(), "phase of the host".to_owned()));
    }
    if whole && any(&|r| !crate::overlap::overlapped(r).is_empty()) {
        entries.push(("overlap".to_owned(), "two or more engines busy".to_owned()));
    }
    if entries.is_empty() {
        return y;
    }
    let mut x = layout::MARGIN;
    for (class, label) in entries {
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\"/><text class=\"quiet\" x=\"{}\" y=\"{}\">{}</text>",
            number(x),
            number(y),
            number(x + 17.0),
            number(y + 10.0),
            escape(&label)
        );
        x += 17.0 + text::width(&label) + 18.0;
    }
    if any(&|r| !r.dependencies.is_empty()) {
        let label = "waited for through an event";
        if x + 22.0 + text::width(label) > form.width() {
            (x, y) = (layout::MARGIN, y + 18.0);
        }
        let _ = writeln!(
            out,
            "<path class=\"arrow\" d=\"M{} {}h16\" marker-end=\"url(#timeline-arrow)\"/><text class=\"quiet\" x=\"{}\" y=\"{}\">{label}</text>",
            number(x),
            number(y + 6.0),
            number(x + 22.0),
            number(y + 10.0)
        );
    }
    y + 14.0
}

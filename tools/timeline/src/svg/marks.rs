//! Marks in a chart: dependencies and findings.

use super::Form;
use super::bars::Bar;
use super::layout::MARGIN;
use super::text::{escape, number, wrapped};
use chapter_results::intervals::{Finding, Recording};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many findings are written out.
const FINDINGS: usize = 6;
/// How many of a finding's lines after its first.
const LINES: usize = 5;
/// How wide a letter of running text is on average.
const LETTER: f64 = 6.8;

/// What waited for what, from the end of the one to the start of the other. Marks that coincide are drawn once.
pub fn arrows(out: &mut String, recording: &Recording, bars: &[Bar]) {
    let mut drawn = BTreeSet::new();
    for dependency in &recording.dependencies {
        let (from, to) = (bars[dependency.from], bars[dependency.to]);
        let down = from.top < to.top;
        let start = if down { from.bottom } else { from.top };
        let end = if down { to.top } else { to.bottom };
        let x = (from.right - 1.0).max(from.left);
        let path = match from.top == to.top {
            // Within a stream: a hop.
            true => format!(
                "M{0} {1}q{2} -6 {3} 0",
                number(x),
                number(from.top),
                number((to.left - x) / 2.0),
                number(to.left - x)
            ),
            false => format!(
                "M{} {}L{} {}",
                number(x),
                number(start),
                number(to.left + 0.5),
                number(end)
            ),
        };
        if drawn.insert(path.clone()) {
            let _ = writeln!(
                out,
                "<path class=\"arrow\" d=\"{path}\" marker-end=\"url(#timeline-arrow)\"/>"
            );
        }
    }
}

/// A frame and the finding's number at each operation that it is about; the numbers of one operation stand side by side.
pub fn flags(out: &mut String, recording: &Recording, bars: &[Bar]) {
    let about = |finding: &Finding| BTreeSet::from_iter(finding.intervals.iter().copied());
    let mut totals = vec![0; bars.len()];
    for index in recording.findings.iter().flat_map(about) {
        totals[index] += 1;
    }
    let mut flags = vec![0; bars.len()];
    for (number_of, finding) in (1..).zip(&recording.findings) {
        for index in about(finding) {
            let bar = bars[index];
            let wide = (bar.right - bar.left).max(2.0);
            // At the end, where no name is, if there is room.
            let room = 16.0 * f64::from(totals[index] - 1);
            let first = (bar.right - 9.0 - room).max(bar.left + 8.0);
            let x = first + 16.0 * f64::from(flags[index]);
            flags[index] += 1;
            let (x, y) = (number(x), number(bar.top));
            let _ = writeln!(
                out,
                "<rect class=\"marked\" fill=\"none\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\"/>\
                 <circle class=\"flag\" cx=\"{x}\" cy=\"{y}\" r=\"7\"/>\
                 <text class=\"flagged\" x=\"{x}\" y=\"{}\">{number_of}</text>",
                number(bar.left),
                number(wide),
                number(bar.bottom - bar.top),
                number(bar.top + 3.5),
            );
        }
    }
}

/// The findings' texts; returns where they end.
pub fn reports(out: &mut String, recording: &Recording, form: Form, y: f64) -> f64 {
    let letters = ((form.width() - 2.0 * MARGIN) / LETTER) as usize;
    let details = match form {
        Form::Whole => LINES,
        Form::Narrow => 0,
    };
    let mut y = y;
    let mut line = |text: &str, x: f64, title: &str| {
        let _ = writeln!(
            out,
            "<text class=\"report\" x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
            number(x),
            number(y),
            escape(text),
            escape(title)
        );
        y += 16.0;
    };
    for (number_of, finding) in (1..).zip(recording.findings.iter().take(FINDINGS)) {
        let mut lines = finding.text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or("a finding without a text");
        for (i, text) in wrapped(&format!("{number_of}: {first}"), letters)
            .iter()
            .enumerate()
        {
            line(
                text,
                MARGIN + if i == 0 { 0.0 } else { 14.0 },
                &finding.text,
            );
        }
        for more in lines.take(details) {
            for (i, text) in wrapped(more.trim(), letters - 4).iter().enumerate() {
                line(
                    text,
                    MARGIN + if i == 0 { 14.0 } else { 28.0 },
                    &finding.text,
                );
            }
        }
    }
    if recording.findings.len() > FINDINGS {
        let more = format!("and {} more", recording.findings.len() - FINDINGS);
        line(&more, MARGIN, &more);
    }
    y
}

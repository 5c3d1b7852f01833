//! The comparison as tables, for the terminal or a page.

use super::comparison::{COPY, Comparison, Line, MAKESPAN};
use examples_host::results::Kind;
use examples_host::table::Table;
use examples_host::units;
use std::fmt::Write as _;
use std::time::Duration;

impl Comparison {
    /// Each time with its verdict, each group with its ranking, and a summary.
    pub fn text(&self, markdown: bool) -> String {
        let header = [
            "part",
            "group",
            "variant",
            "measured",
            "modelled",
            "deviation",
            "",
        ];
        let rows = self.lines.iter().map(|line| {
            let judged = match (line.limit(), line.is_near()) {
                (None, _) => "not judged",
                (Some(_), true) if line.unclaimed => "not claimed",
                (Some(_), true) => "ok",
                (Some(_), false) => "FAILED",
            };
            let [part, group, variant] = [&line.part, &line.group, &line.variant].map(Clone::clone);
            [
                part,
                group,
                variant,
                measured(line),
                time(line.modelled),
                format!("{:+.1} %", (line.modelled / line.middle - 1.0) * 100.0),
                judged.to_owned(),
            ]
        });
        let mut text = shown(markdown, header, rows);
        text += "\n";
        text += &shown(
            markdown,
            ["part", "group", "variants", "ranked"],
            self.rankings().into_iter(),
        );
        for (one, other) in self.contradictions() {
            let _ = writeln!(
                text,
                "FAILED: {}: {}: {} and {} are in another order",
                one.part, one.group, one.variant, other.variant
            );
        }
        let worst = |kinds: &str, kind, limit| {
            let judged = self.lines.iter().filter(|line| line.is_judged);
            let of_kind = judged.filter(|line| line.kind == kind && !line.unclaimed);
            let worst = of_kind.map(Line::outside).reduce(f64::max);
            worst.map_or(format!("no {kinds}"), |worst| {
                let [worst, limit] = [worst, limit].map(units::percent);
                format!("{kinds} {worst} (limit {limit})")
            })
        };
        let judged = self.lines.iter().filter(|line| line.limit().is_some());
        let _ = writeln!(
            text,
            "\n{} results, {} judged, measured {} times. Furthest outside the measured range: {}, {}. Pairs in another \
             order: {}.",
            self.lines.len(),
            judged.count(),
            self.runs,
            worst("makespans", Kind::Makespan, MAKESPAN),
            worst("copies", Kind::Copy, COPY),
            self.contradictions().len()
        );
        text
    }
}

fn time(microseconds: f64) -> String {
    units::time(Duration::from_secs_f64(microseconds * 1e-6))
}

/// One time, or the least and the greatest of several.
fn measured(line: &Line) -> String {
    match (time(line.least), time(line.greatest)) {
        (least, greatest) if least == greatest => least,
        (least, greatest) => format!("{least} to {greatest}"),
    }
}

/// A table for the terminal or for a page.
fn shown<const N: usize>(
    markdown: bool,
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    if markdown {
        return markdown_table(header, rows);
    }
    let mut table = Table::new(header);
    for row in rows {
        table.row(row);
    }
    format!("{table}\n")
}

fn markdown_table<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(
            text,
            "| {} |",
            row.map(|cell| cell.replace('|', "\\|")).join(" | ")
        );
    }
    text
}

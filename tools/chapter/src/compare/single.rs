//! One run: each variant with its spread, its bound, and how much faster it is than the first of its group.

use super::{groups, median, star_note, time, verdict};
use chapter_results::Results;
use chapter_results::part::{PartResults, Timed};
use chapter_results::units;
use chapter_terminal::table::Table;
use chapter_terminal::{style, wrap};

/// A line for each device, which says whether its times are measured or modelled, then one table. Where results of a GPU and of the model are in it, each
/// time says which it is. The lines have at most `columns` columns.
pub fn table(all: &[&Results], columns: usize) -> String {
    let mut devices: Vec<String> = Vec::new();
    for results in all {
        let device = format!("{}: times are {}.", results.device, results.times);
        if !devices.contains(&device) {
            devices.push(device);
        }
    }
    let sources: Vec<_> = all.iter().map(|results| results.times).collect();
    let mixed = sources.windows(2).any(|pair| pair[0] != pair[1]);
    let titles = [
        "variant", "median", "spread", "bound", "of bound", "speed-up",
    ];
    let mut table = Table::new(titles);
    for results in all {
        let source = if mixed {
            format!(" {}", results.times)
        } else {
            String::new()
        };
        for part in &results.parts {
            let name = format!("{}:{}", results.example, part.name);
            table.heading(format!("{}  {}", style::bold(name), verdict(part.holds)));
            for (group, members) in groups(part) {
                table.heading(format!("  {}", group.text));
                let bound = bound(part, &group.id);
                for timed in &members {
                    let name = format!("    {}", timed.variant.text);
                    let cells = cells(timed, &members, bound, &source);
                    table.row(std::iter::once(name).chain(cells));
                }
            }
        }
    }
    let wrapped = |text: &str, hang| wrap::wrap(text, columns, hang).join("\n");
    let legend = [LEGEND].into_iter().chain(star_note(all.iter().copied()));
    let legend: Vec<&str> = legend.collect();
    format!(
        "{}\n\n{}\n\n{}",
        wrapped(&devices.join("\n"), 2),
        table.fitted(columns),
        wrapped(&legend.join("\n"), 2)
    )
}

const LEGEND: &str = "bound: the shortest time that any schedule could take.\n\
                      of bound: the bound divided by the median.\n\
                      spread: the distance between the quartiles, as a share of the median.\n\
                      speed-up: the first variant's time divided by this one's.";

/// The bound that counts: the last that the part names for the group.
pub(crate) fn bound(part: &PartResults, group: &str) -> Option<f64> {
    let mut of_group = part.bounds.iter().filter(|bound| bound.group == group);
    of_group.next_back().map(|bound| bound.us)
}

/// Median, spread, bound, its share of the median, and how many times as long the first of the members took.
pub(crate) fn cells(
    timed: &Timed,
    members: &[&Timed],
    bound: Option<f64>,
    source: &str,
) -> [String; 5] {
    let median_us = timed.median_us();
    let spread = match timed.samples_us.len() {
        1 => "1 run".to_owned(),
        _ => units::percent(timed.spread()),
    };
    let first = members.iter().find(|other| other.kind == timed.kind);
    let ratio = first
        .filter(|_| median_us > 0.0)
        .map(|first| first.median_us() / median_us);
    [
        format!("{}{source}", median(timed)),
        spread,
        bound.map_or_else(String::new, time),
        bound
            .filter(|_| median_us > 0.0)
            .map_or_else(String::new, |bound| units::percent(bound / median_us)),
        ratio.map_or_else(|| "-".to_owned(), units::ratio),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{line, results};
    use chapter_results::device::TimeSource::{Measured, Modelled};

    fn printed(all: &[&Results]) -> String {
        style::plain(&table(all, 80))
    }

    #[test]
    fn every_line_fits() {
        let long = "a stream for each of the stages, with an event behind each chunk of each";
        let run = results(Modelled, &[(long, &[1000.0]), ("two", &[500.0])]);
        let table = printed(&[&run]);
        assert!(
            table.lines().all(|line| line.chars().count() <= 80),
            "{table}"
        );
    }

    #[test]
    fn variants_stand_beside_their_bound_and_the_first_of_them() {
        let run = results(
            Measured,
            &[("one stream", &[1000.0]), ("three", &[640.0, 625.0, 600.0])],
        );
        let table = printed(&[&run]);
        assert_eq!(
            line(&table, "basic_streams:three-way"),
            ["basic_streams:three-way", "ok"]
        );
        assert_eq!(
            line(&table, "one stream"),
            [
                "one stream",
                "1.00 ms",
                "1 run",
                "500 µs",
                "50.0 %",
                "1.00x"
            ]
        );
        assert_eq!(
            line(&table, "three"),
            ["three", "625 µs", "6.4 %", "500 µs", "80.0 %", "1.60x"]
        );
        assert!(
            table.ends_with("one's.") && table.contains("are measured."),
            "{table}"
        );
    }

    #[test]
    fn measured_and_modelled_times_in_one_column_each_say_which_they_are() {
        let measured = results(Measured, &[("on a GPU", &[1000.0])]);
        let modelled = results(Modelled, &[("of the model", &[900.0])]);
        let table = printed(&[&measured, &modelled]);
        assert_eq!(line(&table, "variant")[1], "median");
        assert_eq!(line(&table, "on a GPU")[1], "1.00 ms measured");
        assert_eq!(line(&table, "of the model")[1], "900 µs modelled");
    }

    #[test]
    fn a_time_that_is_not_claimed_has_a_star_and_the_legend_says_what_it_means() {
        let mut run = results(Modelled, &[("one", &[1000.0]), ("two", &[500.0])]);
        assert!(!printed(&[&run]).contains('*'));
        run.parts[0].timed[1].unclaimed = true;
        let table = printed(&[&run]);
        assert_eq!(line(&table, "one")[1], "1.00 ms");
        assert_eq!(line(&table, "two")[1], "500 µs*");
        assert_eq!(line(&table, "*:").len(), 1, "{table}");
    }
}

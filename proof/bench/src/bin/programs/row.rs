//! A variant's times in both languages.

use crate::results::Timed;
use anyhow::{Context as _, Result, ensure};
use bench::{LIMIT, median};
use comfy_table::Table;

/// One variant over all rounds.
pub struct VariantRow {
    name: String,
    /// For each round, the medians of the example and of its twin, in µs.
    rounds: Vec<[f64; 2]>,
}

/// Adds a round: every variant of the twin has to be one of the example's, of the same group of the same work.
pub fn add(rows: &mut Vec<VariantRow>, example: &[Timed], twin: &[Timed]) -> Result<()> {
    for (index, theirs) in twin.iter().enumerate() {
        let names = |timed: &Timed| {
            let Timed {
                part,
                group,
                variant,
                ..
            } = timed;
            format!("{part}: {group}: {variant}")
        };
        let ours = example
            .iter()
            .find(|ours| names(ours) == names(theirs))
            .with_context(|| {
                format!(
                    "the example has no result to compare with \"{}\"",
                    names(theirs)
                )
            })?;
        ensure!(
            ours.plan == theirs.plan,
            "\"{}\" does other work than its twin: bytes in, bytes out, launches and elements are {}, the twin's {}",
            names(theirs),
            in_words(ours.plan),
            in_words(theirs.plan)
        );
        if rows.len() == index {
            rows.push(VariantRow {
                name: names(theirs),
                rounds: Vec::new(),
            });
        }
        let row = rows.get_mut(index).context("a result out of order")?;
        // What a part chooses by measuring may differ between rounds; within a round it does not.
        row.name = names(theirs);
        row.rounds.push([ours.median_us, theirs.median_us]);
    }
    ensure!(
        rows.len() == twin.len(),
        "the twin wrote {} results, and {} before",
        twin.len(),
        rows.len()
    );
    Ok(())
}

fn in_words(plan: Option<[u64; 4]>) -> String {
    plan.map_or("not planned".to_owned(), |numbers| format!("{numbers:?}"))
}

impl VariantRow {
    fn ratio(&self) -> f64 {
        median(
            self.rounds
                .iter()
                .map(|[ours, theirs]| ours / theirs)
                .collect(),
        )
    }

    /// Median, least and greatest of one side, in µs.
    fn figures(&self, side: usize) -> String {
        let times: Vec<f64> = self.rounds.iter().map(|round| round[side]).collect();
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = times.iter().copied().fold(0.0, f64::max);
        format!("{:.1} ({least:.1} to {greatest:.1})", median(times))
    }
}

/// The names of those above the limit, with their ratios.
pub fn above(rows: &[VariantRow]) -> Vec<String> {
    rows.iter()
        .filter(|row| row.ratio() > LIMIT)
        .map(|row| format!("{} ({:.3})", row.name, row.ratio()))
        .collect()
}

pub fn table(rows: &[VariantRow]) -> Table {
    let mut table = Table::new();
    table.set_header(["variant", "Rust µs (range)", "C++ µs (range)", "Rust / C++"]);
    for row in rows {
        table.add_row([
            row.name.clone(),
            row.figures(0),
            row.figures(1),
            format!("{:.3}", row.ratio()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(group: &str, variant: &str, median_us: f64) -> Timed {
        Timed {
            part: "p".into(),
            group: group.into(),
            variant: variant.into(),
            plan: None,
            median_us,
        }
    }

    #[test]
    fn the_median_of_the_rounds_ratios_is_judged() {
        let mut rows = Vec::new();
        for (ours, theirs) in [(100.0, 100.0), (206.0, 200.0), (103.0, 100.0)] {
            let example = [timed("g", "other", 1.0), timed("g", "v", ours)];
            add(&mut rows, &example, &[timed("g", "v", theirs)]).unwrap();
        }
        assert_eq!(above(&rows), ["p: g: v (1.030)"]);
        assert!(table(&rows).to_string().contains("103.0 (100.0 to 206.0)"));
        rows[0].rounds.push([100.0, 100.0]);
        rows[0].rounds.push([100.0, 100.0]);
        assert!(above(&rows).is_empty());
    }

    #[test]
    fn other_work_is_not_compared() {
        let planned = |launches| Timed {
            plan: Some([0, 0, launches, 1024]),
            ..timed("variants", "v", 1.0)
        };
        let ours = planned(32);
        let error = |theirs: Timed| {
            let added = add(&mut Vec::new(), std::slice::from_ref(&ours), &[theirs]);
            added.unwrap_err().to_string()
        };
        let other = error(planned(64));
        assert!(
            other.ends_with("are [0, 0, 32, 1024], the twin's [0, 0, 64, 1024]"),
            "{other}"
        );
        let none = error(timed("variants", "v", 1.0));
        assert!(none.ends_with("the twin's not planned"), "{none}");
        let mut rows = Vec::new();
        let two = [ours.clone(), timed("variants", "w", 1.0)];
        add(&mut rows, &two, &two).unwrap();
        assert!(add(&mut rows, &two, &[ours]).is_err());
    }
}

//! Two runs: the same variants of both beside each other.

use super::{Set, groups, median, star_note, verdict};
use chapter_results::Results;
use chapter_results::part::{PartResults, Timed};
use chapter_results::units;
use chapter_terminal::table::Table;
use chapter_terminal::{style, wrap};

/// The two sets, then a table of everything that either holds, in lines of at most `columns` columns.
pub fn table(first: &Set, second: &Set, columns: usize) -> String {
    let titles = [
        "variant".to_owned(),
        format!("first, {}", sources(first)),
        format!("second, {}", sources(second)),
        "second / first".to_owned(),
    ];
    let mut table = Table::new(titles.each_ref().map(String::as_str));
    let mut differing = Vec::new();
    for (example, part) in parts(first, second) {
        let both = [find(first, &example, &part), find(second, &example, &part)];
        let name = format!("{example}:{part}");
        let verdicts = both.map(|one| one.map_or("-".to_owned(), |part| verdict(part.holds)));
        let verdicts = verdicts.join(" / ");
        table.heading(format!("{}  {verdicts}", style::bold(&name)));
        let same_work = match both {
            [Some(first), Some(second)] => first.workload == second.workload,
            _ => true,
        };
        if !same_work {
            differing.push(name);
        }
        let mut last = None;
        for timed in variants(both) {
            let Some(named) = timed[0].or(timed[1]) else {
                continue;
            };
            if last != Some(&named.group.id) {
                table.heading(format!("  {}", named.group));
                last = Some(&named.group.id);
            }
            let [a, b] = timed.map(|one| one.map_or_else(|| "-".to_owned(), median));
            let ratio = match timed.map(|one| one.map(Timed::median_us)) {
                [Some(a), Some(b)] if a > 0.0 && same_work => units::ratio(b / a),
                _ => "-".to_owned(),
            };
            table.row([format!("    {}", named.variant), a, b, ratio]);
        }
    }
    let wrapped = |text: String| wrap::wrap(&text, columns, 2).join("\n");
    let mut text = format!(
        "{}\n{}\n\n{}",
        wrapped(heading("first", first)),
        wrapped(heading("second", second)),
        table.fitted(columns)
    );
    let results = first.results.iter().chain(&second.results);
    if let Some(note) = star_note(results) {
        text += &format!("\n\n{}", wrapped(note.to_owned()));
    }
    if has_sizes_of_its_own(first, second) {
        text += &format!("\n\n{}", wrapped(SIZES.to_owned()));
    }
    if !differing.is_empty() {
        let names = differing.join(", ");
        let note = format!("The two runs did different work, so they have no ratio: {names}.");
        text += &format!("\n\n{}", wrapped(note));
    }
    text
}

/// What a plan does not hold, such as the rounds of a kernel, can differ too.
const SIZES: &str = "The model ran with sizes of its own. A part that gives a GPU more work, such as longer kernels, has a ratio of \
                     different work: run the model with --gpu-sizes.";

/// Whether a GPU stands beside a model that did not run with the GPU's sizes.
fn has_sizes_of_its_own(first: &Set, second: &Set) -> bool {
    let of = |set: &Set, modelled| {
        let mut results = set.results.iter();
        results.any(|one| one.are_modelled() == modelled && !(modelled && one.request.gpu_sizes))
    };
    of(first, true) && of(second, false) || of(first, false) && of(second, true)
}

/// Where the times of a set are from.
fn sources(set: &Set) -> String {
    let mut sources: Vec<String> = set
        .results
        .iter()
        .map(|results| results.times.to_string())
        .collect();
    sources.dedup();
    sources.join(" and ")
}

fn heading(name: &str, set: &Set) -> String {
    let mut devices: Vec<String> = set
        .results
        .iter()
        .map(|results| results.device.to_string())
        .collect();
    devices.dedup();
    format!("{name}: {}: {}", set.path.display(), devices.join("; "))
}

/// All parts of both, those of the first set first.
fn parts(first: &Set, second: &Set) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for results in first.results.iter().chain(&second.results) {
        for part in &results.parts {
            let name = (results.example.clone(), part.name.clone());
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn find<'a>(set: &'a Set, example: &str, part: &str) -> Option<&'a PartResults> {
    let of_example = |results: &&Results| results.example == example;
    let results = set.results.iter().find(of_example)?;
    results.parts.iter().find(|one| one.name == part)
}

/// What was timed in either, group by group.
fn variants(both: [Option<&PartResults>; 2]) -> Vec<[Option<&Timed>; 2]> {
    let same = |a: &Timed, b: &Timed| (&a.group.id, &a.variant.id) == (&b.group.id, &b.variant.id);
    let mut variants: Vec<[Option<&Timed>; 2]> = Vec::new();
    for (place, part) in both.into_iter().enumerate() {
        let members = part.into_iter().flat_map(groups);
        for timed in members.flat_map(|(_, members)| members) {
            let of_it =
                |pair: &&mut [Option<&Timed>; 2]| pair.iter().flatten().any(|one| same(one, timed));
            match variants.iter_mut().find(of_it) {
                Some(pair) => pair[place] = Some(timed),
                None => {
                    let mut pair = [None; 2];
                    pair[place] = Some(timed);
                    variants.push(pair);
                }
            }
        }
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::{line, results};
    use chapter_results::device::TimeSource::{Measured, Modelled};

    fn set(path: &str, results: Results) -> Set {
        Set {
            path: path.into(),
            results: vec![results],
        }
    }

    fn printed(first: &Set, second: &Set) -> String {
        style::plain(&table(first, second, 80))
    }

    #[test]
    fn what_only_one_has_is_shown_without_a_ratio() {
        let first = set(
            "gpu",
            results(Measured, &[("one", &[1000.0]), ("two", &[500.0])]),
        );
        let second = set(
            "model",
            results(Modelled, &[("one", &[900.0]), ("three", &[300.0])]),
        );
        let table = printed(&first, &second);
        let titles = line(&table, "variant");
        assert_eq!(titles[1..3], ["first, measured", "second, modelled"]);
        assert_eq!(line(&table, "one"), ["one", "1.00 ms", "900 µs", "0.90x"]);
        assert_eq!(line(&table, "two"), ["two", "500 µs", "-", "-"]);
        assert_eq!(line(&table, "three"), ["three", "-", "300 µs", "-"]);
        assert_eq!(
            line(&table, "basic_streams:three-way"),
            ["basic_streams:three-way", "ok / ok"]
        );
        assert!(table.starts_with("first: gpu: NVIDIA H200"), "{table}");
    }

    #[test]
    fn different_work_is_reported_and_not_compared() {
        let first = set("a", results(Measured, &[("one", &[1000.0])]));
        let mut other = results(Measured, &[("one", &[10.0])]);
        other.parts[0].workload = "2e".into();
        let table = printed(&first, &set("b", other));
        assert_eq!(line(&table, "one"), ["one", "1.00 ms", "10.0 µs", "-"]);
        assert!(
            table.ends_with("they have no ratio: basic_streams:three-way."),
            "{table}"
        );
    }

    #[test]
    fn variants_of_the_same_id_are_compared_whatever_they_are_called() {
        let first = set("a", results(Measured, &[("one", &[1000.0])]));
        let mut renamed = results(Measured, &[("one", &[900.0])]);
        let part = &mut renamed.parts[0];
        part.question = "Another question?".into();
        part.timed[0].group.text = "another plan in words".into();
        part.timed[0].variant.text = "a single stream".into();
        let compared = printed(&first, &set("b", renamed.clone()));
        assert_eq!(
            line(&compared, "one"),
            ["one", "1.00 ms", "900 µs", "0.90x"]
        );
        assert!(!compared.contains("a single stream"), "{compared}");
        renamed.parts[0].timed[0].variant.id = "another".into();
        let compared = printed(&first, &set("b", renamed));
        assert_eq!(line(&compared, "one"), ["one", "1.00 ms", "-", "-"]);
    }

    #[test]
    fn a_time_that_is_not_claimed_of_the_model_has_a_star() {
        let first = set("gpu", results(Measured, &[("one", &[1000.0])]));
        let mut modelled = results(Modelled, &[("one", &[900.0])]);
        assert!(!printed(&first, &set("model", modelled.clone())).contains('*'));
        modelled.parts[0].timed[0].unclaimed = true;
        let table = printed(&first, &set("model", modelled));
        assert_eq!(line(&table, "one"), ["one", "1.00 ms", "900 µs*", "0.90x"]);
        assert!(table.contains("*: not claimed of the model."), "{table}");
    }

    #[test]
    fn a_model_with_sizes_of_its_own_is_distinguished_from_a_gpu() {
        let of = |times| results(times, &[("one", &[1000.0])]);
        let says = |first: Results, second: Results| {
            let table = printed(&set("a", first), &set("b", second));
            table.contains("--gpu-sizes")
        };
        assert!(says(of(Measured), of(Modelled)) && says(of(Modelled), of(Measured)));
        assert!(!says(of(Measured), of(Measured)) && !says(of(Modelled), of(Modelled)));
        let mut alike = of(Modelled);
        alike.request.gpu_sizes = true;
        assert!(!says(of(Measured), alike));
    }
}

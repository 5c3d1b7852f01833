//! The labs as files: twins, goals, the manifest, and the wrong solutions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Value;

fn labs_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

fn read(path: &str) -> String {
    let path = labs_folder().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn toml(path: &str) -> Value {
    toml::from_str::<toml::Table>(&read(path))
        .expect(path)
        .into()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

struct Lab {
    name: String,
    kind: String,
    file: String,
}

fn labs() -> Vec<Lab> {
    let catalogue = toml("labs.toml");
    let labs = catalogue["lab"].as_array().expect("labs").iter();
    let lab = |lab: &Value| {
        let (name, kind) = (text(lab, "name").to_owned(), text(lab, "kind").to_owned());
        let end = if kind == "explain" { "txt" } else { "rs" };
        Lab {
            file: format!("{name}.{end}"),
            name,
            kind,
        }
    };
    labs.map(lab).collect()
}

#[test]
fn labs_are_numbered_in_their_order() {
    let labs = labs();
    assert!(labs.len() >= 16);
    for (number, lab) in (1..).zip(&labs) {
        assert!(
            lab.name.starts_with(&format!("{number:02}_")),
            "{}",
            lab.name
        );
    }
    let of_kind = |kind: &str| labs.iter().filter(|lab| lab.kind == kind).count();
    assert!(of_kind("find-the-bug") >= 3 && of_kind("reach-the-bound") >= 3);
    assert!(of_kind("explain") >= 1 && of_kind("kernel") >= 1);
}

#[test]
fn labs_on_two_gpus_say_so() {
    for lab in toml("labs.toml")["lab"].as_array().expect("labs") {
        let name = text(lab, "name");
        let gpus = lab.get("gpus").and_then(Value::as_integer).unwrap_or(1);
        let solution = fs::read_to_string(labs_folder().join(format!("solutions/{name}.rs")));
        let uses_two = solution.is_ok_and(|text| text.contains("labs::two_gpus()"));
        assert_eq!(uses_two, gpus == 2, "{name}");
    }
}

#[test]
fn an_exercise_and_its_solution_are_twins() {
    for lab in labs() {
        let exercise = read(&format!("exercises/{}", lab.file));
        let solution = read(&format!("solutions/{}", lab.file));
        assert_ne!(exercise, solution, "{}", lab.name);
        let task = |text: &str| -> Vec<String> {
            let lines = text.lines().take_while(|line| line.starts_with("//!"));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(task(&exercise), task(&solution), "{}", lab.name);
        if lab.kind == "explain" {
            continue;
        }
        let sketched = task(&exercise).iter().any(|line| line.contains("```text"));
        assert!(sketched, "{} has no sketch of its goal", lab.name);
        assert!(
            !solution.contains("TODO"),
            "{}: the solution is not finished",
            lab.name
        );
        if !lab.kind.starts_with("find") {
            assert!(
                exercise.contains("// TODO"),
                "{} does not say where",
                lab.name
            );
        }
        // The shorter of both is found in the other except for a few lines: the same text.
        let lines = |text: &str| -> BTreeSet<String> {
            text.lines().map(|line| line.trim().to_owned()).collect()
        };
        let (own, other) = (lines(&exercise), lines(&solution));
        let shared = own.intersection(&other).count();
        assert!(
            shared * 10 >= own.len() * 7,
            "{}: {shared} of {} lines",
            lab.name,
            own.len()
        );
    }
}

#[test]
fn every_lab_is_in_the_manifest_and_has_a_goal() {
    let manifest = toml("Cargo.toml");
    let names = |table: &str| -> BTreeSet<String> {
        let entries = manifest[table].as_array().expect("targets").iter();
        entries
            .map(|entry| text(entry, "name").to_owned())
            .collect()
    };
    let (exercises, solutions) = (names("bin"), names("example"));
    for lab in labs() {
        assert!(
            labs_folder()
                .join(format!("goals/{}.json", lab.name))
                .exists(),
            "{}",
            lab.name
        );
        if lab.kind == "explain" || lab.kind == "kernel" {
            let goal = read(&format!("goals/{}.json", lab.name));
            // An export of Nsight Systems stands for its program.
            let is_an_export = goal.contains(r#""source": "nsight-systems""#);
            let host = labs_folder().join(format!("hosts/{}.rs", lab.name));
            assert!(is_an_export || host.exists(), "{}", lab.name);
            continue;
        }
        assert!(
            exercises.contains(&lab.name) && solutions.contains(&lab.name),
            "{}",
            lab.name
        );
    }
}

#[test]
fn every_criterion_teaches_and_every_lab_has_hints() {
    let catalogue = toml("labs.toml");
    for lab in catalogue["lab"].as_array().expect("labs") {
        let name = text(lab, "name");
        let hints = lab["hints"].as_array().expect("hints");
        assert!(hints.len() >= 2, "{name}");
        let criteria = lab["criteria"].as_array().expect("criteria");
        let fails = lab["fails"].as_array().expect("fails");
        assert!(!fails.is_empty() && criteria.len() >= 3, "{name}");
        for criterion in criteria {
            let teaches = text(criterion, "teaches");
            assert!(teaches.ends_with('.'), "{name}: {teaches}");
        }
    }
}

#[test]
fn wrong_solutions_are_made_of_the_solutions() {
    let mistakes = toml("mistakes.toml");
    let mistakes = mistakes["mistake"].as_array().expect("mistakes");
    assert!(mistakes.len() >= 30);
    for mistake in mistakes {
        let (lab, name) = (text(mistake, "lab"), text(mistake, "name"));
        let file = labs()
            .into_iter()
            .find(|own| own.name == lab)
            .expect(lab)
            .file;
        let mut solution = read(&format!("solutions/{file}"));
        let right = solution.clone();
        for pair in mistake["replace"].as_array().expect("replace") {
            let [piece, instead] = [0, 1].map(|place| pair[place].as_str().expect("text"));
            assert!(solution.contains(piece), "{lab}, {name}: `{piece}`");
            solution = solution.replace(piece, instead);
        }
        assert_ne!(solution, right, "{lab}, {name}");
        assert!(
            !mistake["missed"].as_array().expect("missed").is_empty(),
            "{lab}, {name}"
        );
    }
}

//! The names of types: what a name says holds without its module's help, so a name stands for one thing.
//!
//! Many files may use a type. This test counts the files that *define* a type of one name, and allows three: further ones make
//! the name say less about each of them.

use chapter_book::workspace;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Files that may define types of one name.
const MOST: usize = 3;

/// Names that are the field's terms, and mean the same everywhere.
#[rustfmt::skip]
const STANDARD: [&str; 7] = [
    // Rust's: `module::Error`, `module::Kind` and `module::Result`.
    "Error", "Kind", "Result",
    // The command-line parser's enum of subcommands.
    "Command",
    // CUDA's: the opaque value for an object of the driver.
    "Handle",
    // Names in kernels: the stages between copies and arithmetic, and the sums that a thread accumulates.
    "Ring", "Sums",
];

/// Adds the types that the Rust files of a folder define, with the file of each.
fn add_types(folder: &Path, pattern: &Regex, types: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !["target", "vendor", "gpu-bundle"].contains(&&*name) {
                add_types(&path, pattern, types);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap();
            // The two files of a lab are twins: the same types with the same text.
            let file = path
                .strip_prefix(workspace())
                .unwrap()
                .to_string_lossy()
                .replace("labs/solutions/", "labs/exercises/");
            for type_name in defined(&text, pattern) {
                types.entry(type_name).or_default().insert(file.clone());
            }
        }
    }
}

/// A type's definition. An indented alias is an associated type, whose name the trait gives.
fn pattern() -> Regex {
    Regex::new(
        r"(?m)^(?:(?:pub(?:\([^)]*\))? )?type|[ \t]*(?:pub(?:\([^)]*\))? )?(?:struct|enum|union|trait)) (\w+)",
    )
    .unwrap()
}

/// The names of the types that a text defines.
fn defined(text: &str, pattern: &Regex) -> Vec<String> {
    let names = pattern.captures_iter(text);
    names.map(|found| found[1].to_owned()).collect()
}

/// The names that more files define than may.
fn ambiguous(types: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let too_many = types
        .iter()
        .filter(|(name, files)| files.len() > MOST && !STANDARD.contains(&name.as_str()));
    too_many
        .map(|(name, files)| {
            let files: Vec<_> = files.iter().map(String::as_str).collect();
            format!(
                "`{name}` is a type of {} files: {}",
                files.len(),
                files.join(", ")
            )
        })
        .collect()
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut types = BTreeMap::new();
    add_types(&workspace(), &pattern(), &mut types);
    assert!(types.len() > 1000, "{}", types.len());
    let ambiguous = ambiguous(&types);
    assert!(
        ambiguous.is_empty(),
        "say what each of them is, without its module:\n{}",
        ambiguous.join("\n")
    );
}

#[test]
fn each_standard_name_is_still_needed() {
    let mut types = BTreeMap::new();
    add_types(&workspace(), &pattern(), &mut types);
    for name in STANDARD {
        assert!(
            types[name].len() > MOST,
            "`{name}` is not ambiguous: remove it from the list"
        );
    }
}

#[test]
fn a_fourth_file_makes_a_name_ambiguous() {
    let text = "pub(crate) struct Work {\n}\nimpl Trait for Work {\n    type Item = u32;\n}\n";
    assert_eq!(defined(text, &pattern()), ["Work"]);
    let files = |count: usize| (0..count).map(|file| format!("{file}.rs")).collect();
    let types = |count| BTreeMap::from([("Work".to_owned(), files(count))]);
    assert!(ambiguous(&types(3)).is_empty());
    assert_eq!(ambiguous(&types(4)).len(), 1);
}

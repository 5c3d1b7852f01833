//! The table of calls: CUDA C++'s runtime, the driver API, and what a program in Rust calls.
//!
//! The rows are in `book/calls.toml`. The tests hold them to the sources: the driver has each function, the examples or labs
//! use what is in the last column, and no driver function that they name is missing.

use crate::workspace;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;

/// Calls that belong together.
#[derive(Deserialize)]
pub struct CallGroup {
    /// Its heading.
    pub title: String,
    /// Its rows.
    pub call: Vec<DriverCall>,
}

/// A row.
#[derive(Deserialize)]
pub struct DriverCall {
    /// In CUDA C++, if the runtime has a call for it.
    pub runtime: Option<String>,
    /// The driver's function.
    pub driver: String,
    /// In Rust, with cust or cuda-host.
    pub rust: Vec<String>,
}

#[derive(Deserialize)]
struct CallsFile {
    group: Vec<CallGroup>,
}

/// The groups of `book/calls.toml`.
///
/// # Errors
/// The file cannot be read, or is not of this form.
pub fn read() -> Result<Vec<CallGroup>> {
    let text = fs::read_to_string(workspace().join("book/calls.toml"))
        .context("cannot read book/calls.toml")?;
    let file: CallsFile = toml::from_str(&text).context("book/calls.toml")?;
    Ok(file.group)
}

/// The groups as Markdown.
pub fn table(groups: &[CallGroup]) -> String {
    let mut text = String::new();
    for group in groups {
        text += &format!(
            "### {}\n\n| CUDA C++ runtime | driver API | Rust |\n|---|---|---|\n",
            group.title
        );
        for call in &group.call {
            let runtime = call
                .runtime
                .as_ref()
                .map_or("–".into(), |name| format!("`{name}`"));
            let rust: Vec<String> = call.rust.iter().map(|name| format!("`{name}`")).collect();
            text += &format!("| {runtime} | `{}` | {} |\n", call.driver, rust.join(", "));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The sources of the examples, the labs and cuda-host.
    fn sources(what: &[&str]) -> String {
        let mut text = String::new();
        for folder in what {
            add(&workspace().join(folder), &mut text);
        }
        text
    }

    fn add(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                add(&path, text);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                *text += &fs::read_to_string(path).unwrap();
            }
        }
    }

    /// The examples' source folders: those whose manifests declare a place among the lessons.
    fn examples() -> String {
        let mut folders = Vec::new();
        for entry in fs::read_dir(workspace()).unwrap() {
            let path = entry.unwrap().path();
            let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
            if manifest.contains("\n[package.metadata.chapter]\n") {
                folders.push(path.join("src").to_str().unwrap().to_owned());
            }
        }
        assert!(folders.len() > 10);
        let mut folders: Vec<&str> = folders.iter().map(String::as_str).collect();
        folders.extend(["labs/exercises", "labs/solutions", "cuda-host/src"]);
        sources(&folders)
    }

    fn words(text: &str) -> BTreeSet<&str> {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .collect()
    }

    /// A function's name without the version of its binary interface.
    fn plain(name: &str) -> &str {
        let end = name
            .rfind("_v")
            .filter(|&at| name[at + 2..].parse::<u32>().is_ok());
        end.map_or(name, |end| &name[..end])
    }

    fn driver_functions() -> BTreeSet<String> {
        let names = fs::read_to_string(workspace().join("rust-cuda/libcuda/src/names.rs")).unwrap();
        let names = names.split_once("$make! {").unwrap().1;
        words(names)
            .into_iter()
            .filter(|name| name.starts_with("cu"))
            .map(|name| plain(name).to_owned())
            .collect()
    }

    fn calls() -> Vec<DriverCall> {
        read()
            .unwrap()
            .into_iter()
            .flat_map(|group| group.call)
            .collect()
    }

    #[test]
    fn the_driver_has_every_function() {
        let functions = driver_functions();
        for call in calls() {
            assert!(functions.contains(&call.driver), "{}", call.driver);
        }
    }

    #[test]
    fn examples_or_labs_use_every_row() {
        // Where the device is opened and what the library of the examples asks it belong to them.
        let sources = examples() + &sources(&["examples-host/src"]);
        let words = words(&sources);
        for call in calls() {
            for name in call.rust {
                let last = name.trim_end_matches('!').rsplit("::").next().unwrap();
                assert!(
                    words.contains(last),
                    "{name}: neither an example nor a lab uses it"
                );
            }
        }
    }

    #[test]
    fn no_function_that_an_example_names_is_missing() {
        let sources = examples();
        let functions = driver_functions();
        let listed: BTreeSet<String> = calls().into_iter().map(|call| call.driver).collect();
        let named = words(&sources)
            .into_iter()
            .map(plain)
            .filter(|name| functions.contains(*name));
        let missing: BTreeSet<&str> = named.filter(|name| !listed.contains(*name)).collect();
        assert!(missing.is_empty(), "not in book/calls.toml: {missing:?}");
    }

    #[test]
    fn the_table_has_a_row_for_each_call() {
        let group = CallGroup {
            title: "Streams".into(),
            call: vec![DriverCall {
                runtime: None,
                driver: "cuA".into(),
                rust: vec!["a".into(), "b!".into()],
            }],
        };
        assert!(table(&[group]).contains("| – | `cuA` | `a`, `b!` |\n"));
    }
}

//! A target without tests says so in its manifest, which spares its test build; one with tests may not.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn manifests_switch_off_the_test_builds_of_targets_without_tests_and_no_others() {
    let mut wrong = Vec::new();
    for package in packages() {
        for target in array(&package["targets"]) {
            wrong.extend(disagreements(&package, target));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The switches of a target that contradict its sources.
fn disagreements(package: &Value, target: &Value) -> Vec<String> {
    let path = Path::new(text(&target["src_path"]));
    let kinds: Vec<&str> = array(&target["kind"]).iter().map(text).collect();
    let library = kinds
        .iter()
        .any(|kind| matches!(*kind, "lib" | "proc-macro"));
    if !library && !kinds.contains(&"bin") {
        return Vec::new();
    }
    let sources = sources_of(path, library, array(&package["targets"]));
    let found = [
        ("test", sources.iter().any(|source| has_unit_test(source))),
        (
            "doctest",
            library && sources.iter().any(|source| has_doc_test(source)),
        ),
    ];
    found
        .into_iter()
        .filter(|(switch, found)| target[*switch].as_bool() != Some(*found))
        .map(|(switch, found)| {
            format!(
                "{}, {}: {switch} = {found} is what its sources need",
                text(&package["name"]),
                text(&target["name"])
            )
        })
        .collect()
}

/// The texts of a target's source files. Beside a library, `main.rs` has the modules that it declares, and the library all other
/// files; without one, `main.rs` has all.
fn sources_of(path: &Path, library: bool, targets: &[Value]) -> Vec<String> {
    let folder = path.parent().expect("a file lies in a folder");
    let main = folder.join("main.rs");
    let of_main = match main.is_file() {
        true => modules_of(&main),
        false => Vec::new(),
    };
    let has_library = targets.iter().any(is_library);
    let files = match (path == main, library) {
        (true, _) if has_library => [vec![main], of_main].concat(),
        (true, _) | (_, true) => {
            let is_root = |file: &PathBuf| {
                let mut roots = targets
                    .iter()
                    .map(|target| Path::new(text(&target["src_path"])));
                roots.any(|root| root == file)
            };
            let mut files = rust_files(folder);
            files.retain(|file| file == path || !is_root(file));
            files.retain(|file| !library || !of_main.contains(file));
            files
        }
        _ => vec![path.to_owned()],
    };
    files
        .iter()
        .map(|file| fs::read_to_string(file).expect("a source file can be read"))
        .collect()
}

fn is_library(target: &Value) -> bool {
    array(&target["kind"])
        .iter()
        .any(|kind| text(kind) == "lib")
}

/// The files of the modules that a file declares.
fn modules_of(file: &Path) -> Vec<PathBuf> {
    let folder = file.parent().expect("a file lies in a folder");
    let source = fs::read_to_string(file).expect("a source file can be read");
    let names = source
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let mut files = Vec::new();
    for name in names {
        let folder = folder.join(name);
        files.extend(Some(folder.with_extension("rs")).filter(|file| file.is_file()));
        if folder.is_dir() {
            files.extend(rust_files(&folder));
        }
    }
    files
}

fn has_unit_test(source: &str) -> bool {
    source
        .lines()
        .any(|line| line.trim_start().starts_with("#[test]") || line.contains("proptest! {"))
}

/// Whether a doc comment has a code block that rustdoc compiles, or is a file, which is not looked into.
fn has_doc_test(source: &str) -> bool {
    let mut inside = false;
    for line in source.lines() {
        let line = line.trim_start();
        if line.starts_with("#![doc = include_str!") {
            return true;
        }
        let Some(text) = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
        else {
            continue;
        };
        let Some(language) = text.trim_start().strip_prefix("```") else {
            continue;
        };
        let compiled = ["", "rust", "no_run", "should_panic", "compile_fail"];
        if !inside && compiled.contains(&language.split(',').next().unwrap_or_default().trim()) {
            return true;
        }
        inside = !inside;
    }
    false
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a source folder can be read");
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The members of the workspace, as cargo describes them.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--locked", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    array(&metadata["packages"]).to_vec()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

//! The words of the repository: standard terms and plain sentences, in code, documents and output.
//!
//! [`rules`] lists patterns with what to write instead; CONTRIBUTING.md, "Language", explains them. A pattern is matched against whole
//! sentences: a comment that goes on in the next line counts as one text.

#[path = "language/rules.rs"]
mod rules;

use chapter_book::workspace;
use regex::{Captures, Regex};
use rules::{ALLOWED, KEPT, RULES, Rule};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose files are built, or recorded.
const BUILT: [&str; 7] = [
    "target",
    "vendor",
    "gpu-bundle",
    "shared-library",
    "grades",
    "node_modules",
    "expectations",
];

/// Files with prose.
const ENDINGS: [&str; 6] = ["rs", "md", "toml", "html", "js", "css"];

/// Adds the files with prose of a folder and of all folders below it.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !BUILT.contains(&&*name) {
                add_files(&path, files);
            }
        } else if ENDINGS.contains(&&*ending) {
            files.push(path);
        }
    }
}

/// The text with the line ends inside of comments as spaces. Its length stays the same, so positions do.
fn joined(text: &str) -> String {
    let line_end = Regex::new(r"\n[ \t]*//[/!]?").unwrap();
    let spaces = |found: &Captures<'_>| " ".repeat(found[0].len());
    line_end.replace_all(text, spaces).into_owned()
}

/// The compiled pattern: each space stands for any white space.
fn pattern(rule: &Rule) -> Regex {
    Regex::new(&rule.pattern.replace(' ', r"\s+")).unwrap()
}

/// What the rules find in a text: line, words found, and what to write instead.
fn findings<'r>(text: &str, rules: &'r [(Regex, &'r Rule)]) -> Vec<(usize, String, &'r str)> {
    let joined = joined(text);
    let mut findings = Vec::new();
    for (pattern, rule) in rules {
        for found in pattern.find_iter(&joined) {
            let line = text[..found.start()].matches('\n').count() + 1;
            findings.push((line, found.as_str().to_owned(), rule.instead));
        }
    }
    findings
}

fn compiled() -> Vec<(Regex, &'static Rule)> {
    RULES.iter().map(|rule| (pattern(rule), rule)).collect()
}

#[test]
fn the_repository_uses_standard_terms() {
    let mut files = Vec::new();
    add_files(&workspace(), &mut files);
    assert!(files.len() > 800, "{}", files.len());
    let rules = compiled();
    let (mut complaints, mut kept) = (Vec::new(), 0);
    for path in &files {
        let name = path.strip_prefix(workspace()).unwrap().to_string_lossy();
        let name = name.replace('\\', "/");
        if ALLOWED.contains(&&*name) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        for (line, words, instead) in findings(&text, &rules) {
            if KEPT
                .iter()
                .any(|(file, end)| *file == name && words.ends_with(end))
            {
                kept += 1;
                continue;
            }
            complaints.push(format!("{name}:{line}: \"{words}\": {instead}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert_eq!(kept, KEPT.len(), "remove what is reworded from `KEPT`");
}

#[test]
fn each_rule_finds_its_example() {
    for rule in RULES {
        let rules = [(pattern(rule), rule)];
        assert_eq!(findings(rule.example, &rules).len(), 1, "{}", rule.pattern);
    }
}

#[test]
fn a_comment_of_two_lines_is_one_text() {
    let text = "/// Longer PTX\n    /// is\n    /// none: a bound.\n";
    let [(line, ..)] = findings(text, &compiled())[..] else {
        panic!("one rule applies")
    };
    assert_eq!(line, 2);
}

//! `compare`: one run, two runs, and other files.

mod support;

use std::fs;
use support::{Chapter, example};

fn chapter() -> Chapter {
    let parts = [("overlap", true, None), ("order", false, None)];
    Chapter::new(&[("first", example("first", &parts))])
}

/// The words of the first line that begins with `name`.
fn line<'a>(out: &'a str, name: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no line {name}: {out}"));
    line.split("  ")
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn the_last_run_is_one_table() {
    let chapter = chapter();
    chapter.ends(&["run"]);
    let (code, out, err) = chapter.ends(&["compare"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("Paper GPU, driver software GPU"), "{out}");
    assert_eq!(line(&out, "first:overlap"), ["first:overlap", "ok"]);
    assert_eq!(line(&out, "first:order"), ["first:order", "FAILED"]);
    assert_eq!(
        line(&out, "three streams"),
        ["three streams", "1.00 µs", "1 run", "2.00x"]
    );
}

#[test]
fn two_folders_stand_beside_each_other() {
    let chapter = chapter();
    chapter.ends(&["run", "--out", "before"]);
    chapter.ends(&["run", "--out", "after"]);
    let file = chapter.path().join("after/first.json");
    let slower = fs::read_to_string(&file).unwrap().replace("[1.0]", "[1.5]");
    fs::write(&file, slower).unwrap();
    let (code, out, _) = chapter.ends(&["compare", "before", "after"]);
    assert_eq!(code, 0);
    assert_eq!(
        line(&out, "three streams"),
        ["three streams", "1.00 µs", "1.50 µs", "1.50x"]
    );
    assert_eq!(
        line(&out, "variant")[1..3],
        ["first, modelled", "second, modelled"]
    );
}

#[test]
fn folders_whose_sentences_differ_are_compared_by_ids() {
    let chapter = chapter();
    chapter.ends(&["run", "--out", "before"]);
    chapter.ends(&["run", "--out", "after"]);
    let file = chapter.path().join("after/first.json");
    let reworded = fs::read_to_string(&file)
        .unwrap()
        .replace("\"three streams\"", "\"a stream for each stage\"")
        .replace("\"1 MiB\"", "\"a mebibyte\"")
        .replace("it is true", "it is so");
    assert!(reworded.contains("a stream for each stage"));
    fs::write(&file, reworded).unwrap();
    let (code, out, _) = chapter.ends(&["compare", "before", "after"]);
    assert_eq!(code, 0);
    assert_eq!(
        line(&out, "three streams"),
        ["three streams", "1.00 µs", "1.00 µs", "1.00x"]
    );
    assert!(!out.contains("a stream for each stage"), "{out}");
}

#[test]
fn a_file_that_does_not_hold_results_is_bad_usage() {
    let chapter = chapter();
    chapter.ends(&["run"]);
    let results = chapter.results().join("first.json");
    let text = fs::read_to_string(&results).unwrap();
    let write = |name: &str, text: &str| fs::write(chapter.path().join(name), text).unwrap();
    write("truncated.json", &text[..text.len() / 2]);
    write(
        "later.json",
        &text.replacen("\"version\":3", "\"version\":4", 1),
    );
    fs::create_dir(chapter.path().join("empty")).unwrap();
    for (path, reason) in [
        ("nowhere.json", "cannot read nowhere.json"),
        (
            "truncated.json",
            "truncated.json holds no results of an example",
        ),
        ("later.json", "version 4 of the results' form"),
        (
            "empty",
            "a folder of results comes from `cargo chapter run`",
        ),
    ] {
        let (code, out, err) = chapter.ends(&["compare", path]);
        assert_eq!((code, out.as_str()), (2, ""), "{path}");
        assert!(err.contains(reason), "{err}");
    }
    let three = [
        "compare",
        "chapter-results",
        "chapter-results/first.json",
        "chapter-results",
    ];
    let (code, _, err) = chapter.ends(&three);
    assert_eq!(code, 2);
    assert!(
        err.contains("both hold first; compare two at a time"),
        "{err}"
    );
}

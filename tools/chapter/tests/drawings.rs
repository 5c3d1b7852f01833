//! `cargo chapter timeline FILE --html --svg --trace`: what it writes, and what it refuses.

#[path = "../../timeline/src/testing.rs"]
#[allow(dead_code, missing_docs)]
mod testing;

use chapter_results::Results;
use chapter_results::device::TimeSource;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use testing::{results, three_way};

/// A folder with results that were measured and a model's, each of two variants.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, results: &Results| {
        let text = serde_json::to_string(results).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
    };
    let timelines = || vec![("one stream", three_way()), ("three streams", three_way())];
    write("measured.json", &results(TimeSource::Measured, timelines()));
    write("modelled.json", &results(TimeSource::Modelled, timelines()));
    let mut other = results(TimeSource::Modelled, timelines());
    other.example = "stream_hazards".into();
    write("other.json", &other);
    let mut parts = results(TimeSource::Modelled, timelines());
    parts.parts.push(parts.parts[0].clone());
    parts.parts[1].name = "kernels".into();
    write("parts.json", &parts);
    folder
}

/// The command's exit code and all that it said.
fn timeline(folder: &Path, arguments: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chapter"));
    let arguments = arguments.split_whitespace();
    let output = command.arg("timeline").args(arguments).current_dir(folder);
    let output = output.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(said).unwrap(),
    )
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_page_a_picture_and_a_trace_are_written() {
    let folder = folder();
    let arguments = "measured.json --html p.html --svg p.svg --trace p.json";
    let (code, said) = timeline(folder.path(), arguments);
    assert_eq!(code, 0, "{said}");
    let end = "Picture written to p.svg.\nPage written to p.html.\nTrace written to p.json.\n";
    assert!(said.ends_with(end), "{said}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let page = read("p.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("three streams"));
    let picture = read("p.svg");
    assert!(picture.contains("three-way: one stream (measured, NVIDIA H200)"));
    assert!(picture.contains("three-way: three streams (measured, NVIDIA H200)"));
    let trace: serde_json::Value = serde_json::from_str(&read("p.json")).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 20);
    assert_eq!(entries(folder.path()), 4 + 3);
}

#[test]
fn a_picture_is_narrow_on_request_and_only_a_picture() {
    let folder = folder();
    let (code, said) = timeline(folder.path(), "measured.json --svg p.svg --narrow");
    assert_eq!(code, 0, "{said}");
    let picture = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(picture.contains("viewBox=\"0 0 400 "), "{picture}");
    let (code, said) = timeline(folder.path(), "measured.json --narrow --html p.html");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--svg"), "{said}");
}

#[test]
fn one_variant_of_two_files_is_a_prediction_above_a_measurement() {
    let folder = folder();
    let arguments = "measured.json --beside modelled.json --variant three~streams --svg p.svg";
    let arguments: Vec<String> = arguments.split(' ').map(|a| a.replace('~', " ")).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chapter"));
    let command = command
        .arg("timeline")
        .args(arguments)
        .current_dir(folder.path());
    assert!(command.output().unwrap().status.success());
    let picture = fs::read_to_string(folder.path().join("p.svg")).unwrap();
    let place = |title: &str| picture.find(&format!(">three-way: {title}")).unwrap();
    assert!(place("three streams (modelled") < place("three streams (measured"));
    assert!(!picture.contains("one stream"));
}

#[test]
fn what_cannot_be_drawn_is_refused_and_nothing_is_left_behind() {
    let folder = folder();
    let before = entries(folder.path());
    let half = fs::read(folder.path().join("measured.json")).unwrap();
    fs::write(folder.path().join("parts2.json"), &half[..half.len() / 2]).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let cases = [
        (
            "parts.json --svg p.svg",
            "a picture shows one part; choose one with --part: three-way, kernels",
        ),
        (
            "parts.json --part none --html p.html",
            "--part none: no such timeline; the file has: three-way, kernels",
        ),
        (
            "parts.json --variant none --html p.html",
            "--variant none: no such timeline; the file has: one-stream, three-streams",
        ),
        (
            "measured.json --beside other.json --html p.html",
            "the files are of different examples, basic_streams and stream_hazards",
        ),
        (
            "measured.json --beside missing.json --html p.html",
            "missing.json",
        ),
        ("parts2.json --html p.html", "parts2.json holds no results"),
        ("measured.json --html missing/p.html", "cannot write there"),
        ("measured.json --trace folder", "this is a folder"),
    ];
    for (arguments, why) in cases {
        let (code, said) = timeline(folder.path(), arguments);
        assert_eq!(code, 2, "{arguments}: {said}");
        assert!(said.contains(why), "{arguments}: {said}");
        assert_eq!(entries(folder.path()), before + 2, "{arguments}");
    }
}

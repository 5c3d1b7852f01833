//! `run`: verdicts, exit codes and the folder of results.

mod support;

use std::fs;
use std::path::Path;
use support::{Chapter, example};

fn two() -> Chapter {
    Chapter::new(&[
        (
            "first",
            example("first", &[("overlap", true, None), ("order", true, None)]),
        ),
        ("second", example("second", &[("pools", true, None)])),
    ])
}

/// The verdict lines.
fn verdicts(out: &str) -> Vec<&str> {
    let lines = out.lines().skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The output with its broken lines put together.
fn joined(out: &str) -> String {
    words(out).join(" ")
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_chapter_that_holds_ends_with_0_and_leaves_its_results() {
    let chapter = two();
    let (code, out, err) = chapter.ends(&["run"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("Paper GPU. Times are modelled.\n"), "{out}");
    let lines: Vec<_> = verdicts(&out).into_iter().map(words).collect();
    assert_eq!(lines[0], ["first:overlap", "ok", "1", "claim", "holds"]);
    assert_eq!([lines[1][0], lines[2][0]], ["first:order", "second:pools"]);
    assert!(out.contains("\n3 ok, in "), "{out}");
    assert_eq!(
        files(&chapter.results()),
        ["first.json", "run.json", "second.json"]
    );
}

#[test]
fn parts_can_be_asked_for_and_replace_the_results_of_the_last_run() {
    let chapter = two();
    assert_eq!(chapter.ends(&["run"]).0, 0);
    let (code, out, _) = chapter.ends(&["run", "first:order", "--iterations", "3"]);
    assert_eq!(code, 0);
    assert_eq!(verdicts(&out).len(), 1, "{out}");
    assert!(verdicts(&out)[0].starts_with("first:order "), "{out}");
    assert_eq!(files(&chapter.results()), ["first.json", "run.json"]);
}

#[test]
fn the_programs_get_the_mode_of_the_checkers() {
    let script = example("first", &[("overlap", true, None)]);
    let with_check = script.replacen(
        "all=1;",
        "case \" $* \" in *\" --races=fail \"*) ;; *) exit 1;; esac\nall=1;",
        1,
    );
    let chapter = Chapter::new(&[("first", with_check)]);
    assert_eq!(chapter.ends(&["run", "--races", "fail"]).0, 0);
    assert_eq!(chapter.ends(&["run"]).0, 1);
    let (code, _, err) = chapter.ends(&["run", "--races", "sometimes"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn what_is_unknown_is_bad_usage_and_what_exists_is_named() {
    let chapter = two();
    for (name, reason) in [
        (
            "third",
            "unknown target `third`; the targets are: first, second",
        ),
        (
            "first:pools",
            "first has no part `pools`; its parts are: overlap, order",
        ),
    ] {
        let (code, out, err) = chapter.ends(&["run", name]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert_eq!(err.trim_end(), format!("error: {reason}"));
    }
    for arguments in [
        ["run", "--unknown"],
        ["run", "--profile=shallow"],
        ["run", "--iterations=0"],
        ["run", "--release"],
    ] {
        assert_eq!(chapter.ends(&arguments).0, 2, "{arguments:?}");
    }
    assert!(!chapter.results().exists());
}

#[test]
fn a_failed_claim_is_shown_and_ends_with_1() {
    let parts = [("overlap", false, None), ("order", true, None)];
    let chapter = Chapter::new(&[("first", example("first", &parts))]);
    let (code, out, _) = chapter.ends(&["run"]);
    assert_eq!(code, 1);
    assert!(
        out.contains("FAILED   1 claim does not hold\n    FAILED  it is true: false (true)\n"),
        "{out}"
    );
    assert!(out.contains("\n1 ok, 1 FAILED, in "), "{out}");
}

#[test]
fn a_program_that_dies_is_named_and_the_others_run() {
    let describe = example("first", &[("overlap", true, None)]);
    let describe = describe.lines().next().unwrap();
    for (death, said, code) in [
        (
            "echo 'error: no memory' >&2; exit 1",
            "exit status: 1: no memory",
            1,
        ),
        ("kill -9 $$", "signal: 9 (SIGKILL): no message", 1),
        (
            "while [ \"$1\" != --json ]; do shift; done; echo '{' > \"$2\"",
            "holds no results of an example",
            1,
        ),
        (
            "echo 'error: no pools' >&2; exit 3",
            "skipped exit status: 3: no pools",
            3,
        ),
    ] {
        let chapter = Chapter::new(&[
            ("first", format!("{describe}\n{death}\n")),
            ("second", example("second", &[("pools", true, None)])),
        ]);
        let (found, out, _) = chapter.ends(&["run"]);
        assert_eq!(found, code, "{out}");
        assert!(joined(&out).contains(said), "{said}: {out}");
        assert!(out.contains("second:pools"), "{out}");
        assert_eq!(files(&chapter.results()), ["run.json", "second.json"]);
    }
}

#[test]
fn what_the_device_lacks_is_skipped_and_a_lack_only_when_asked_for_by_name() {
    let parts = [
        ("overlap", true, None),
        ("pools", true, Some("memory pools")),
    ];
    let chapter = Chapter::new(&[("first", example("first", &parts))]);
    let (code, out, _) = chapter.ends(&["run"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        joined(&out).contains(" first:pools skipped the device lacks memory pools "),
        "{out}"
    );
    assert_eq!(chapter.ends(&["run", "first"]).0, 0);
    assert_eq!(chapter.ends(&["run", "first:pools"]).0, 3);
    let list = chapter.ends(&["list"]).1;
    assert!(
        list.contains("needs memory pools (MISSING on this device)"),
        "{list}"
    );
}

#[test]
fn without_a_device_nothing_runs() {
    let absent = r#"{"name":"first","about":"A pretence","device":{"absent":{"reason":"libcuda.so.1 not found"}},"parts":[]}"#;
    let chapter = Chapter::new(&[("first", format!("echo '{absent}'"))]);
    let (code, out, err) = chapter.ends(&["run", "--device", "nvidia"]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (3, "", "error: libcuda.so.1 not found\n")
    );
    assert!(!chapter.results().exists());
}

#[test]
fn a_folder_of_something_else_is_not_replaced() {
    let chapter = two();
    let thesis = chapter.path().join("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("chapter-1"), "").unwrap();
    let (code, out, err) = chapter.ends(&["run", "--out", "thesis"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("--out thesis: not replaced: the folder is not empty"),
        "{err}"
    );
    assert_eq!(files(&thesis), ["chapter-1"]);
    for unwritable in [
        "/proc/chapter",
        "chapter-targets.txt",
        "chapter-targets.txt/results",
    ] {
        let (code, out, _) = chapter.ends(&["run", "--out", unwritable]);
        assert_eq!((code, out.as_str()), (2, ""), "{unwritable}");
    }
}

#[test]
fn the_deep_profile_keeps_what_the_programs_print() {
    let chapter = two();
    assert_eq!(chapter.ends(&["run", "second", "--profile", "deep"]).0, 0);
    let text = fs::read_to_string(chapter.results().join("second.txt")).unwrap();
    assert_eq!(text, "pools: Does pools hold?\n");
}

#[test]
fn a_program_that_ends_otherwise_than_its_results_say_is_broken() {
    let script = example("first", &[("overlap", true, None)]) + "exit 101\n";
    let chapter = Chapter::new(&[("first", script)]);
    let (code, out, _) = chapter.ends(&["run"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        joined(&out).contains("which contradicts its results"),
        "{out}"
    );
}

#[test]
fn reports_of_the_checkers_are_printed_and_a_failure() {
    let script = example("first", &[("overlap", true, None)]);
    let script = script.replace("\"reports\":[]", "\"reports\":[\"race: a and b\"]");
    let chapter = Chapter::new(&[("first", script)]);
    let (code, out, _) = chapter.ends(&["run"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        joined(&out).contains("1 report of the checkers: race: a and b"),
        "{out}"
    );
}

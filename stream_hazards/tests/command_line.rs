//! What the program says of each pair and how it ends, on a machine without a GPU.

use std::process::{Command, Output};

const PARTS: [&str; 7] = [
    "missing-event",
    "early-host-read",
    "buffer-reused",
    "free-without-order",
    "re-recorded-event",
    "wait-before-record",
    "callback-waits",
];

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stream_hazards"))
        .args(["--device", "software"])
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES")
        .output()
        .expect("the program starts")
}

/// What was printed. Fails unless the exit code is `code`.
fn said(output: &Output, code: i32) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    out
}

#[test]
fn each_racy_program_is_caught_and_each_fixed_one_is_silent() {
    let all = said(&run(&["--races", "fail", "--verbose"]), 0);
    for part in PARTS {
        let (_, text) = all
            .split_once(&format!("\n{part}: "))
            .unwrap_or_else(|| panic!("{part} did not run: {all}"));
        let text = text.split("\n\n").next().expect("the part's text");
        for claim in [
            "ok      racy: the checker reports it",
            "ok      racy: the result is wrong",
            "ok      fixed: every element is right: 262144 elements",
            "ok      fixed: the checker is silent: 0 reports",
        ] {
            assert!(text.contains(claim), "{part}: `{claim}` is missing: {text}");
        }
    }
}

#[test]
fn the_file_shows_each_race_in_its_recording_and_none_in_the_fixed_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("results.json");
    said(&run(&["--json", path.to_str().expect("UTF-8")]), 0);
    let file = std::fs::File::open(path).expect("the file");
    let results: serde_json::Value = serde_json::from_reader(file).expect("JSON");
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    for part in list(&results["parts"]) {
        let name = &part["name"];
        let [racy, fixed] = &list(&part["timelines"])[..] else {
            panic!("{name}: two timelines: {part}")
        };
        let found = |timeline: &serde_json::Value| list(&timeline["recording"]["findings"]).len();
        assert_ne!(found(racy), 0, "{name}");
        assert_eq!(found(fixed), 0, "{name}");
    }
    let race = &results["parts"][0]["timelines"][0]["recording"];
    let about = list(&race["findings"][0]["intervals"]);
    let engine = |place: &serde_json::Value| {
        let interval = &race["intervals"][place.as_u64().expect("a place") as usize];
        interval["engine"].as_str().expect("an engine").to_owned()
    };
    let mut engines: Vec<String> = about.iter().map(engine).collect();
    engines.sort();
    assert_eq!(engines, ["host-to-device", "kernel"]);
}

#[test]
fn reports_point_at_the_lines_of_the_program() {
    let missing = said(&run(&["--part", "missing-event"]), 0);
    // Lines are wrapped.
    let missing = missing.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "copy of 1048576 bytes from host to device, operation 1 of stream `first` (stream_hazards/src/missing_event.rs:",
        "kernel `affine_rounds_x4`, operation 1 of stream `second` (stream_hazards/src/missing_event.rs:",
        "0..1048576 (1048576 bytes) of device memory",
        "cuEventRecord",
        "cuStreamWaitEvent",
    ] {
        assert!(missing.contains(words), "`{words}` is missing: {missing}");
    }
}

#[test]
fn without_the_checkers_the_wrong_result_is_all_there_is() {
    let unseen = said(&run(&["--part", "missing-event", "--races", "off"]), 0);
    assert!(unseen.contains("racy: 262144 of 262144 elements of the result are wrong"));
    assert!(!unseen.contains("race: "), "{unseen}");
}

#[test]
fn the_lesson_holds_for_other_sizes_and_sizes_that_hide_it_are_refused() {
    for size in ["512KiB", "2MiB"] {
        said(&run(&["--size", size]), 0);
    }
    for size in ["4", "256KiB", "1GiB"] {
        said(&run(&["--part", "missing-event", "--size", size]), 2);
    }
}

#[test]
fn options_that_no_pair_uses_are_refused() {
    for option in [["--iterations", "2"], ["--chunks", "2"]] {
        let output = run(&option);
        said(&output, 2);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        let named = format!("{}: the parts of this example do not use it", option[0]);
        assert!(error.contains(&named), "{error}");
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let printed = said(&run(&["--part", "re-recorded-event"]), 0);
    let readme = include_str!("../README.md");
    assert!(
        readme.contains(&printed),
        "README.md shows another output: put this one into it: {printed}"
    );
}

#[test]
fn raw_hazard_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_hazard"), include_str!("../README.md"));
}

#[test]
fn the_racy_program_of_one_file_is_wrong_and_reported() {
    let program = env!("CARGO_BIN_EXE_raw_hazard");
    let racy = lesson_tests::run_raw(program, &["racy"]);
    assert_eq!(lesson_tests::code(&racy), Some(1));
    let said = lesson_tests::text(&racy.stdout);
    assert!(!said.is_empty() && include_str!("../README.md").contains(&said));
    let reported = lesson_tests::text(&racy.stderr);
    for words in ["software GPU: race: the copy of", "missing: ", "Error: warm-up: "] {
        assert!(reported.contains(words), "{words}");
    }
    let other = lesson_tests::run_raw(program, &["other"]);
    assert_eq!(lesson_tests::code(&other), Some(2));
    assert!(lesson_tests::text(&other.stderr).contains("`racy`"));
}

/// The calls that `raw_order` can leave out.
const CALLS: [&str; 7] = [
    "record-loaded",
    "wait-loaded",
    "record-computed",
    "wait-computed",
    "record-emptied",
    "wait-emptied",
    "synchronize",
];

#[test]
fn raw_order_is_right_with_all_calls_and_reported_without_any_one() {
    let program = env!("CARGO_BIN_EXE_raw_order");
    let whole = lesson_tests::run_raw(program, &[]);
    let said = (lesson_tests::text(&whole.stdout), lesson_tests::text(&whole.stderr));
    assert_eq!(said, ("0 of 524288 elements are wrong\n".into(), String::new()));
    for call in CALLS {
        let without = lesson_tests::run_raw(program, &[call]);
        assert_eq!(lesson_tests::code(&without), Some(1), "{call}");
        let reported = lesson_tests::text(&without.stderr);
        assert!(reported.contains("software GPU: race"), "{call}: {reported}");
        assert!(reported.contains("raw_order.rs:"), "{call}: {reported}");
    }
    let unknown = lesson_tests::run_raw(program, &["record"]);
    assert_eq!(lesson_tests::code(&unknown), Some(2));
    assert!(
        lesson_tests::text(&unknown.stderr).contains("\"record\" is not a call of this program")
    );
}

/// The playground has a box for each call, and arrows for the calls that make a dependency.
#[test]
fn the_playground_has_the_calls_of_raw_order() {
    let boxes = include_str!("../../tools/playground/page/order.js");
    let arrows = include_str!("../../tools/playground/page/diagram.js");
    for call in CALLS {
        assert!(boxes.contains(&format!("id: \"{call}\"")), "{call}");
        assert!(arrows.contains(&format!("\"{call}\"")), "{call}");
    }
    assert_eq!(boxes.matches("{ id: \"").count(), CALLS.len());
}

#[test]
fn raw_errors_prints_what_the_book_shows() {
    let output = lesson_tests::run_raw(env!("CARGO_BIN_EXE_raw_errors"), &[]);
    assert_eq!(lesson_tests::code(&output), Some(0));
    let said = lesson_tests::text(&output.stdout);
    let page = include_str!("../../book/src/errors.md");
    assert!(!said.is_empty() && page.contains(&said), "{said}");
    let reported = lesson_tests::text(&output.stderr);
    assert!(reported.contains("load of 16 bytes at 0x0 in global space is out of bounds"));
    assert!(!reported.contains("never written"), "{reported}");
}

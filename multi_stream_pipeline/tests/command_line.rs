//! What the program says and how it ends, on a machine without a GPU.

use lesson_tests::Lesson;
use std::process::{Command, Output};

const LESSON: Lesson = Lesson {
    program: env!("CARGO_BIN_EXE_multi_stream_pipeline"),
    readme: include_str!("../README.md"),
};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multi_stream_pipeline"));
    command
        .args(["--device", "software"])
        .args(arguments)
        .env_remove("COLUMNS")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES");
    command
}

/// What was printed. Fails unless the exit code is `code`.
fn said(mut program: Command, code: i32) -> String {
    let (out, err) = texts(&program.output().expect("the program starts"), code);
    assert_eq!(err, "", "{out}");
    out
}

fn texts(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    (out, err)
}

#[test]
fn the_readme_shows_what_is_printed() {
    LESSON.readme_shows("event-chain");
}

#[test]
fn forms_that_a_device_lacks_are_left_out_by_name() {
    let cp_async = |has| {
        format!(
            "Left out: specialised: cp.async, mbarriers: it needs compute capability 8.0, and this device has {has}."
        )
    };
    let bulk = |has| {
        format!(
            "Left out: specialised: bulk copies, mbarriers: it needs compute capability 9.0, and this device has {has}."
        )
    };
    for (gpu, left_out) in [
        ("t4", vec![cp_async("7.5"), bulk("7.5")]),
        ("a100", vec![bulk("8.0")]),
        ("rtx4090", vec![bulk("8.9")]),
    ] {
        let arguments = ["--gpu", gpu, "--part", "warp-specialised"];
        let mut program = program(&arguments);
        // Nothing is wrapped.
        program.env("COLUMNS", "1000");
        // Whether the lesson holds is another question: these devices' figures are from data sheets.
        let output = program.output().expect("the program starts");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let sentences: Vec<&str> =
            printed.lines().map(str::trim).filter(|line| line.starts_with("Left out: ")).collect();
        assert_eq!(sentences, left_out, "{gpu}: {printed}");
        assert_eq!(form_columns(&printed), 4 - left_out.len(), "{gpu}: {printed}");
    }
}

/// Times of forms in the first row of the table by intensity; a form that the device lacks has a dash.
fn form_columns(printed: &str) -> usize {
    let mut lines = printed.lines();
    lines.find(|line| line.trim().starts_with("blocks per SM")).expect("the table");
    let row = lines.next().expect("its first row");
    let dashes = row.split_whitespace().filter(|cell| *cell == "-").count();
    4 - dashes
}

#[test]
fn the_error_of_a_host_function_reaches_the_program() {
    let arguments = ["--part", "host-callback", "--chunks", "6", "--size", "3MiB", "--verbose"];
    let printed = said(program(&arguments), 0);
    for claim in [
        "ok      functions are called in the order of the chunks: 3 of 3 runs",
        "ok      waiting for the device inside a function is refused: CUDA_ERROR_NOT_PERMITTED",
        "ok      the function's error reaches the program: chunk 3, element 43690",
        "ok      no later chunk was worked on: 3 were",
    ] {
        assert!(printed.contains(claim), "{claim} is missing: {printed}");
    }
}

#[test]
fn senseless_requests_are_usage_errors() {
    for (arguments, named) in [
        (&["--part", "nonsense"][..], "nonsense"),
        (&["--chunks", "0"], "0"),
        (&["--size", "0"], "0"),
        (&["--part", "event-chain", "--size", "4"], "--size 4 B"),
        (&["--part", "host-callback", "--size", "4"], "--size 4 B"),
        (&["--part", "warp-specialised", "--size", "4"], "--size 4 B"),
        (&["--part", "event-chain", "--size", "1KiB", "--chunks", "17"], "17"),
        (&["--part", "host-callback", "--size", "1KiB", "--chunks", "17"], "17"),
        (&["--part", "event-chain", "--chunks", "1"], "--chunks 1"),
        (&["--streams", "2"], "--streams: the parts of this example"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = program(arguments).output().expect("the program starts");
        let (_, error) = texts(&output, 2);
        assert!(error.contains(named), "{arguments:?}: {error}");
    }
}

#[test]
fn raw_pipeline_prints_what_the_readme_shows() {
    lesson_tests::raw_shows(env!("CARGO_BIN_EXE_raw_pipeline"), include_str!("../README.md"));
}

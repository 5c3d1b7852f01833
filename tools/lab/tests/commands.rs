//! What a student types, in a copy of the labs and in a pipe.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A student's copy: exercises, their starting states, goals.
fn copy() -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
    let folder = tempfile::tempdir().expect("a folder");
    let labs = folder.path().join("labs");
    for part in ["exercises", "goals"] {
        fs::create_dir_all(labs.join(part)).expect("a folder");
        fs::create_dir_all(labs.join(".originals")).expect("a folder");
        for file in fs::read_dir(from.join(part)).expect("a folder").flatten() {
            fs::copy(file.path(), labs.join(part).join(file.file_name())).expect("a file");
            if part == "exercises" {
                let original = labs.join(".originals").join(file.file_name());
                fs::copy(file.path(), original).expect("a file");
            }
        }
    }
    fs::copy(from.join("labs.toml"), labs.join("labs.toml")).expect("the catalogue");
    folder
}

/// Runs `lab` on that copy. Nothing may be left among the temporary files.
fn lab(folder: &TempDir, arguments: &[&str]) -> (i32, String) {
    let temporary = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(arguments)
        .env("LABS_ROOT", folder.path())
        .envs(["TMPDIR", "TMP"].map(|name| (name, temporary.path())))
        .output()
        .expect("the command starts");
    let left = fs::read_dir(&temporary).expect("a folder").flatten();
    assert_eq!(left.map(|left| left.path()).next(), None);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("text");
    (output.status.code().expect("a code"), said)
}

#[test]
fn the_list_and_the_next_lab_are_plain_text_in_a_pipe() {
    let folder = copy();
    let (code, list) = lab(&folder, &["list"]);
    assert_eq!(code, 0, "{list}");
    assert!(
        list.contains("01_first_stream") && !list.contains('\x1b'),
        "{list}"
    );
    let (code, next) = lab(&folder, &["next"]);
    assert_eq!(code, 0, "{next}");
    assert!(next.contains("labs/exercises/01_first_stream.rs"), "{next}");
    assert!(
        next.contains("the goal, modelled") && next.contains("work |"),
        "{next}"
    );
    assert!(!next.contains("```"), "{next}");
}

#[test]
fn each_call_shows_one_hint_more() {
    let folder = copy();
    let count = |said: &str| said.lines().filter(|line| line.contains("/3 ")).count();
    for expected in [1, 2, 3, 3] {
        let (code, said) = lab(&folder, &["hint", "5"]);
        assert_eq!((code, count(&said)), (0, expected), "{said}");
    }
    assert_eq!(
        count(&lab(&folder, &["hint", "missing_event", "--level", "1"]).1),
        1
    );
}

#[test]
fn a_reset_brings_the_starting_state_back_and_keeps_the_text() {
    let folder = copy();
    let file = folder.path().join("labs/exercises/05_missing_event.rs");
    let original = fs::read_to_string(&file).expect("the exercise");
    assert!(lab(&folder, &["diff", "5"]).1.contains("Nothing differs"));
    fs::write(&file, original.replace("copied.record", "computed.record")).expect("a change");
    let (_, said) = lab(&folder, &["diff", "5"]);
    assert!(
        said.contains("-         copied.record") && said.contains("+         computed.record"),
        "{said}"
    );
    let (code, said) = lab(&folder, &["reset", "5"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read_to_string(&file).expect("the exercise"), original);
    let kept = fs::read_to_string(file.with_extension("before-reset")).expect("the text");
    assert!(kept.contains("computed.record"));
}

#[test]
fn an_unknown_lab_is_bad_usage() {
    let folder = copy();
    for word in ["99", "no_such_lab", "stream"] {
        let (code, said) = lab(&folder, &["hint", word]);
        assert_eq!(code, 2, "{word}: {said}");
    }
}

#[test]
fn an_answer_is_judged_without_a_compiler() {
    let folder = copy();
    let programs = folder.path().join("programs");
    fs::create_dir_all(&programs).expect("a folder");
    let solution =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs/solutions/22_explain_trace.txt");
    let solutions = folder.path().join("labs/solutions");
    fs::create_dir_all(&solutions).expect("a folder");
    fs::copy(solution, solutions.join("22_explain_trace.txt")).expect("the answers");
    let programs = programs.to_string_lossy();
    let arguments = [
        "verify",
        "22",
        "--device",
        "nvidia",
        "--without-mistakes",
        "--programs",
        &programs,
    ];
    let (code, said) = lab(&folder, &arguments);
    assert_eq!(code, 0, "{said}");
    fs::write(solutions.join("22_explain_trace.txt"), "1: engine\n").expect("wrong answers");
    let (code, said) = lab(&folder, &arguments);
    assert!(code == 1 && said.contains("`engine`"), "{said}");
}

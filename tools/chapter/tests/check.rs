//! `check` from outside: what it says of a small run, and how it ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const RESULTS: &str = include_str!("check/results.json");

/// A folder with expectations in it, and the runs that are compared.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("expectations")).unwrap();
        Self(home)
    }

    /// Exit code, standard output and standard error of `check` in the folder, of a file with this text.
    fn check(&self, text: &str, more: &[&str]) -> (i32, String, String) {
        fs::write(self.0.path().join("run.json"), text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
            .args(["check", "run.json", "--expectations", "expectations"])
            .args(more)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    }

    /// With the run recorded.
    fn recorded() -> Self {
        let home = Self::new();
        let (code, said, err) = home.check(RESULTS, &["--update-expectations"]);
        let file = home.file();
        assert_eq!(
            (code, said.as_str(), err.as_str()),
            (0, format!("wrote {file}\n").as_str(), "")
        );
        home
    }

    fn file(&self) -> String {
        "expectations/software-gpu-nvidia-h200/basic_streams.json".to_owned()
    }

    fn write(&self, text: &str) {
        fs::write(self.0.path().join(self.file()), text).unwrap();
    }

    fn read(&self) -> String {
        fs::read_to_string(self.0.path().join(self.file())).unwrap()
    }
}

const DEVICE: &str = "Expectations of NVIDIA H200, driver software GPU, CUDA 13.0, 132 multiprocessors\n    at 1980 MHz, memory at 3201 MHz, profile 591c70fd\n";
const AGAIN: &str = "If the change is intended, record it with `cargo chapter run\n    --update-expectations` on the same device, and commit the files.\n";

#[test]
fn an_equal_run_meets_the_expectations() {
    let said = format!("{DEVICE}  basic_streams: as expected, 4 figures of 1 part\n");
    assert_eq!(
        Home::recorded().check(RESULTS, &["--strict"]),
        (0, said, String::new())
    );
}

#[test]
fn a_slower_run_is_named() {
    let slower = RESULTS.replace("1096.032", "1096.033");
    let said = format!(
        "{DEVICE}  basic_streams:\n    kernels  NOT AS EXPECTED, 1 of 4 figures\n\
         REGRESSION: basic_streams kernels: 128 launches, 8 streams, makespan:\n    1096.033 µs, expected 1096.032 µs (exactly)\n{AGAIN}"
    );
    assert_eq!(
        Home::recorded().check(&slower, &[]),
        (1, said, String::new())
    );
}

#[test]
fn a_changed_plan_is_reported() {
    let changed = RESULTS.replace("6a183d9069872c28", "0123456789abcdef");
    let said = format!(
        "{DEVICE}  basic_streams: expectation outdated: the part does other work than recorded\n      \
         (hash 0123456789abcdef, recorded 6a183d9069872c28)\n{AGAIN}"
    );
    assert_eq!(
        Home::recorded().check(&changed, &[]),
        (1, said, String::new())
    );
}

#[test]
fn missing_expectations_are_reported_and_fail_a_strict_check() {
    let home = Home::new();
    let said = format!(
        "{DEVICE}  basic_streams: not judged: no expectations recorded for this target on this\n      device ({})\n",
        home.file()
    );
    assert_eq!(home.check(RESULTS, &[]), (0, said.clone(), String::new()));
    assert_eq!(
        home.check(RESULTS, &["--strict"]),
        (1, said + AGAIN, String::new())
    );
}

#[test]
fn files_that_are_none_are_refused() {
    let home = Home::recorded();
    let whole = home.read();
    for (run, expectations, reason) in [
        (
            &RESULTS[..200],
            whole.as_str(),
            "error: run.json holds no results of an example: ",
        ),
        (
            RESULTS,
            &whole[..200],
            "basic_streams.json is not a file of expectations: EOF while parsing",
        ),
        (
            RESULTS,
            &whole.replace("\"version\": 3", "\"version\": 1"),
            "basic_streams.json has version 1 of the expectations' format; this program reads version 3; record it again",
        ),
    ] {
        home.write(expectations);
        let (code, said, err) = home.check(run, &[]);
        assert_eq!((code, said.as_str()), (2, ""), "{err}");
        assert!(err.contains(reason), "{err}");
    }
    let later = RESULTS.replace("\"version\": 3", "\"version\": 4");
    let (code, _, err) = home.check(&later, &[]);
    assert_eq!(code, 2);
    assert!(err.contains("version 4 of the results' form"), "{err}");
}

#[test]
fn where_no_folder_can_be_made_nothing_is_left_behind() {
    let home = Home::new();
    let expectations = home.0.path().join("expectations");
    fs::remove_dir(&expectations).unwrap();
    fs::write(&expectations, "a file").unwrap();
    let (code, said, err) = home.check(RESULTS, &["--update-expectations"]);
    assert_eq!((code, said.as_str()), (2, ""), "{err}");
    assert!(
        err.starts_with("error: cannot create expectations/software-gpu-nvidia-h200: "),
        "{err}"
    );
    assert_eq!(fs::read_to_string(&expectations).unwrap(), "a file");
    assert!(Path::new(&expectations).is_file());
}

#[test]
fn a_folder_of_expectations_that_is_not_there_is_bad_usage() {
    let home = Home::new();
    fs::remove_dir(home.0.path().join("expectations")).unwrap();
    let (code, said, err) = home.check(RESULTS, &[]);
    assert_eq!((code, said.as_str()), (2, ""));
    assert!(
        err.contains("--expectations expectations: no such folder"),
        "{err}"
    );
}

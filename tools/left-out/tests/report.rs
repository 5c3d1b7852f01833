//! From a note to the last lines of `make test`.

#![cfg(unix)]

use left_out::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the process whose tests are left out.
const CHILD: &str = "LEAVES_TESTS_OUT";

/// What `scripts/left-out` prints of this file.
fn report(file: &Path) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/left-out");
    let output = Command::new(script).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn lacks_a_toolchain() {
    if std::env::var_os(CHILD).is_some() {
        left_out::note(Missing::DeviceToolchain);
    }
}

#[test]
fn lacks_a_toolchain_too() {
    if std::env::var_os(CHILD).is_some() {
        left_out::note(Missing::DeviceToolchain);
    }
}

#[test]
fn lacks_the_software_gpu() {
    if std::env::var_os(CHILD).is_some() {
        left_out::note(Missing::SoftwareGpu);
    }
}

#[test]
fn the_report_names_each_test_and_how_to_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left-out");
    // A test that ran twice is named once.
    for _ in 0..2 {
        let tests = Command::new(std::env::current_exe().unwrap())
            .arg("lacks_")
            .env(CHILD, "1")
            .env("LEFT_OUT", &file)
            .output();
        assert!(tests.unwrap().status.success());
    }
    let here = "tools/left-out/tests/report.rs";
    assert_eq!(
        report(&file),
        format!(
            "Left out: CUDA_DRIVER=nvidia selects NVIDIA's driver\n\
             \x20 {here}: lacks_the_software_gpu\n\
             \x20 To run them: run the tests without CUDA_DRIVER.\n\
             Left out: no device toolchain, which compiles kernels\n\
             \x20 {here}: lacks_a_toolchain\n\
             \x20 {here}: lacks_a_toolchain_too\n\
             \x20 To run them: `make toolchain` installs it.\n"
        )
    );
}

#[test]
fn with_no_note_nothing_was_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left-out");
    let nothing = "All tests ran: nothing was left out.\n";
    assert_eq!(report(&file), nothing);
    fs::write(&file, "").unwrap();
    assert_eq!(report(&file), nothing);
}

/// Tests that look for the device toolchain, or at the driver of the machine, say what they lack.
#[test]
fn no_test_is_left_out_in_silence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut looking = 0;
    for source in sources(&root) {
        let text = fs::read_to_string(&source).unwrap();
        let looks = ["Toolchain::find()", "/proc/driver/nvidia"];
        if looks.iter().any(|look| text.contains(look)) {
            looking += 1;
            let says = text.contains("left_out::note(");
            assert!(says, "{} returns in silence", source.display());
        }
    }
    assert!(looking > 4, "{looking} tests");
}

/// The Rust sources of all folders of tests but this one.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let other = name.starts_with('.') || ["target", "left-out"].contains(&&*name);
            if !other {
                found.extend(sources(&path));
            }
        } else if name.ends_with(".rs") && path.iter().any(|part| part == "tests") {
            found.push(path);
        }
    }
    found
}

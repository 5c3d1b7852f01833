//! The command line of an example, from outside: exit codes and messages.

use chapter_results::Results;
use chapter_results::description::{Availability, Description};
use chapter_results::device::TimeSource;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The example `lesson`, which cargo builds beside the tests.
fn lesson(arguments: &[&str]) -> Output {
    lesson_with(arguments, &[])
}

/// The same with these environment variables.
fn lesson_with(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let test = std::env::current_exe().unwrap();
    let folder: PathBuf = test.ancestors().nth(2).unwrap().join("examples");
    // No NVIDIA GPU is visible, even on a machine that has one.
    Command::new(folder.join("lesson"))
        .args(arguments)
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_unknown_part_is_bad_usage_and_the_known_ones_are_listed() {
    let output = lesson(&["--part", "nonsense"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("[possible values: two-ways]"),
        "{}",
        stderr(&output)
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn values_that_leave_nothing_to_do_are_bad_usage() {
    for arguments in [
        ["--chunks", "0"],
        ["--size", "0"],
        ["--iterations", "0"],
        ["--trace", "/"],
    ] {
        assert_eq!(code(&lesson(&arguments)), 2, "{arguments:?}");
    }
}

#[test]
fn an_option_that_the_part_does_not_use_is_bad_usage_before_anything_runs() {
    for part in [&[][..], &["--part", "two-ways"]] {
        let output = lesson(&[&["--rounds", "7"], part].concat());
        assert_eq!(code(&output), 2);
        assert!(
            stderr(&output).contains("--rounds: "),
            "{}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn demanding_a_gpu_that_is_absent_is_no_fallback() {
    let output = lesson(&["--device", "nvidia"]);
    assert_eq!(code(&output), 3);
    assert_eq!(
        stderr(&output).trim_end().lines().count(),
        1,
        "{}",
        stderr(&output)
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn help_shows_parts_and_exit_codes() {
    let output = lesson(&["--help"]);
    assert_eq!(code(&output), 0);
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(
        help.contains("two-ways  Do both directions work at once?"),
        "{help}"
    );
    assert!(help.contains("Exit codes: "), "{help}");
}

#[test]
fn the_software_gpu_models_what_is_asked_for() {
    let arguments = ["--device", "software", "--gpu", "t4", "--size", "1MiB"];
    let output = lesson(&arguments);
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let first = said.lines().next().unwrap_or_default();
    assert_eq!(
        first,
        "Software GPU, modelled on Tesla T4 (figures from data sheets, not measured; requested). Times are modelled."
    );
}

#[test]
fn an_unknown_gpu_is_bad_usage_and_the_known_ones_are_listed() {
    for (gpu, reason) in [
        (
            "abacus",
            "use h200, b200, h100, a100, l4, rtx4090, t4, or the path",
        ),
        ("./nowhere.toml", "./nowhere.toml"),
    ] {
        let output = lesson(&["--device", "software", "--gpu", gpu]);
        assert_eq!(code(&output), 2, "{gpu}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_value_in_the_environment_that_cannot_be_used_is_bad_usage_and_is_named() {
    for (variable, values) in [
        ("CUDA_DRIVER", &["gpu", "Software"][..]),
        ("SOFTWARE_GPU", &["abacus", "./nowhere.toml"]),
        ("SOFTWARE_GPU_COUNT", &["", "0", "9", "two"]),
        ("SOFTWARE_GPU_INSTRUCTION_BUDGET", &["0", "-1", "1e9"]),
        ("SOFTWARE_GPU_DEFAULT_STREAM", &["1", "refuse"]),
        ("SOFTWARE_GPU_RACES", &["on", "Fail"]),
    ] {
        for value in values {
            for arguments in [&[][..], &["--describe"]] {
                let output = lesson_with(arguments, &[(variable, value)]);
                let said = stderr(&output);
                assert_eq!(code(&output), 2, "{variable}={value} {arguments:?}: {said}");
                assert!(said.contains(variable) && said.contains(value), "{said}");
                assert_eq!(said.lines().count(), 1, "{said}");
                assert!(output.stdout.is_empty());
            }
        }
    }
}

#[test]
fn an_example_describes_itself_and_runs_nothing() {
    let output = lesson(&["--describe", "--device", "software"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let description: Description = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(description.name, "lesson");
    let part = &description.parts[0];
    assert_eq!(part.name, "two-ways");
    assert_eq!(part.options, ["--iterations", "--size", "--chunks"]);
    assert!(part.uses_iterations());
    let Availability::Present { times, .. } = description.device else {
        panic!("the software GPU is always there: {:?}", description.device);
    };
    assert_eq!(times, TimeSource::Modelled);
}

#[test]
fn the_description_names_a_missing_device() {
    let output = lesson(&["--describe", "--device", "nvidia"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let description: Description = serde_json::from_slice(&output.stdout).unwrap();
    assert!(matches!(description.device, Availability::Absent { .. }));
    assert_eq!(description.parts.len(), 1);
    let output = lesson(&["--describe", "--device", "software", "--gpu", "abacus"]);
    assert_eq!(code(&output), 2);
    assert!(output.stdout.is_empty());
}

#[test]
fn a_run_that_a_profiler_watches_says_so_in_its_results() {
    let folder = tempfile::tempdir().unwrap();
    for (profiled, options) in [(false, &[][..]), (true, &["--profiled"])] {
        let json = folder.path().join("results.json");
        let file = [
            "--device",
            "software",
            "--size",
            "1MiB",
            "--json",
            json.to_str().unwrap(),
        ];
        let output = lesson(&[&file, options].concat());
        assert!(json.exists(), "{}", stderr(&output));
        assert_eq!(Results::read(&json).unwrap().request.profiled, profiled);
    }
}

//! The program `conformance` as a whole, on the software GPU.

use std::process::{Command, Output};

fn conformance(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conformance"))
        .args(arguments)
        .env("CUDA_DRIVER", "software")
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_software_gpu_keeps_every_rule() {
    let output = conformance(&[]);
    assert!(output.status.success(), "{}", text(&output));
    let listed = text(&conformance(&["list"]));
    let count: usize = listed
        .lines()
        .last()
        .and_then(|line| line.strip_suffix(" rules"))
        .and_then(|count| count.parse().ok())
        .expect("the list ends with the number of rules");
    let tried = text(&output)
        .lines()
        .filter(|line| line.contains(": passed") || line.contains(": skipped, "))
        .count();
    assert_eq!(tried, count);
}

/// The end of a run names the skipped rules with the reason: here those that need a second device.
#[test]
fn the_end_names_each_skipped_rule() {
    let output = conformance(&["--family", "peers"]);
    assert!(output.status.success(), "{}", text(&output));
    let text = text(&output);
    let (verdicts, end) = text
        .split_once("\nskipped, there is one device only:\n")
        .expect("a list of skipped rules");
    let of_verdicts: Vec<_> = verdicts
        .lines()
        .filter_map(|line| line.strip_suffix(": skipped, there is one device only"))
        .collect();
    let of_end: Vec<_> = end
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .collect();
    assert!(!of_end.is_empty());
    assert_eq!(of_end, of_verdicts);
}

#[test]
fn a_family_that_does_not_exist_is_bad_usage() {
    for arguments in [
        &["--family", "nonsense"][..],
        &["--family", "nonsense", "list"],
    ] {
        let output = conformance(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output), "");
    }
}

#[test]
fn a_broken_rule_is_exit_code_1() {
    let output = Command::new(env!("CARGO_BIN_EXE_conformance"))
        .args(["--filter", "every_thread_runs_once"])
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_INSTRUCTION_BUDGET", "1")
        .output()
        .expect("the program starts");
    assert!(text(&output).contains(": FAILED"), "{}", text(&output));
    assert_eq!(output.status.code(), Some(1));
}

/// With two devices no rule is skipped.
#[test]
fn two_software_gpus_keep_the_rules_of_peers() {
    let output = Command::new(env!("CARGO_BIN_EXE_conformance"))
        .args(["--family", "peers"])
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_COUNT", "2")
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", text(&output));
    assert!(!text(&output).contains(": skipped, "), "{}", text(&output));
}

#[test]
fn a_family_and_a_word_choose_rules() {
    let output = text(&conformance(&[
        "--family", "contexts", "--filter", "destroy",
    ]));
    let tried: Vec<_> = output.lines().filter(|line| line.contains("::")).collect();
    assert!(!tried.is_empty());
    assert!(
        tried.iter().all(|line| line.starts_with("contexts::")),
        "{output}"
    );
}

/// Whether rules run one by one or beside each other, each has one verdict.
#[test]
fn jobs_share_the_rules() {
    let verdicts = |jobs| {
        let output = text(&conformance(&["--family", "memory", "--jobs", jobs]));
        let mut lines: Vec<_> = output
            .lines()
            .filter(|line| line.contains("::"))
            .map(str::to_owned)
            .collect();
        lines.sort_unstable();
        lines
    };
    assert!(verdicts("1").len() > 1);
    assert_eq!(verdicts("3"), verdicts("1"));
}

#[test]
fn no_rule_is_bad_usage() {
    assert_eq!(
        conformance(&["--filter", "no such rule"]).status.code(),
        Some(2)
    );
    assert_eq!(conformance(&["--no-such-option"]).status.code(), Some(2));
}

#[test]
fn a_driver_that_is_none_is_bad_usage() {
    let status = Command::new(env!("CARGO_BIN_EXE_conformance"))
        .env("CUDA_DRIVER", "hardware")
        .status()
        .expect("the program starts");
    assert_eq!(status.code(), Some(2));
}

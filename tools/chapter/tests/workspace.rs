//! The command in the workspace: its real programs, on the software GPU.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exit code, standard output and standard error of the command, started in the workspace.
fn chapter(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_real_target_runs_and_its_results_can_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let out = out.to_str().unwrap();
    let (code, said, err) = chapter(&[
        "run",
        "stream_hazards",
        "--device",
        "software",
        "--out",
        out,
    ]);
    assert_eq!(code, 0, "{said}{err}");
    assert!(said.contains("stream_hazards:missing-event"), "{said}");
    assert!(said.contains("\n7 ok, in "), "{said}");
    assert!(Path::new(out).join("stream_hazards.json").is_file());
    let (code, said, err) = chapter(&["compare", out]);
    assert_eq!(code, 0, "{err}");
    assert!(said.contains("stream_hazards:callback-waits"), "{said}");
    let ignoring = ["run", "stream_hazards", "--iterations", "2", "--out", out];
    let (code, _, err) = chapter(&ignoring);
    assert_eq!(code, 2);
    assert!(
        err.contains("--iterations: the selected parts do not use it"),
        "{err}"
    );
}

#[test]
fn help_and_lists_fit_80_columns() {
    let commands = [
        "list", "run", "compare", "check", "report", "timeline", "demos", "doctor",
    ];
    let helps = commands.map(|command| vec![command, "--help"]);
    let lists = [vec!["--help"], vec!["list"], vec!["demos", "list"]];
    for arguments in helps.into_iter().chain(lists) {
        let (code, said, err) = chapter(&arguments);
        assert_eq!(code, 0, "{arguments:?}: {err}");
        let long = said.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{arguments:?}");
        assert!(!said.contains('\u{1b}'), "no colour in a pipe: {said}");
    }
}

/// `cargo chapter list --update` writes the files.
#[test]
fn the_list_is_what_the_programs_say() {
    let (code, said, err) = chapter(&["list", "--check"]);
    assert_eq!(code, 0, "{said}{err}");
}

#[test]
fn every_demo_is_a_part_and_an_unknown_one_is_refused() {
    let (code, said, err) = chapter(&["demos", "list"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        said.contains("\n                  basic_streams:three-way\n"),
        "{said}"
    );
    for demo in ["stream-priority", "event-timing", "memory-async"] {
        assert!(said.contains(&format!("\n{demo:16}  ")), "{said}");
    }
    let (code, _, err) = chapter(&["demos", "nonsense"]);
    assert_eq!(code, 2);
    assert!(err.contains("the demos are: stream-overlap, "), "{err}");
}

#[test]
fn asynchronous_copies_are_shown_beside_compute() {
    let (_, said, _) = chapter(&["targets"]);
    let prefetch = "\ndemo stream_ordered_kv_cache memory-async prefetch\n";
    assert!(said.contains(prefetch), "{said}");
}

#[test]
fn no_two_demos_have_the_same_name() {
    let (_, said, _) = chapter(&["targets"]);
    let demos = said.lines().filter_map(|line| line.strip_prefix("demo "));
    let names: Vec<&str> = demos.filter_map(|demo| demo.split(' ').nth(1)).collect();
    let different: HashSet<&str> = names.iter().copied().collect();
    assert!(!names.is_empty());
    assert_eq!(names.len(), different.len(), "{names:?}");
}

/// The text without the tables that a command writes between two marks: an example comes into them by itself.
fn written_by_hand(text: &str) -> String {
    let mut parts = text.split("<!-- scripts/");
    let by_hand = parts.next().unwrap_or_default().to_owned();
    parts.fold(by_hand, |by_hand, part| {
        let (_table, rest) = part
            .split_once("<!-- end -->")
            .expect("a table ends with a mark");
        by_hand + rest
    })
}

/// An example declares itself: adding one is its folder and a line in the workspace's manifest.
#[test]
fn no_file_lists_the_examples() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let (_, said, _) = chapter(&["targets"]);
    let examples = said
        .lines()
        .filter_map(|line| line.strip_prefix("example "));
    let examples: Vec<&str> = examples.collect();
    assert!(examples.len() > 2, "{said}");
    let manifests = ["Cargo.toml", "Cargo.lock"].map(|name| root.join(name));
    let of_examples = |path: &PathBuf| examples.iter().any(|name| *path == root.join(name));
    let mut left = vec![root.to_owned()];
    let mut read = 0;
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let ours = !name.starts_with('.') || [".ci", ".cargo"].contains(&&*name);
                let built = ["target", "node_modules", "gpu-bundle", "shared-library"];
                if ours && !built.contains(&&*name) && !of_examples(&path) {
                    left.push(path);
                }
            } else if !manifests.contains(&path)
                && let Ok(text) = fs::read_to_string(&path)
            {
                read += 1;
                let text = written_by_hand(&text);
                let all = examples.iter().all(|example| text.contains(example));
                assert!(!all, "{} lists the examples", path.display());
            }
        }
    }
    assert!(read > 100, "{read} files");
}

#[test]
fn a_new_member_is_listed_by_the_command_and_by_make() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"newcomer\"]\nresolver = \"3\"\n",
    );
    write(
        "newcomer/Cargo.toml",
        "[package]\nname = \"newcomer\"\nedition = \"2024\"\n\n[package.metadata.chapter]\nplace = 6\n\
         demos = [{ name = \"hello\", part = \"first\" }]\n",
    );
    write("newcomer/src/main.rs", "fn main() {}\n");
    let makefile = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Makefile"));
    write("Makefile", makefile);
    let said = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let output = command.args(arguments).current_dir(folder.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let listed = said(env!("CARGO_BIN_EXE_chapter"), &["targets"]);
    assert_eq!(listed, "example newcomer\ndemo newcomer hello first\n");
    let run = said("make", &["--dry-run", "newcomer"]);
    assert!(run.contains("run --locked -p newcomer"), "{run}");
}

#[test]
fn a_demo_gets_the_arguments_after_the_dashes_and_its_exit_code_is_returned() {
    let (code, said, err) = chapter(&["demos", "missing-event", "--", "--device", "software"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        said.contains("\nmissing-event: What does a kernel read"),
        "{said}"
    );
    assert!(!said.contains("\nearly-host-read: "), "{said}");
    assert_eq!(
        chapter(&["demos", "missing-event", "--", "--device", "nvidia"]).0,
        3
    );
    assert_eq!(
        chapter(&["demos", "missing-event", "--", "--nonsense"]).0,
        2
    );
}

#[test]
fn the_doctor_says_what_would_be_used_and_why() {
    let (code, said, err) = chapter(&["doctor"]);
    assert_eq!(code, 0, "{said}{err}");
    assert!(
        said.contains("device             Software GPU, modelled on NVIDIA H200 ("),
        "{said}"
    );
    assert!(
        said.contains("PTX                up to date with the kernels' sources"),
        "{said}"
    );
    assert!(
        said.contains("examples           basic_streams, stream_hazards, "),
        "{said}"
    );
    assert!(said.ends_with("\nThe examples can run here.\n"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
        .arg("doctor")
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .env("CUDA_DRIVER", "nvidia")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}

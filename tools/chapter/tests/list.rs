//! `list` in a workspace: what it prints comes from files, which are held to what the programs say.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The description that the program of [`Workspace`] prints.
const DESCRIPTION: &str = r#"{"name":"newcomer","about":"A pretence","device":{"present":{"introduction":"Paper GPU.","times":"modelled",
"fingerprint":{"name":"Paper GPU","driver":"none","cuda":"13.0","clock_mhz":1,"memory_clock_mhz":1,"multiprocessors":1}}},
"parts":[{"name":"first","question":"Does it hold?","options":["--size"],"needs":[{"property":"paper","met":false}]},
{"name":"second","question":"Does it hold again?","options":[],"needs":[]}]}"#;

/// A workspace with one example, which can do nothing else than describe itself.
struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        let main = format!("fn main() {{ println!(\"{{}}\", r#\"{DESCRIPTION}\"#) }}\n");
        for (path, text) in [
            (
                "Cargo.toml",
                "[workspace]\nmembers = [\"newcomer\"]\nresolver = \"3\"\n",
            ),
            (
                "Cargo.lock",
                "version = 4\n\n[[package]]\nname = \"newcomer\"\nversion = \"0.0.0\"\n",
            ),
            (
                "newcomer/Cargo.toml",
                "[package]\nname = \"newcomer\"\nedition = \"2024\"\n\n[package.metadata.chapter]\nplace = 1\n\
                 demos = [{ name = \"hello\", part = \"first\" }]\n",
            ),
            ("newcomer/src/main.rs", &main),
        ] {
            let path = workspace.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        workspace
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Exit code, standard output and standard error of the command.
    fn chapter(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_chapter"))
            .args(arguments)
            .current_dir(self.path())
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn is_built(&self) -> bool {
        self.path().join("target").exists()
    }
}

#[test]
fn a_list_is_read_from_the_examples_file_and_builds_nothing() {
    let workspace = Workspace::new();
    let file = workspace.path().join("newcomer/parts.json");
    let (code, said, err) = workspace.chapter(&["list"]);
    assert_eq!((code, said.as_str()), (2, ""));
    assert!(
        err.contains("parts.json: ") && err.contains("`cargo chapter list --update newcomer`"),
        "{err}"
    );
    fs::write(&file, "{\"name\":\"newcomer\"}").unwrap();
    assert_eq!(workspace.chapter(&["list"]).0, 2);
    fs::write(
        &file,
        r#"{"name":"newcomer","about":"From the file","parts":[{"name":"first","question":"Read?","options":["--size"],
        "needs":[{"property":"paper"}]}]}"#,
    )
    .unwrap();
    let (code, said, err) = workspace.chapter(&["list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let first = "Needs are not checked here; --device auto checks them on this machine's device.\n";
    let rest = "\nnewcomer: From the file\n  first  Read?\n         needs paper\n         options --size\n";
    assert_eq!(said, format!("{first}{rest}"));
    let (_, demos, _) = workspace.chapter(&["demos", "list"]);
    assert_eq!(demos.lines().next(), Some("hello             Read?"));
    let (code, _, err) = workspace.chapter(&["list", "newcomer:third"]);
    assert_eq!(code, 2);
    let known = "error: newcomer has no part `third`; its parts are: first\n";
    assert_eq!(err, known);
    assert!(!workspace.is_built());
}

#[test]
fn a_file_that_says_something_else_than_the_program_fails_the_check_and_update_writes_it() {
    let workspace = Workspace::new();
    let file = workspace.path().join("newcomer/parts.json");
    let (code, said, err) = workspace.chapter(&["list", "--check"]);
    assert_eq!(code, 1, "{said}{err}");
    assert!(said.ends_with("\n0 of 1 files are right\n"), "{said}{err}");
    let (code, said, _) = workspace.chapter(&["list", "--update"]);
    let wrote = "wrote newcomer/parts.json\n1 of 1 files written\n";
    assert_eq!((code, said.as_str()), (0, wrote));
    let right = fs::read_to_string(&file).unwrap();
    assert!(
        !right.contains("met"),
        "what a device has is not written: {right}"
    );
    let (code, said, _) = workspace.chapter(&["list", "--check"]);
    assert_eq!((code, said.as_str()), (0, "1 of 1 files are right\n"));
    for (from, to) in [
        ("Does it hold?", "Does it?"),
        ("A pretence", "Pretence"),
        ("\"paper\"", "\"stone\""),
        ("--size", "--chunks"),
        ("second", "last"),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right);
        fs::write(&file, &wrong).unwrap();
        let (code, said, _) = workspace.chapter(&["list", "--check"]);
        assert_eq!(code, 1, "{to}: {said}");
        assert!(
            said.starts_with("newcomer/parts.json is not what the program says of itself"),
            "{said}"
        );
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            wrong,
            "a check writes nothing"
        );
    }
    assert_eq!(workspace.chapter(&["list", "--update", "newcomer"]).0, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), right);
    let (_, said, _) = workspace.chapter(&["list", "--update"]);
    assert_eq!(said, "0 of 1 files written\n");
}

#[test]
fn a_device_is_asked_where_one_is_chosen() {
    let workspace = Workspace::new();
    assert_eq!(workspace.chapter(&["list", "--update"]).0, 0);
    let (code, said, _) = workspace.chapter(&["list", "--device", "auto"]);
    assert_eq!(code, 0);
    assert!(said.starts_with("Paper GPU.\n"), "{said}");
    assert!(
        said.contains("needs paper (MISSING on this device)"),
        "{said}"
    );
    let (_, said, _) = workspace.chapter(&["list", "--gpu", "t4", "--json", "newcomer:second"]);
    assert!(said.contains("\"introduction\": \"Paper GPU.\""), "{said}");
    assert!(
        said.contains("\"second\"") && !said.contains("\"first\""),
        "{said}"
    );
    let (_, said, _) = workspace.chapter(&["list", "--json"]);
    assert!(!said.contains("introduction"), "{said}");
}

#[test]
fn what_update_and_check_cannot_do_is_bad_usage() {
    let workspace = Workspace::new();
    for arguments in [
        ["list", "--update", "newcomer:first"],
        ["list", "--update", "--check"],
        ["list", "--update", "--json"],
        ["list", "--check", "--gpu=t4"],
        ["list", "--check", "stranger"],
    ] {
        assert_eq!(workspace.chapter(&arguments).0, 2, "{arguments:?}");
    }
    assert!(!workspace.is_built());
}

#[test]
fn a_build_shows_its_progress_in_a_pipe() {
    let workspace = Workspace::new();
    let (_, said, err) = workspace.chapter(&["list", "--update"]);
    assert!(err.starts_with("Building newcomer ...\n"), "{err}");
    assert!(err.contains("Compiling newcomer v0.0.0"), "{err}");
    assert!(!said.contains("newcomer v0.0.0"), "{said}");
    fs::write(
        workspace.path().join("newcomer/src/main.rs"),
        "fn main() { unknown() }\n",
    )
    .unwrap();
    let (code, _, err) = workspace.chapter(&["list", "--check"]);
    assert_eq!(code, 1);
    assert!(err.contains("cannot find function `unknown`"), "{err}");
    assert!(
        err.ends_with("error: cargo build failed: see its messages above\n"),
        "{err}"
    );
}

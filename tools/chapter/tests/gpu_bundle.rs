//! `scripts/make-gpu-bundle`, with a stand-in for cargo: it makes a whole bundle or leaves nothing behind.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// "Builds" programs that do nothing, but `chapter` lists one example and `lab` compiles into a folder. BREAK names what goes wrong.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $*" >&2
release=$CARGO_TARGET_DIR/release
mkdir -p "$release"
program() { printf '#!/bin/sh\n%s\n' "$2" >"$release/$1"; chmod +x "$release/$1"; }
case "$*" in
build*)
    [ "$BREAK" != build ] || exit 101
    for name in lesson conformance calibrate kernels launches programs gemm; do program $name; done
    for source in */src/bin/raw*.rs; do program "$(basename "$source" .rs)"; done
    [ "$BREAK" != program ] || rm "$release/gemm"
    program chapter 'echo example lesson'
    program lab 'mkdir "$3"; echo >"$3/lab"; [ "$BREAK" != labs ]'
    ;;
test*)
    for name in api instructions kernels mistakes programs rules; do
        [ "$BREAK" != "$name" ] || continue
        program "$name-1f"
        echo '{"reason":"compiler-artifact","target":{"kind":["test"],"name":"'$name'","src_path":"/'$name'.rs"},"executable":"'$release/$name-1f'"}'
    done
    ;;
esac
"#;

/// "Links" an empty file.
const CC: &str = r#"#!/bin/sh
while [ "$1" != -o ]; do shift; done
: >"$2"
"#;

/// A folder to make bundles in.
struct BundleFolder(tempfile::TempDir);

impl BundleFolder {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for (name, text) in [("cargo", CARGO), ("cc", CC), ("strip", "#!/bin/sh\n")] {
            let path = place.path().join("tools").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn bundle(&self) -> PathBuf {
        self.path().join("bundles/new")
    }

    /// The exit code, and the file that standard error went to.
    fn make(&self, breaks: &str) -> (Option<i32>, String) {
        let log = self.path().join("log");
        let path = std::env::var("PATH").unwrap();
        let tools = self.path().join("tools");
        let status = Command::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../scripts/make-gpu-bundle"
        ))
        .arg(self.bundle())
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("CARGO_TARGET_DIR", self.path().join("target"))
        .env("BREAK", breaks)
        .stderr(File::create(&log).unwrap())
        .stdout(File::create(self.path().join("out")).unwrap())
        .status()
        .unwrap();
        (status.code(), fs::read_to_string(log).unwrap())
    }

    /// The file at the bundle's path.
    fn made(&self) -> Vec<String> {
        names(&self.path().join("bundles"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_bundle_has_all_its_parts_and_its_log_is_whole() {
    let place = BundleFolder::new();
    let (code, log) = place.make("");
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(place.made(), ["new"]);
    let bundle = place.bundle();
    let all = [
        "bin",
        "cuda",
        "cuda_programs",
        "cudart",
        "labs",
        "run.sh",
        "sanitizer.sh",
    ];
    assert_eq!(names(&bundle), all);
    let all = ["exercises", "goals", "labs.toml", "solutions"];
    assert_eq!(names(&bundle.join("labs")), all);
    let all = [
        "calibrate",
        "chapter",
        "chapter-targets.txt",
        "conformance",
        "conformance_instructions",
        "conformance_kernels",
        "expectations",
        "gemm_against_cublas",
        "kernels_against_nvcc",
        "lab",
        "labs",
        "launches_against_cuda",
        "lesson",
        "programs_against_cuda",
        "rust_cuda_mistakes",
        "rust_cuda_programs",
    ];
    let (raw, others): (Vec<_>, Vec<_>) = names(&bundle.join("bin"))
        .into_iter()
        .partition(|name| name.starts_with("raw"));
    assert_eq!(others, all);
    assert!(raw.contains(&"raw_pool".to_owned()), "{raw:?}");
    let mode = fs::metadata(&bundle).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let commands: Vec<&str> = log.lines().filter_map(|line| line.get(..11)).collect();
    assert_eq!(
        commands,
        [
            "cargo build",
            "cargo test ",
            "cargo test ",
            "cargo rustc",
            "cargo rustc"
        ],
        "{log}"
    );
}

#[test]
fn without_one_of_its_parts_there_is_no_bundle() {
    for part in [
        "build",
        "program",
        "labs",
        "kernels",
        "instructions",
        "programs",
        "mistakes",
    ] {
        let place = BundleFolder::new();
        let (code, log) = place.make(part);
        assert!(code.is_some_and(|code| code != 0), "{part}: {log}");
        assert_eq!(place.made(), [""; 0], "{part}");
    }
    let place = BundleFolder::new();
    let (_, log) = place.make("mistakes");
    let error =
        "error: cargo did not name the program of the test mistakes of rust-cuda-programs\n";
    assert!(log.ends_with(error), "{log}");
}

#[test]
fn a_bundle_replaces_an_earlier_one_when_it_is_whole() {
    let place = BundleFolder::new();
    fs::create_dir_all(place.bundle().join("bin")).unwrap();
    fs::write(place.bundle().join("bin/chapter-targets.txt"), "earlier").unwrap();
    assert_ne!(place.make("labs").0, Some(0));
    assert_eq!(place.made(), ["new"]);
    assert_eq!(names(&place.bundle()), ["bin"]);
    assert_eq!(place.make("").0, Some(0));
    assert!(place.bundle().join("bin/lab").is_file());
}

#[test]
fn a_folder_of_something_else_is_not_replaced() {
    let place = BundleFolder::new();
    fs::create_dir_all(place.bundle()).unwrap();
    fs::write(place.bundle().join("run.sh"), "").unwrap();
    let (code, log) = place.make("");
    assert_eq!(code, Some(2));
    assert!(log.contains("exists and is not a GPU bundle"), "{log}");
    assert_eq!(names(&place.bundle()), ["run.sh"]);
}

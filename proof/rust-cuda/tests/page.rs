//! The page "Write your own kernel" works as it is printed: `scripts/new-kernel` writes these files into a folder outside the
//! workspace, and the program there builds and runs.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cuda_builder::Toolchain;
use left_out::Missing;

const PAGE: &str = include_str!("../../../rust-cuda/README.md");

const FILES: [&str; 6] = [
    "Cargo.toml",
    "kernels/Cargo.toml",
    "kernels/src/lib.rs",
    "build.rs",
    "src/main.rs",
    ".cargo/config.toml",
];

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The listing of a file on the page, which follows the first mention of its name.
fn listing(file: &str) -> Result<String> {
    let (_, page) = PAGE
        .split_once("## Write your own kernel")
        .context("the page")?;
    let (_, rest) = page.split_once(&format!(" `{file}`")).context("its name")?;
    let code = rest.split("```").nth(1).context("its listing")?;
    let (_language, code) = code.split_once('\n').context("its first line")?;
    // The page indents it as part of a list.
    let lines = code
        .trim_end_matches(' ')
        .lines()
        .map(|line| line.strip_prefix("   ").unwrap_or(line).to_owned() + "\n");
    Ok(lines.collect())
}

/// A folder as `scripts/make-shared-library` leaves it.
fn link_library(folder: &Path) -> Result<()> {
    run(Command::new(env!("CARGO"))
        .args(["build", "--locked", "--offline", "-p", "rust-cuda-programs"])
        .args(["--example", "shared_library"])
        .current_dir(repository()))?;
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("debug")
        .join("examples/libshared_library.so")
        .canonicalize()?;
    fs::create_dir_all(folder.join("lib64"))?;
    for name in ["libcuda.so.1", "libcuda.so", "lib64/libcuda.so"] {
        symlink(&built, folder.join(name))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}:\n{text}");
    Ok(text)
}

#[test]
fn the_page_prints_the_files() -> Result<()> {
    for file in FILES {
        let template = repository().join("rust-cuda/new-kernel").join(file);
        let text = fs::read_to_string(template)?;
        let listing = listing(file).context(file)?;
        ensure!(listing == text, "{file} differs from the page:\n{listing}");
    }
    Ok(())
}

#[test]
fn the_program_of_the_page_runs() -> Result<()> {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return Ok(());
    }
    // Outside of the workspace, and of any other.
    let folder = tempfile::tempdir()?;
    let library = folder.path().join("library");
    link_library(&library)?;
    let program = folder.path().join("scale");
    run(Command::new(repository().join("scripts/new-kernel")).args([&program, &library]))?;

    // The versions that this workspace has fetched: the test needs no network.
    fs::copy(repository().join("Cargo.lock"), program.join("Cargo.lock"))?;
    // `core` for the GPU is compiled already.
    let target = program.join("target");
    fs::create_dir(&target)?;
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda_builder");
    fs::create_dir_all(&shared)?;
    symlink(shared.canonicalize()?, target.join("cuda_builder"))?;

    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(arguments)
            .arg("--offline")
            .current_dir(&program)
            .env("CUDA_DRIVER", "software")
            // What the surrounding workspace sets for itself.
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .env_remove("CUDA_LIBRARY_PATH")
            .env_remove("LD_LIBRARY_PATH");
        command
    };
    let text = run(&mut cargo(&["run"]))?;
    ensure!(text.contains("1000 elements are right"), "{text}");

    // The line of Rust-CUDA's own guide in place of the page's.
    let manifest = fs::read_to_string(program.join("Cargo.toml"))?;
    let upstream = manifest.replace(
        "cuda_builder = \"0.3\"",
        "cuda_builder = { version = \"0.3\", features = [\"rustc_codegen_nvvm\"] }",
    );
    ensure!(manifest != upstream, "{manifest}");
    fs::write(program.join("Cargo.toml"), upstream)?;
    let tree = run(&mut cargo(&["tree", "-e", "build"]))?;
    ensure!(tree.contains("cuda_builder v0.3"), "{tree}");
    Ok(())
}

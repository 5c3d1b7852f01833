//! Kernels that do without this repository's extensions compile against the API of Rust-CUDA as published, which `upstream/` has
//! without bodies: the programs in `kernels/`, and every file of `gpu-kernels` that is not listed here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of `gpu-kernels/src` that use something that Rust-CUDA does not have, with a word of it.
const OURS: [(&str, &str); 20] = [
    ("baseline/gelu.rs", "FastFloat"),
    ("baseline/kv_cache.rs", "FastFloat"),
    ("baseline/matmul.rs", "launch_bounds"),
    ("baseline/softmax.rs", "FastFloat"),
    ("baseline/spin.rs", "global_timer"),
    ("cluster_product/kernels.rs", "extensions::{bulk"),
    ("cluster_product/stages.rs", "extensions::"),
    ("gemm/mma_sync.rs", "extensions::{SharedPtr"),
    ("gemm/mma_sync_wide/mod.rs", "extensions::async_copy"),
    ("gemm/mma_sync_wide/multiply.rs", "extensions::mma"),
    ("gemm/mma_sync_wide/ring.rs", "extensions::{SharedPtr"),
    ("gemm/mma_sync_wide/store.rs", "extensions::mma"),
    ("gemm/wgmma.rs", "extensions::{SharedPtr"),
    ("kv_prefetch/kernels.rs", "extensions::"),
    ("kv_prefetch/mean.rs", "extensions::"),
    ("steps/dependent.rs", "grid_dependency"),
    ("tiles/bulk.rs", "extensions::{bulk"),
    ("tiles/cp_async.rs", "extensions::async_copy"),
    ("tiles/plain.rs", "launch_bounds"),
    ("tiles/ring.rs", "extensions::{SharedPtr"),
];

/// Files without kernels: what the host sees, the crate's root, and what only files of [`OURS`] use.
const WITHOUT_KERNELS: [&str; 5] = [
    "lib.rs",
    "host.rs",
    "baseline/mod.rs",
    "gemm/mma_sync_wide/schedule.rs",
    "tiles/mod.rs",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The Rust files below a folder, by their paths from there, sorted.
fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let entry = entry.unwrap();
            let path = inner.join(entry.file_name());
            if entry.path().is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path.to_str().unwrap().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A crate of the files of `gpu-kernels` that are valid there, each a module of the name that the others know it by.
fn portable_kernels(to: &Path) -> Vec<String> {
    let folder = root().join("gpu-kernels/src");
    let is_ours = |file: &str| OURS.iter().any(|(ours, _)| *ours == file);
    let files: Vec<String> = sources(&folder)
        .into_iter()
        .filter(|file| !is_ours(file) && !WITHOUT_KERNELS.contains(&file.as_str()))
        .collect();
    let mut modules = String::from("#![no_std]\n#![allow(dead_code)]\n");
    let mut baseline = String::new();
    for file in &files {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        write(to.join("src").join(file), &text);
        let name = file.trim_end_matches("/mod.rs").trim_end_matches(".rs");
        match name.strip_prefix("baseline/") {
            Some(name) => baseline += &format!("pub mod {name};\n"),
            // The submodules of a folder are named in its `mod.rs`.
            None if name.contains('/') => {}
            None => modules += &format!("mod {name};\n"),
        }
    }
    for (file, _) in OURS {
        write(to.join("src").join(file), "");
    }
    modules += &format!("pub mod baseline {{\n{baseline}}}\n");
    write(to.join("src/lib.rs"), &modules);
    write(to.join("Cargo.toml"), &manifest("portable-kernels"));
    files
}

fn manifest(name: &str) -> String {
    let cuda_std = cuda_std();
    format!("[package]\nname = {name:?}\nedition = \"2024\"\n[dependencies]\n{cuda_std}\n")
}

/// The dependency that the published one is replaced by. A path, so that cargo asks no registry.
fn cuda_std() -> String {
    let upstream = Path::new(env!("CARGO_MANIFEST_DIR")).join("upstream");
    format!("cuda_std = {{ path = {upstream:?} }}")
}

/// The programs of `kernels/`, `no_std` as the builder makes them.
fn programs(to: &Path) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let names = ["vecadd", "gemm", "i128", "sha2", "path_tracer", "printing"];
    for name in names {
        for file in sources(&folder.join(name).join("src")) {
            let text = fs::read_to_string(folder.join(name).join("src").join(&file)).unwrap();
            let first = if file == "lib.rs" { "#![no_std]\n" } else { "" };
            // The attribute goes behind the crate's documentation.
            let documented = text
                .lines()
                .take_while(|line| line.starts_with("//!"))
                .count();
            let lines: Vec<&str> = text.lines().collect();
            let text = [&lines[..documented], &lines[documented..]]
                .map(|part| part.join("\n"))
                .join(&format!("\n{first}"));
            write(to.join(name).join("src").join(file), &text);
        }
        let text = fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap();
        write(
            to.join(name).join("Cargo.toml"),
            &text
                .replace("\"cdylib\", ", "")
                .replace("cuda_std = \"0.2\"", &cuda_std()),
        );
    }
    names.map(str::to_owned).to_vec()
}

/// Writes a workspace of these members, on the versions that the programs' own has locked.
fn workspace(folder: &Path, members: &[String]) {
    let text = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n");
    write(folder.join("Cargo.toml"), &text);
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
}

/// What the compiler says against a package of the workspace, if anything.
fn check(folder: &Path, package: &str) -> Option<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--quiet",
            "--message-format=short",
            "--package",
            package,
        ])
        .current_dir(folder)
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream"),
        )
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn kernels_without_extensions_compile_against_rust_cudas_signatures() {
    let folder = &Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels-there");
    let _ = fs::remove_dir_all(folder);
    let files = portable_kernels(&folder.join("portable-kernels"));
    assert!(
        files.contains(&"baseline/reduce.rs".to_owned()),
        "{files:?}"
    );
    let mut members = programs(folder);
    members.push("portable-kernels".into());

    // What this repository adds is not there: the check would find a kernel that uses it.
    const WRONG: [(&str, &str); 5] = [
        ("extensions", "use cuda_std::extensions::SharedPtr;"),
        (
            "from_ptr",
            "pub unsafe fn f(p: *mut f32) { unsafe { cuda_std::atomic::AtomicF32::from_ptr(p) }; }",
        ),
        ("integers", "pub use cuda_std::atomic::AtomicU32;"),
        ("clock", "pub fn f() -> u32 { cuda_std::misc::clock() }"),
        (
            "block",
            "pub fn f(a: &cuda_std::atomic::BlockAtomicF32) -> f32 { a.load(core::sync::atomic::Ordering::Relaxed) }",
        ),
    ];
    for (name, source) in WRONG {
        write(
            folder.join(name).join("src/lib.rs"),
            &format!("#![no_std]\n{source}\n"),
        );
        write(folder.join(name).join("Cargo.toml"), &manifest(name));
        members.push(name.into());
    }
    workspace(folder, &members);

    for member in &members {
        let is_wrong = WRONG.iter().any(|(name, _)| name == member);
        let package = match is_wrong || member == "portable-kernels" {
            true => member.clone(),
            false => format!("{member}-kernels"),
        };
        match (check(folder, &package), is_wrong) {
            (None, true) => panic!("{member} compiles"),
            (Some(errors), false) => panic!("{member}:\n{errors}"),
            (Some(errors), true) => assert!(errors.contains("src/lib.rs:2"), "{member}:\n{errors}"),
            (None, false) => {}
        }
    }
}

/// A file that no longer uses an extension is to be checked.
#[test]
fn the_listed_files_use_what_they_are_listed_for() {
    for (file, word) in OURS {
        let text = fs::read_to_string(root().join("gpu-kernels/src").join(file)).unwrap();
        assert!(text.contains(word), "{file} has no `{word}`");
    }
}

//! What a module is made of, and the digest of it.
//!
//! The digest answers one question, whether the PTX beside the sources is of these sources, so it needs no cryptography: FNV-1a
//! with 128 bits. Neither line endings nor the place of the checkout may change it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::compile::TARGET;
use crate::{CudaBuilderError, build_scripts, environment, workspace};

/// FNV-1a, 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u128);

impl Digest {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(crate) fn new() -> Self {
        Self(Self::OFFSET_BASIS)
    }

    /// The digest of one text.
    pub(crate) fn of(text: &str) -> Self {
        let mut digest = Self::new();
        digest.text(text);
        digest
    }

    /// The digest that is written so.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// Adds a text and its end.
    pub(crate) fn text(&mut self, text: &str) {
        self.contents(text.as_bytes());
    }

    /// Adds a file's contents and their end.
    fn contents(&mut self, bytes: &[u8]) {
        self.bytes(
            bytes
                .iter()
                .copied()
                .filter(|&byte| byte != b'\r')
                .chain([0]),
        );
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// The files and packages that the compiler read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// Manifests and sources of the crate and of those that it depends on by path, and what their build scripts name, relative to the crate, with slashes.
    pub(crate) files: BTreeSet<String>,
    /// Packages from a registry, with their versions: `libm 0.2.16`.
    pub(crate) packages: BTreeSet<String>,
    /// Environment variables that the sources or their build scripts read.
    pub(crate) variables: BTreeSet<String>,
}

impl Inputs {
    /// What cargo has just built, by its messages: the crates for the GPU, their macros and their build scripts. What
    /// build scripts depend on does not count.
    pub(crate) fn of_build(
        messages: &str,
        folder: &Path,
        path_to_crate: &Path,
    ) -> Result<Self, CudaBuilderError> {
        let packages = messages.lines().filter_map(registry_package).collect();
        let root = absolute(path_to_crate);
        let scripts = build_scripts::Scripts::of_build(messages)?;
        let (mut read, mut variables) = (scripts.files, scripts.variables);
        for artifact in messages
            .lines()
            .filter_map(|line| Artifact::by_path(line, folder))
        {
            let manifest = absolute(Path::new(&artifact.manifest));
            read.extend(listed(&manifest, &artifact.list)?);
            read.push(manifest);
            variables.extend(environment::read_by(&crate::read(&artifact.list)?));
        }
        variables.retain(|name| !scripts.given.contains(name));
        // What was generated there follows from the rest, and lies elsewhere on another machine.
        let generated = absolute(folder.ancestors().nth(2).unwrap_or(folder));
        let files = read
            .iter()
            .map(|path| absolute(path))
            .filter(|path| !path.starts_with(&generated))
            .filter_map(|path| relative(&path, &root))
            .collect();
        Ok(Self {
            files,
            packages,
            variables,
        })
    }

    /// Adds files and packages to a digest.
    ///
    /// # Errors
    /// A file cannot be read, or a package is not locked in this version any more.
    pub(crate) fn add_to(
        &self,
        digest: &mut Digest,
        path_to_crate: &Path,
    ) -> Result<(), CudaBuilderError> {
        for file in &self.files {
            let path = path_to_crate.join(file);
            digest.text(file);
            if path.file_name().is_some_and(|name| name == "Cargo.toml") {
                let manifest = of_the_device(&crate::read(&path)?);
                digest.text(&manifest);
                let inherited = workspace::inherited(&manifest, &absolute(&path));
                if !inherited.is_empty() {
                    digest.text(&inherited);
                }
                continue;
            }
            let contents = fs::read(&path).map_err(|source| CudaBuilderError::Io {
                action: "read",
                path: path.clone(),
                source,
            })?;
            digest.contents(&contents);
        }
        let locked = locked(path_to_crate);
        for package in &self.packages {
            // A version that is gone from the lock file gives another digest.
            let is_locked = locked
                .as_ref()
                .is_none_or(|locked| locked.contains(package));
            digest.text(if is_locked {
                package
            } else {
                "another version"
            });
        }
        let packages = self.packages.iter().filter_map(|id| id.split(' ').next());
        let profiles = workspace::profiles(
            &absolute(&path_to_crate.join("Cargo.toml")),
            &packages.collect(),
        );
        if !profiles.is_empty() {
            digest.text(&profiles);
        }
        for name in &self.variables {
            digest.text(name);
            // An empty one differs from one that is not set.
            if let Some(value) = std::env::var_os(name) {
                digest.text(&value.to_string_lossy());
            }
        }
        Ok(())
    }

    /// The paths that cargo has to watch.
    pub(crate) fn watched(&self, path_to_crate: &Path) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| path_to_crate.join(file));
        let root = workspace::manifest(&absolute(&path_to_crate.join("Cargo.toml")));
        files.chain(lock_file(path_to_crate)).chain(root).collect()
    }
}

/// The files in rustc's list of what it read of a package.
pub(crate) fn listed(manifest: &Path, list: &Path) -> Result<Vec<PathBuf>, CudaBuilderError> {
    let paths = dependencies(&crate::read(list)?);
    // As seen from the folder where rustc ran: the crate's, or that of its workspace.
    let found = paths.iter().filter_map(|path| {
        let folders = manifest.ancestors().skip(1);
        folders
            .map(|folder| folder.join(path))
            .find(|path| path.exists())
    });
    Ok(found.collect())
}

/// The package of a message about a library from a registry that was built for the GPU.
fn registry_package(message: &str) -> Option<String> {
    if !message.starts_with("{\"reason\":\"compiler-artifact\"") || !is_for_the_device(message) {
        return None;
    }
    let id = field(message, "package_id")?;
    if !id.starts_with("registry+") && !id.starts_with("sparse+") && !id.starts_with("git+") {
        return None;
    }
    let (_, package) = id.rsplit_once('#')?;
    Some(package.replacen('@', " ", 1))
}

/// A crate that was named by its path and compiled for the GPU, or into a macro.
#[derive(Debug, PartialEq, Eq)]
struct Artifact {
    manifest: String,
    /// rustc's list of the files that it read.
    list: PathBuf,
}

impl Artifact {
    /// The artifact that a message is about. `folder` is where cargo puts what is for the GPU.
    fn by_path(message: &str, folder: &Path) -> Option<Self> {
        let is_artifact = message.starts_with("{\"reason\":\"compiler-artifact\"");
        if !is_artifact || !field(message, "package_id")?.starts_with("path+") {
            return None;
        }
        let manifest = field(message, "manifest_path")?.replace("\\\\", "\\");
        let target = message.split_once("\"target\":{")?.1;
        let (_, files) = message.split_once("\"filenames\":[")?;
        let file = files.split('"').nth(1).filter(|_| !files.starts_with(']'));
        let list = match file {
            // The crate of kernels itself: nothing is linked.
            None => {
                let name = field(target, "name")?.replace('-', "_");
                folder.join("deps").join(name).with_extension("d")
            }
            Some(file)
                if target.starts_with("\"kind\":[\"proc-macro\"]")
                    || is_for_the_device(message) =>
            {
                let file = PathBuf::from(file.replace("\\\\", "\\"));
                let stem = file.file_stem()?.to_str()?;
                let name = stem.strip_prefix("lib").unwrap_or(stem);
                file.with_file_name(format!("{name}.d"))
            }
            Some(_) => return None,
        };
        Some(Self { manifest, list })
    }
}

fn is_for_the_device(message: &str) -> bool {
    message.contains(&format!("/{TARGET}/")) || message.contains(&format!("\\\\{TARGET}\\\\"))
}

/// The first string field of that name in a line of JSON.
pub(crate) fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let value = json.split_once(&format!("\"{name}\":\""))?.1;
    value.split('"').next()
}

/// The files of a make rule: after the first colon that ends a word, separated by spaces that no backslash escapes.
fn dependencies(rule: &str) -> Vec<PathBuf> {
    let line = rule.lines().next().unwrap_or_default();
    let Some((_, list)) = line.split_once(": ") else {
        return Vec::new();
    };
    let list = list.replace("\\ ", "\0");
    list.split_whitespace()
        .map(|path| PathBuf::from(path.replace('\0', " ")))
        .collect()
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path)
        .unwrap_or_else(|_| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// `path` as seen from `base`, with slashes; `None` if they have no common root.
fn relative(path: &Path, base: &Path) -> Option<String> {
    let (path, base): (Vec<Component>, Vec<Component>) =
        (path.components().collect(), base.components().collect());
    let common = path.iter().zip(&base).take_while(|(a, b)| a == b).count();
    if common == 0 {
        return None;
    }
    let up = base[common..].iter().map(|_| "..".into());
    let down = path[common..]
        .iter()
        .map(|part| part.as_os_str().to_string_lossy());
    Some(up.chain(down).collect::<Vec<_>>().join("/"))
}

/// What of a manifest concerns the GPU: not what only tests, lints, the host or a registry's pages use.
fn of_the_device(manifest: &str) -> String {
    const FOR_OTHERS: [&str; 9] = [
        "dev-dependencies",
        "build-dependencies",
        "lints",
        "package.metadata",
        "workspace",
        "profile",
        "badges",
        "bench",
        "test",
    ];
    let mut concerns = true;
    let mut text = String::new();
    for line in manifest.lines() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_start_matches('[').trim_end_matches(']');
            let of = |name: &str| {
                section == name
                    || section
                        .strip_prefix(name)
                        .is_some_and(|rest| rest.starts_with('.'))
            };
            concerns =
                !FOR_OTHERS.iter().any(|name| of(name)) && !section.contains(".dev-dependencies");
        }
        if concerns && !line.is_empty() && !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The lock file of the crate's workspace.
fn lock_file(path_to_crate: &Path) -> Option<PathBuf> {
    let folder = absolute(path_to_crate);
    let places = folder.ancestors().map(|folder| folder.join("Cargo.lock"));
    places.into_iter().find(|path| path.exists())
}

/// The packages of the lock file with their versions.
fn locked(path_to_crate: &Path) -> Option<BTreeSet<String>> {
    let text = fs::read_to_string(lock_file(path_to_crate)?).ok()?;
    let mut packages = BTreeSet::new();
    let mut name = "";
    for line in text.lines() {
        let value = |key| {
            line.strip_prefix(key)
                .map(|value: &str| value.trim_matches(['=', ' ', '"']))
        };
        if let Some(value) = value("name ") {
            name = value;
        } else if let Some(version) = value("version ") {
            packages.insert(format!("{name} {version}"));
        }
    }
    Some(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the FNV reference: the 128-bit FNV-1a of "a".
    #[test]
    fn digest_of_the_reference_text_is_the_reference_value() {
        let mut digest = Digest::new();
        digest.bytes(*b"a");
        assert_eq!(digest.to_string(), "d228cb696f1a8caf78912b704e4a8964");
    }

    /// Takes two crates side by side; the first includes files of both.
    fn digest_of(files: &[(&str, &str)]) -> Option<Digest> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let inputs = Inputs {
            files: [
                "Cargo.toml",
                "src/lib.rs",
                "src/a.rs",
                "../dependency/src/lib.rs",
            ]
            .map(str::to_owned)
            .into(),
            packages: ["libm 0.2.16".to_owned()].into(),
            variables: BTreeSet::new(),
        };
        let mut digest = Digest::new();
        inputs
            .add_to(&mut digest, &folder.path().join("kernels"))
            .ok()?;
        Some(digest)
    }

    #[test]
    fn digest_depends_only_on_what_was_compiled() {
        let base = [
            (
                "kernels/Cargo.toml",
                "[package]\n[dependencies]\nd = 1\n[dev-dependencies]\nt = 1\n",
            ),
            ("kernels/src/lib.rs", "mod a;\n"),
            ("kernels/src/a.rs", "fn f() {}\n"),
            ("dependency/src/lib.rs", "fn g() {}\n"),
            (
                "kernels/Cargo.lock",
                "[[package]]\nname = \"libm\"\nversion = \"0.2.16\"\n",
            ),
        ];
        let same = digest_of(&base).unwrap();
        let with = |index: usize, text| {
            let mut files = base;
            files[index].1 = text;
            digest_of(&files).unwrap()
        };
        assert_eq!(digest_of(&base), Some(same), "another folder");
        assert_eq!(with(1, "mod a;\r\n"), same, "line endings");
        let tests = "[package]\n# words\n[dependencies]\nd = 1\n\n[dev-dependencies]\nt = 2\n[lints]\nworkspace = true\n";
        assert_eq!(with(0, tests), same, "what only tests use");
        let shared = |features| {
            let mut files = base.to_vec();
            files[0].1 = "[package]\n[dependencies]\nd.workspace = true\n";
            files.push(("Cargo.toml", features));
            digest_of(&files).unwrap()
        };
        let (one, other) = (
            shared("[workspace.dependencies]\nd = { version = \"1\" }\nh = 1\n"),
            shared(
                "[workspace.dependencies]\nd = { version = \"1\", features = [\"f\"] }\nh = 1\n",
            ),
        );
        assert_ne!(one, other, "what the workspace says of a dependency");
        let host = shared("[workspace.dependencies]\nd = { version = \"1\" }\nh = 2\n");
        assert_eq!(one, host, "what it says of one of the host");
        let profile = |level| {
            let mut files = base.to_vec();
            files.push(("Cargo.toml", level));
            digest_of(&files).unwrap()
        };
        let plain = profile("[workspace]\n[profile.release]\nopt-level = 1\n");
        assert_eq!(plain, same, "what the builder sets itself");
        let of_package = profile("[workspace]\n[profile.release.package.libm]\nopt-level = 1\n");
        assert_ne!(of_package, same, "the profile of a package");
        let mut more = base.to_vec();
        more.push(("kernels/src/host.rs", "not compiled for the GPU"));
        assert_eq!(digest_of(&more), Some(same), "files that were not compiled");

        assert_ne!(with(2, "fn h() {}\n"), same, "a source");
        assert_ne!(
            with(3, "fn h() {}\n"),
            same,
            "a source of a path dependency"
        );
        assert_ne!(
            with(0, "[package]\n[dependencies]\nd = 2\n"),
            same,
            "a dependency"
        );
        assert_ne!(
            with(4, "[[package]]\nname = \"libm\"\nversion = \"0.2.17\"\n"),
            same,
            "a locked version"
        );
        assert_eq!(digest_of(&base[..3]), None, "a file is gone");
    }

    #[test]
    fn packages_are_those_for_the_gpu() {
        let message = |id: &str, file: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\",\"target\":{{\"kind\":[\"lib\"],\"name\":\"x\"}},\
                 \"filenames\":[\"{file}\"]}}"
            )
        };
        let registry = "registry+https://github.com/rust-lang/crates.io-index#libm@0.2.16";
        let device = format!("/t/{TARGET}/release/deps/liblibm.rlib");
        assert_eq!(
            registry_package(&message(registry, &device)).as_deref(),
            Some("libm 0.2.16")
        );
        assert_eq!(
            registry_package(&message(registry, "/t/release/deps/libsyn.so")),
            None
        );
        assert_eq!(
            registry_package(&message("path+file:///c#d@0.1.0", &device)),
            None
        );
    }

    #[test]
    fn lists_are_those_of_crates_for_the_gpu_and_of_macros() {
        let list = |kind: &str, files: &str| {
            let message = format!(
                "{{\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///c#0.1.0\",\"manifest_path\":\"/c/Cargo.toml\",\
                 \"target\":{{\"kind\":[\"{kind}\"],\"name\":\"my-kernels\"}},\"filenames\":[{files}],\"executable\":null}}"
            );
            let artifact = Artifact::by_path(&message, Path::new("/t/device/release"))?;
            assert_eq!(artifact.manifest, "/c/Cargo.toml");
            artifact.list.to_str().map(str::to_owned)
        };
        assert_eq!(
            list("cdylib", "").as_deref(),
            Some("/t/device/release/deps/my_kernels.d")
        );
        let file = format!("\"/t/{TARGET}/release/deps/libstd-0a.rlib\",\"/t/x\"");
        assert_eq!(
            list("lib", &file),
            Some(format!("/t/{TARGET}/release/deps/std-0a.d"))
        );
        assert_eq!(
            list("proc-macro", "\"/t/release/deps/libm-1.so\"").as_deref(),
            Some("/t/release/deps/m-1.d")
        );
        assert_eq!(
            list("lib", "\"/t/release/deps/libbuilder-2.rlib\""),
            None,
            "for a build script"
        );
        assert_eq!(
            list("custom-build", "\"/t/release/build/x/build-script\""),
            None
        );
    }

    #[test]
    fn the_rule_s_paths_may_have_spaces() {
        let rule = "/t/k.ptx: /a/lib.rs /a\\ b/x.rs\n";
        assert_eq!(
            dependencies(rule),
            [PathBuf::from("/a/lib.rs"), PathBuf::from("/a b/x.rs")]
        );
    }

    #[test]
    fn paths_lead_from_the_crate() {
        let relative = |path, base| relative(Path::new(path), Path::new(base));
        assert_eq!(
            relative("/w/k/src/lib.rs", "/w/k").as_deref(),
            Some("src/lib.rs")
        );
        assert_eq!(
            relative("/w/std/src/lib.rs", "/w/k").as_deref(),
            Some("../std/src/lib.rs")
        );
    }
}

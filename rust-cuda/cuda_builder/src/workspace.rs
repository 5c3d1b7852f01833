//! What a manifest takes from that of its workspace: `name.workspace = true`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The workspace's entries for the dependencies that a manifest at this place inherits.
pub(crate) fn inherited(manifest: &str, place: &Path) -> String {
    let names = names(manifest);
    if names.is_empty() {
        return String::new();
    }
    let root = self::manifest(place).and_then(|root| fs::read_to_string(root).ok());
    entries(&root.unwrap_or_default(), &names)
}

/// The manifest of the workspace that the manifest at this place belongs to.
pub(crate) fn manifest(place: &Path) -> Option<PathBuf> {
    let manifests = place.ancestors().skip(1).map(|dir| dir.join("Cargo.toml"));
    manifests.into_iter().find(|manifest| {
        let text = fs::read_to_string(manifest).unwrap_or_default();
        text.lines().any(|line| line.starts_with("[workspace"))
    })
}

/// The sections `[profile.release.package.NAME]` of the workspace's manifest, for these packages. The builder sets what else a
/// profile says.
pub(crate) fn profiles(place: &Path, packages: &BTreeSet<&str>) -> String {
    let root = manifest(place).and_then(|root| fs::read_to_string(root).ok());
    sections(&root.unwrap_or_default(), packages)
}

fn sections(root: &str, packages: &BTreeSet<&str>) -> String {
    let mut concerns = false;
    let mut text = String::new();
    for line in root.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let package = section.strip_prefix("profile.release.package.");
            concerns = package.is_some_and(|name| packages.contains(name.trim_matches('"')));
        }
        if concerns && !line.is_empty() && !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The dependencies that are inherited.
fn names(manifest: &str) -> BTreeSet<&str> {
    let mut section = "";
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            let is_true = value.replace(' ', "").contains("workspace=true");
            if key == "workspace" {
                names.extend(section.rsplit('.').next());
            } else if let Some(name) = key.strip_suffix(".workspace") {
                names.insert(name);
            } else if is_true {
                names.insert(key);
            }
        }
    }
    names
}

/// The lines of `[workspace.dependencies]` on these names.
fn entries(root: &str, names: &BTreeSet<&str>) -> String {
    let (mut in_list, mut concerns) = (false, false);
    let mut open = 0; // brackets of a value that continues in the next line
    let mut text = String::new();
    for line in root.lines().map(str::trim) {
        if open == 0 {
            if let Some(section) = line.strip_prefix('[') {
                let section = section.trim_end_matches(']');
                in_list = section == "workspace.dependencies";
                let table = section.strip_prefix("workspace.dependencies.");
                concerns = table.is_some_and(|name| names.contains(name));
            } else if in_list {
                let key = line.split(['=', '.', ' ']).next().unwrap_or_default();
                concerns = names.contains(key);
            }
        }
        if concerns && !line.is_empty() && !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
        if in_list {
            let count = |brackets: [char; 2]| line.matches(brackets).count();
            open = (open + count(['[', '{'])).saturating_sub(count([']', '}']));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inherited_dependencies_are_found_in_all_forms() {
        let manifest = "[package]\nversion = \"1\"\n[dependencies]\na.workspace = true\nb = { workspace = true, features = [\"x\"] }\n\
                        c = \"1\"\n[dependencies.d]\nworkspace = true\n";
        assert_eq!(names(manifest), BTreeSet::from(["a", "b", "d"]));
    }

    #[test]
    fn profiles_are_those_of_the_packages() {
        let root = "[profile.release]\nlto = true\n[profile.release.package.libm]\n# words\nopt-level = 1\n\
                    [profile.release.package.\"other\"]\nopt-level = 2\n[profile.dev.package.libm]\nopt-level = 3\n";
        let of = |name| sections(root, &BTreeSet::from([name]));
        assert_eq!(
            of("libm"),
            "[profile.release.package.libm]\nopt-level = 1\n"
        );
        assert_eq!(
            of("other"),
            "[profile.release.package.\"other\"]\nopt-level = 2\n"
        );
        assert_eq!(of("third"), "");
    }

    #[test]
    fn entries_may_be_tables_and_have_several_lines() {
        let root = "[workspace.dependencies]\na = { version = \"1\", features = [\n    \"x\",\n] }\nb = \"2\"\n\n\
                    [workspace.dependencies.d]\npath = \"d\"\n[profile.dev]\na = 1\n";
        let names = BTreeSet::from(["a", "d"]);
        let expected = "a = { version = \"1\", features = [\n\"x\",\n] }\n[workspace.dependencies.d]\npath = \"d\"\n";
        assert_eq!(entries(root, &names), expected);
    }
}

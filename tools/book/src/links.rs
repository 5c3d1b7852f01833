//! Links of the built book: each leads to a file that exists, and its anchor to a heading in it.

use crate::markdown;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What is wrong with the links of the pages in `folder`, a line each.
///
/// # Errors
/// The folder cannot be read, or holds no page.
pub fn broken(folder: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(folder, &mut pages)?;
    ensure!(!pages.is_empty(), "{}: no page", folder.display());
    let mut complaints = Vec::new();
    for (path, html) in &pages {
        for (attribute, target) in attributes(html) {
            if attribute != "id"
                && let Some(complaint) = complaint(path, target, &pages)
            {
                complaints.push(format!("{}: {target}: {complaint}", path.display()));
            }
        }
    }
    Ok(complaints)
}

fn read(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let html = fs::read_to_string(&path).with_context(unreadable)?;
            pages.insert(plain(&path), html);
        }
    }
    Ok(())
}

/// The attributes of an HTML text that name a place or lead to one. mdBook writes all of them in double quotes.
fn attributes(html: &str) -> impl Iterator<Item = (&str, &str)> {
    let tags = html
        .split('<')
        .skip(1)
        .filter(|tag| !tag.starts_with(['/', '!']));
    tags.flat_map(|tag| {
        let tag = tag.split_once('>').map_or(tag, |(tag, _)| tag);
        let quoted: Vec<&str> = tag.split('"').collect();
        let pairs = quoted.chunks_exact(2).filter_map(|pair| {
            let name = pair[0].trim().strip_suffix('=')?;
            let name = name.rsplit(char::is_whitespace).next()?;
            ["id", "href", "src", "xlink:href"]
                .contains(&name)
                .then_some((name, pair[1]))
        });
        pairs.collect::<Vec<_>>()
    })
}

fn complaint(page: &Path, target: &str, pages: &BTreeMap<PathBuf, String>) -> Option<String> {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric())) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = decoded(file.split_once('?').map_or(file, |(file, _)| file));
    let path = match file.as_str() {
        "" => page.to_owned(),
        file => plain(&page.parent()?.join(file)),
    };
    if !path.exists() {
        return Some("no such file".into());
    }
    let known: HashSet<String> = match pages.get(&path) {
        _ if anchor.is_empty() => return None,
        Some(html) => attributes(html)
            .filter(|(name, _)| *name == "id")
            .map(|(_, id)| id.to_owned())
            .collect(),
        None => markdown::anchors(&fs::read_to_string(&path).ok()?)
            .into_iter()
            .collect(),
    };
    (!known.contains(&decoded(anchor))).then(|| "no such heading".into())
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// An address with its percent codes replaced.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        match after
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let book = folder.path().join("book");
        fs::create_dir_all(book.join("x")).unwrap();
        fs::write(folder.path().join("README.md"), "# Title\n\n## One two\n").unwrap();
        fs::write(book.join("other.html"), "<h1 id=\"there\">x</h1>").unwrap();
        fs::write(book.join("x/page.html"), page).unwrap();
        broken(&book).unwrap()
    }

    #[test]
    fn good_links_pass() {
        let good = "<a href=\"../other.html#there\">a</a> <img alt=\"\" src=\"../other.html\"> <a href=\"#here\" id=\"here\">\
            <a href=\"../../README%2Emd#one-two\"> <a class=\"b\" href=\"https://example.org/#x\"> <a href=\"../other.html?v=1\">";
        assert_eq!(found(good), Vec::<String>::new());
    }

    #[test]
    fn bad_links_are_named() {
        for bad in [
            "../none.html",
            "../other.html#no",
            "#no",
            "../../README%2Emd#three",
            "../../README.html",
            "other.html",
        ] {
            let page = format!("<a id=\"x\" href=\"{bad}\">");
            let found = found(&page);
            assert_eq!(found.len(), 1, "{bad}");
            assert!(found[0].contains(bad), "{found:?}");
        }
    }

    #[test]
    fn a_folder_without_pages_is_an_error() {
        assert!(broken(tempfile::tempdir().unwrap().path()).is_err());
    }
}

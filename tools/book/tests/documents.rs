//! Links of the repository's documents: each leads to a file that exists, and its anchor to a heading in it. `cargo book links` checks
//! the links within the book, on its built pages.

use chapter_book::{markdown, workspace};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders whose files are built.
const BUILT: [&str; 6] = [
    "target",
    "vendor",
    "gpu-bundle",
    "shared-library",
    "grades",
    "node_modules",
];

/// Adds the Markdown files of a folder and of all folders below it.
fn add_documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !BUILT.contains(&&*name) {
                add_documents(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// The error in a link of a document, if there is one.
fn complaint(document: &Path, target: &str) -> Option<&'static str> {
    let is_in_book = document.starts_with(workspace().join("book/src"));
    let leaves_book = target.starts_with("../../");
    if target.contains("://") || (is_in_book && !leaves_book) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_owned(),
        file => document.parent()?.join(file),
    };
    if !path.exists() {
        return Some("no such file");
    }
    if anchor.is_empty() || path.extension()? != "md" {
        return None;
    }
    let anchors = markdown::anchors(&fs::read_to_string(path).ok()?);
    (!anchors.iter().any(|known| known == anchor)).then_some("no such heading")
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading_in_it() {
    let mut documents = Vec::new();
    add_documents(&workspace(), &mut documents);
    assert!(documents.len() > 80, "{documents:?}");
    let mut complaints = Vec::new();
    for document in &documents {
        let text = fs::read_to_string(document).unwrap();
        for link in markdown::links(&text) {
            if let Some(complaint) = complaint(document, link.target) {
                complaints.push(format!(
                    "{}: {}: {complaint}",
                    document.display(),
                    link.target
                ));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

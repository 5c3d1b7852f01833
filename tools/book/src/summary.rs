//! The book's table of contents.

use crate::{markdown, pages};
use anyhow::{Context, Result};
use std::fs;

/// A page of the book.
pub struct Page {
    /// Its path in `book/src`.
    pub path: String,
    /// Its text, as it is written.
    pub text: String,
}

/// All pages, in the order of the table of contents.
///
/// # Errors
/// A page cannot be read.
pub fn read() -> Result<Vec<Page>> {
    let summary = text("SUMMARY.md")?;
    let links = markdown::links(&summary).into_iter();
    let pages = links.filter(|link| link.target.ends_with(".md"));
    pages
        .map(|link| {
            Ok(Page {
                path: link.target.to_owned(),
                text: text(link.target)?,
            })
        })
        .collect()
}

fn text(path: &str) -> Result<String> {
    fs::read_to_string(pages().join(path)).with_context(|| format!("cannot read book/src/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn every_document_on_timelines_is_a_page() {
        let pages = read().unwrap();
        for entry in fs::read_dir(workspace().join("docs/timelines")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                let page = pages
                    .iter()
                    .find(|page| page.path == format!("timelines/{name}"));
                let page =
                    page.unwrap_or_else(|| panic!("SUMMARY.md has no page timelines/{name}"));
                let included = format!("{{{{#include ../../../docs/timelines/{name}}}}}\n");
                assert_eq!(page.text, included, "timelines/{name}");
            }
        }
    }
}

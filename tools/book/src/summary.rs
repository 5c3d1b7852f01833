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

//! What the book takes from the repository, and what holds it to the programs.
//!
//! The book's pages are in `book/src`. mdBook builds them; this crate is one of its preprocessors, which fetches listings from
//! the sources and the table of calls from `book/calls.toml` ([`preprocess`]). The rest are checks: that links lead somewhere
//! ([`links`]), that programs print what a page or an example's README shows ([`outputs`]), that answers say what a changed program prints ([`changed`]), that figures are what the programs
//! record ([`figures`]), that a page quotes no number from elsewhere ([`quantities`]), that terms are defined before they are used ([`terms`]), and
//! that no driver function is missing from the table ([`calls`]).

pub mod calls;
pub mod changed;
pub mod figures;
pub mod links;
pub mod listing;
pub mod markdown;
pub mod outputs;
pub mod preprocess;
pub mod quantities;
pub mod recorded;
pub mod shown;
pub mod summary;
pub mod terms;

use std::path::PathBuf;

/// The repository's root.
pub fn workspace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The folder of the book's pages.
pub fn pages() -> PathBuf {
    workspace().join("book/src")
}

//! The table of topics: each point of the texts with which the book began has a row, and each row leads to what teaches it.
//! `documents.rs` checks that the links of all documents lead to files and headings that exist.

use chapter_book::{markdown, workspace};
use std::collections::BTreeSet;
use std::fs;

/// The points, a line each.
const TOPICS: &str = include_str!("topics.txt");

/// The rows of a table: what is in the first cell, and how many links the second one has.
fn rows(text: &str) -> Vec<(&str, usize)> {
    let lines = text.lines().filter(|line| line.starts_with("| "));
    let cells = lines.filter_map(|line| line.trim_matches(['|', ' ']).split_once(" | "));
    let rows = cells.filter(|(topic, _)| *topic != "topic");
    rows.map(|(topic, taught)| (topic, markdown::links(taught).len()))
        .collect()
}

#[test]
fn every_topic_has_a_row_and_every_row_a_link() {
    let text = fs::read_to_string(workspace().join("docs/topics.md")).unwrap();
    let rows = rows(&text);
    let found: BTreeSet<&str> = rows.iter().map(|(topic, _)| *topic).collect();
    let expected: BTreeSet<&str> = TOPICS.lines().collect();
    assert!(expected.len() > 150, "{}", expected.len());
    let missing: Vec<_> = expected.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    assert!(missing.is_empty(), "no row: {missing:#?}");
    assert!(unknown.is_empty(), "not in topics.txt: {unknown:#?}");
    for (topic, links) in rows {
        assert!(links > 0, "{topic}: its row has no link");
    }
}

#[test]
fn every_chapter_teaches_a_topic() {
    let text = fs::read_to_string(workspace().join("docs/topics.md")).unwrap();
    let links: Vec<&str> = markdown::links(&text)
        .iter()
        .map(|link| link.target)
        .collect();
    let is_linked = |page: &str| {
        let page = format!("../book/src/{page}");
        links
            .iter()
            .any(|link| link.split('#').next() == Some(&*page))
    };
    // What the book has beyond those texts.
    const BEYOND: [&str; 4] = [
        "capture.md",
        "dependent-launches.md",
        "errors.md",
        "sharing.md",
    ];
    for page in chapter_book::summary::chapters().unwrap() {
        assert_eq!(
            is_linked(&page.path),
            !BEYOND.contains(&&*page.path),
            "{}",
            page.path
        );
    }
}

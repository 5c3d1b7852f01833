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

/// The chapters: what stands between the introduction and the reference.
///
/// # Errors
/// A page cannot be read.
pub fn chapters() -> Result<Vec<Page>> {
    let pages = read()?.into_iter().skip(1);
    Ok(pages
        .take_while(|page| page.path != "nothing-overlaps.md")
        .collect())
}

fn text(path: &str) -> Result<String> {
    fs::read_to_string(pages().join(path)).with_context(|| format!("cannot read book/src/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn a_chapter_asks_a_question_shows_a_timeline_and_ends_with_exercises() {
        let chapters = chapters().unwrap();
        assert!(chapters.len() >= 12);
        for Page { path, text } in chapters {
            let question = |line: &str| line.starts_with("# ") && line.ends_with('?');
            assert!(
                text.lines().next().is_some_and(question),
                "{path}: no question"
            );
            let chart = |line: &str| {
                line.contains(".svg)") || line.matches('|').count() == 2 && line.ends_with('|')
            };
            assert!(text.lines().any(chart), "{path}: no timeline");
            let last = text.lines().rfind(|line| line.starts_with('#'));
            assert_eq!(last, Some("## Exercises"), "{path}");
            let (chapter, _) = text.split_once(ANSWERS).unwrap_or((&text, ""));
            let words: usize = markdown::prose(chapter)
                .iter()
                .map(|text| text.split_whitespace().count())
                .sum();
            assert!((400..=1200).contains(&words), "{path}: {words} words");
        }
    }

    /// What opens the folded answers of a chapter.
    const ANSWERS: &str = "<details><summary>Answers</summary>";

    /// The numbers of a list's entries.
    fn numbers(text: &str) -> Vec<usize> {
        let lines = markdown::prose(text).into_iter().flat_map(str::lines);
        let numbers = lines.filter_map(|line| line.split_once(". ")?.0.parse().ok());
        numbers.collect()
    }

    #[test]
    fn every_exercise_has_an_answer() {
        let mut count = 0;
        for Page { path, text } in chapters().unwrap() {
            let (_, end) = text.split_once("## Exercises").unwrap();
            let Some((exercises, answers)) = end.split_once(ANSWERS) else {
                panic!("{path}: no answers");
            };
            let exercises = numbers(exercises);
            assert!(!exercises.is_empty(), "{path}");
            assert_eq!(numbers(answers), exercises, "{path}");
            assert!(answers.trim_end().ends_with("</details>"), "{path}");
            count += exercises.len();
        }
        assert!(count > 90, "{count}");
    }

    #[test]
    fn every_lab_that_a_page_names_exists() {
        let files = fs::read_dir(workspace().join("labs/exercises")).unwrap();
        let files: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut named = 0;
        for Page { path, text } in read().unwrap() {
            for start in ["Lab ", "Labs ", "lab ", "cargo lab run "] {
                for (at, _) in text.match_indices(start) {
                    let digits: String = text[at + start.len()..]
                        .chars()
                        .take_while(char::is_ascii_digit)
                        .collect();
                    if digits.is_empty() {
                        continue;
                    }
                    named += 1;
                    let file = format!("{digits:0>2}_");
                    assert!(
                        files.iter().any(|name| name.starts_with(&file)),
                        "{path}: no lab {digits}"
                    );
                }
            }
        }
        assert!(named > 20, "{named}");
    }
}

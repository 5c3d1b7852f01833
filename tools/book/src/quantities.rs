//! Figures in the prose: each stands in an output that the page shows, or in a document that its paragraph links.
//!
//! A figure is a number with a unit of time, a bandwidth, a percentage, or a factor such as `1.98x`. Sizes are parameters, and
//! not figures.

use crate::summary::Page;
use crate::{markdown, workspace};
use std::collections::HashSet;
use std::fs;

/// The errors in a page's figures, a line each.
pub fn complaints(page: &Page) -> Vec<String> {
    let blocks = markdown::blocks(&page.text);
    let shown = blocks.iter().filter(|block| block.language == "text");
    let shown: HashSet<String> = shown.flat_map(|block| quantities(block.text)).collect();
    let prose = markdown::prose(&page.text);
    let paragraphs = prose.iter().flat_map(|prose| prose.split("\n\n"));
    let mut complaints = Vec::new();
    for paragraph in paragraphs {
        for quantity in quantities(paragraph) {
            if !shown.contains(&quantity) && !linked(paragraph, &page.path).contains(&quantity) {
                complaints.push(format!("{}: no source of {quantity}", page.path));
            }
        }
    }
    complaints
}

/// The figures of the repository's files that a paragraph links: of the section, if the link names one.
fn linked(paragraph: &str, page: &str) -> HashSet<String> {
    let folder = crate::pages().join(page);
    let folder = folder.parent().unwrap_or(&folder);
    let texts = markdown::links(paragraph).into_iter().filter_map(|link| {
        let (file, anchor) = link.target.split_once('#').unwrap_or((link.target, ""));
        let path = folder.join(file).canonicalize().ok()?;
        let root = workspace().canonicalize().ok()?;
        let within = path.starts_with(&root) && !path.starts_with(root.join("book"));
        let text = within.then(|| fs::read_to_string(path).ok())??;
        match anchor {
            "" => Some(text),
            anchor => markdown::section(&text, anchor).map(str::to_owned),
        }
    });
    texts.flat_map(|text| quantities(&text)).collect()
}

/// The figures in a text, in one spelling.
fn quantities(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().map(trimmed).collect();
    let next = |place: usize| words.get(place + 1).copied().unwrap_or("");
    let found = words.iter().enumerate().filter_map(|(place, word)| {
        let number = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit()) && word.parse::<f64>().is_ok()
        };
        if let Some(factor) = word.strip_suffix('x')
            && number(factor)
        {
            return Some((*word).to_owned());
        }
        let unit = UNITS.into_iter().find(|unit| *unit == next(place))?;
        number(word).then(|| format!("{word} {unit}"))
    });
    found.collect()
}

const UNITS: [&str; 6] = ["ns", "µs", "ms", "s", "%", "GB/s"];

/// A word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '%')
        .trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary;

    #[test]
    fn a_figure_has_a_source_on_its_page_or_behind_a_link() {
        let page = |text: &str| Page {
            path: "x.md".into(),
            text: text.into(),
        };
        let output = "\n```text\ntime  1.50 ms  2.00x\n```\n";
        let known = page(&format!(
            "It takes 1.50 ms (2.00x), not 3 steps of 2 MiB.{output}"
        ));
        assert_eq!(complaints(&known), Vec::<String>::new());
        let foreign = page(&format!("It takes 1.51 ms, 2.01x.{output}"));
        assert_eq!(complaints(&foreign).len(), 2);
        let percent = page("About 97 % of the time, or 20 %.\n```text\nshare 97 %\n```\n");
        assert_eq!(complaints(&percent), ["x.md: no source of 20 %"]);
        let elsewhere = page("Measured: 5.59 ms.\n\n[See](../../README.md)\n");
        assert_eq!(complaints(&elsewhere).len(), 1);
        let linked = page("[Measured](../../README.md): 5.59 ms.\n");
        assert_eq!(complaints(&linked), Vec::<String>::new());
    }

    #[test]
    fn the_books_figures() {
        let complaints: Vec<String> = summary::read()
            .unwrap()
            .iter()
            .flat_map(complaints)
            .collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

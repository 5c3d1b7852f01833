//! The glossary: each term is defined in the page that its entry names, and no page before that uses it.
//!
//! The introduction is not a chapter: it says what the book is about, and may use any term.
//!
//! An entry is a line `- **term** ([page](page.md)): meaning`. The page that defines a term has it in italics, as `*term*`
//! or in the plural.

use crate::markdown;
use crate::summary::Page;

/// The page with the entries.
pub const GLOSSARY: &str = "glossary.md";

const INTRODUCTION: &str = "introduction.md";

/// The errors in the glossary, a line each.
pub fn complaints(pages: &[Page]) -> Vec<String> {
    let Some(glossary) = pages.iter().find(|page| page.path == GLOSSARY) else {
        return vec![format!("no page {GLOSSARY}")];
    };
    let mut complaints = Vec::new();
    for line in glossary.text.lines() {
        let Some((term, meaning)) = line
            .strip_prefix("- **")
            .and_then(|rest| rest.split_once("**"))
        else {
            continue;
        };
        let links = markdown::links(meaning);
        let target = links.first().map_or("", |link| link.target);
        let target = target.split('#').next().unwrap_or(target);
        let Some(place) = pages.iter().position(|page| page.path == target) else {
            complaints.push(format!("{term}: its entry names no page that defines it"));
            continue;
        };
        let text = pages[place].text.to_lowercase();
        let defines = ["", "s", "es"].map(|plural| format!("*{}{plural}*", term.to_lowercase()));
        if !defines.iter().any(|defines| text.contains(defines)) {
            complaints.push(format!("{term}: {target} does not contain {}", defines[0]));
        }
        let early = pages[..place]
            .iter()
            .filter(|page| page.path != INTRODUCTION);
        let early = early.filter(|page| uses(&page.text, term));
        complaints.extend(
            early.map(|page| format!("{term}: {} uses it before {target} defines it", page.path)),
        );
    }
    complaints
}

/// Whether a page's prose contains a term, or its plural.
fn uses(page: &str, term: &str) -> bool {
    let words = words(&plain(page));
    let term = self::words(term);
    let plural = |word: &str, of: &str| {
        ["", "s", "es"]
            .iter()
            .any(|plural| word.strip_suffix(plural) == Some(of))
    };
    words.windows(term.len()).any(|found| {
        found
            .iter()
            .zip(&term)
            .enumerate()
            .all(|(place, (word, of))| match place + 1 == term.len() {
                true => plural(word, of),
                false => word == of,
            })
    })
}

/// The prose of a page without code, directives and the targets of links.
fn plain(page: &str) -> String {
    let mut page = page.to_owned();
    for link in markdown::links(&page.clone()).into_iter().rev() {
        page.replace_range(link.place, "");
    }
    let prose = markdown::prose(&page).join("\n");
    let lines = prose.lines().filter(|line| !line.starts_with("{{#"));
    let mut plain = String::new();
    for line in lines {
        plain.extend(line.split('`').step_by(2).map(|text| format!("{text} ")));
        plain.push('\n');
    }
    plain
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary;

    fn page(path: &str, text: &str) -> Page {
        Page {
            path: path.into(),
            text: text.into(),
        }
    }

    fn glossary(meaning: &str) -> Page {
        page(
            GLOSSARY,
            &format!("- **copy engine** ({meaning}): copies\n"),
        )
    }

    #[test]
    fn a_term_is_defined_before_it_is_used() {
        let entry = "[b](b.md)";
        let early = page(
            "a.md",
            "`copy engine` [x](copy%20engine.md) engine copy\n```text\ncopy engine\n```\n",
        );
        let defines = page("b.md", "A *copy engine* copies.");
        assert_eq!(
            complaints(&[early, defines, glossary(entry)]),
            Vec::<String>::new()
        );
        for (early, defines) in [
            ("Two\ncopy engines are enough.", "A *copy engine* copies."),
            ("", "A copy engine copies."),
        ] {
            let pages = [page("a.md", early), page("b.md", defines), glossary(entry)];
            assert_eq!(complaints(&pages).len(), 1, "{early}");
        }
        assert_eq!(complaints(&[glossary("none")]).len(), 1);
        assert_eq!(complaints(&[]).len(), 1);
    }

    #[test]
    fn the_books_glossary() {
        let complaints = complaints(&summary::read().unwrap());
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

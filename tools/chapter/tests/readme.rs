//! The README and the pages of `docs` that it leads to: their commands print what they show, and their code is the code of the
//! example.
//!
//! How a document shows what a command prints: `chapter_book::shown`. `UPDATE_README=1`, which `scripts/update-readme` sets, replaces
//! the texts by what the commands print.

use chapter_book::markdown::blocks;
use chapter_book::shown::{replaced, shown};
use chapter_book::workspace;
use std::fs;

/// Each page, and how many outputs it shows at least.
const PAGES: [(&str, usize); 4] = [
    ("README.md", 1),
    ("docs/lessons.md", 3),
    ("docs/chapter.md", 2),
    ("docs/platforms.md", 0),
];

fn read(page: &str) -> String {
    fs::read_to_string(workspace().join(page)).expect(page)
}

#[test]
fn the_commands_print_what_the_pages_show() {
    let updates = std::env::var_os("UPDATE_README").is_some();
    for (page, least) in PAGES {
        let text = read(page);
        let held = shown(&text);
        assert!(held.len() >= least, "{page}: {held:?}");
        let mut different = Vec::new();
        for shown in &held {
            let Some(printed) = shown.differs().unwrap() else {
                continue;
            };
            assert!(
                updates,
                "`{}` prints something else than {page} shows; scripts/update-readme replaces the text:\n{printed}",
                shown.command
            );
            different.push((shown, printed));
        }
        if updates {
            fs::write(workspace().join(page), replaced(&text, &different)).unwrap();
        }
    }
}

#[test]
fn the_code_in_the_pages_is_the_examples() {
    let example = read("basic_streams/src/bin/raw.rs");
    for (page, blocks_of_code) in [("README.md", 1), ("docs/lessons.md", 2)] {
        let text = read(page);
        let code = blocks(&text).into_iter();
        let code: Vec<&str> = code
            .filter(|block| block.language == "rust")
            .map(|block| block.text)
            .collect();
        assert_eq!(code.len(), blocks_of_code, "{page}");
        for text in code {
            assert!(example.contains(text), "{page}: not in raw.rs:\n{text}");
        }
    }
}

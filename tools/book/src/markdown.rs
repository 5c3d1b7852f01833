//! As much of Markdown as the checks need: fenced blocks, prose, links and headings.

use std::ops::Range;

/// A fenced block.
#[derive(Debug, PartialEq)]
pub struct Block<'a> {
    /// The prose between this block and the one before.
    pub prose: &'a str,
    /// The word after the opening fence, such as `console`.
    pub language: &'a str,
    /// The lines between the fences.
    pub text: &'a str,
}

/// The fenced blocks of a document.
pub fn blocks(document: &str) -> Vec<Block<'_>> {
    split(document).0
}

/// The document without its fenced blocks, piece by piece.
pub fn prose(document: &str) -> Vec<&str> {
    let (blocks, rest) = split(document);
    blocks
        .iter()
        .map(|block| block.prose)
        .chain([rest])
        .collect()
}

fn split(document: &str) -> (Vec<Block<'_>>, &str) {
    let mut blocks = Vec::new();
    let mut rest = document;
    while let Some((prose, block)) = rest.split_once("```") {
        let Some((language, block)) = block.split_once('\n') else {
            break;
        };
        let Some((text, after)) = block.split_once("```") else {
            break;
        };
        blocks.push(Block {
            prose,
            language,
            text,
        });
        rest = after;
    }
    (blocks, rest)
}

/// A link's target, and where it stands in the document.
#[derive(Debug, PartialEq)]
pub struct MarkdownLink<'a> {
    /// What stands between the parentheses.
    pub target: &'a str,
    /// Its place.
    pub place: Range<usize>,
}

/// The inline links and images of a document, those in fenced blocks left out.
pub fn links(document: &str) -> Vec<MarkdownLink<'_>> {
    let mut links = Vec::new();
    for piece in prose(document) {
        let start = piece.as_ptr() as usize - document.as_ptr() as usize;
        for (at, _) in piece.match_indices("](") {
            let from = at + 2;
            if let Some(length) = piece[from..].find(')') {
                let place = start + from..start + from + length;
                links.push(MarkdownLink {
                    target: &document[place.clone()],
                    place,
                });
            }
        }
    }
    links
}

/// The anchors of a document's headings, as GitHub and mdBook name them.
pub fn anchors(document: &str) -> Vec<String> {
    let lines = prose(document).into_iter().flat_map(str::lines);
    let headings = lines.filter_map(|line| {
        let text = line.trim_start_matches('#');
        (text.len() < line.len()).then_some(text)
    });
    headings.map(anchor).collect()
}

/// What stands below the heading of this anchor, up to the next heading of any level.
pub fn section<'a>(document: &'a str, anchor: &str) -> Option<&'a str> {
    let mut start = None;
    let mut place = 0;
    let mut fenced = false;
    for line in document.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && !fenced {
            if let Some(start) = start {
                return Some(&document[start..place]);
            }
            if self::anchor(heading) == anchor {
                start = Some(place + line.len());
            }
        }
        place += line.len();
    }
    start.map(|start| &document[start..])
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# A *title*, `code`\n\nSee [x](y.md#z).\n\n```text\n[no](link)\n```\n\nEnd ![i](i.svg).\n";

    #[test]
    fn blocks_come_with_the_prose_before_them() {
        let blocks = blocks(PAGE);
        assert_eq!(blocks.len(), 1);
        assert_eq!(
            (blocks[0].language, blocks[0].text),
            ("text", "[no](link)\n")
        );
        assert_eq!(prose(PAGE).len(), 2);
    }

    #[test]
    fn links_in_blocks_are_text() {
        let found = links(PAGE);
        let targets: Vec<&str> = found.iter().map(|link| link.target).collect();
        assert_eq!(targets, ["y.md#z", "i.svg"]);
        assert!(
            found
                .iter()
                .all(|link| &PAGE[link.place.clone()] == link.target)
        );
    }

    #[test]
    fn a_section_ends_at_the_next_heading() {
        let page = "# A\na\n```console\n# no heading\n```\n## B c\nb\n";
        assert_eq!(
            section(page, "a"),
            Some("a\n```console\n# no heading\n```\n")
        );
        assert_eq!(section(page, "b-c"), Some("b\n"));
        assert_eq!(section(page, "none"), None);
    }

    #[test]
    fn anchors_are_named_as_github_does() {
        assert_eq!(anchors(PAGE), ["a-title-code"]);
    }
}

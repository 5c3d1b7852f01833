//! mdBook's preprocessor: fetches what a page takes from the repository.
//!
//! | directive | stands for |
//! |---|---|
//! | `{{#function PATH NAME}}` | a function of a source file, with its documentation |
//! | `{{#between PATH ¦ FIRST ¦ LAST}}` | the lines from the one that contains FIRST to the next one that contains LAST |
//! | `{{#calls}}` | the table of calls, from `book/calls.toml` |
//!
//! Paths count from the repository's root. Below a listing stands a link to its file. The documents of `docs/timelines` become
//! pages below the one of their README.

use crate::{calls, listing, markdown, workspace};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The book that mdBook hands over, `[context, book]`, with its pages' directives carried out.
///
/// # Errors
/// A directive names a missing file or function; the input is not a book.
pub fn book(input: &str) -> Result<String> {
    let (_, mut book): (Value, Value) =
        serde_json::from_str(input).context("not mdBook's input")?;
    add_timelines(&mut book)?;
    chapters(&mut book)?;
    Ok(book.to_string())
}

/// Adds a page for each document on an example's timelines.
fn add_timelines(value: &mut Value) -> Result<()> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(add_timelines),
        Value::Object(fields) => {
            let path = fields.get("path").and_then(Value::as_str);
            if let Some("timelines/README.md" | "timelines/index.md") = path {
                let parents = [fields["parent_names"].clone(), fields["name"].clone()];
                let pages = timelines(&fields["number"], parents)?;
                fields.insert("sub_items".into(), pages.into());
            }
            fields.values_mut().try_for_each(add_timelines)
        }
        _ => Ok(()),
    }
}

/// The documents as mdBook's chapters, numbered below this number.
fn timelines(number: &Value, [parents, parent]: [Value; 2]) -> Result<Vec<Value>> {
    let folder = workspace().join("docs/timelines");
    let entries = fs::read_dir(&folder).context("cannot read docs/timelines")?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names
        .collect::<std::io::Result<_>>()
        .context("cannot read docs/timelines")?;
    names.retain(|name| name.ends_with(".md") && name != "README.md");
    names.sort();
    let mut parent_names = parents.as_array().cloned().unwrap_or_default();
    parent_names.push(parent);
    let pages = names.iter().zip(1_u32..).map(|(name, place)| {
        let content =
            fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"))?;
        // mdBook calls the folder's README so.
        let content = content.replace("](README.md", "](index.md");
        let mut number = number.as_array().cloned().unwrap_or_default();
        number.push(place.into());
        Ok(json!({ "Chapter": {
            "name": name.trim_end_matches(".md"),
            "content": content,
            "number": number,
            "sub_items": [],
            "path": format!("timelines/{name}"),
            "source_path": null,
            "parent_names": parent_names,
        }}))
    });
    pages.collect()
}

fn chapters(value: &mut Value) -> Result<()> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(chapters),
        Value::Object(fields) => {
            if let (Some(Value::String(path)), Some(Value::String(content))) =
                (fields.get("path"), fields.get("content"))
            {
                let page = page(content, path).with_context(|| format!("book/src/{path}"))?;
                fields.insert("content".into(), page.into());
            }
            fields.values_mut().try_for_each(chapters)
        }
        _ => Ok(()),
    }
}

/// A page with its directives carried out.
///
/// # Errors
/// A directive is unknown, or names what is not there.
pub fn page(content: &str, path: &str) -> Result<String> {
    let mut text = String::new();
    let mut rest = content;
    while let Some((before, after)) = rest.split_once("{{#") {
        let (directive, after) = after.split_once("}}").context("a directive without `}}`")?;
        text += before;
        text += &carried_out(directive, path).with_context(|| format!("{{{{#{directive}}}}}"))?;
        rest = after;
    }
    Ok(out_of_the_book(&(text + rest), path))
}

/// What a listing's fence says, by the ending of its file.
fn language(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("cu") => "cpp",
        Some("py") => "python",
        _ => "rust,ignore",
    }
}

fn carried_out(directive: &str, page: &str) -> Result<String> {
    let (kind, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    let source = |path: &str| {
        fs::read_to_string(workspace().join(path)).with_context(|| format!("cannot read {path}"))
    };
    let listed = |path: &str, text: String| {
        let link = format!("{}{path}", to_root(page));
        let language = language(path);
        format!(
            "```{language}\n{text}```\n\n<p class=\"source\"><a href=\"{link}\">{path}</a></p>\n"
        )
    };
    match kind {
        "function" => {
            let (path, name) = rest.split_once(' ').context("expected a path and a name")?;
            Ok(listed(path, listing::function(&source(path)?, name)?))
        }
        "between" => {
            let parts: Vec<&str> = rest.split('¦').map(str::trim).collect();
            let [path, first, last] = parts[..] else {
                bail!("expected a path and two texts, separated by ¦");
            };
            Ok(listed(path, listing::between(&source(path)?, first, last)?))
        }
        "calls" => Ok(calls::table(&calls::read()?)),
        _ => bail!("unknown directive"),
    }
}

/// The way from a built page, in `target/book`, to the repository's root.
fn to_root(page: &str) -> String {
    "../".repeat(page.split('/').count() + 1)
}

/// Links out of `book/src`. A document of `docs` that is a page of the book, too, is linked there. mdBook gives every link to a
/// `.md` file the ending `.html`. Where the file is not a page, the dot is written as a percent code, which
/// means the same in an address.
fn out_of_the_book(page: &str, path: &str) -> String {
    let depth = Path::new(path).components().count();
    let mut text = page.to_owned();
    for link in markdown::links(page).into_iter().rev() {
        let ups = link
            .target
            .split('/')
            .take_while(|part| *part == "..")
            .count();
        if ups < depth {
            continue;
        }
        let file = link.target.trim_start_matches("../");
        let target = match file.strip_prefix("docs/") {
            Some(page)
                if page.starts_with("timelines/") || page.starts_with("reading-traces.md") =>
            {
                "../".repeat(depth - 1) + page
            }
            _ => link.target.replace(".md", "%2Emd"),
        };
        text.replace_range(link.place, &target);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_in_the_language_of_its_file() {
        let page = "{{#between book/programs/pipeline_numba.py ¦ for chunk ¦ slot}}";
        let page = super::page(page, "frameworks.md").unwrap();
        assert!(page.starts_with("```python\nfor chunk"), "{page}");
        let page = "{{#between cudart/programs/pipeline.cu ¦ for (int chunk ¦ slot}}";
        let page = super::page(page, "frameworks.md").unwrap();
        assert!(page.starts_with("```cpp\n"), "{page}");
    }

    #[test]
    fn a_listing_stands_for_its_directive() {
        let page = page(
            "a\n{{#function tools/book/src/preprocess.rs to_root}}\nb",
            "x/y.md",
        )
        .unwrap();
        assert!(
            page.starts_with("a\n```rust,ignore\n/// The way from"),
            "{page}"
        );
        assert!(
            page.contains("<a href=\"../../../tools/book/src/preprocess.rs\">"),
            "{page}"
        );
        assert!(page.ends_with("\nb"), "{page}");
    }

    #[test]
    fn directives_that_cannot_be_carried_out_are_errors() {
        for bad in [
            "{{#nonsense}}",
            "{{#function a}}",
            "{{#function no/file.rs f}}",
            "{{#between a ¦ b}}",
            "{{#x",
        ] {
            assert!(page(bad, "x.md").is_err(), "{bad}");
        }
    }

    #[test]
    fn links_to_other_files_of_the_repository_keep_their_ending() {
        let links = "[a](b.md) [c](../../labs/README.md#d) [e](../f.md)";
        let expected = "[a](b.md) [c](../../labs/README%2Emd#d) [e](../f%2Emd)";
        assert_eq!(page(links, "x.md").unwrap(), expected);
        assert_eq!(page("[e](../f.md)", "x/y.md").unwrap(), "[e](../f.md)");
    }

    #[test]
    fn links_to_documents_that_are_pages_stay_in_the_book() {
        let links = "[a](../../docs/timelines/b.md#c) [d](../../docs/software-gpu/time.md)";
        let expected = "[a](timelines/b.md#c) [d](../../docs/software-gpu/time%2Emd)";
        assert_eq!(page(links, "x.md").unwrap(), expected);
    }

    #[test]
    fn every_document_on_timelines_becomes_a_page() {
        let readme = r#"{"Chapter":{"name":"T","path":"timelines/README.md","content":"","number":[7],"sub_items":[],"parent_names":[]}}"#;
        let book: Value =
            serde_json::from_str(&book(&format!(r#"[{{}},{{"items":[{readme}]}}]"#)).unwrap())
                .unwrap();
        let pages = book["items"][0]["Chapter"]["sub_items"].as_array().unwrap();
        let documents = fs::read_dir(workspace().join("docs/timelines")).unwrap();
        let documents =
            documents.filter(|entry| entry.as_ref().unwrap().path().extension().unwrap() == "md");
        assert_eq!(pages.len(), documents.count() - 1);
        let first = &pages[0]["Chapter"];
        assert_eq!(first["number"], json!([7, 1]));
        assert_eq!(first["parent_names"], json!(["T"]));
        assert!(first["content"].as_str().unwrap().contains("Nsight"));
        let content = |page: &Value| page["Chapter"]["content"].as_str().unwrap().to_owned();
        assert!(
            pages
                .iter()
                .any(|page| content(page).contains("](index.md"))
        );
        assert!(
            !pages
                .iter()
                .any(|page| content(page).contains("](README.md"))
        );
    }

    #[test]
    fn pages_are_found_at_any_depth() {
        let inner = r#"{"Chapter":{"path":"b.md","content":"[c](../d.md)","sub_items":[]}}"#;
        let input = format!(
            r#"[{{}},{{"items":[{{"Chapter":{{"path":"a.md","content":"","sub_items":[{inner}]}}}},"Separator"]}}]"#
        );
        assert!(book(&input).unwrap().contains("../d%2Emd"));
        assert!(book("[]").is_err());
    }
}

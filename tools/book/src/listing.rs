//! Listings from the sources, found by what they are and not by line numbers.

use anyhow::{Context, Result};

/// The function of this name with its documentation, moved to the margin.
///
/// # Errors
/// The source has no such function.
pub fn function(source: &str, name: &str) -> Result<String> {
    let lines: Vec<&str> = source.lines().collect();
    let declares = |line: &&str| {
        let Some((_, after)) = line.split_once("fn ") else {
            return false;
        };
        !line.trim_start().starts_with("//")
            && after
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let at = lines
        .iter()
        .position(declares)
        .with_context(|| format!("no function `{name}`"))?;
    let belongs = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with("///") || line.starts_with("#[")
    };
    let above = lines[..at].iter().rev().take_while(belongs).count();
    let margin = lines[at].len() - lines[at].trim_start().len();
    let end = format!("{}}}", &lines[at][..margin]);
    let one_line = lines[at].trim_end().ends_with('}');
    let length = lines[at..]
        .iter()
        .position(|line| *line == end && !one_line);
    let length = length.with_context(|| format!("function `{name}` has no end of its own line"))?;
    Ok(to_margin(&lines[at - above..=at + length]))
}

/// From the first line that contains `first` to the next one that contains `last`, moved to the margin.
///
/// # Errors
/// The source has no such lines.
pub fn between(source: &str, first: &str, last: &str) -> Result<String> {
    let lines: Vec<&str> = source.lines().collect();
    let from = lines.iter().position(|line| line.contains(first));
    let from = from.with_context(|| format!("no line contains `{first}`"))?;
    let length = lines[from..].iter().position(|line| line.contains(last));
    let length = length.with_context(|| format!("no line after that contains `{last}`"))?;
    Ok(to_margin(&lines[from..=from + length]))
}

fn to_margin(lines: &[&str]) -> String {
    let indent = |line: &&&str| line.len() - line.trim_start().len();
    let full = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = full.map(|line| indent(&line)).min().unwrap_or(0);
    let lines = lines
        .iter()
        .map(|line| line.get(margin..).unwrap_or("").trim_end());
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
impl A {
    fn other(&self) {}

    /// Says so.
    fn say<T>(&self) -> Result<()> {
        // fn say(
        one()?;

        two()
    }
}
";

    #[test]
    fn a_function_comes_with_its_documentation() {
        let expected = "/// Says so.\nfn say<T>(&self) -> Result<()> {\n    // fn say(\n    one()?;\n\n    two()\n}\n";
        assert_eq!(function(SOURCE, "say").unwrap(), expected);
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let error = |result: Result<String>| result.unwrap_err().to_string();
        assert_eq!(error(function(SOURCE, "sa")), "no function `sa`");
        assert!(error(function(SOURCE, "other")).contains("no end"));
        assert_eq!(
            error(between(SOURCE, "three", "two")),
            "no line contains `three`"
        );
        assert!(error(between(SOURCE, "two", "one")).contains("no line after that"));
    }

    #[test]
    fn lines_between_two_texts() {
        assert_eq!(
            between(SOURCE, "one()", "two()").unwrap(),
            "one()?;\n\ntwo()\n"
        );
    }
}

//! What a member of the workspace says of itself under `package.metadata.chapter` in its manifest, and the same as lines
//! of text, for a machine without cargo.
//!
//! ```toml
//! [package.metadata.chapter]
//! place = 1
//! demos = [{ name = "stream-overlap", part = "three-way", arguments = ["--chunks", "16"] }]
//! bundle = [{ name = "three_way_1GiB", arguments = ["--part", "three-way", "--size", "1GiB"] }]
//! sanitizer = [{ tools = ["memcheck", "synccheck"], arguments = ["--size", "4MiB"] }]
//! ```
//!
//! As lines, whose words a shell can split:
//!
//! ```text
//! example basic_streams
//! demo basic_streams stream-overlap three-way --chunks 16
//! run basic_streams three_way_1GiB --part three-way --size 1GiB
//! sanitizer basic_streams memcheck,synccheck --size 4MiB
//! ```

use serde::Deserialize;

/// An example program, under its package's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The package, the program and the target.
    pub name: String,
    /// Names for what its parts show.
    pub demos: Vec<Demo>,
    /// Runs with arguments of their own on a GPU machine.
    pub bundle: Vec<NamedRun>,
    /// Runs under compute-sanitizer.
    pub sanitizer: Vec<SanitizerRun>,
}

/// The manifest's table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The member's position among the lessons.
    pub place: u64,
    #[serde(default)]
    demos: Vec<Demo>,
    #[serde(default)]
    bundle: Vec<NamedRun>,
    #[serde(default)]
    sanitizer: Vec<SanitizerRun>,
}

/// A name for what a part shows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// The demo's name, unique among the lessons.
    pub name: String,
    /// The part that it runs.
    pub part: String,
    /// Further arguments for the part.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// A run with a name for its output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRun {
    /// The name.
    pub name: String,
    /// The example's arguments, without the device.
    pub arguments: Vec<String>,
}

/// A run under tools of compute-sanitizer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanitizerRun {
    /// The tools.
    #[serde(default = "all_tools")]
    pub tools: Vec<String>,
    /// The example's arguments, without the device.
    pub arguments: Vec<String>,
}

fn all_tools() -> Vec<String> {
    ["memcheck", "synccheck", "racecheck"]
        .map(str::to_owned)
        .into()
}

impl Metadata {
    /// The example of this package.
    pub fn into_example(self, name: &str) -> Example {
        Example {
            name: name.to_owned(),
            demos: self.demos,
            bundle: self.bundle,
            sanitizer: self.sanitizer,
        }
    }
}

/// Writes the examples as lines.
///
/// # Errors
/// A word has a blank in it or is empty: it could not be read back. The error names it.
pub fn to_lines(examples: &[Example]) -> Result<String, String> {
    let mut lines = String::new();
    let mut line = |first: &[&str], arguments: &[String]| {
        let words = first
            .iter()
            .copied()
            .chain(arguments.iter().map(String::as_str));
        let words: Vec<&str> = words.collect();
        if let Some(word) = words.iter().find(|word| !is_word(word)) {
            return Err(format!(
                "`{word}`: words in a list of examples have no blanks"
            ));
        }
        lines += &words.join(" ");
        lines.push('\n');
        Ok(())
    };
    for example in examples {
        let name = example.name.as_str();
        line(&["example", name], &[])?;
        for demo in &example.demos {
            line(&["demo", name, &demo.name, &demo.part], &demo.arguments)?;
        }
        for run in &example.bundle {
            line(&["run", name, &run.name], &run.arguments)?;
        }
        for run in &example.sanitizer {
            line(&["sanitizer", name, &run.tools.join(",")], &run.arguments)?;
        }
    }
    Ok(lines)
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && !word.contains(char::is_whitespace)
}

/// Reads what [`to_lines`] wrote.
///
/// # Errors
/// The first line that says nothing.
pub fn of_lines(text: &str) -> Result<Vec<Example>, String> {
    let mut examples: Vec<Example> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        add(&mut examples, line).ok_or_else(|| format!("cannot read the line `{line}`"))?;
    }
    Ok(examples)
}

/// Adds what a line says; none when it says nothing.
fn add(examples: &mut Vec<Example>, line: &str) -> Option<()> {
    let mut words = line.split_whitespace().map(str::to_owned);
    let (kind, name) = (words.next()?, words.next()?);
    if kind == "example" {
        examples.push(Example {
            name,
            demos: Vec::new(),
            bundle: Vec::new(),
            sanitizer: Vec::new(),
        });
        return words.next().is_none().then_some(());
    }
    let example = examples.iter_mut().find(|example| example.name == name)?;
    match kind.as_str() {
        "demo" => example.demos.push(Demo {
            name: words.next()?,
            part: words.next()?,
            arguments: words.collect(),
        }),
        "run" => example.bundle.push(NamedRun {
            name: words.next()?,
            arguments: words.collect(),
        }),
        "sanitizer" => example.sanitizer.push(SanitizerRun {
            tools: words.next()?.split(',').map(str::to_owned).collect(),
            arguments: words.collect(),
        }),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example() -> Example {
        let metadata: Metadata = serde_json::from_value(json!({
            "place": 1,
            "demos": [
                {"name": "overlap", "part": "three-way"},
                {"name": "knee", "part": "kernels", "arguments": ["--iterations", "2"]},
            ],
            "bundle": [{"name": "large", "arguments": ["--size", "1GiB"]}],
            "sanitizer": [
                {"arguments": []},
                {"tools": ["racecheck"], "arguments": ["--part", "kernels"]},
            ],
        }))
        .unwrap();
        metadata.into_example("first")
    }

    #[test]
    fn what_is_written_is_read_back() {
        let examples = [example(), Metadata::into_example(bare(2), "second")];
        let lines = to_lines(&examples).unwrap();
        assert!(lines.contains("\ndemo first knee kernels --iterations 2\n"));
        assert!(lines.contains("\nsanitizer first memcheck,synccheck,racecheck\n"));
        assert_eq!(of_lines(&lines).unwrap(), examples);
    }

    fn bare(place: u64) -> Metadata {
        serde_json::from_value(json!({ "place": place })).unwrap()
    }

    #[test]
    fn a_word_with_a_blank_is_refused() {
        let mut example = example();
        example.bundle[0].arguments[1] = "1 GiB".into();
        let error = to_lines(&[example]).unwrap_err();
        assert!(error.starts_with("`1 GiB`: "), "{error}");
    }

    #[test]
    fn a_line_that_says_nothing_is_named() {
        for line in ["basic_streams", "demo first", "run second x", "dance first"] {
            let error = of_lines(&format!("example first\n{line}\n")).unwrap_err();
            assert_eq!(error, format!("cannot read the line `{line}`"));
        }
    }

    #[test]
    fn a_misspelt_key_is_an_error() {
        let metadata = json!({"place": 1, "demo": []});
        assert!(serde_json::from_value::<Metadata>(metadata).is_err());
    }
}

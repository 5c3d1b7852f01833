//! The file: its version, its content, how it is read.

use crate::device::{Fingerprint, TimeSource};
use crate::part::{PartResults, Timed};
use crate::versioned::{self, Unread};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The version of the form. A file of another one is refused.
pub const VERSION: u32 = 3;

/// The options of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Bytes that each part works on, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Pieces, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u64>,
    /// Streams, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u64>,
    /// Rounds of each kernel, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Timed runs, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Whether a profiler was attached: such a run's times are not to be recorded as expectations.
    #[serde(default)]
    pub profiled: bool,
    /// Whether a model was given as much data as a GPU gets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gpu_sizes: bool,
}

/// The output of an example's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// The version of the form: 3.
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 3)))]
    pub version: u32,
    /// The example's name.
    pub example: String,
    /// On what it ran.
    pub device: Fingerprint,
    /// Where the times come from.
    pub times: TimeSource,
    /// Its options.
    pub request: Request,
    /// The parts that ran, in order.
    pub parts: Vec<PartResults>,
    /// What the software GPU's checkers found that was not shown on purpose, whole texts.
    pub reports: Vec<String>,
    /// Whether every part holds and nothing was found that counts as a failure.
    pub holds: bool,
}

/// Why a file gives no results.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is no such file.
    #[error("{path} holds no results of an example: {source}")]
    Form {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        source: serde_json::Error,
    },
    /// It is a file of another version of the form.
    #[error(
        "{path} has version {found} of the results' format; this program reads version {VERSION}; write it again with `--json`"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// It contradicts itself.
    #[error("{path} holds no results of an example: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// Its error.
        reason: String,
    },
}

impl Results {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no such file, is one of another version, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let text = fs::read_to_string(path).map_err(|source| ReadError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// As [`Results::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReadError> {
        let results: Self = versioned::parse(text, VERSION).map_err(|unread| match unread {
            Unread::Form(source) => ReadError::Form {
                path: path.to_owned(),
                source,
            },
            Unread::Version(found) => ReadError::Version {
                path: path.to_owned(),
                found,
            },
        })?;
        match results.contradiction() {
            None => Ok(results),
            Some(reason) => Err(ReadError::Content {
                path: path.to_owned(),
                reason,
            }),
        }
    }

    /// What the form's types cannot rule out.
    fn contradiction(&self) -> Option<String> {
        let in_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.example.is_empty() || !self.example.chars().all(in_a_name) {
            return Some(format!("{:?} is not the name of an example", self.example));
        }
        self.parts.iter().find_map(|part| {
            let reason = part.contradiction()?;
            Some(format!("part {}: {reason}", part.name))
        })
    }

    /// The form as a JSON Schema (draft 2020-12), pretty-printed.
    #[cfg(feature = "schema")]
    pub fn schema() -> String {
        let schema = schemars::schema_for!(Results);
        let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Whether they are a model's.
    pub fn are_modelled(&self) -> bool {
        self.times == TimeSource::Modelled
    }

    /// What was timed in all parts, with the part's name.
    pub fn timed(&self) -> impl Iterator<Item = (&str, &Timed)> {
        self.parts
            .iter()
            .flat_map(|part| part.timed.iter().map(|timed| (part.name.as_str(), timed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Kind;

    fn results() -> Results {
        Results {
            version: VERSION,
            example: "basic_streams".into(),
            device: Fingerprint::default(),
            times: TimeSource::Modelled,
            request: Request::default(),
            parts: vec![PartResults {
                name: "kernels".into(),
                question: "How many small kernels run at once?".into(),
                prediction: String::new(),
                take_away: "Small kernels need streams.".into(),
                workload: "0".into(),
                plans: vec![],
                timed: vec![Timed {
                    group: ("variants", "128 launches").into(),
                    variant: "streams-8".into(),
                    kind: Kind::Makespan,
                    samples_us: vec![1.0, 2.5, 7.0],
                    unclaimed: false,
                }],
                bounds: vec![],
                timelines: vec![],
                claims: vec![],
                holds: false,
                discarded: false,
            }],
            reports: vec![],
            holds: false,
        }
    }

    fn parse(text: &str) -> Result<Results, ReadError> {
        Results::parse(Path::new("r.json"), text)
    }

    #[test]
    fn what_is_written_is_read() {
        let text = serde_json::to_string(&results()).unwrap();
        assert_eq!(parse(&text).unwrap(), results());
        let (part, timed) = parse(&text)
            .map(|r| r.timed().map(|(p, t)| (p.to_owned(), t.clone())).next())
            .unwrap()
            .unwrap();
        assert_eq!((part.as_str(), timed.median_us()), ("kernels", 2.5));
    }

    #[test]
    fn a_file_that_does_not_hold_results_is_refused_with_the_reason() {
        let text = serde_json::to_string(&results()).unwrap();
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error(&text[..text.len() / 2]).contains("r.json holds no results"));
        assert!(error("[]").contains("r.json holds no results"));
        let later = text.replacen("\"version\":3", "\"version\":4,\"more\":1", 1);
        assert!(error(&later).contains("version 4 of the results' form"));
        assert!(error(&text.replace("[1.0,2.5,7.0]", "[]")).contains("no times"));
        assert!(error(&text.replace("[1.0,", "[-1.0,")).contains("no times, or impossible ones"));
        assert!(error(&text.replace("\"reports\"", "\"rapports\"")).contains("rapports"));
    }

    #[test]
    fn an_id_that_is_none_or_comes_twice_is_refused() {
        let error = |change: fn(&mut PartResults)| {
            let mut results = results();
            change(&mut results.parts[0]);
            let text = serde_json::to_string(&results).unwrap();
            parse(&text).unwrap_err().to_string()
        };
        let twice = error(|part| part.timed.push(part.timed[0].clone()));
        let said = "part kernels: group variants has two variants of the id streams-8";
        assert!(twice.ends_with(said), "{twice}");
        let twice = error(|part| part.claims = vec![claim("faster"), claim("faster")]);
        assert!(
            twice.ends_with("part kernels: two claims have the id faster"),
            "{twice}"
        );
        let none = error(|part| part.claims = vec![claim("It is faster")]);
        assert!(none.contains("\"It is faster\" is not an id"), "{none}");
    }

    fn claim(id: &str) -> crate::part::Claim {
        crate::part::Claim {
            id: id.into(),
            sentence: "8 streams are faster than one".into(),
            found: "7.9x".into(),
            limit: "at least 2.0x".into(),
            holds: true,
            judged: true,
            disturbed: None,
            figure: None,
        }
    }
}

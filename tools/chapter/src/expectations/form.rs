//! The file: what was recorded of one target on one device. It refers to claims, variants and groups by their ids and holds
//! no sentence of the program's, except the findings of a model's claims.

use super::lines;
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::part::{Kind, Plan, Unit};
use chapter_results::versioned::{self, Unread};
use chapter_terminal::UsageError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The version of the form. A file of another one is refused.
pub const VERSION: u32 = 3;

/// The expectations of a target's runs on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The version of the form: 3.
    pub version: u32,
    /// The target: an example's name.
    pub target: String,
    /// The device that it was recorded on, or the last of several that count as the same.
    pub device: Fingerprint,
    /// Where its times come from: what is modelled is expected to the nanosecond.
    pub times: TimeSource,
    /// Its parts.
    pub parts: Vec<ExpectedPart>,
}

/// The expectations of a part, valid while it does the same work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPart {
    /// The part's name.
    pub name: String,
    /// The hash of its work: of the plans, groups, variants and kinds below, as [`chapter_results::workload`]
    /// computes it.
    pub workload: String,
    /// How many runs were recorded.
    pub runs: u32,
    /// A hash of the work of the parts that ran before it in the same process. A model's clock and its device continue from
    /// part to part: what ran before decides the last nanoseconds. Absent where times are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The work of each group that has a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Plan>,
    /// What was timed.
    pub times: Vec<ExpectedTime>,
    /// What was claimed.
    pub claims: Vec<ExpectedClaim>,
    /// What ran when; only of a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timelines: Vec<ExpectedTimeline>,
}

/// A time, as runs are [compared](chapter_results::part::Timed::compared_us): of makespans and copies the least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTime {
    /// The group's id.
    pub group: String,
    /// The variant's id.
    pub variant: String,
    /// What is timed.
    pub kind: Kind,
    /// The middle of the runs' times, in microseconds. Absent where they are only observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub us: Option<f64>,
    /// How far from it a run may be, in microseconds. Absent for a model: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance_us: Option<f64>,
    /// What stands in its place where the recorded runs differ too much to expect it of another one: it is shown beside a model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// How many times as long the first variant of the group took. Absent for that variant itself, for a model, whose
    /// times already say it, and where the recorded runs differ too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// How far from the ratio a run may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_tolerance: Option<f64>,
    /// Whether the model does not claim it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclaimed: bool,
}

/// A time that is expected of no run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// The middle of the runs' times, in microseconds.
    pub us: f64,
    /// How far the recorded runs are apart, in microseconds.
    pub range_us: f64,
}

/// A claim, which holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedClaim {
    /// The identifier in programs.
    pub id: String,
    /// What was found, in words; only of a model and where there is no figure. The numbers in it are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The number behind it. Absent where the recorded runs' numbers are too far apart: then only that the claim holds is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// How far from the number a run may be, in its unit. Absent for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
}

/// When a variant's operations ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedTimeline {
    /// The variant's id.
    pub variant: String,
    /// A hash of the operations and their times.
    pub hash: String,
}

/// Where the file of a target and a device is: a folder for the device with a file for each target, so that recording one
/// target changes no other's file.
pub fn path(folder: &Path, device: &Fingerprint, target: &str) -> PathBuf {
    folder
        .join(device.file_name())
        .join(format!("{target}.json"))
}

impl Expectations {
    /// Reads the file of a target and a device; `None` when the file is missing.
    ///
    /// # Errors
    /// When there is one that cannot be read, or that is not what it should be.
    pub fn read(path: &Path, target: &str) -> Result<Option<Self>, UsageError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let path = path.display();
                return Err(UsageError(format!("cannot read {path}: {error}")));
            }
        };
        Self::parse(path, target, &text).map(Some)
    }

    fn parse(path: &Path, target: &str, text: &str) -> Result<Self, UsageError> {
        let path = path.display();
        let again = "record it again with `--update-expectations`";
        let expected: Self = versioned::parse(text, VERSION).map_err(|unread| match unread {
            Unread::Form(error) => UsageError(format!("{path} is not a file of expectations: {error}")),
            Unread::Version(found) => UsageError(format!(
                "{path} has version {found} of the expectations' format; this program reads version {VERSION}; {again}"
            )),
        })?;
        if expected.target != target {
            return Err(UsageError(format!(
                "{path} holds expectations of {}, not of {target}; {again}",
                expected.target
            )));
        }
        Ok(expected)
    }

    /// The file's text: an entry is a line, so that a change of one is a change of that line.
    pub fn text(&self) -> String {
        lines::pretty(self).unwrap_or_default()
    }

    /// The entry of a part.
    pub fn part(&self, name: &str) -> Option<&ExpectedPart> {
        self.parts.iter().find(|part| part.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectations() -> Expectations {
        Expectations {
            version: VERSION,
            target: "basic_streams".into(),
            device: Fingerprint::default(),
            times: TimeSource::Measured,
            parts: vec![ExpectedPart {
                name: "kernels".into(),
                workload: "00ff".into(),
                runs: 2,
                after: None,
                plans: vec![],
                times: vec![ExpectedTime {
                    group: "variants".into(),
                    variant: "streams-8".into(),
                    kind: Kind::Makespan,
                    us: Some(12.5),
                    tolerance_us: Some(1.0),
                    observed: None,
                    unclaimed: false,
                    ratio: None,
                    ratio_tolerance: None,
                }],
                claims: vec![],
                timelines: vec![],
            }],
        }
    }

    fn parse(text: &str) -> Result<Expectations, String> {
        Expectations::parse(Path::new("e.json"), "basic_streams", text).map_err(|error| error.0)
    }

    #[test]
    fn what_is_written_is_read_and_an_entry_is_a_line() {
        let text = expectations().text();
        assert_eq!(parse(&text).unwrap(), expectations());
        let line = r#"        {"group": "variants", "variant": "streams-8", "kind": "makespan", "us": 12.5, "tolerance_us": 1.0}"#;
        assert!(text.lines().any(|found| found == line), "{text}");
        assert!(text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn a_file_that_is_not_an_expectation_is_refused_with_the_reason() {
        let text = expectations().text();
        let error = |text: &str| parse(text).unwrap_err();
        assert!(
            error(&text[..text.len() / 2]).contains("e.json is not a file of expectations: EOF")
        );
        let later = text.replacen("\"version\": 3", "\"version\": 7, \"more\": 1", 1);
        assert!(error(&later).contains("version 7 of the expectations' format"));
        assert!(error(&text.replace("basic_", "other_")).contains("of other_streams, not of"));
        assert!(error(&text.replace("\"runs\"", "\"rums\"")).contains("rums"));
        let absent = Expectations::read(Path::new("no/such.json"), "basic_streams");
        assert_eq!(absent, Ok(None));
    }
}

//! What was timed, as a file: the same program's results on two devices can be compared.

use crate::device::{Device, TimeSource};
use crate::new_file::NewFile;
use crate::options::UsageError;
use crate::statistics::Durations;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the file's form.
const VERSION: u32 = 1;

/// What a result times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All the work of a variant, from its start to its end.
    Makespan,
    /// One copy.
    Copy,
    /// What a part notes besides: a bound, or what a call takes.
    Other,
}

/// One thing that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The part of the example.
    pub part: String,
    /// What the variants are variants of, such as the plan of the work; results of one group can be ranked.
    pub group: String,
    /// The variant.
    pub variant: String,
    /// What is timed.
    pub kind: Kind,
    /// The median in microseconds.
    pub median_us: f64,
    /// The distance between the quartiles as a share of the median.
    pub spread: f64,
    /// How many runs.
    pub runs: usize,
}

impl Timed {
    pub(crate) fn new(
        part: &str,
        group: &str,
        variant: &str,
        kind: Kind,
        times: &Durations,
    ) -> Self {
        Self {
            part: part.to_owned(),
            group: group.to_owned(),
            variant: variant.to_owned(),
            kind,
            median_us: times.median().as_secs_f64() * 1e6,
            spread: times.spread(),
            runs: times.sorted().len(),
        }
    }
}

/// The file's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of the form: 1.
    pub version: u32,
    /// The device's name.
    pub device: String,
    /// `measured` or `modelled`.
    pub times: String,
    /// What was timed, in order.
    pub results: Vec<Timed>,
}

impl Results {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is no such file, or one of another version.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let results: Self = serde_json::from_str(text)?;
        anyhow::ensure!(
            results.version == VERSION,
            "results of version {}, and this program reads version {VERSION}",
            results.version
        );
        Ok(results)
    }

    /// Whether they are a model's.
    pub fn are_modelled(&self) -> bool {
        self.times == TimeSource::Modelled.to_string()
    }
}

/// The file to be.
pub(crate) struct ResultsFile {
    file: NewFile,
    results: Results,
}

impl ResultsFile {
    /// Makes sure that it can be written.
    pub(crate) fn create(path: PathBuf) -> Result<Self, UsageError> {
        let results = Results {
            version: VERSION,
            device: String::new(),
            times: String::new(),
            results: Vec::new(),
        };
        Ok(Self {
            file: NewFile::create("--json", path)?,
            results,
        })
    }

    pub(crate) fn add(&mut self, timed: Vec<Timed>) {
        self.results.results.extend(timed);
    }

    pub(crate) fn write(mut self, device: &Device) -> anyhow::Result<PathBuf> {
        self.results.device = device.name().to_owned();
        self.results.times = device.times().to_string();
        self.file.write(|out| {
            serde_json::to_writer_pretty(&mut *out, &self.results)?;
            Ok(writeln!(out)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_written_is_read_and_other_versions_are_refused() {
        let times = Durations::new(vec![Duration::from_micros(7)]).unwrap();
        let mut results = Results {
            version: VERSION,
            device: "d".into(),
            times: TimeSource::Modelled.to_string(),
            results: vec![Timed::new(
                "kernels",
                "g",
                "1 stream",
                Kind::Makespan,
                &times,
            )],
        };
        let text = serde_json::to_string(&results).unwrap();
        assert_eq!(Results::parse(&text).unwrap(), results);
        assert!(results.are_modelled());
        assert_eq!(results.results[0].median_us, 7.0);
        results.version = 2;
        let text = serde_json::to_string(&results).unwrap();
        assert!(
            Results::parse(&text)
                .unwrap_err()
                .to_string()
                .contains("version 2")
        );
        assert!(Results::parse("{\"version\": 1").is_err());
    }
}

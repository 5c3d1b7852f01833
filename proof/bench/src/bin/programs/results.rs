//! What the programs write: the examples' `--json`, and a line of JSON per variant from their twins.

use anyhow::{Context as _, Result, ensure};
use chapter_results::Results;
use chapter_results::part::Plan;
use serde::Deserialize;

/// The median time of a variant, in µs. Part, group and variant are known by their ids.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Timed {
    pub part: String,
    pub group: String,
    pub variant: String,
    /// The work of each of the group's variants, where it has a plan: bytes in and out, launches, elements.
    #[serde(default)]
    pub plan: Option<[u64; 4]>,
    pub median_us: f64,
}

/// What an example timed.
pub fn of_example(results: &Results) -> Result<Vec<Timed>> {
    let timed = results.parts.iter().flat_map(|part| {
        part.timed.iter().map(|timed| {
            let plan = part.plans.iter().find(|plan| plan.group == timed.group.id);
            Timed {
                part: part.name.clone(),
                group: timed.group.id.clone(),
                variant: timed.variant.id.clone(),
                plan: plan.map(Plan::numbers),
                median_us: timed.median_us(),
            }
        })
    });
    some(timed.collect())
}

/// Reads a twin's file.
pub fn of_twin(text: &str) -> Result<Vec<Timed>> {
    let lines = text.lines().map(serde_json::from_str);
    some(
        lines
            .collect::<Result<_, _>>()
            .context("not the results of a twin")?,
    )
}

fn some(results: Vec<Timed>) -> Result<Vec<Timed>> {
    ensure!(!results.is_empty(), "nothing was timed");
    let untimed = |result: &&Timed| result.median_us.is_nan() || result.median_us <= 0.0;
    if let Some(Timed { variant, .. }) = results.iter().find(untimed) {
        anyhow::bail!("{variant} took no time");
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str =
        r#"{"part": "p", "group": "g", "variant": "v", "plan": [0, 8, 1, 2], "median_us": 2.5}"#;

    #[test]
    fn a_twins_line_is_read() {
        let expected = Timed {
            part: "p".into(),
            group: "g".into(),
            variant: "v".into(),
            plan: Some([0, 8, 1, 2]),
            median_us: 2.5,
        };
        assert_eq!(of_twin(&format!("{LINE}\n")).unwrap(), [expected]);
    }

    #[test]
    fn what_is_cut_off_empty_or_untimed_is_refused() {
        assert!(of_twin("").is_err());
        assert!(of_twin(&LINE[..20]).is_err());
        assert!(of_twin(&LINE.replace("2.5", "0")).is_err());
    }
}

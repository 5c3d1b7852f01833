//! How the parts of a target ended, one line each.

use chapter_results::part::PartResults;
use chapter_terminal::style;
use std::fmt;

/// How a part, or a target that did not come to its parts, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every claim holds.
    Holds {
        /// How many there are.
        claims: usize,
    },
    /// Some claims do not hold: whole lines.
    Fails(Vec<String>),
    /// It was not run, for this reason.
    Skipped(String),
    /// It ended early, or left no results: why.
    Broken(String),
}

impl Outcome {
    /// For the results of a part.
    pub fn of(part: &PartResults) -> Self {
        let failed = part
            .claims
            .iter()
            .filter(|claim| !claim.counts_as_holding());
        let failed: Vec<String> = failed.map(ToString::to_string).collect();
        match part.holds {
            true => Self::Holds {
                claims: part.claims.len(),
            },
            false if failed.is_empty() => Self::Broken("it makes no claim".to_owned()),
            false => Self::Fails(failed),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ok, failed) = (style::good("ok"), style::bad("FAILED"));
        match self {
            Self::Holds { claims: 1 } => write!(f, "{ok}       1 claim holds"),
            Self::Holds { claims } => write!(f, "{ok}       {claims} claims hold"),
            Self::Fails(claims) => {
                let (count, verb) = match claims.len() {
                    1 => ("1 claim".to_owned(), "does"),
                    more => (format!("{more} claims"), "do"),
                };
                write!(f, "{failed}   {count} {verb} not hold")?;
                claims
                    .iter()
                    .try_for_each(|claim| write!(f, "\n    {claim}"))
            }
            Self::Skipped(lacking) => write!(f, "skipped  {lacking}"),
            Self::Broken(why) => write!(f, "{failed}   {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chapter_results::part::Claim;

    fn part(holds: &[bool]) -> PartResults {
        let claim = |(place, &holds): (usize, &bool)| Claim {
            id: format!("claim-{place}"),
            sentence: "it overlaps".into(),
            found: "97 %".into(),
            limit: "at least 90 %".into(),
            holds,
            judged: true,
            disturbed: None,
            figure: None,
        };
        PartResults {
            name: "part".into(),
            question: "Does it?".into(),
            claims: holds.iter().enumerate().map(claim).collect(),
            holds: !holds.is_empty() && holds.iter().all(|&holds| holds),
            ..PartResults::default()
        }
    }

    #[test]
    fn failed_claims_are_shown_whole() {
        let text = |holds: &[bool]| style::plain(&Outcome::of(&part(holds)).to_string());
        assert_eq!(text(&[true]), "ok       1 claim holds");
        assert_eq!(text(&[true, true]), "ok       2 claims hold");
        assert_eq!(
            text(&[true, false]),
            "FAILED   1 claim does not hold\n    FAILED  it overlaps: 97 % (at least 90 %)"
        );
        assert_eq!(text(&[]), "FAILED   it makes no claim");
    }
}

//! Whether the lesson holds: the claims of a part and what was found.

use std::fmt;

/// A claim that a part makes, and whether it was found to be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What must be true.
    pub sentence: String,
    /// What was found.
    pub found: String,
    /// What is required of it.
    pub limit: String,
    /// Whether it is.
    pub holds: bool,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.holds { "ok    " } else { "FAILED" };
        write!(
            f,
            "{word}  {}: {} ({})",
            self.sentence, self.found, self.limit
        )
    }
}

/// All claims of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict(Vec<Claim>);

impl Verdict {
    /// Adds a claim.
    pub fn add(&mut self, claim: Claim) {
        self.0.push(claim);
    }

    /// The claims, in the order in which they were made.
    pub fn claims(&self) -> &[Claim] {
        &self.0
    }

    /// Whether every claim holds. A part that claims nothing teaches nothing: it does not hold.
    pub fn holds(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|claim| claim.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: bool) -> Claim {
        Claim {
            sentence: "kernels overlap".into(),
            found: "97.0 %".into(),
            limit: "> 90 %".into(),
            holds,
        }
    }

    #[test]
    fn one_false_claim_is_enough_and_none_at_all_is_not() {
        let mut verdict = Verdict::default();
        assert!(!verdict.holds());
        verdict.add(claim(true));
        assert!(verdict.holds());
        verdict.add(claim(false));
        assert!(!verdict.holds());
    }

    #[test]
    fn a_claim_is_one_line() {
        assert_eq!(
            claim(true).to_string(),
            "ok      kernels overlap: 97.0 % (> 90 %)"
        );
        assert_eq!(
            claim(false).to_string(),
            "FAILED  kernels overlap: 97.0 % (> 90 %)"
        );
    }
}

//! Whether the lesson holds: the claims of a part and what was found.

pub use chapter_results::part::Claim;

/// All claims of a part.
#[derive(Clone, Debug, Default, PartialEq)]
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
        !self.0.is_empty() && self.0.iter().all(Claim::counts_as_holding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: bool) -> Claim {
        Claim {
            id: "overlap".into(),
            sentence: "kernels overlap".into(),
            found: "97.0 %".into(),
            limit: "> 90 %".into(),
            holds,
            judged: true,
            disturbed: None,
            figure: None,
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
}

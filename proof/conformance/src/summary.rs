//! What a run prints: a line for each rule, then the skipped rules with their reasons, then the number of each verdict.

use std::collections::BTreeMap;
use std::fmt;

use crate::rule::Rule;
use crate::supervisor::RuleOutcome;

/// The verdicts so far.
#[derive(Debug, Default)]
pub struct Summary {
    families: BTreeMap<&'static str, Counts>,
    all: Counts,
    /// Rules by the reason why they were skipped.
    skipped: BTreeMap<String, Vec<String>>,
    /// The same for reasons that no machine explains.
    unexpected: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Summary {
    /// Counts a verdict and returns the line to print for it.
    pub fn add(&mut self, rule: &Rule, verdict: RuleOutcome) -> String {
        let path = rule.path();
        for counts in [self.families.entry(rule.family).or_default(), &mut self.all] {
            counts.add(&verdict);
        }
        match verdict {
            RuleOutcome::Passed => format!("{path}: passed"),
            RuleOutcome::Failed(text) => {
                let Rule {
                    statement, source, ..
                } = rule;
                format!("{path}: FAILED\n    {statement}\n    [{source}]\n    {text}")
            }
            RuleOutcome::Skipped(reason) => {
                let line = format!("{path}: skipped, {reason}");
                self.skipped.entry(reason).or_default().push(path);
                line
            }
            RuleOutcome::SkippedUnexpectedly(reason) => {
                let line = format!("{path}: SKIPPED UNEXPECTEDLY, {reason}");
                self.unexpected.entry(reason).or_default().push(path);
                line
            }
        }
    }

    /// Whether every rule that can be checked on this machine holds.
    pub fn is_good(&self) -> bool {
        self.all.failed == 0 && self.unexpected.is_empty()
    }
}

impl Counts {
    fn add(&mut self, verdict: &RuleOutcome) {
        *match verdict {
            RuleOutcome::Passed => &mut self.passed,
            RuleOutcome::Failed(_) => &mut self.failed,
            RuleOutcome::Skipped(_) | RuleOutcome::SkippedUnexpectedly(_) => &mut self.skipped,
        } += 1;
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(f, "skipped", &self.skipped)?;
        list(f, "SKIPPED UNEXPECTEDLY", &self.unexpected)?;
        writeln!(f)?;
        for (family, counts) in &self.families {
            writeln!(f, "{family:<16} {counts}")?;
        }
        write!(f, "{:<16} {}", "all", self.all)
    }
}

fn list(
    f: &mut fmt::Formatter<'_>,
    heading: &str,
    skipped: &BTreeMap<String, Vec<String>>,
) -> fmt::Result {
    for (reason, paths) in skipped {
        writeln!(f, "\n{heading}, {reason}:")?;
        for path in paths {
            writeln!(f, "    {path}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(
            f,
            "{passed:>4} passed {failed:>4} failed {skipped:>4} skipped"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule;

    const FAMILY: &str = "summary";

    fn holds(_: &mut crate::scene::Scene) -> crate::rule::Outcome {
        Ok(())
    }

    const RULE: Rule = rule!(holds, "none", "A rule.");

    fn summary(verdicts: impl IntoIterator<Item = RuleOutcome>) -> Summary {
        let mut summary = Summary::default();
        for verdict in verdicts {
            summary.add(&RULE, verdict);
        }
        summary
    }

    #[test]
    fn expected_skips_are_named_with_their_reason_and_pass() {
        let reason = "there is one device only".to_owned();
        let summary = summary([RuleOutcome::Passed, RuleOutcome::Skipped(reason)]);
        assert!(summary.is_good());
        let expected = "
skipped, there is one device only:
    summary::holds

summary             1 passed    0 failed    1 skipped
all                 1 passed    0 failed    1 skipped";
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn an_unexpected_skip_is_named_and_fails() {
        let summary = summary([
            RuleOutcome::Passed,
            RuleOutcome::SkippedUnexpectedly("no cuInit".to_owned()),
        ]);
        assert!(!summary.is_good());
        let expected = "\nSKIPPED UNEXPECTEDLY, no cuInit:\n    summary::holds\n";
        assert!(summary.to_string().starts_with(expected), "{summary}");
    }

    #[test]
    fn a_broken_rule_fails() {
        assert!(!summary([RuleOutcome::Failed("came 2".to_owned())]).is_good());
        assert!(summary([RuleOutcome::Passed]).is_good());
    }
}

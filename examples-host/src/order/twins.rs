//! Twins: a program that breaks a rule, and the same program with the rule kept.
//!
//! Both run on fresh data while the software GPU's checkers watch. The one that breaks the rule must be reported and
//! wrong, in every run; its twin must be right, and nothing reported. A GPU has no checkers, and there a broken rule may do no
//! harm today: nothing is claimed of it.

use crate::check::{Checked, Mismatch};
use crate::device::TimeSource;
use crate::expect::{right, truth};
use crate::part::Part;
use crate::races::Watched;
use crate::recording::recorded;

/// Which of the twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The one that lacks an order.
    Racy,
    /// The one that has it.
    Fixed,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Racy => "racy",
            Self::Fixed => "fixed",
        }
    }
}

/// What a twin has computed.
pub type Outcome = Result<Checked, Mismatch>;

impl Part<'_> {
    /// Runs both twins, each on data that `data` makes for it, and claims what tells them apart. `named` are words that the
    /// report about the racy one must contain: the two operations, mostly.
    ///
    /// # Errors
    /// What `data` and `program` return.
    pub fn twins<D>(
        &mut self,
        named: &[&str],
        data: impl Fn(&Part) -> anyhow::Result<D>,
        mut program: impl FnMut(Program, &mut D) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<()> {
        let (racy, found) = self.twin(Program::Racy, &data, &mut program)?;
        self.judge_racy(named, &racy, &found);
        let (fixed, found) = self.twin(Program::Fixed, &data, &mut program)?;
        let sentence = "fixed: every element is right";
        self.expect("fixed/elements", sentence, right(&fixed, "elements"));
        if let Watched::Checked(reports) = found {
            let silent = truth(reports.is_empty(), reports_made(reports.len()), "none");
            self.expect("fixed/silent", "fixed: the checker is silent", silent);
        }
        Ok(())
    }

    fn twin<D>(
        &mut self,
        which: Program,
        data: impl Fn(&Part) -> anyhow::Result<D>,
        mut program: impl FnMut(Program, &mut D) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<(Outcome, Watched)> {
        let (ran, watched) = self.watch(|| {
            let mut data = data(self)?;
            recorded(self.device(), || program(which, &mut data))
        });
        let (outcome, recording) = ran?;
        self.keep(which.name(), &recording);
        Ok((outcome, watched))
    }

    fn judge_racy(&mut self, named: &[&str], outcome: &Outcome, found: &Watched) {
        let result = match outcome {
            Ok(_) => "right, by luck".to_owned(),
            Err(mismatch) => mismatch.to_string(),
        };
        self.say(format!("racy: {result}"));
        match found {
            Watched::Unchecked => {
                self.say(
                    "The race checker is off: it takes --device software, and not --races off.",
                );
            }
            Watched::Checked(reports) => {
                let about = |text: &str| named.iter().all(|words| text.contains(words));
                let report = reports.iter().find(|report| about(&report.text));
                if let Some(shown) = report.or(reports.first()) {
                    self.say(&shown.text);
                }
                let limit = format!("one that names: {}", named.join(", "));
                let reported = truth(report.is_some(), reports_made(reports.len()), limit);
                self.expect("racy/reported", "racy: the checker reports it", reported);
            }
        }
        if self.device().times() == TimeSource::Modelled {
            let wrong = truth(outcome.is_err(), result, "in every run");
            self.expect("racy/wrong", "racy: the result is wrong", wrong);
        }
    }
}

fn reports_made(count: usize) -> String {
    match count {
        1 => "1 report".to_owned(),
        more => format!("{more} reports"),
    }
}

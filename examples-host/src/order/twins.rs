//! Twins: a program that breaks a rule, and the same program with the rule kept.
//!
//! Both run on fresh data while the software GPU's checkers watch. The one that breaks the rule must be reported and
//! wrong, in every run; its twin must be right, and nothing reported. A GPU has no checkers, and there a broken rule may do no
//! harm today: nothing is claimed of it.

use crate::check::{Checked, Mismatch};
use crate::device::TimeSource;
use crate::expect::{right, truth};
use crate::identity::{self, CallCounts, Judged};
use crate::label::Label;
use crate::part::Part;
use crate::races::Watched;
use crate::recording::{recorded, traced};

/// Which of the twins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The one that lacks a dependency.
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
pub type TwinResult = Result<Checked, Mismatch>;

impl Part<'_> {
    /// Runs both twins, each on data that `data` makes for it, and claims the difference between them. `named` are words that the
    /// report about the racy one must contain: the two operations, mostly.
    ///
    /// # Errors
    /// What `data` and `program` return.
    pub fn twins<D>(
        &mut self,
        named: &[&str],
        data: impl Fn(&Part) -> anyhow::Result<D>,
        mut program: impl FnMut(Program, &mut D) -> anyhow::Result<TwinResult>,
    ) -> anyhow::Result<()> {
        let (racy, found, racy_shape) = self.twin(Program::Racy, &data, &mut program)?;
        self.judge_racy(named, &racy, &found);
        let (fixed, found, fixed_shape) = self.twin(Program::Fixed, &data, &mut program)?;
        let sentence = "fixed: every element is right";
        self.expect("fixed/elements", sentence, right(&fixed, "elements"));
        if let Watched::Checked(reports) = found {
            let silent = truth(reports.is_empty(), reports_made(reports.len()), "none");
            self.expect("fixed/silent", "fixed: the checker is silent", silent);
        }
        self.claim_same_work(racy_shape.zip(fixed_shape));
        Ok(())
    }

    fn twin<D>(
        &mut self,
        which: Program,
        data: impl Fn(&Part) -> anyhow::Result<D>,
        mut program: impl FnMut(Program, &mut D) -> anyhow::Result<TwinResult>,
    ) -> anyhow::Result<(TwinResult, Watched, Option<CallCounts>)> {
        let (ran, watched) = self.watch(|| {
            let mut data = data(self)?;
            recorded(self.device(), || {
                let (outcome, trace) = traced(|| program(which, &mut data));
                anyhow::Ok((outcome?, trace))
            })
        });
        let ((outcome, trace), recording) = ran?;
        self.keep(which.name(), &recording);
        let shape = trace.map(|trace| CallCounts::of(&trace, &recording));
        Ok((outcome, watched, shape))
    }

    /// Claims, if the twins do not do the same work, that they do.
    fn claim_same_work(&mut self, shapes: Option<(CallCounts, CallCounts)>) {
        let Some((racy, fixed)) = shapes else { return };
        let names = [Program::Racy, Program::Fixed].map(|which| Label::from(which.name()));
        let judged = |name, shape| Judged {
            name,
            required: Vec::new(),
            also: &[],
            waits: 0,
            shape,
        };
        let twins = [judged(&names[0], &racy), judged(&names[1], &fixed)];
        if let Some(broken) = identity::broken_by_twins(&twins) {
            let id = format!("identity/{}", broken.rule);
            self.claim(id, broken.sentence, false, broken.found, broken.remedy);
        }
    }

    fn judge_racy(&mut self, named: &[&str], outcome: &TwinResult, found: &Watched) {
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
            let wrong = truth(outcome.is_err(), result, "wrong");
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

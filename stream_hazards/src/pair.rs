//! A racy program and its fixed twin: what is said and claimed of them.

use crate::data::Data;
use examples_host::check::Mismatch;
use examples_host::device::TimeSource;
use examples_host::prelude::*;

/// Which of the two programs.
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

/// What a run computed.
pub type Outcome = Result<Checked, Mismatch>;

/// What is to be found out about a pair.
pub struct Pair {
    /// What to expect, before anything runs.
    pub prediction: &'static str,
    /// Words of the report: the two operations, or what else it has to name.
    pub report_names: &'static [&'static str],
}

impl Pair {
    /// Runs both programs on fresh data and makes the claims.
    pub fn run(
        &self,
        part: &mut Part,
        mut program: impl FnMut(Program, &mut Data) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<()> {
        part.predict(self.prediction);
        let mut watched = |part: &mut Part, which| {
            let (outcome, watched) = part.watch(|| {
                let mut data = Data::new(part)?;
                recorded(part.device(), || program(which, &mut data))
            });
            let (outcome, recording) = outcome?;
            part.keep(which.name(), &recording);
            anyhow::Ok((outcome, watched))
        };
        let (racy, found) = watched(part, Program::Racy)?;
        self.judge_racy(part, &racy, &found);
        let (fixed, found) = watched(part, Program::Fixed)?;
        part.claim_right(
            "fixed/elements",
            "fixed: every element is right",
            "elements",
            &fixed,
        );
        if let Watched::Checked(reports) = found {
            let silent = reports.is_empty();
            let made = format!("{} reports", reports.len());
            part.claim(
                "fixed/silent",
                "fixed: the checker is silent",
                silent,
                made,
                "none",
            );
        }
        Ok(())
    }

    fn judge_racy(&self, part: &mut Part, outcome: &Outcome, found: &Watched) {
        let result = match outcome {
            Ok(_) => "right, by luck".to_owned(),
            Err(mismatch) => mismatch.to_string(),
        };
        part.say(format!("racy: {result}"));
        let Watched::Checked(reports) = found else {
            part.say("Nobody looks for the missing order here: that takes --device software, and not --races off.");
            if part.device().times() == TimeSource::Modelled {
                part.claim(
                    "racy/wrong",
                    "racy: the result is wrong",
                    outcome.is_err(),
                    result,
                    "in every run",
                );
            }
            return;
        };
        let named = |text: &str| self.report_names.iter().all(|name| text.contains(name));
        let report = reports.iter().find(|report| named(&report.text));
        for report in report.iter().copied().chain(reports.first()).take(1) {
            part.say(&report.text);
        }
        let plural = if reports.len() == 1 { "" } else { "s" };
        let made = format!("{} report{plural}", reports.len());
        let limit = format!("one with the words: {}", self.report_names.join(", "));
        part.claim(
            "racy/reported",
            "racy: the checker reports it",
            report.is_some(),
            made,
            limit,
        );
        let wrong = outcome.is_err();
        part.claim(
            "racy/wrong",
            "racy: the result is wrong",
            wrong,
            result,
            "in every run",
        );
    }
}

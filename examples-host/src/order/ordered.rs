//! Programs that are ordered: every element is right, and the checkers of the software GPU have nothing to say.

use crate::check;
use crate::compare::Workload;
use crate::expect::{right, truth};
use crate::intervals::{Engine, Recording};
use crate::label::Label;
use crate::part::Part;
use crate::races::Watched;
use crate::recording::recorded;
use std::time::Duration;

/// When the last operation of the engine ended; no time at all without an operation.
pub fn last_end(recording: &Recording, engine: Engine) -> Duration {
    let ends = recording.of(engine).into_iter().map(|span| span.end);
    Duration::from_nanos(ends.max().unwrap_or(0))
}

impl Part<'_> {
    /// Runs a program on poisoned memory, once more than it counts where times are measured: a driver loads kernels when
    /// they are first launched. Keeps its timeline, and claims that every element is right and that the checkers are
    /// silent, where there are any. Returns what the program does.
    ///
    /// # Errors
    /// What the program or the work returns.
    pub fn ordered<S: Workload, R>(
        &mut self,
        program: impl Into<Label>,
        work: &mut S,
        mut body: impl FnMut(&mut S) -> anyhow::Result<R>,
    ) -> anyhow::Result<(R, Recording)> {
        let program = program.into();
        for _ in 0..self.warm_up() {
            work.poison()?;
            body(work)?;
        }
        work.poison()?;
        let (outcome, watched) = self.watch(|| recorded(self.device(), || body(work)));
        let (result, recording) = outcome?;
        self.keep(&program, &recording);
        let mut checked = Ok(check::Checked::default());
        check::add(&mut checked, work.check())?;
        self.expect(
            format!("elements/{}", program.id),
            &format!("{program}: every element is right"),
            right(&checked, "elements"),
        );
        if let Watched::Checked(reports) = watched {
            let found = match reports.len() {
                1 => "1 report".to_owned(),
                more => format!("{more} reports"),
            };
            self.expect(
                format!("silent/{}", program.id),
                &format!("{program}: the checkers are silent"),
                truth(reports.is_empty(), found, "none"),
            );
            for report in reports {
                self.say(report.text);
            }
        }
        Ok((result, recording))
    }
}

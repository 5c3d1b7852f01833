//! Programs that are ordered: the checkers of the software GPU must have nothing to say about them.

use crate::expect::truth;
use crate::intervals::Recording;
use crate::label::Label;
use crate::part::Part;
use crate::races::Watched;
use crate::recording::recorded;

impl Part<'_> {
    /// Runs a program, keeps its timeline, and claims that the checkers are silent, where there are any. Returns what the
    /// program does.
    ///
    /// # Errors
    /// What the program returns.
    pub fn ordered<R>(
        &mut self,
        program: impl Into<Label>,
        body: impl FnOnce() -> anyhow::Result<R>,
    ) -> anyhow::Result<(R, Recording)> {
        let program = program.into();
        let (outcome, watched) = self.watch(|| recorded(self.device(), body));
        let (result, recording) = outcome?;
        self.keep(&program, &recording);
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

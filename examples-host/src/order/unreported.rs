//! Programs of which the software GPU's checkers must have nothing to say.

use crate::expect::truth;
use crate::part::Part;
use crate::races::Watched;

impl Part<'_> {
    /// Runs `body`, which waits for what it enqueues, and claims that the checkers report nothing. A GPU has no checkers: there
    /// nothing is claimed.
    ///
    /// # Errors The
    /// error of `body`.
    pub fn expect_unreported(
        &mut self,
        id: impl Into<String>,
        sentence: &str,
        body: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (done, watched) = self.watch(body);
        done?;
        if let Watched::Checked(reports) = watched {
            let found = match reports.first() {
                None => "no report".to_owned(),
                Some(first) => format!("{} reports, first: {}", reports.len(), first.text),
            };
            self.expect(id, sentence, truth(reports.is_empty(), found, "none"));
        }
        Ok(())
    }
}

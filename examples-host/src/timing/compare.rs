//! Comparing variants of one piece of work, as a lesson writes it.
//!
//! ```text
//! let [one, three] = part.compare("variants", plan, &mut work, [
//!     variant("one-stream", [&copy_in], |work: &mut Work| work.one_stream(&copy_in)),
//!     variant("three-streams", [&copy_in, &compute, &copy_out], |work| work.three_streams(..)),
//! ])?;
//! ```

use crate::measure::{Comparison, Outcome};
use crate::part::Part;
use crate::plan::Plan;
pub use crate::variant::{Variant, Workload, variant};

impl Part<'_> {
    /// Runs the variants in turn and returns what was found, in their order. Claims that all did the planned work, that
    /// event times agree with the host's clock, and that every element is right.
    ///
    /// # Errors
    /// What a variant, the preparation or the check returns; a stream of a variant that was not named.
    pub fn compare<S: Workload, const N: usize>(
        &mut self,
        group: &'static str,
        plan: Plan,
        work: &mut S,
        variants: [Variant<'_, S>; N],
    ) -> anyhow::Result<[Outcome; N]> {
        let comparison = Comparison::new(group, plan)
            .prepare(S::poison)
            .check(S::check)
            .of(variants);
        let outcomes = comparison.run(self, work)?;
        match <[Outcome; N]>::try_from(outcomes) {
            Ok(outcomes) => Ok(outcomes),
            Err(other) => anyhow::bail!("{} outcomes of {N} variants", other.len()),
        }
    }
}

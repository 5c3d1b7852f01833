//! Comparing variants of one piece of work, as a lesson writes it.
//!
//! ```text
//! let variants = variants! { work: Work, differ in Streams, Events;
//!     "one-stream", [copy_in] => work.one_stream(copy_in);
//!     "three-streams", [copy_in, compute, copy_out] => work.three_streams(copy_in, compute, copy_out);
//! };
//! let [one, three] = part.compare("variants", plan, &mut work, variants)?;
//! ```

use crate::alone::Alone;
use crate::measure::{Comparison, MeasuredVariant};
use crate::part::Part;
use crate::plan::Plan;
pub use crate::variant::{Variant, Variants, Workload, variant, variants};

impl Part<'_> {
    /// Runs the variants in turn and returns what was found, in their order. Claims that all did the planned work, that
    /// event times agree with the host's clock, that every element is right, and that variants differ as they declare.
    ///
    /// # Errors
    /// What a variant, the preparation or the check returns; a stream of a variant that was not named.
    pub fn compare<'v, S: Workload + 'v, const N: usize>(
        &mut self,
        group: &'static str,
        plan: Plan,
        work: &mut S,
        variants: impl Into<Variants<'v, S, N>>,
    ) -> anyhow::Result<[MeasuredVariant; N]> {
        self.run(Comparison::new(group, plan).of(variants.into()), work)
    }

    /// As [`Part::compare`], with so many timed runs of each variant: what is claimed of the shortest of them holds more often.
    ///
    /// # Errors
    /// As [`Part::compare`].
    pub fn compare_often<'v, S: Workload + 'v, const N: usize>(
        &mut self,
        group: &'static str,
        runs: usize,
        plan: Plan,
        work: &mut S,
        variants: impl Into<Variants<'v, S, N>>,
    ) -> anyhow::Result<[MeasuredVariant; N]> {
        self.run(
            Comparison::new(group, plan).of(variants.into()).runs(runs),
            work,
        )
    }

    /// As [`Part::compare`], with the pieces that bound the variants timed in turn with them.
    ///
    /// # Errors
    /// As [`Part::compare`]; what a piece returns.
    pub fn compare_bounded<'v, S: Workload + 'v, const N: usize, const M: usize>(
        &mut self,
        group: &'static str,
        plan: Plan,
        work: &mut S,
        alone: &'v mut Alone<'_, S, M>,
        variants: impl Into<Variants<'v, S, N>>,
    ) -> anyhow::Result<[MeasuredVariant; N]> {
        let comparison = Comparison::new(group, plan).of(variants.into());
        self.run(comparison.bounded_by(alone), work)
    }

    /// Runs a comparison of N variants of this work.
    fn run<S: Workload, const N: usize>(
        &mut self,
        comparison: Comparison<'_, S>,
        work: &mut S,
    ) -> anyhow::Result<[MeasuredVariant; N]> {
        let comparison = comparison.prepare(S::poison).check(S::check);
        match <[MeasuredVariant; N]>::try_from(comparison.run(self, work)?) {
            Ok(outcomes) => Ok(outcomes),
            Err(other) => anyhow::bail!("{} outcomes of {N} variants", other.len()),
        }
    }
}

//! A variant of a piece of work, and the work.

use crate::check::Checked;
use crate::joined::Join;
use crate::label::Label;
use cust::stream::Stream;

/// What the variants of a lesson work on.
pub trait Workload {
    /// Makes every result of an earlier run unrecognisable. Comes before each run and is not timed.
    fn poison(&mut self) -> anyhow::Result<()>;

    /// Compares every element that a run has left with what the CPU computes. The host has waited for the run.
    fn check(&mut self) -> anyhow::Result<Checked>;
}

/// Two pieces of work that variants combine, such as the GPU's and the CPU's.
impl<A: Workload, B: Workload> Workload for (A, B) {
    fn poison(&mut self) -> anyhow::Result<()> {
        self.0.poison()?;
        self.1.poison()
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        Ok(self.0.check()?.and(self.1.check()?))
    }
}

pub(crate) type Body<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<()> + 'v>;

/// One way to do the work.
pub struct Variant<'v, S> {
    pub(crate) label: Label,
    pub(crate) streams: Vec<Join>,
    pub(crate) body: Body<'v, S>,
}

/// A variant: its label (an id, or an id with the text to print), the streams that it enqueues into, and what it
/// enqueues. The timed region forks to these streams and joins them; a variant that names none waits for its work itself.
pub fn variant<'v, 's, S>(
    label: impl Into<Label>,
    streams: impl IntoIterator<Item = &'s Stream>,
    body: impl FnMut(&mut S) -> anyhow::Result<()> + 'v,
) -> Variant<'v, S> {
    Variant {
        label: label.into(),
        streams: streams.into_iter().map(Join::of).collect(),
        body: Box::new(body),
    }
}

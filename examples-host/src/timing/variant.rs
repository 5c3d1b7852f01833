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

/// Variants in a table, one a line: a label, the streams that it enqueues into, and what it enqueues, each as for [`variant()`]. The
/// first line names the work that they share.
///
/// ```
/// # use cust::stream::Stream;
/// # use examples_host::prelude::*;
/// # struct Chunks;
/// # impl Chunks {
/// #     fn one_stream(&mut self, _: &Stream) -> anyhow::Result<()> { Ok(()) }
/// #     fn events(&mut self, _: [&Stream; 2]) -> anyhow::Result<()> { Ok(()) }
/// # }
/// # fn example(copies: &Stream, compute: &Stream) {
/// let variants = variants! { chunks: Chunks;
///     "one-stream", [copies] => chunks.one_stream(copies);
///     ("events", "two streams, events"), [copies, compute] => chunks.events([copies, compute]);
/// };
/// # let [_, _] = variants;
/// # }
/// ```
#[doc(inline)]
pub use crate::__variants as variants;

#[doc(hidden)]
#[macro_export]
macro_rules! __variants {
    ($work:ident: $of:ty; $($label:expr, $streams:expr => $body:expr;)+) => {
        [$($crate::variant::variant($label, $streams, |$work: &mut $of| {
            // A variant may leave the work alone, as the launch of a graph does.
            let _ = &$work;
            $body
        })),+]
    };
}

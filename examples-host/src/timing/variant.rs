//! A variant of a piece of work, and the work.

use crate::check::Checked;
use crate::identity::Differ;
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

pub(crate) type VariantFunction<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<()> + 'v>;

/// One way to do the work.
pub struct Variant<'v, S> {
    pub(crate) label: Label,
    pub(crate) streams: Vec<Join>,
    pub(crate) waits: usize,
    pub(crate) also: &'static [Differ],
    pub(crate) chooses_streams: bool,
    pub(crate) body: VariantFunction<'v, S>,
}

impl<S> Variant<'_, S> {
    /// The variant waits for the device so often; of those that do not say so, none may wait at all where the
    /// [`Variants`] declare what they differ in. A copy that is not asynchronous waits, and so does `cuMemFree`.
    #[must_use]
    pub fn waits(mut self, waits: usize) -> Self {
        self.waits = waits;
        self
    }

    /// The variant alone differs from the others in this, besides what all of them differ in.
    #[must_use]
    pub fn also(mut self, differ: &'static [Differ]) -> Self {
        self.also = differ;
        self
    }

    /// The variant chooses among its streams while it runs: it need not use all of them.
    #[must_use]
    pub fn chooses_streams(mut self) -> Self {
        self.chooses_streams = true;
        self
    }
}

/// The variants of a comparison, and what they differ in, if they declare it.
pub struct Variants<'v, S, const N: usize> {
    pub(crate) differ: Option<&'static [Differ]>,
    pub(crate) table: [Variant<'v, S>; N],
}

impl<'v, S, const N: usize> Variants<'v, S, N> {
    /// Variants that differ in this, and in nothing else; see [`crate::identity`].
    pub fn differing(differ: &'static [Differ], table: [Variant<'v, S>; N]) -> Self {
        let differ = Some(differ);
        Self { differ, table }
    }
}

impl<'v, S, const N: usize> From<[Variant<'v, S>; N]> for Variants<'v, S, N> {
    fn from(table: [Variant<'v, S>; N]) -> Self {
        let differ = None;
        Self { differ, table }
    }
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
        waits: 0,
        also: &[],
        chooses_streams: false,
        body: Box::new(body),
    }
}

/// Variants in a table, one a line: a label, the streams that it enqueues into, and what it enqueues, each as for [`variant()`]. The
/// first line names the work that they share, and may say what they differ in ([`Differ`]): then they differ in all of that and
/// in nothing else, and a variant that waits for the device says how often. What only one of them differs in, its row says.
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
/// let variants = variants! { chunks: Chunks, differ in Streams, Events, Waits;
///     "one-stream", [copies] => chunks.one_stream(copies), waits 8;
///     ("events", "two streams, events"), [copies, compute] => chunks.events([copies, compute]);
/// };
/// # let _: examples_host::compare::Variants<_, 2> = variants;
/// # }
/// ```
#[doc(inline)]
pub use crate::__variants as variants;

#[doc(hidden)]
#[macro_export]
macro_rules! __variants {
    ($work:ident: $of:ty, differ in $($differ:ident),+; $($rows:tt)+) => {
        $crate::compare::Variants::differing(
            &[$($crate::identity::Differ::$differ),+],
            $crate::compare::variants!($work: $of; $($rows)+),
        )
    };
    ($work:ident: $of:ty;
        $($label:expr, $streams:expr => $body:expr $(, waits $waits:expr)? $(, also $($also:ident),+)?;)+
    ) => {
        [$($crate::variant::variant($label, $streams, |$work: &mut $of| {
            // A variant may leave the work alone, as the launch of a graph does.
            let _ = &$work;
            $body
        })$(.waits($waits))?$(.also(&[$($crate::identity::Differ::$also),+]))?),+]
    };
}

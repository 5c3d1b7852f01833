//! Data that is cut into chunks, and the number of chunks that serves a pipeline best: few leave the engines idle while the
//! pipeline fills and drains, many cost the start of as many copies.

use crate::bound::{Overlap, Stages};
use crate::check::{self, Checked};
use crate::compare::Workload;
use crate::expect::right;
use crate::label::Label;
use crate::measure::Stopwatch;
use crate::options::UsageError;
use crate::part::Part;
use crate::results::Kind;
use crate::split::pieces;
use crate::sweep::sweep;
use crate::table::Table;
use crate::units;
use cust::stream::Stream;
use std::ops::Range;

/// Work on data that can be cut into any number of chunks.
pub trait Chunked: Workload {
    /// Elements of all chunks together.
    fn elements(&self) -> usize;

    /// Cuts the data into so many chunks.
    fn cut(&mut self, chunks: usize) -> anyhow::Result<()>;
}

/// The ranges of `chunks` chunks of `elements` elements: of equal length up to an alignment of 128 bytes, in order.
///
/// # Errors
/// There are more chunks than elements, or none.
pub fn ranges<T>(elements: usize, chunks: usize) -> Result<Vec<Range<usize>>, UsageError> {
    let cut = pieces::<T>(elements, chunks).map(Iterator::collect);
    cut.ok_or_else(|| {
        UsageError(format!(
            "{elements} elements cannot be cut into {chunks} chunks"
        ))
    })
}

impl Part<'_> {
    /// Times `body` with each number of chunks (the powers of two up to 128, or the command line's number), prints the times
    /// beside what filling and draining the pipeline predicts, claims that every element is right, and leaves `work` cut
    /// into the best number, which it returns.
    ///
    /// # Errors
    /// What `work` or `body` returns; more chunks on the command line than elements.
    pub fn best_chunks<'s, W: Chunked>(
        &mut self,
        variant: &str,
        work: &mut W,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        stages: &Stages,
        body: impl Fn(&mut W) -> anyhow::Result<()>,
    ) -> anyhow::Result<usize> {
        let counts = chunk_counts(self, work.elements())?;
        let watch = Stopwatch::new(self.device())?;
        let mut checked = Ok(Checked::default());
        let times = sweep(self, 3, &counts, |&chunks, check| {
            work.cut(chunks)?;
            work.poison()?;
            let sample = watch.time(streams.clone(), || body(work))?;
            if check {
                check::add(&mut checked, work.check())?;
            }
            anyhow::Ok([sample.event])
        })?;
        let sentence = "every element is right with each number of chunks";
        self.expect("elements/chunks", sentence, right(&checked, "elements"));

        let mut table = Table::new(["chunks", variant, "predicted", "of the bound"]);
        for (&chunks, [times]) in counts.iter().zip(&times) {
            table.row([
                chunks.to_string(),
                units::time(times.median()),
                units::time(stages.pipelined(chunks)),
                units::percent(stages.reached(Overlap::Duplex, times.median())),
            ]);
            let label = Label::new(
                format!("chunks-{chunks}"),
                format!("{variant}, {}", plural(chunks)),
            );
            self.timed("chunks", label, Kind::Makespan, times);
        }
        self.say(table);
        let best = counts
            .iter()
            .zip(&times)
            .min_by_key(|(_, [times])| times.median());
        let chunks = best.map_or(1, |(&chunks, _)| chunks);
        if counts.len() > 1 {
            self.say(format!(
                "The best number of chunks is {chunks}: all variants use it."
            ));
        }
        work.cut(chunks)?;
        Ok(chunks)
    }
}

fn plural(chunks: usize) -> String {
    match chunks {
        1 => "1 chunk".to_owned(),
        more => format!("{more} chunks"),
    }
}

/// The command line's number, or powers of two.
fn chunk_counts(part: &Part, elements: usize) -> anyhow::Result<Vec<usize>> {
    if part.options().chunks.is_some() {
        return Ok(vec![part.chunks(1, elements)?]);
    }
    let powers = (0..=7).map(|power| 1 << power);
    Ok(powers.take_while(|&count| count <= elements).collect())
}

//! The best value of a parameter, such as the size of a piece.

use crate::compare::Workload;
use crate::expect::right;
use crate::label::Label;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::results::Kind;
use crate::table::Table;
use crate::units;
use anyhow::Context;
use cust::stream::Stream;

impl Part<'_> {
    /// Times `body` with pieces of each of these sizes, in bytes, and prints the times. Claims that every element is right with
    /// each, and returns the size with the least time.
    ///
    /// # Errors
    /// The error of `work` or `body`, or no sizes.
    pub fn best_size<'s, W: Workload>(
        &mut self,
        group: impl Into<Label>,
        sizes: &[usize],
        work: &mut W,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        body: impl Fn(&mut W, usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<usize> {
        let group = group.into();
        let Label { id, text: title } = &group;
        let watch = Stopwatch::new(self.device())?;
        let found = self.at_points(5, sizes, work, |work, &size| {
            Ok(watch.time(streams.clone(), || body(work, size))?.event)
        })?;
        let sentence = format!("every element is right with each size of {title}");
        let checked = right(&found.checked, "elements");
        self.expect(format!("elements/{id}"), &sentence, checked);

        let median = format!("median, {}", self.device().times());
        let mut table = Table::new([title.as_str(), &median, "of the best"]);
        let best = sizes.iter().zip(&found.times);
        let best = best.min_by_key(|(_, times)| times.median());
        let (&best, least) = best.context("no size to time")?;
        for (&size, times) in sizes.iter().zip(&found.times) {
            let text = units::bytes(size as u64);
            table.row([
                text.clone(),
                units::time(times.median()),
                units::percent(times.median().div_duration_f64(least.median())),
            ]);
            let id = format!("{id}-{}", units::bytes_id(size as u64));
            let label = Label::new(id, format!("{title} of {text}"));
            self.timed(&group, label, Kind::Makespan, times);
        }
        self.say(table);
        Ok(best)
    }
}

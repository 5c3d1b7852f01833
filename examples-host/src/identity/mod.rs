//! Whether variants are what their names say, judged by what they did.
//!
//! A variant that runs another variant's program has the right results, does the planned work and takes a plausible time.
//! Only its calls give it away. So each comparison holds the traces of its variants against one another: two variants that
//! make the same calls, in the same order and in the same streams, are one program with two names.
//!
//! Variants that declare what they [differ in](Differ) are held to it:
//!
//! - they differ in all of that, and in nothing else;
//! - each waits for the device as often as it says, and one that says nothing never does;
//! - each uses all streams that it names.
//!
//! [Twins](crate::twins), a racy program and its remedy, do the same work: they run the same kernels with the same launches and
//! copies.
//!
//! A broken rule is a claim that fails; a rule that is kept is not mentioned. Counts and the order of calls are compared.
//! Only the host's work is a time, and has a generous limit.

mod calls;
mod differ;
mod rules;
mod shape;
#[cfg(test)]
mod tests;

pub use calls::calls_of;
pub use differ::Differ;
pub(crate) use rules::{Broken, Judged, broken, broken_by_twins};
pub(crate) use shape::CallCounts;

use crate::measure::id_in;
use crate::part::Part;

impl Part<'_> {
    /// Claims, of each rule that the variants of a group have broken, that they keep it. With parameters other than the part's own, variants may be
    /// identical: on a single chunk, for example.
    pub(crate) fn claim_broken(&mut self, group: &str, broken: Vec<Broken>) {
        if !self.own_parameters(&[]) {
            return;
        }
        for Broken {
            rule,
            sentence,
            found,
            remedy,
        } in broken
        {
            let id = id_in(group, &format!("identity/{rule}"));
            self.claim(id, sentence, false, found, remedy);
        }
    }
}

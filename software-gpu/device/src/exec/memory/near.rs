//! The L1 cache, as far as the model has one: which lines with addresses a block has loaded before.
//!
//! A kernel loads an entry of a table of addresses, such as a page's, and then the memory at that address. Many entries lie in one line, so
//! that a GPU has most of them at hand. Only loads whose result is an address within the same basic block are looked up.

use super::super::context::Context;
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{Shape, plain_handler};
use super::target::addresses;

/// Bytes of a line.
const LINE: u64 = 128;
/// Lines that are kept, each in the place that its address gives: a small part of the cache, which data goes through as well.
const LINES: usize = 64;

/// The lines of a block.
#[derive(Clone, Debug)]
pub(in crate::exec) struct NearLines {
    /// Numbers of lines plus 1; 0 for none.
    kept: [u64; LINES],
    /// A load since [`begin`](Self::begin) found its line missing.
    missed: bool,
}

impl Default for NearLines {
    fn default() -> Self {
        Self {
            kept: [0; LINES],
            missed: false,
        }
    }
}

impl NearLines {
    /// A basic block begins.
    pub fn begin(&mut self) {
        self.missed = false;
    }

    /// Whether all loads since then have found their lines.
    pub fn all_hit(&self) -> bool {
        !self.missed
    }

    /// The writes of others must be visible: nothing is kept.
    pub fn clear(&mut self) {
        self.kept = [0; LINES];
    }

    fn look_up(&mut self, address: u64) {
        let line = address / LINE + 1;
        let kept = &mut self.kept[line as usize % LINES];
        self.missed |= *kept != line;
        *kept = line;
    }
}

struct LookUp;

impl Shape for LookUp {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let mut last = None;
        for lane in cx.lanes() {
            let line = addresses[lane] / LINE;
            if last != Some(line) {
                cx.near.look_up(addresses[lane]);
                last = Some(line);
            }
        }
    }
}

/// Handler that comes before a load of addresses: address row `a`, site `x`.
pub(in crate::exec) fn look_up_line() -> Handler {
    plain_handler::<LookUp>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_near_when_it_was_loaded_before() {
        let mut lines = NearLines::default();
        let mut hits = |addresses: &[u64]| {
            lines.begin();
            addresses.iter().for_each(|address| lines.look_up(*address));
            lines.all_hit()
        };
        assert!(!hits(&[0]));
        assert!(hits(&[0, 8, 120]));
        assert!(!hits(&[120, 128]));
        assert!(hits(&[120, 128]));
        // In the same place as the first one.
        assert!(!hits(&[128 * 64]));
        assert!(!hits(&[0]));
        lines.clear();
        lines.begin();
        lines.look_up(0);
        assert!(!lines.all_hit());
    }
}

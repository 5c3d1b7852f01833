//! A device that is fed by host threads: how long it waits for them, by prediction and by the intervals.
//!
//! Each batch is loaded by a host thread, copied in, and worked on by a kernel. A thread may be `depth` batches ahead of the
//! kernel: before it loads a batch it waits for the kernel of its batch `depth + 1` before. With loads L, copies H and kernels K of
//! equal length, a hand-over R, T threads and depth d, a batch takes max(K, H, L / T, (L + R + H + K) / (T (d + 1))): the device, the
//! link and the threads each set a pace, and so does the ring.

mod claims;
#[cfg(test)]
mod tests;

pub use claims::{expect_loading, idle};

use std::time::Duration;

/// What each batch takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loading {
    /// To load the batch, for each of them.
    pub loads: Vec<Duration>,
    /// From a kernel's end to the thread, and from the thread to the device: its waking up, its calls, the events.
    pub hand_over: Duration,
    /// To copy one in.
    pub copy: Duration,
    /// To work on one.
    pub kernel: Duration,
}

/// The loading thread, and its distance ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Threads: each loads one batch at a time, in turn.
    pub threads: usize,
    /// Batches that a thread may be ahead of the kernels of its own.
    pub depth: usize,
}

impl Feed {
    /// When a thread begins, whose first batch takes `load`: one after the other, so that they do not finish loads at the same time.
    pub fn begin(self, thread: usize, load: Duration) -> Duration {
        load * thread as u32 / self.threads as u32
    }
}

impl Loading {
    /// The idle share of the device from the first kernel's start to the last one's end, with `feed`.
    pub fn idle(&self, feed: Feed) -> f64 {
        let Feed { threads, depth } = feed;
        let begins = |thread| feed.begin(thread, self.loads[thread]);
        let mut loaded: Vec<Duration> = (0..threads).map(begins).collect();
        let mut copied = Duration::ZERO;
        let mut ends: Vec<Duration> = Vec::new();
        let mut first = None;
        for (batch, load) in self.loads.iter().enumerate() {
            let ring = batch.checked_sub(threads * (depth + 1));
            let emptied = ring.map_or(Duration::ZERO, |before| ends[before] + self.hand_over);
            let own = &mut loaded[batch % threads];
            *own = emptied.max(*own) + *load;
            copied = copied.max(*own) + self.copy;
            let start = ends.last().map_or(copied, |&end| copied.max(end));
            first.get_or_insert(start);
            ends.push(start + self.kernel);
        }
        let all = ends.last().zip(first).map(|(&end, first)| end - first);
        let busy = self.kernel.mul_f64(self.loads.len() as f64);
        all.map_or(0.0, |all| 1.0 - busy.as_secs_f64() / all.as_secs_f64())
    }

    /// The idle share that no depth of these threads falls below: what the threads or the link leave.
    pub fn bound(&self, threads: usize) -> f64 {
        let depth = self.loads.len();
        self.idle(Feed { threads, depth })
    }
}

//! Work for the CPU beside the GPU's: counting how often each letter occurs in a text.

use anyhow::{Result, ensure};
use examples_host::prelude::*;

const LETTERS: usize = 26;

/// A text and its letters' counts.
pub struct Letters {
    text: Vec<u8>,
    written: [u64; LETTERS],
    counts: [u64; LETTERS],
}

impl Letters {
    /// Random letters, counted while they are written.
    pub fn random(bytes: usize) -> Self {
        let seed = Seed::new(26);
        let text: Vec<u8> = (0..bytes).map(|i| (seed.u32(i) % LETTERS as u32) as u8).collect();
        let mut written = [0; LETTERS];
        for &letter in &text {
            written[usize::from(letter)] += 1;
        }
        let counts = [0; LETTERS];
        Self { text, written, counts }
    }

    /// The work.
    pub fn count(&mut self) {
        host_clock::counting_work(self.text.len() as u64, || {
            let mut counts = [0; LETTERS];
            for &letter in std::hint::black_box(&self.text) {
                counts[usize::from(letter)] += 1;
            }
            self.counts = counts;
        });
    }

    /// Forgets the counts.
    pub fn poison(&mut self) {
        self.counts = [0; LETTERS];
    }

    /// Compares the counts with those of the letters written.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.counts == self.written,
            "the CPU counted {:?}, written were {:?}",
            self.counts,
            self.written
        );
        Ok(())
    }
}

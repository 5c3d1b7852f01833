//! How far a run has come: a bar on a terminal, nothing otherwise. Lines of results go to standard output, above the bar.

use examples_host::output;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// How far a run has come.
pub struct Progress(ProgressBar);

impl Progress {
    /// Nothing of `parts` is done. The bar is drawn on standard error if that is a terminal.
    pub fn new(parts: usize) -> Self {
        let bar = ProgressBar::new(parts as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// A part begins; `done` before it are done.
    pub fn begin(&self, done: usize, name: String) {
        self.0.set_position(done as u64);
        self.0.set_message(name);
    }

    /// Prints a line.
    pub fn line(&self, text: &str) {
        self.0.suspend(|| output::line(text));
    }

    /// The bar goes.
    pub fn end(self) {
        self.0.finish_and_clear();
    }
}

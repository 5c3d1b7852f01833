//! Timelines of runs: what they say, and how they are shown. It depends on recordings only, not on CUDA.
//!
//! - [`analysis`]: what overlapped, where nothing ran, what ran one after the other and likely why.
//! - [`svg`], [`html`]: the forms in which they are drawn; a third is [`chapter_trace`], whose rows they share.
//! - [`critical`]: the operations that decided when the run ended.
//! - [`figure`]: which recordings are drawn together; [`axis`], [`overlap`]: what the forms have in common.

pub mod analysis;
pub mod axis;
pub mod critical;
pub mod figure;
pub mod html;
pub mod overlap;
pub mod svg;
#[cfg(test)]
mod testing;
pub mod window;

use chapter_results::intervals::{Engine, Recording};
use chapter_results::units;

/// What a recording is, in one line.
fn summary(recording: &Recording) -> String {
    if recording.intervals.is_empty() {
        return format!("nothing was recorded by {}", recording.source);
    }
    let used = Engine::ALL.map(|engine| recording.intervals.iter().any(|i| i.engine == engine));
    if used.iter().filter(|used| **used).count() < 2 {
        return recording.to_string();
    }
    let share = units::percent(overlap::overlapped_share(recording));
    format!("{recording}; two or more engines busy for {share} of the time")
}

/// The class that gives an engine its colour in the assets' palette.
fn class(engine: Engine) -> &'static str {
    match engine {
        Engine::HostToDevice => "h2d",
        Engine::Kernel => "kernel",
        Engine::DeviceToHost => "d2h",
        Engine::DeviceToDevice => "d2d",
        Engine::Set => "set",
        Engine::HostFunction => "function",
    }
}

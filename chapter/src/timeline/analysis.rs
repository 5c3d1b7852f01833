//! What a recorded timeline shows, as text.

use chapter_results::Results;
use examples_host::output;

/// Prints it.
pub fn print(results: &Results) {
    for part in &results.parts {
        for timeline in &part.timelines {
            output::line(format!(
                "{}: {}: {}",
                part.name, timeline.variant, timeline.recording
            ));
        }
    }
}

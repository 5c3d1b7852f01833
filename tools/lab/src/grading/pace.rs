//! How far a grading is, and how long the rest takes.

use std::time::{Duration, Instant};

/// Counts what is done.
pub struct Pace {
    start: Instant,
    all: usize,
    done: usize,
}

impl Pace {
    /// The number of submissions.
    pub fn of(all: usize) -> Self {
        Self {
            start: Instant::now(),
            all,
            done: 0,
        }
    }

    /// Counts one, and says how many of how many are done.
    pub fn count(&mut self) -> String {
        self.done += 1;
        let (done, all) = (self.done, self.all);
        let width = all.to_string().len();
        format!(
            "{done:width$}/{all}{}",
            left(self.start.elapsed(), done, all)
        )
    }
}

/// How long the rest takes if it continues like this; unknown in the first minute.
fn left(spent: Duration, done: usize, all: usize) -> String {
    let rest = spent.as_secs_f64() / done.max(1) as f64 * all.saturating_sub(done) as f64;
    match (rest / 60.0).round() {
        minutes if minutes >= 1.0 => format!(" ({minutes} min left)"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_printed_in_minutes() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 10, 60), " (5 min left)");
        assert_eq!(left(minute, 59, 60), "");
        assert_eq!(left(minute, 60, 60), "");
    }
}

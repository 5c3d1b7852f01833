//! Measures of a picture, and the scale that its charts share.

use super::text;
use super::{Chart, WIDTH};
use crate::rows::{Row, rows};

/// Free space around everything.
pub const MARGIN: f64 = 16.0;
/// A lane of a row that has one.
const LANE: f64 = 18.0;
/// What the lanes of one row may take together before they get thinner.
const LANES: f64 = 54.0;
/// A lane is never thinner.
const THINNEST: f64 = 3.0;

/// What all charts of a picture share.
pub struct Frame {
    /// Where the labels end.
    pub labels: f64,
    /// Where time begins.
    pub left: f64,
    /// Where it ends.
    pub right: f64,
    /// The last nanosecond that is drawn.
    pub total: u64,
}

impl Frame {
    /// The frame in which these charts fit.
    pub fn of(charts: &[Chart<'_>]) -> Self {
        let ends = charts
            .iter()
            .map(|chart| chart.recording.makespan().as_nanos());
        let names = charts.iter().flat_map(|chart| rows(chart.recording));
        let widest = names.map(|row| text::width(&row.name)).fold(0.0, f64::max);
        let labels = MARGIN + widest.clamp(56.0, 180.0);
        Self {
            labels,
            left: labels + 8.0,
            // The last label of the axis may stand at its very end.
            right: WIDTH - MARGIN - 24.0,
            total: ends
                .max()
                .and_then(|end| u64::try_from(end).ok())
                .unwrap_or(0),
        }
    }

    /// How long a row's label may be.
    pub fn label(&self) -> f64 {
        self.labels - MARGIN
    }

    /// Where a moment is.
    pub fn x(&self, time: u64) -> f64 {
        let share = time.min(self.total) as f64 / self.total.max(1) as f64;
        self.left + (self.right - self.left) * share
    }
}

/// How high one lane of the row is.
pub fn lane(row: &Row) -> f64 {
    (LANES / row.lanes as f64).clamp(THINNEST, LANE)
}

/// How high the row is.
pub fn height(row: &Row) -> f64 {
    lane(row) * row.lanes as f64 + 2.0
}

//! Measures of a picture, and the scale that its charts share.

use super::text;
use super::{Chart, Form};
use chapter_results::intervals::Recording;
use chapter_trace::rows::{ChartRow, Kind, rows};

/// Free space around everything.
pub const MARGIN: f64 = 16.0;
/// A lane of a row that has one.
const LANE: f64 = 18.0;
/// What the lanes of one row may take together before they get thinner.
const LANES: f64 = 54.0;
/// A lane is never thinner.
const THINNEST: f64 = 1.0;
/// What rows of one lane may take together before they get thinner, and how thin those are at least.
const ROWS: f64 = 480.0;
const THINNEST_ROW: f64 = 5.0;
/// The least distance between the labels of rows.
const LABEL: f64 = 13.0;

/// What all charts of a picture share.
pub struct Frame {
    /// How much is shown.
    pub form: Form,
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
    pub fn of(charts: &[Chart<'_>], form: Form) -> Self {
        let ends = charts
            .iter()
            .map(|chart| chart.recording.makespan().as_nanos());
        let names = charts.iter().flat_map(|chart| rows(chart.recording));
        let names = names.filter(|row| form == Form::Whole || row.kind == Kind::Stream);
        let widest = names.map(|row| text::width(&row.name)).fold(0.0, f64::max);
        let (least, most) = match form {
            Form::Whole => (56.0, 180.0),
            Form::Narrow => (36.0, 90.0),
        };
        let labels = MARGIN + widest.clamp(least, most);
        Self {
            form,
            labels,
            left: labels + 8.0,
            // The last label of the axis may stand at its very end.
            right: form.width() - MARGIN - 24.0,
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

/// A row and where it stands.
pub struct Stand {
    /// Its contents.
    pub row: ChartRow,
    /// Its upper edge.
    pub top: f64,
    /// How high one lane of it is.
    pub lane: f64,
    /// The heading above it, if it is the first of its kind.
    pub heading: Option<&'static str>,
    /// Whether there is room for its label.
    pub labelled: bool,
}

impl Stand {
    /// How high it is.
    pub fn height(&self) -> f64 {
        self.lane * self.row.lanes as f64 + 2.0
    }

    /// Its lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height()
    }
}

/// Where the rows of a recording stand, from `y` downwards.
pub fn stands(recording: &Recording, form: Form, y: f64) -> Vec<Stand> {
    let mut rows = rows(recording);
    // Calls begin before the picture does and are mostly too short to be seen in it.
    rows.retain(|row| match form {
        Form::Whole => row.kind != Kind::Calls,
        Form::Narrow => row.kind == Kind::Stream,
    });
    let single = (ROWS / rows.len().max(1) as f64).clamp(THINNEST_ROW, LANE);
    let gap = if single < LANE { 1.0 } else { 3.0 };
    let mut stands: Vec<Stand> = Vec::with_capacity(rows.len());
    let mut last_label = f64::NEG_INFINITY;
    let mut y = y;
    for row in rows {
        let last = stands.last().map(|stand| heading(&stand.row));
        let own = (form == Form::Whole && last != Some(heading(&row))).then_some(heading(&row));
        y += match (own, last) {
            (Some(_), None) => 14.0,
            (Some(_), Some(_)) => 20.0,
            (None, _) => 0.0,
        };
        let lane = match row.lanes {
            1 => single,
            lanes => (LANES / lanes as f64).clamp(THINNEST, LANE),
        };
        let mut stand = Stand {
            row,
            top: y,
            lane,
            heading: own,
            labelled: false,
        };
        let middle = y + stand.height() / 2.0;
        stand.labelled = own.is_some() || middle - last_label >= LABEL;
        if stand.labelled {
            last_label = middle;
        }
        y = stand.bottom() + gap;
        stands.push(stand);
    }
    stands
}

fn heading(row: &ChartRow) -> &'static str {
    match row.kind {
        Kind::Engine(_) => "engines",
        Kind::Stream => "streams",
        Kind::Thread | Kind::Calls => "host",
    }
}

/// How high a thing is in a lane that is so high; things of neighbouring lanes stay apart to the eye.
pub fn bar(lane: f64) -> f64 {
    lane - if lane < 4.0 { 0.25 * lane } else { 1.0 }
}

//! The parts that have twins, and the arguments of both.

use crate::results::Timed;
use anyhow::{Context as _, Result};

/// A part of an example.
pub struct ExamplePart {
    pub program: &'static str,
    pub part: &'static str,
    /// Bytes, where they are not the part's usual ones.
    bytes: Option<usize>,
    /// Bytes when nothing is timed, where the part has a size.
    bytes_to_check: Option<usize>,
    /// What the part chooses by measuring, as options of its twin.
    choose: fn(&[Timed]) -> Option<Vec<String>>,
}

const ALLOCATOR: &str = "stream_ordered_allocator";
const CACHE: &str = "stream_ordered_kv_cache";
const PIPELINE: &str = "multi_stream_pipeline";
const PERSISTENT: &str = "persistent_kernel";
const GRAPH: &str = "graph_capture";

/// All of them. Append's prompt is fixed, so that its length is not chosen by measuring.
pub const ALL: [ExamplePart; 9] = [
    ExamplePart::new(ALLOCATOR, "cost", Some(16 << 20), 1 << 20, nothing),
    ExamplePart::new(ALLOCATOR, "llm-scratch", None, 1 << 18, nothing),
    ExamplePart::new(CACHE, "append", Some(8 << 20), 2 << 20, nothing),
    ExamplePart::new(CACHE, "prefetch", Some(32 << 20), 2 << 20, sequences),
    ExamplePart::new(PIPELINE, "event-chain", None, 4 << 20, nothing),
    ExamplePart::new(PIPELINE, "warp-specialised", None, 4 << 20, balance),
    ExamplePart::without_size(PERSISTENT, "steps"),
    ExamplePart::without_size(GRAPH, "replay"),
    ExamplePart::without_size(GRAPH, "update"),
];

impl ExamplePart {
    const fn new(
        program: &'static str,
        part: &'static str,
        bytes: Option<usize>,
        bytes_to_check: usize,
        choose: fn(&[Timed]) -> Option<Vec<String>>,
    ) -> Self {
        Self {
            program,
            part,
            bytes,
            bytes_to_check: Some(bytes_to_check),
            choose,
        }
    }

    const fn without_size(program: &'static str, part: &'static str) -> Self {
        Self {
            program,
            part,
            bytes: None,
            bytes_to_check: None,
            choose: nothing,
        }
    }

    /// Arguments of both programs.
    pub fn options(&self, check: bool) -> Vec<String> {
        let option = |name: &str, value: usize| [format!("--{name}"), value.to_string()];
        if check {
            let size = self.bytes_to_check.map(|bytes| option("size", bytes));
            let once = option("iterations", 1);
            return size.into_iter().chain([once]).flatten().collect();
        }
        let size = self.bytes.map(|bytes| option("size", bytes));
        size.into_iter().flatten().collect()
    }

    /// Further arguments of the twin.
    pub fn choices(&self, example: &[Timed]) -> Result<Vec<String>> {
        (self.choose)(example).context("the example's results do not name its choice")
    }
}

fn nothing(_: &[Timed]) -> Option<Vec<String>> {
    Some(Vec::new())
}

/// How many sequences share the prompt: there is a launch for each, in each of 4 steps and 4 layers.
fn sequences(example: &[Timed]) -> Option<Vec<String>> {
    const EACH: u64 = 4 * 4;
    let [_, _, launches, _] = example.iter().find_map(|timed| timed.plan)?;
    Some(vec!["--sequences".into(), (launches / EACH).to_string()])
}

/// The form of the kernel that the others are measured against.
const UNSPECIALISED: &str = "unspecialised";

/// The rounds where memory and arithmetic take about the same time, and the fastest of the specialised forms there: only
/// those rounds are timed with six blocks per multiprocessor, too.
fn balance(example: &[Timed]) -> Option<Vec<String>> {
    let rounds_with = |timed: &Timed, blocks: u32| -> Option<u32> {
        let end = format!("/blocks-{blocks}");
        let rounds = timed.group.strip_suffix(&end)?;
        rounds.strip_prefix("rounds-")?.parse().ok()
    };
    let rounds = example.iter().find_map(|timed| rounds_with(timed, 6))?;
    let fastest = example
        .iter()
        .filter(|timed| rounds_with(timed, 1) == Some(rounds))
        .filter(|timed| timed.variant != UNSPECIALISED)
        .min_by(|a, b| a.median_us.total_cmp(&b.median_us))?;
    let rounds = ["--rounds".to_owned(), rounds.to_string()];
    let form = ["--form".to_owned(), fastest.variant.clone()];
    Some([rounds, form].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(group: &str, variant: &str, median_us: f64) -> Timed {
        Timed {
            part: "part".into(),
            group: group.into(),
            variant: variant.into(),
            plan: None,
            median_us,
        }
    }

    #[test]
    fn the_sequences_follow_from_the_launches() {
        let unplanned = timed("variants", "one-stream", 1.0);
        let planned = Timed {
            plan: Some([128 << 20, 0, 144, 147_456]),
            ..unplanned.clone()
        };
        assert_eq!(sequences(&[planned]).unwrap(), ["--sequences", "9"]);
        assert_eq!(sequences(&[unplanned]), None);
    }

    #[test]
    fn the_balance_is_where_six_blocks_are_timed_and_the_form_the_fastest_with_one() {
        let one = |rounds: u32| format!("rounds-{rounds}/blocks-1");
        let example = [
            timed(&one(32), "cp-async", 1.0),
            timed(&one(64), "unspecialised", 2.0),
            timed(&one(64), "cp-async", 4.0),
            timed(&one(64), "bulk-copies", 3.0),
            timed("rounds-1/blocks-2", "cp-async", 1.0),
            timed("rounds-64/blocks-6", "cp-async", 1.0),
        ];
        let expected = ["--rounds", "64", "--form", "bulk-copies"];
        assert_eq!(balance(&example).unwrap(), expected);
        assert_eq!(balance(&example[..5]), None);
    }
}

//! Records that a program has made up: each of them is refused or judged, and nothing panics.

use super::judge;
use crate::attempt::{Attempt, LabDevice, LabRun};
use crate::catalogue::{Catalogue, Kind, Lab, root};
use crate::goal::Goal;
use crate::process::Ended;
use crate::{record, show};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A right record of a lab: that of the goal.
fn right(goal: &Goal) -> Value {
    let recording = serde_json::to_value(&goal.recording).expect("JSON");
    json!({
        "times": "modelled",
        "device": "a device",
        "recording": recording,
        "threads": goal.work.threads,
        "result": { "expected": 8, "elements": 8, "wrong": 0, "first": null },
        "times_handed_in": [["kernel", 68_600.0]],
        "reports": [],
    })
}

/// The values within a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(all) => all.iter().map(count).sum(),
        Value::Object(all) => all.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces one of the values within a value: the one of this number.
fn replace(value: &mut Value, number: &mut usize, instead: &Value) {
    if *number == 0 {
        *value = instead.clone();
    }
    let Some(next) = number.checked_sub(1) else {
        return;
    };
    *number = next;
    let within: Vec<&mut Value> = match value {
        Value::Array(all) => all.iter_mut().collect(),
        Value::Object(all) => all.values_mut().collect(),
        _ => Vec::new(),
    };
    for value in within {
        let size = count(value);
        if *number < size {
            return replace(value, number, instead);
        }
        *number -= size;
    }
}

fn instead() -> impl Strategy<Value = Value> {
    let edges = [
        0,
        1,
        (1 << 45) - 1,
        1 << 45,
        i64::MAX.unsigned_abs(),
        u64::MAX,
    ];
    prop_oneof![
        any::<u64>().prop_map(Value::from),
        prop::sample::select(edges.to_vec()).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["kernel", "legacy", "cuEventQuery", "cuMemFreeAsync"])
            .prop_map(Value::from),
        Just(Value::Null),
        Just(json!([])),
    ]
}

/// Judges a text as the record of a lab, and shows the result.
fn judged(lab: &Lab, goal: &Goal, text: &[u8]) {
    let Ok(record) = record::of(text) else {
        return;
    };
    let attempt = Attempt::Ran(Box::new(LabRun {
        ended: Ended::Exit(0),
        stdout: String::new(),
        stderr: String::new(),
        record: Some(record),
        refused: None,
        without_cupti: Vec::new(),
        warnings: String::new(),
    }));
    for device in [LabDevice::Software, LabDevice::Nvidia] {
        let verdict = judge(lab, Some(goal), device, &attempt);
        assert!(verdict.points() <= verdict.of());
        let _ = show::verdict(lab, Some(goal), &attempt, &verdict);
    }
}

static LABS: LazyLock<Vec<(Lab, Goal)>> = LazyLock::new(|| {
    let catalogue = Catalogue::read(&root()).expect("the labs");
    let programs = catalogue
        .labs
        .into_iter()
        .filter(|lab| lab.kind != Kind::Explain);
    let with_goal = programs.map(|lab| {
        let goal = Goal::read(&lab, &root()).expect("a goal");
        (lab, goal)
    });
    with_goal.collect()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_changed_record_is_refused_or_judged(
        lab in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), instead()), 1..6),
    ) {
        let (lab, goal) = lab.get(&LABS);
        let mut record = right(goal);
        for (place, instead) in &changes {
            let mut number = place.index(count(&record));
            replace(&mut record, &mut number, instead);
        }
        judged(lab, goal, record.to_string().as_bytes());
    }

    #[test]
    fn a_damaged_text_is_refused_or_judged(
        lab in any::<Index>(),
        bytes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
    ) {
        let (lab, goal) = lab.get(&LABS);
        let mut text = right(goal).to_string().into_bytes();
        for (place, byte) in bytes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        judged(lab, goal, &text);
    }
}

#[test]
fn the_goals_record_is_judged() {
    for (lab, goal) in LABS.iter() {
        let text = right(goal).to_string();
        assert!(record::of(text.as_bytes()).is_ok(), "{}", lab.name);
    }
}

//! What the model does not claim is what it misses: the rows of docs/software-gpu/accuracy-*.md that are off, and no others.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A timed variant: `target:part`, the group, and its id.
type TimedVariantKey = (String, String, String);

/// The rows of both GPUs' tables that are off.
fn off() -> BTreeSet<TimedVariantKey> {
    let pages = ["h200", "h100"].map(|gpu| {
        let page = format!("{WORKSPACE}/docs/software-gpu/accuracy-{gpu}.md");
        fs::read_to_string(page).unwrap()
    });
    let (mut part, mut found) = (String::new(), BTreeSet::new());
    for line in pages.iter().flat_map(|page| page.lines()) {
        if let Some(heading) = line.strip_prefix("### ") {
            heading
                .trim_end_matches(" (held out)")
                .clone_into(&mut part);
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", group, variant, .., "off" | "off, not claimed", ""] = cells[..] {
            found.insert((part.clone(), group.to_owned(), variant.to_owned()));
        }
    }
    found
}

/// What the programs do not claim on the software GPU.
fn not_claimed() -> BTreeSet<TimedVariantKey> {
    let folder = format!("{WORKSPACE}/expectations/software-gpu-nvidia-h200");
    let mut found = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let entry: Value = serde_json::from_str(&text).unwrap();
        let target = entry["target"].as_str().unwrap();
        for part in entry["parts"].as_array().unwrap() {
            let times = part["times"].as_array().unwrap();
            let unclaimed = times.iter().filter(|time| time["unclaimed"] == true);
            found.extend(unclaimed.map(|time| {
                let text = |field: &str| time[field].as_str().unwrap().to_owned();
                let part = format!("{target}:{}", part["name"].as_str().unwrap());
                (part, text("group"), text("variant"))
            }));
        }
    }
    found
}

#[test]
fn the_rows_that_are_off_are_marked_and_no_others() {
    let (off, not_claimed) = (off(), not_claimed());
    assert!(off.len() > 3, "the tables were not found");
    assert_eq!(off, not_claimed);
}

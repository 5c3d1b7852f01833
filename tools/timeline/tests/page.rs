//! The page as text: it needs nothing from elsewhere, and nothing in a file can become part of its markup. Its behaviour is tested in a
//! browser.

#[path = "../src/testing.rs"]
#[allow(dead_code, missing_docs)]
mod testing;

use chapter_results::device::TimeSource;
use chapter_results::intervals::Engine;
use chapter_timeline::figure::{FileTimelines, figures};
use chapter_timeline::html;
use proptest::prelude::*;
use serde_json::Value;
use testing::{one_stream, results, three_way};

fn page(name: &str) -> String {
    let mut recording = three_way();
    for interval in &mut recording.intervals {
        interval.name = name.to_owned();
    }
    recording.findings[0].text = name.to_owned();
    let results = results(TimeSource::Measured, vec![(name, recording)]);
    let notes = [html::device_note(&results)];
    html::page(name, &notes, &figures(&[FileTimelines::of(&results)]))
}

/// What the page's script reads.
fn data(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn nothing_is_fetched_and_no_place_is_left_empty() {
    let page = page("affine");
    for elsewhere in ["http:", "https:", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("{{"));
}

#[test]
fn a_page_of_many_operations_is_small() {
    let operation = |n: u64| {
        let kind = [Engine::HostToDevice, Engine::Kernel, Engine::DeviceToHost][n as usize % 3];
        testing::interval(
            kind,
            ["in", "compute", "out"][n as usize % 3],
            n * 700,
            n * 700 + 600 + n % 97,
        )
    };
    let of = |operations: u64| {
        let recording = testing::recording((0..operations).map(operation).collect());
        let results = results(TimeSource::Measured, vec![("many", recording)]);
        html::page("many", &[], &figures(&[FileTimelines::of(&results)]))
    };
    let [small, large] = [20_000, 20_001].map(of);
    assert!(small.contains("application/json") && large.contains("application/gzip"));
    // 50 bytes for each operation, and the page's own text.
    assert!(large.len() < 80_000 + 50 * 20_001, "{}", large.len());
    assert!(
        small.len() > 2 * large.len(),
        "{} and {}",
        small.len(),
        large.len()
    );
}

#[test]
fn the_data_says_where_everything_stands() {
    let data = data(&page("affine"));
    let chart = &data["figures"][0]["charts"][0];
    let rows: Vec<_> = chart["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(
        rows,
        ["H2D", "kernel", "D2H", "in", "compute", "out", "main"]
    );
    let kernel = serde_json::json!([
        "affine", "compute", "kernel", "kernel", 20_500, 30_500, 0, 1
    ]);
    assert_eq!(chart["operations"][2], kernel);
    assert_eq!(
        chart["dependencies"],
        serde_json::json!([[0, 2], [2, 3], [1, 4]])
    );
    assert_eq!(
        chart["findings"][0]["operations"],
        serde_json::json!([4, 5])
    );
    assert_eq!(chart["overlap"][0], serde_json::json!([20_500, 30_500]));
}

#[test]
fn the_data_has_calls_the_critical_path_barriers_and_the_bound() {
    let mut recording = one_stream();
    recording.intervals[1].stream = "legacy".into();
    let results = results(TimeSource::Measured, vec![("one stream", recording)]);
    let mut figures = figures(&[FileTimelines::of(&results)]);
    figures[0].drawn[0].bound_us = Some(60.5);
    let data = data(&html::page("basic_streams", &[], &figures));
    let chart = &data["figures"][0]["charts"][0];
    assert_eq!(chart["bound"], 60_500.0);
    assert_eq!(chart["barriers"], serde_json::json!([[20_500, 30_500]]));
    let call = serde_json::json!({
        "name": "cuLaunchKernel", "thread": "main", "start": -3_000, "end": -1_000, "stream": "one",
        "enqueued": 1, "waits": false, "released_by": null,
    });
    assert_eq!(chart["calls"][1], call);
    assert_eq!(chart["calls"][6]["waits"], true);
    assert_eq!(chart["calls"][6]["released_by"], 5);
    assert_eq!(chart["critical"][0], serde_json::json!([0, ""]));
    assert_eq!(
        chart["critical"][1],
        serde_json::json!([2, "order of the stream"])
    );
    let numbers: Vec<_> = (0..6).map(|i| chart["operations"][i][7].clone()).collect();
    assert_eq!(numbers, [1, 0, 1, 2, 0, 2]);
    assert_eq!(chart["rows"][5]["name"], "main: calls");
}

proptest! {
    #[test]
    fn names_come_back_as_they_were(name in "(</script>|<!--|<script|\\{\\{DATA\\}\\}|&lt;|\\PC){0,6}") {
        let page = page(&name);
        let data = data(&page);
        prop_assert_eq!(&data["figures"][0]["variant"], &name);
        prop_assert_eq!(&data["figures"][0]["charts"][0]["operations"][0][0], &name);
        let ends = |page: &str| page.matches("</script").count();
        prop_assert_eq!(ends(&page), 2);
    }
}

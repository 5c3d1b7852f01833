//! What the SVG of a recording looks like, as text, and that it is XML whatever the names.

#[path = "../src/testing.rs"]
#[allow(dead_code, missing_docs)]
mod testing;

use chapter_results::intervals::{Engine, Recording};
use chapter_timeline::svg::{Chart, Form, draw};
use proptest::prelude::*;
use testing::{interval, recording, three_way};

fn picture(recording: &Recording) -> String {
    let title = "three streams, modelled";
    draw(&[Chart { title, recording }], Form::Whole)
}

/// The picture without its style, which would hide the rest of a snapshot's changes.
fn without_style(svg: &str) -> String {
    let (head, rest) = svg.split_once("<style>").unwrap();
    let (_, tail) = rest.split_once("</style>").unwrap();
    format!("{head}{tail}")
}

#[test]
fn a_recording_with_everything() {
    insta::assert_snapshot!(without_style(&picture(&three_way())));
}

#[test]
fn a_narrow_picture_has_the_streams_and_the_first_sentences() {
    let (recording, title) = (&three_way(), "three streams, modelled");
    let svg = draw(&[Chart { title, recording }], Form::Narrow);
    insta::assert_snapshot!(without_style(&svg));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let width = document.root_element().attribute("width");
    assert_eq!(width, Some("400"));
}

#[test]
fn the_style_serves_light_and_dark_and_nothing_is_fetched() {
    let svg = picture(&three_way());
    assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    let addresses = svg.matches("http").count();
    assert_eq!(addresses, 1, "the namespace alone");
    assert!(!svg.contains("@import") && !svg.contains("href"));
}

#[test]
fn the_same_recording_gives_the_same_picture() {
    assert_eq!(picture(&three_way()), picture(&three_way()));
}

#[test]
fn two_recordings_share_one_scale() {
    let (long, short) = (
        three_way(),
        recording(vec![interval(Engine::Kernel, "compute", 0, 35_500)]),
    );
    let svg = draw(
        &[
            Chart {
                title: "predicted",
                recording: &short,
            },
            Chart {
                title: "measured",
                recording: &long,
            },
        ],
        Form::Whole,
    );
    let document = roxmltree::Document::parse(&svg).unwrap();
    let widths = |class: &str| -> Vec<f64> {
        let rects = document
            .descendants()
            .filter(|node| node.attribute("class") == Some(class));
        rects
            .filter_map(|node| node.attribute("width")?.parse().ok())
            .collect()
    };
    let whole = widths("row")[0];
    let bar = widths("kernel")[0] + 1.0;
    assert!((bar / whole - 0.5).abs() < 0.002, "{bar} of {whole}");
}

#[test]
fn an_empty_recording_says_so() {
    let svg = picture(&recording(vec![]));
    assert!(
        svg.contains("nothing was recorded by the software GPU"),
        "{svg}"
    );
    roxmltree::Document::parse(&svg).unwrap();
}

#[test]
fn ten_thousand_operations_stay_a_small_picture() {
    let kernels = (0..10_000u64).map(|n| interval(Engine::Kernel, "a", n * 100, n * 100 + 60));
    let svg = picture(&recording(kernels.collect()));
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
    assert!(svg.contains("short operations"));
}

proptest! {
    #[test]
    fn any_name_gives_xml(name in "\\PC{0,40}|[\\x00-\\x7f]{0,40}", stream in "[\\x00-\\x7f]{0,9}|\\PC{0,9}") {
        let mut recording = three_way();
        recording.intervals[2].name.clone_from(&name);
        recording.intervals[2].stream = stream;
        recording.findings[0].text.clone_from(&name);
        recording.ranges[0].name = name;
        let svg = picture(&recording);
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{}", svg);
    }
}

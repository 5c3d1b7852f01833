//! Reports of small runs, in both forms.

use super::*;
use crate::folder::{Skipped, TargetSummary};
use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::intervals::{Engine, Interval, Recording, Source, Span};
use chapter_results::part::{Bound, Claim, Kind, Timed, Timeline};
use chapter_results::results::Request;

const HOSTILE: &str = "<script>alert(1)</script> | `x` & \"y\"";

/// An id for a variant of any name.
fn id_of(variant: &str) -> String {
    let kept = variant.chars().filter(char::is_ascii_lowercase);
    kept.collect()
}

fn results(variant: &str) -> Results {
    let timed = |variant: &str, us| Timed {
        group: ("variants", "16 MiB").into(),
        variant: (id_of(variant), variant).into(),
        kind: Kind::Makespan,
        samples_us: vec![us; 3],
        unclaimed: false,
    };
    let interval = Interval {
        device: 0,
        engine: Engine::Kernel,
        name: "scale".into(),
        stream: "one".into(),
        span: Span { start: 0, end: 100 },
        bytes: 0,
    };
    Results {
        version: chapter_results::VERSION,
        example: "basic_streams".into(),
        device: Fingerprint {
            name: "NVIDIA H200".into(),
            ..Fingerprint::default()
        },
        times: TimeSource::Measured,
        request: Request::default(),
        parts: vec![PartResults {
            name: "three-way".into(),
            question: "How near?".into(),
            workload: "1f".into(),
            timed: vec![timed("one stream", 2000.0), timed(variant, 1000.0)],
            bounds: vec![Bound {
                group: "variants".into(),
                label: "duplex".into(),
                us: 500.0,
            }],
            timelines: vec![Timeline {
                variant: (id_of(variant), variant).into(),
                recording: Recording::new(Source::SoftwareGpu, vec![interval]),
            }],
            claims: vec![Claim {
                id: "overlap".into(),
                sentence: "copies overlap".into(),
                found: "12.0 %".into(),
                limit: "at least 90.0 %".into(),
                holds: false,
                judged: true,
                disturbed: None,
                figure: None,
            }],
            holds: false,
            ..PartResults::default()
        }],
        reports: vec!["race: ```two``` writes".into()],
        holds: false,
    }
}

fn summary() -> Summary {
    let target = |name: &str, error: Option<&str>| TargetSummary {
        name: name.into(),
        exit_code: Some(1),
        seconds: 1.0,
        error: error.map(str::to_owned),
        skipped: vec![Skipped {
            part: "clusters".into(),
            lacking: "thread-block clusters".into(),
        }],
    };
    Summary {
        version: folder::VERSION,
        profile: "none".into(),
        device: "NVIDIA H200, found by NVIDIA's driver".into(),
        targets: vec![
            target("basic_streams", None),
            target("stream_hazards", Some("killed by signal 9")),
        ],
    }
}

fn both(variant: &str) -> [String; 2] {
    both_of(results(variant))
}

fn both_of(results: Results) -> [String; 2] {
    let expected = tempfile::tempdir().unwrap();
    let results = [results];
    let outcome = expectations::check(&results, expected.path()).unwrap();
    let summary = summary();
    let report = ChapterReport {
        summary: &summary,
        results: &results,
        outcome: &outcome,
    };
    [html::page(&report), markdown::text(&report)]
}

#[test]
fn both_forms_say_what_ran_and_how_it_ended() {
    for text in both("three streams") {
        for words in [
            "NVIDIA H200, found by NVIDIA's driver",
            "times are measured",
            "0 parts hold, 1 part does NOT hold, 1 target left NO results, 2 parts skipped",
            "three-way",
            "How near?",
            "copies overlap: 12.0 %",
            "three streams",
            "1.00 ms",
            "500 µs",
            "50.0 %",
            "2.00x",
            "not judged: no expectations recorded",
            "thread-block clusters",
            "killed by signal 9",
            "race: ",
        ] {
            let found = text.contains(words) || text.contains(&words.replace('\'', "&#39;"));
            assert!(found, "{words}: {text}");
        }
    }
}

#[test]
fn both_forms_say_which_variant_was_the_fastest_and_how_near_it_came_to_the_bound() {
    let line = "16 MiB: the fastest is three streams with 1.00 ms, 2.00 times as fast as one stream; the bound is 50.0 % of that.";
    for text in both("three streams") {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn both_forms_mark_a_time_that_is_not_claimed_of_the_model() {
    let mut results = results("three streams");
    for text in both_of(results.clone()) {
        assert!(!text.contains("1.00 ms*") && !text.contains("not claimed of the model"));
    }
    results.parts[0].timed[1].unclaimed = true;
    for text in both_of(results) {
        let marked = [r"1.00 ms*", r"1.00 ms\*"];
        assert!(marked.iter().any(|time| text.contains(time)), "{text}");
        assert!(text.contains("*: not claimed of the model."), "{text}");
    }
}

#[test]
fn timelines_are_open_and_share_one_picture() {
    let mut results = results("three streams");
    let part = &mut results.parts[0];
    let mut other = part.timelines[0].clone();
    let copy = |stream: &str| Interval {
        device: 0,
        stream: stream.into(),
        ..other.recording.intervals[0].clone()
    };
    let kernels = ["a", "b", "c"].map(copy).to_vec();
    other.recording = Recording::new(Source::SoftwareGpu, kernels);
    part.timelines.push(other);
    let [page, text] = both_of(results);
    assert!(page.contains("<details open>"));
    assert_eq!(page.matches("<svg ").count(), 1);
    // Where only kernels run, the streams are more informative than the single engine.
    assert!(
        text.contains("\na |KKK") && text.contains("\nc |KKK"),
        "{text}"
    );
}

#[test]
fn names_are_data() {
    let [page, text] = both(HOSTILE);
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; | `x` &amp; &quot;y&quot;"));
    let row = text
        .lines()
        .find(|line| line.contains("| 1.00 ms |"))
        .unwrap();
    assert!(
        row.starts_with(r#"| \<script\>alert(1)\</script\> \| \`x\` \& "y" | 1.00 ms |"#),
        "{row}"
    );
    assert!(
        text.contains("\n````text\nrace: ```two``` writes\n````"),
        "{text}"
    );
}

#[test]
fn the_page_stands_alone() {
    let [page, _] = both("three streams");
    for (attribute, wanted) in [
        ("src=", 0),
        ("@import", 0),
        ("url(#", 0),
        ("<link", 0),
        ("<svg ", 1),
    ] {
        assert_eq!(page.matches(attribute).count(), wanted, "{attribute}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(
        page.contains("href=\"#basic_streams-three-way\"")
            && page.contains("id=\"basic_streams-three-way\"")
    );
}

#[test]
fn files_are_written_where_they_are_wanted_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let from = home.path().join("run");
    let new = folder::NewFolder::create("--out", from.clone()).unwrap();
    let json = serde_json::to_string(&results("three streams")).unwrap();
    fs::write(new.place().join("basic_streams.json"), json).unwrap();
    new.finish(&summary()).unwrap();
    let arguments = |out: PathBuf| ReportArguments {
        folder: Some(from.clone()),
        out: Some(out),
        expectations: Some(home.path().join("expectations")),
    };
    let out = home.path().join("made/report");
    assert_eq!(run(&arguments(out.clone())).unwrap(), Exit::LessonHolds);
    assert!(
        fs::read_to_string(out.join("report.html"))
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    assert!(
        fs::read_to_string(out.join("report.md"))
            .unwrap()
            .starts_with("# The lessons")
    );
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let error = run(&arguments(file.join("report"))).unwrap_err();
    assert_eq!(UsageError::exit_of(&error), Exit::Usage);
    assert!(error.to_string().starts_with("--out "), "{error}");
    fs::write(from.join("basic_streams.json"), "{\"version\": 2").unwrap();
    let error = run(&arguments(out)).unwrap_err();
    assert_eq!(UsageError::exit_of(&error), Exit::Usage);
    assert!(
        error.to_string().contains("holds no results of an example"),
        "{error}"
    );
}

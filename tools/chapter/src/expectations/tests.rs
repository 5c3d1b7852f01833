//! Recording and comparing, through the two functions that the command calls.

use super::*;
use chapter_results::intervals::{Engine, Interval, Recording, Source, Span};
use chapter_results::part::{Claim, Figure, Kind, PartResults, Timed, Timeline, Unit};
use chapter_results::workload::hash_of;
use chapter_terminal::Exit;
use chapter_terminal::style;
use outcome::Change;
use proptest::prelude::*;
use std::fs;
use tempfile::{TempDir, tempdir};

const VARIANTS: [&str; 3] = ["one stream", "two streams", "four streams"];

/// A part whose variants took these times.
fn part(name: &str, variants: &[Vec<f64>]) -> PartResults {
    let timed = variants.iter().zip(VARIANTS).map(|(samples, variant)| {
        let mut samples_us = samples.clone();
        samples_us.sort_by(f64::total_cmp);
        Timed {
            group: ("variants", "16 MiB in 8 chunks").into(),
            variant: (variant.replace(' ', "-"), variant).into(),
            kind: Kind::Makespan,
            samples_us,
            unclaimed: false,
        }
    });
    let mut part = PartResults {
        name: name.into(),
        question: "Do copies overlap?".into(),
        workload: "00ff".into(),
        timed: timed.collect(),
        holds: true,
        ..PartResults::default()
    };
    let last = part.timed.last();
    let last = last
        .and_then(|timed| record::ratio(&part, timed))
        .unwrap_or(1.0);
    part.claims = vec![
        claim("elements", "every element is right", "2048 elements", None),
        claim("gain", "streams pay", "1.83x", Some((last, Unit::Ratio))),
    ];
    part
}

fn claim(id: &str, sentence: &str, found: &str, figure: Option<(f64, Unit)>) -> Claim {
    Claim {
        id: id.into(),
        sentence: sentence.into(),
        found: found.into(),
        limit: "at least 1.00x".into(),
        holds: true,
        judged: true,
        disturbed: None,
        figure: figure.map(|(value, unit)| Figure { value, unit }),
    }
}

fn run(times: TimeSource, parts: Vec<PartResults>) -> Results {
    Results {
        version: chapter_results::VERSION,
        example: "basic_streams".into(),
        device: Fingerprint {
            name: "NVIDIA H200".into(),
            driver: "580.126".into(),
            cuda: "13.0".into(),
            link: Some("PCIe 5 x16".into()),
            ..Fingerprint::default()
        },
        times,
        request: Request::default(),
        parts,
        reports: vec![],
        holds: true,
    }
}

fn measured(variants: &[Vec<f64>]) -> Results {
    run(TimeSource::Measured, vec![part("three-way", variants)])
}

fn modelled() -> Results {
    let mut part = part("three-way", &[vec![2000.0; 3], vec![1200.0; 3]]);
    let interval = |engine, start| Interval {
        device: 0,
        engine,
        name: "scale".into(),
        stream: "one".into(),
        span: Span {
            start,
            end: start + 100,
        },
        bytes: 0,
    };
    part.timelines.push(Timeline {
        variant: "two-streams".into(),
        recording: Recording::new(
            Source::SoftwareGpu,
            vec![
                interval(Engine::HostToDevice, 0),
                interval(Engine::Kernel, 100),
            ],
        ),
    });
    run(TimeSource::Modelled, vec![part])
}

/// A folder in which these runs are recorded.
fn recorded(runs: &[Results]) -> TempDir {
    let folder = tempdir().unwrap();
    let updated = update(runs, folder.path(), Earlier::Replaced).unwrap();
    assert!(updated.anything, "{:?}", updated.lines);
    folder
}

fn judged(run: &Results, folder: &TempDir) -> RunComparison {
    check(std::slice::from_ref(run), folder.path()).unwrap()
}

/// The lines that start with a word.
/// The text of an outcome without its colours.
fn plain_lines(outcome: &RunComparison, all_of_it: bool) -> Vec<String> {
    let lines = outcome.lines(all_of_it);
    lines.iter().map(|line| style::plain(line)).collect()
}

fn lines(outcome: &RunComparison, word: &str) -> Vec<String> {
    let lines = plain_lines(outcome, false).into_iter();
    lines.filter(|line| line.starts_with(word)).collect()
}

/// A few runs with a few samples of each variant, within the same order of magnitude.
fn runs() -> impl Strategy<Value = Vec<Vec<Vec<f64>>>> {
    let samples = prop::collection::vec(
        (1000u32..2_000_000).prop_map(|ns| f64::from(ns) / 1e3),
        1..9,
    );
    let variants = prop::collection::vec(samples, VARIANTS.len());
    prop::collection::vec(variants, 1..5)
}

proptest! {
    #[test]
    fn runs_are_as_expected_from_themselves(runs in runs()) {
        let runs: Vec<Results> = runs.iter().map(|variants| measured(variants)).collect();
        let folder = recorded(&runs);
        let outcome = check(&runs, folder.path()).unwrap();
        prop_assert_eq!(outcome.exit(true), Exit::LessonHolds, "{:#?}", plain_lines(&outcome, true));
        prop_assert_eq!(lines(&outcome, "improvement"), Vec::<String>::new());
    }

    #[test]
    fn a_slow_down_beyond_the_tolerance_is_named_and_one_within_is_not(
        runs in runs(),
        slowed in 0..VARIANTS.len(),
        beyond in 0.01f64..10.0,
    ) {
        let runs: Vec<Results> = runs.iter().map(|variants| measured(variants)).collect();
        let folder = recorded(&runs);
        let path = form::path(folder.path(), &runs[0].device, "basic_streams");
        let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
        let expected = &entry.parts[0].times[slowed];
        let Some(tolerance_us) = expected.tolerance_us else {
            return Ok(());
        };
        let limit = expected.us.expect("a time") + tolerance_us;
        let named = |us: f64| {
            let mut slow = runs[0].clone();
            slow.parts[0].timed[slowed].samples_us = vec![us];
            let figure = format!("16 MiB in 8 chunks, {}, makespan:", VARIANTS[slowed]);
            let outcome = judged(&slow, &folder);
            let regressions = lines(&outcome, "REGRESSION: basic_streams three-way: ");
            let named = regressions.iter().any(|line| line.contains(&figure));
            (named, outcome.exit(false))
        };
        prop_assert_eq!(named(limit * (1.0 + beyond) + 0.001), (true, Exit::LessonFails));
        prop_assert!(!named(limit - 0.001).0);
    }

    #[test]
    fn of_a_model_a_nanosecond_is_a_difference(nanoseconds in 1u32..1000, variant in 0..2usize, longer: bool) {
        let folder = recorded(&[modelled()]);
        let mut other = modelled();
        let off = f64::from(nanoseconds) / 1e3 * if longer { 1.0 } else { -1.0 };
        for us in &mut other.parts[0].timed[variant].samples_us {
            *us += off;
        }
        let outcome = judged(&other, &folder);
        let regressions = lines(&outcome, "REGRESSION");
        prop_assert_eq!(regressions.len(), 1);
        let found = other.parts[0].timed[variant].compared_us();
        let end = format!("{}, makespan: {found:.3} µs, expected", VARIANTS[variant]);
        prop_assert!(regressions[0].contains(&end), "{}", regressions[0]);
        prop_assert_eq!(outcome.exit(false), Exit::LessonFails);
    }
}

#[test]
fn what_disturbs_most_samples_of_a_makespan_is_no_regression() {
    let calm = || measured(&[vec![2000.0; 5], vec![1200.0; 5]]);
    let folder = recorded(&[calm(), calm(), calm()]);
    let disturbed = |least: f64, kind| {
        let mut run = calm();
        let timed = &mut run.parts[0].timed[1];
        (timed.kind, timed.samples_us) = (kind, vec![least, 1500.0, 1600.0, 1700.0, 1800.0]);
        judged(&run, &folder).exit(false)
    };
    assert_eq!(disturbed(1210.0, Kind::Makespan), Exit::LessonHolds);
    assert_eq!(disturbed(1300.0, Kind::Makespan), Exit::LessonFails);
    // How long a request takes has a middle, and that has moved.
    assert_eq!(disturbed(1210.0, Kind::Other), Exit::LessonFails);
}

#[test]
fn of_a_model_another_schedule_of_the_same_length_is_a_difference() {
    let folder = recorded(&[modelled()]);
    assert_eq!(judged(&modelled(), &folder).exit(true), Exit::LessonHolds);
    let mut other = modelled();
    other.parts[0].timelines[0].recording.intervals[1]
        .span
        .start -= 1;
    let outcome = judged(&other, &folder);
    let regressions = lines(
        &outcome,
        "REGRESSION: basic_streams three-way: timeline of two-streams",
    );
    assert_eq!(regressions.len(), 1);
    assert_eq!(outcome.exit(false), Exit::LessonFails);
}

#[test]
fn of_a_model_a_part_that_runs_after_others_is_compared_less_exactly() {
    let with_another_before = |us: f64| {
        let mut run = modelled();
        run.parts[0].timed[0].samples_us = vec![us];
        run.parts[0].timelines[0].recording.intervals.pop();
        run.parts.insert(0, part("kernels", &[vec![1.0]]));
        run
    };
    let folder = recorded(&[modelled()]);
    let outcome = judged(&with_another_before(2001.5), &folder);
    let note =
        "    other parts ran before than when recorded: compared within 1 %, without timelines"
            .to_owned();
    assert!(
        plain_lines(&outcome, false).contains(&note),
        "{:?}",
        plain_lines(&outcome, false)
    );
    assert_eq!(outcome.exit(false), Exit::LessonHolds);
    let outcome = judged(&with_another_before(2021.0), &folder);
    let regressions = lines(&outcome, "REGRESSION");
    assert_eq!(regressions.len(), 1, "{regressions:?}");
    assert!(regressions[0].ends_with("2021.000 µs, expected 2000.000 µs (± 20.000 µs)"));
}

#[test]
fn a_changed_claim_of_a_modelled_run_is_a_regression() {
    let folder = recorded(&[modelled()]);
    let mut other = modelled();
    other.parts[0].claims[0].found = "2049 elements".into();
    other.parts[0]
        .claims
        .push(claim("new", "it is new", "so", None));
    let outcome = judged(&other, &folder);
    let regressions = lines(&outcome, "REGRESSION");
    assert_eq!(regressions.len(), 2, "{regressions:?}");
    assert!(regressions[0].contains("2049 elements, expected 2048 elements (exactly)"));
    assert!(regressions[1].contains("claim new, \"it is new\": claimed, expected not claimed"));
}

#[test]
fn a_claim_that_fails_and_one_with_a_worse_figure_are_named() {
    let times = [vec![2000.0; 3], vec![1000.0; 3]];
    let folder = recorded(&[measured(&times)]);
    let mut other = measured(&times);
    other.parts[0].claims[0].holds = false;
    other.parts[0].claims[1].figure = Some(Figure {
        value: 1.5,
        unit: Unit::Ratio,
    });
    let regressions = lines(&judged(&other, &folder), "REGRESSION");
    assert_eq!(regressions.len(), 2, "{regressions:?}");
    assert!(regressions[0].contains("\"every element is right\": 2048 elements, expected to hold"));
    assert!(
        regressions[1].ends_with("claim gain, \"streams pay\": 1.50x, expected 2.00x (± 0.30x)")
    );
}

#[test]
fn a_much_faster_run_is_reported_without_a_failure() {
    let folder = recorded(&[measured(&[vec![2000.0], vec![1000.0]])]);
    let outcome = judged(&measured(&[vec![2000.0], vec![500.0]]), &folder);
    let notes = lines(&outcome, "improvement");
    assert!(notes[0].ends_with(
        "two streams, makespan: 500 µs, expected 1.00 ms (± 150 µs): better than recorded; update the expectations?"
    ));
    assert_eq!(notes.len(), 3, "time, ratio and claim: {notes:?}");
    assert_eq!(outcome.exit(true), Exit::LessonHolds);
    let change = outcome.targets[0].parts[0].1.differences()[0].change;
    assert_eq!(change, Change::Better);
}

#[test]
fn runs_that_differ_widen_the_tolerance() {
    let runs = [1000.0, 1100.0, 1120.0].map(|us| measured(&[vec![us]]));
    let folder = recorded(&runs);
    let path = form::path(folder.path(), &runs[0].device, "basic_streams");
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    let time = &entry.parts[0].times[0];
    assert_eq!((time.us, time.tolerance_us), (Some(1100.0), Some(120.001)));
    assert_eq!(entry.parts[0].runs, 3);
    let folder = recorded(&runs[..1]);
    let outcome = judged(&measured(&[vec![1151.0]]), &folder);
    assert_eq!(outcome.exit(false), Exit::LessonFails);
}

#[test]
fn one_run_added_to_another_makes_two() {
    let folder = recorded(&[measured(&[vec![1000.0]])]);
    let elsewhere = measured(&[vec![1000.0]]);
    let path = form::path(folder.path(), &elsewhere.device, "basic_streams");
    update(&[elsewhere], folder.path(), Earlier::Kept).unwrap();
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    // Two runs say little: 10 %, and not the 5 % of three.
    assert_eq!(entry.parts[0].times[0].tolerance_us, Some(100.001));
}

#[test]
fn runs_on_another_machine_widen_the_tolerance_and_do_not_replace_the_earlier_ones() {
    let run = |us: f64| measured(&[vec![us], vec![500.0]]);
    let folder = recorded(&[run(1000.0), run(1080.0), run(1080.0)]);
    let elsewhere = run(1120.0);
    let path = form::path(folder.path(), &elsewhere.device, "basic_streams");
    update(&[elsewhere], folder.path(), Earlier::Kept).unwrap();
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    let part = &entry.parts[0];
    assert_eq!(part.runs, 4);
    let near = |time: &form::ExpectedTime, us: f64, tolerance: f64| {
        let off = time.tolerance_us.expect("a tolerance") - tolerance;
        time.us == Some(us) && (0.0..0.01).contains(&off)
    };
    // Earlier runs were 80 µs apart: 1040 to 1120 µs stand for them.
    assert!(near(&part.times[0], 1080.0, 80.0), "{part:?}");
    // The second variant was the same in all runs: its tolerance stays at the floor.
    assert!(near(&part.times[1], 500.0, 25.0), "{part:?}");
    update(&[run(1160.0)], folder.path(), Earlier::Kept).unwrap();
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    assert!(near(&entry.parts[0].times[0], 1080.0, 120.0), "{entry:?}");
    update(&[run(1160.0)], folder.path(), Earlier::Replaced).unwrap();
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    assert_eq!(
        (entry.parts[0].runs, entry.parts[0].times[0].us),
        (1, Some(1160.0))
    );
}

#[test]
fn runs_too_far_apart_are_not_judged_and_reported() {
    let runs = [1000.0, 1100.0, 1200.0].map(|us| measured(&[vec![us], vec![500.0]]));
    let folder = recorded(&runs);
    let path = form::path(folder.path(), &runs[0].device, "basic_streams");
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    let part = &entry.parts[0];
    let [varying, steady] = &part.times[..] else {
        panic!("{entry:?}")
    };
    let observed = varying.observed.map(|time| (time.us, time.range_us));
    assert_eq!((varying.us, observed), (None, Some((1100.0, 200.001))));
    assert_eq!(
        (steady.us, steady.tolerance_us),
        (Some(500.0), Some(25.001))
    );
    assert_eq!((steady.ratio, steady.ratio_tolerance), (None, None));
    let beside_a_model = &recorded::recorded(path.parent().unwrap()).unwrap()[0].parts[0].times;
    let spreads = [0, 1].map(|index: usize| beside_a_model[index].tolerance_us);
    assert_eq!(spreads, [200.001, 25.001]);
    let slower = judged(&measured(&[vec![9000.0], vec![500.0]]), &folder);
    let said = "  basic_streams: as expected, 3 figures of 1 part; 1 time varies more between recorded runs than may be expected";
    assert_eq!(plain_lines(&slower, false)[1], said);
    let steady_one_slower = judged(&measured(&[vec![1100.0], vec![600.0]]), &folder);
    assert_eq!(steady_one_slower.exit(false), Exit::LessonFails);
}

#[test]
fn the_spread_within_a_run_is_no_tolerance_of_its_median() {
    let wild = || vec![100.0, 500.0, 1000.0, 1500.0, 2000.0];
    let runs = [(); 3].map(|()| measured(&[wild()]));
    let folder = recorded(&runs);
    let outcome = judged(&measured(&[vec![1051.0]]), &folder);
    assert_eq!(outcome.exit(false), Exit::LessonFails);
}

#[test]
fn a_changed_plan_makes_the_entry_void() {
    let both = |workload: &str| {
        let mut three_way = part("three-way", &[vec![2000.0]]);
        three_way.workload = workload.into();
        run(
            TimeSource::Measured,
            vec![part("kernels", &[vec![10.0]]), three_way],
        )
    };
    let folder = recorded(&[both("00ff")]);
    let outcome = judged(&both("0100"), &folder);
    let said = "    three-way  expectation outdated: the part does other work than recorded (hash 0100, recorded 00ff)";
    assert!(
        plain_lines(&outcome, false).iter().any(|line| line == said),
        "{:?}",
        plain_lines(&outcome, false)
    );
    assert_eq!(
        outcome.exit(false),
        Exit::LessonHolds,
        "kernels were compared"
    );
    assert_eq!(outcome.exit(true), Exit::LessonFails);
    let mut alone = both("0100");
    alone.parts.remove(0);
    assert_eq!(
        judged(&alone, &folder).exit(false),
        Exit::LessonFails,
        "nothing was"
    );
}

#[test]
fn another_device_voids_expectations_and_another_driver_is_reported() {
    let times = [vec![2000.0]];
    let folder = recorded(&[measured(&times)]);
    let mut other = measured(&times);
    other.device.driver = "580.159".into();
    let outcome = judged(&other, &folder);
    let said = "    recorded with driver 580.126, CUDA 13.0; this is 580.159, CUDA 13.0";
    assert_eq!(plain_lines(&outcome, false)[2], said);
    assert_eq!(outcome.exit(true), Exit::LessonHolds);
    other.device.memory_clock_mhz = 1;
    let outcome = judged(&other, &folder);
    let said = "  basic_streams: expectation outdated: recorded on another device (memory's clock rate in MHz: 1, recorded 0)";
    assert_eq!(plain_lines(&outcome, false)[1], said);
    assert_eq!(outcome.exit(false), Exit::LessonFails);
}

#[test]
fn whether_the_model_claims_a_time_must_not_change() {
    let with = |unclaimed| {
        let mut run = modelled();
        run.parts[0].timed[1].unclaimed = unclaimed;
        run
    };
    for (before, after) in [(false, true), (true, false)] {
        let folder = recorded(&[with(before)]);
        assert_eq!(judged(&with(before), &folder).exit(true), Exit::LessonHolds);
        assert_eq!(judged(&with(after), &folder).exit(false), Exit::LessonFails);
    }
}

#[test]
fn what_was_run_otherwise_is_neither_recorded_nor_judged() {
    let times = [vec![2000.0]];
    let folder = recorded(&[measured(&times)]);
    let mut profiled = measured(&[vec![9000.0]]);
    profiled.request.profiled = true;
    let mut larger = measured(&[vec![9000.0]]);
    larger.request.size = Some(1 << 30);
    for other in [profiled, larger] {
        let outcome = judged(&other, &folder);
        assert!(
            plain_lines(&outcome, false)[1].starts_with("  basic_streams: not judged: "),
            "{:?}",
            plain_lines(&outcome, false)
        );
        assert_eq!(outcome.exit(false), Exit::LessonHolds);
        assert_eq!(outcome.exit(true), Exit::LessonFails);
        let updated = update(&[other], folder.path(), Earlier::Replaced).unwrap();
        assert!(!updated.anything);
        assert!(updated.lines[0].starts_with("basic_streams: run not recorded: "));
    }
    assert_eq!(
        judged(&measured(&times), &folder).exit(true),
        Exit::LessonHolds
    );
    let mut often = modelled();
    often.request.iterations = Some(100);
    let outcome = judged(&often, &recorded(&[modelled()]));
    assert!(plain_lines(&outcome, false)[1].contains("another number of iterations"));
}

#[test]
fn missing_expectations_are_reported() {
    let outcome = judged(&measured(&[vec![1.0]]), &tempdir().unwrap());
    let text = plain_lines(&outcome, false)[1].clone();
    let said = &text;
    assert!(said.starts_with(
        "  basic_streams: not judged: no expectations recorded for this target on this device ("
    ));
    assert!(said.ends_with("basic_streams.json)"), "{said}");
    assert_eq!(outcome.exit(false), Exit::LessonHolds);
    assert_eq!(outcome.exit(true), Exit::LessonFails);
}

#[test]
fn recording_one_part_keeps_the_others_and_strictness_sees_what_did_not_run() {
    let with = |names: &[&str], us: f64| {
        let parts = names.iter().map(|name| part(name, &[vec![us]]));
        run(TimeSource::Measured, parts.collect())
    };
    let folder = recorded(&[with(&["kernels", "three-way"], 1000.0)]);
    update(
        &[with(&["three-way"], 5000.0)],
        folder.path(),
        Earlier::Replaced,
    )
    .unwrap();
    let outcome = judged(&with(&["three-way"], 5000.0), &folder);
    assert_eq!(outcome.exit(false), Exit::LessonHolds);
    assert_eq!(outcome.exit(true), Exit::LessonFails);
    let absent = "    kernels: recorded, but not run".to_owned();
    assert!(
        plain_lines(&outcome, true).contains(&absent),
        "{:?}",
        plain_lines(&outcome, true)
    );
    let kernels = judged(&with(&["kernels"], 1000.0), &folder);
    assert_eq!(kernels.exit(false), Exit::LessonHolds);
}

#[test]
fn what_does_not_hold_or_does_not_agree_is_not_recorded() {
    let mut broken = measured(&[vec![1.0]]);
    broken.parts[0].holds = false;
    let folder = tempdir().unwrap();
    let updated = update(&[broken], folder.path(), Earlier::Replaced).unwrap();
    assert!(!updated.anything);
    assert!(
        updated.lines[0].contains("three-way: 1 of 1 runs not recorded: the lesson did not hold")
    );
    let mut other = modelled();
    other.parts[0].timed[0].samples_us = vec![1.0];
    let error = update(&[modelled(), other], folder.path(), Earlier::Replaced).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("two runs of the same model differ")
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
fn of_runs_that_did_different_work_the_most_common_is_recorded() {
    let folder = tempdir().unwrap();
    let mut other = measured(&[vec![9.0]]);
    other.parts[0].workload = "1".into();
    let usual = measured(&[vec![1.0]]);
    let updated = update(
        &[other, usual.clone(), usual.clone()],
        folder.path(),
        Earlier::Replaced,
    )
    .unwrap();
    assert!(
        updated.lines[0].contains("three-way: 1 of 3 runs not recorded: their work differs"),
        "{:?}",
        updated.lines
    );
    assert_eq!(judged(&usual, &folder).exit(true), Exit::LessonHolds);
}

#[test]
fn sentences_are_free_to_change_and_ids_are_not() {
    let folder = recorded(&[modelled()]);
    let mut other = modelled();
    let changed = &mut other.parts[0];
    changed.question = "Do they really overlap?".into();
    changed.prediction = "They do.".into();
    for timed in &mut changed.timed {
        timed.group.text = "the same work in other words".into();
        timed.variant.text.push_str(", as before");
    }
    changed.timelines[0].variant.text = "another title".into();
    for claim in &mut changed.claims {
        claim.sentence = format!("it is true that {}", claim.sentence);
        claim.found = claim
            .found
            .replace("elements", "of them, every single one.");
    }
    let outcome = judged(&other, &folder);
    assert_eq!(
        outcome.exit(true),
        Exit::LessonHolds,
        "{:#?}",
        plain_lines(&outcome, true)
    );
    other.parts[0].claims[1].id = "faster".into();
    let regressions = lines(&judged(&other, &folder), "REGRESSION");
    assert_eq!(regressions.len(), 2, "{regressions:?}");
    assert!(regressions[0].ends_with("claim gain: not claimed, expected claimed (exactly)"));
    assert!(
        regressions[1].contains("claim faster, "),
        "{}",
        regressions[1]
    );
}

#[test]
fn a_variant_of_another_id_makes_the_entry_void_and_is_named() {
    let hashed = |mut run: Results| {
        for part in &mut run.parts {
            part.workload = chapter_results::workload::hash("basic_streams", &run.request, part);
        }
        run
    };
    let folder = recorded(&[hashed(modelled())]);
    let mut other = modelled();
    other.parts[0].timed[1].variant.id = "a-pair".into();
    let said = plain_lines(&judged(&hashed(other), &folder), false)[1].clone();
    assert!(
        said.contains(": variant two-streams of group variants is missing ("),
        "{said}"
    );
}

#[test]
fn what_is_not_judged_is_neither_recorded_nor_compared() {
    let with = |judged, value| {
        let mut run = measured(&[vec![2000.0], vec![1000.0]]);
        let claim = &mut run.parts[0].claims[1];
        claim.judged = judged;
        claim.figure = Some(Figure {
            value,
            unit: Unit::Ratio,
        });
        run
    };
    let folder = recorded(&[with(true, 2.0)]);
    let outcome = judged(&with(false, 0.5), &folder);
    assert_eq!(
        outcome.exit(true),
        Exit::LessonHolds,
        "{:#?}",
        plain_lines(&outcome, true)
    );
    // What is judged in one of the runs is recorded.
    let folder = recorded(&[with(false, 0.5), with(true, 2.0)]);
    assert_eq!(
        judged(&with(true, 0.5), &folder).exit(false),
        Exit::LessonFails
    );
    let folder = recorded(&[with(false, 0.5)]);
    let path = form::path(folder.path(), &with(true, 2.0).device, "basic_streams");
    let entry = Expectations::read(&path, "basic_streams").unwrap().unwrap();
    let ids: Vec<&str> = entry.parts[0]
        .claims
        .iter()
        .map(|claim| &*claim.id)
        .collect();
    assert_eq!(ids, ["elements"]);
}

/// The recorded files, from the content alone: no device is needed.
#[test]
fn the_hashes_in_the_recorded_files_are_those_of_their_content() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../expectations"));
    let mut files = 0;
    for device in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(device.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let target = path.file_stem().unwrap().to_str().unwrap();
            let expected = Expectations::read(&path, target).unwrap().unwrap();
            for part in &expected.parts {
                let timed = part.times.iter();
                let timed = timed.map(|time| (&*time.group, &*time.variant, time.kind));
                // Only runs without options that change their work are recorded.
                let request = Request::default();
                let computed = hash_of(target, &part.name, &request, &part.plans, timed);
                assert_eq!(part.workload, computed, "{} {}", path.display(), part.name);
            }
            files += 1;
        }
    }
    assert!(files > 0);
}

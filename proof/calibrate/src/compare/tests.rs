use super::comparison::Comparison;
use super::*;

fn results(medians: &[(&str, Kind, f64, f64)]) -> Medians {
    let timed = |&(variant, kind, median_us, spread): &(&str, Kind, f64, f64)| ComparedTime {
        part: "part".into(),
        group: "group".into(),
        variant: variant.into(),
        kind,
        median_us,
        spread,
        unclaimed: false,
    };
    Medians {
        options: [None; 4],
        timed: medians.iter().map(timed).collect(),
    }
}

fn holds(measured: &[&[(&str, Kind, f64, f64)]], modelled: &[(&str, Kind, f64, f64)]) -> bool {
    let measured: Vec<Medians> = measured.iter().map(|medians| results(medians)).collect();
    let comparison = Comparison::new(&measured, &results(modelled)).expect("the same variants");
    assert_eq!(
        comparison.text(false).contains("FAILED"),
        !comparison.holds()
    );
    comparison.holds()
}

use Kind::{Copy, Makespan, Other};

#[test]
fn each_kind_has_its_limit() {
    for (kind, within, without) in [(Makespan, 114.0, 116.0), (Copy, 107.0, 109.0)] {
        assert!(holds(
            &[&[("a", kind, 100.0, 0.0)]],
            &[("a", kind, within, 0.0)]
        ));
        assert!(!holds(
            &[&[("a", kind, 100.0, 0.0)]],
            &[("a", kind, without, 0.0)]
        ));
    }
    assert!(!holds(
        &[&[("a", Makespan, 100.0, 0.0)]],
        &[("a", Makespan, 84.0, 0.0)]
    ));
    assert!(holds(
        &[&[("a", Other, 100.0, 0.0)]],
        &[("a", Other, 300.0, 0.0)]
    ));
}

#[test]
fn a_model_between_two_measurements_is_right() {
    let leases: [&[_]; 2] = [&[("a", Copy, 100.0, 0.0)], &[("a", Copy, 200.0, 0.0)]];
    assert!(holds(&leases, &[("a", Copy, 150.0, 0.0)]));
    assert!(holds(&leases, &[("a", Copy, 215.0, 0.0)]));
    assert!(!holds(&leases, &[("a", Copy, 220.0, 0.0)]));
}

#[test]
fn another_ranking_is_wrong_unless_the_measurement_ties() {
    let measured = |spread| {
        [
            ("a", Makespan, 100.0, spread),
            ("b", Makespan, 105.0, spread),
        ]
    };
    let modelled = [("a", Makespan, 104.0, 0.0), ("b", Makespan, 103.0, 0.0)];
    assert!(!holds(&[&measured(0.01)], &modelled));
    assert!(holds(&[&measured(0.03)], &modelled));
    assert!(holds(&[&measured(0.01)], &measured(0.0)));
}

#[test]
fn other_variants_cannot_be_compared() {
    let measured = [results(&[("a", Makespan, 1.0, 0.0)])];
    let modelled = results(&[("b", Makespan, 1.0, 0.0)]);
    assert!(Comparison::new(&measured, &modelled).is_err());
    let more = results(&[("a", Makespan, 1.0, 0.0), ("b", Makespan, 1.0, 0.0)]);
    assert!(Comparison::new(&measured, &more).is_err());
}

#[test]
fn runs_with_other_options_cannot_be_compared() {
    let medians = || results(&[("a", Makespan, 1.0, 0.0)]);
    let error = |place: usize| {
        let mut modelled = medians();
        modelled.options[place] = Some(8);
        Comparison::new(&[medians()], &modelled).err()
    };
    for place in 0..4 {
        let error = error(place).expect("another option");
        assert!(error.is::<UsageError>(), "{error}");
    }
    assert!(Comparison::new(&[medians()], &medians()).is_ok());
}

#[test]
fn a_part_that_is_not_judged_fails_nothing() {
    let measured = [("a", Makespan, 100.0, 0.0), ("b", Makespan, 200.0, 0.0)];
    let modelled = [("a", Makespan, 300.0, 0.0), ("b", Makespan, 200.0, 0.0)];
    let mut comparison = Comparison::new(&[results(&measured)], &results(&modelled))
        .expect("the results are comparable");
    assert!(!comparison.holds() && comparison.contradictions().len() == 1);
    comparison
        .leave_unjudged(&["part".into()])
        .expect("it is there");
    assert!(comparison.holds());
    assert_eq!(comparison.rankings()[0][3], "not judged");
    let error = comparison.leave_unjudged(&["other".into()]);
    assert!(error.is_err());
}

#[test]
fn a_time_that_is_not_claimed_may_be_off_by_half() {
    let holds = |modelled| {
        let mut modelled = results(&[("a", Copy, modelled, 0.0)]);
        modelled.timed[0].unclaimed = true;
        let measured = [results(&[("a", Copy, 100.0, 0.0)])];
        Comparison::new(&measured, &modelled)
            .expect("the results are comparable")
            .holds()
    };
    assert!(holds(149.0) && !holds(151.0));
}

#[test]
fn markdown_has_a_row_for_each_result() {
    let measured = [results(&[("a|b", Makespan, 1000.0, 0.0)])];
    let modelled = results(&[("a|b", Makespan, 1100.0, 0.0)]);
    let text = Comparison::new(&measured, &modelled)
        .expect("the results are comparable")
        .text(true);
    assert!(
        text.contains("| part | group | a\\|b | 1.00 ms | 1.10 ms | +10.0 % | ok |"),
        "{text}"
    );
}

//! Names of streams in the checkers' reports, and how findings are counted there.

use crate::driver_support::*;
use software_gpu::reports::{self, Report};
use software_gpu::streams::set_name;

const BYTES: usize = 4096;
/// `CU_STREAM_LEGACY`.
const LEGACY: Handle = 1;

/// What is found when each of `rounds` writes in both streams, each round to other memory.
fn races(driver: &Driver, rounds: usize, [a, b]: [Handle; 2]) -> Vec<Report> {
    let data = driver.allocate(rounds * BYTES).unwrap();
    let ((), found) = reports::collect(|| {
        for round in 0..rounds {
            let place = data + (round * BYTES) as u64;
            for stream in [a, b] {
                driver.set(place, 1, BYTES, stream).unwrap();
            }
        }
        driver.synchronize().unwrap();
    });
    found
}

#[test]
fn reports_use_the_name_that_a_stream_was_given() {
    let driver = Driver::new();
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    set_name(a, "copy in");
    set_name(LEGACY, "mine");
    set_name(0x7777_7777, "no stream's");
    let text = races(&driver, 1, [a, b])[0].text.clone();
    for words in [
        ", operation 1 of stream `copy in`",
        "record an event on stream `copy in` after the memset",
    ] {
        assert!(text.contains(words), "`{words}` is missing: {text}");
    }
    let text = races(&driver, 1, [LEGACY, b])[0].text.clone();
    assert!(
        text.contains("operation 1 of the legacy default stream"),
        "{text}"
    );
    assert!(!text.contains("mine"), "{text}");
}

#[test]
fn one_missing_event_is_one_report_however_many_rounds_lack_it() {
    let driver = Driver::new();
    let streams = [driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING)];
    let found = races(&driver, 16, streams);
    let [report] = &found[..] else {
        panic!("one report: {found:?}");
    };
    assert!(
        report.to_string().ends_with("found:   16 times"),
        "{report}"
    );
}

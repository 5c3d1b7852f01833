//! What a comparison claims of its variants' work.

use super::*;
use crate::device_buffer::DeviceBuffer;
use crate::example::PartInfo;
use crate::host_buffer::HostBuffer;
use crate::options::Options;
use libcuda::Choice;

const PART: PartInfo = PartInfo {
    name: "part",
    question: "Is it the same work?",
    uses: &[],
    needs: &[],
};
const ELEMENTS: usize = 256;
const SENTENCE: &str = "all variants do the same work: ";

/// What is claimed of the work when the second variant copies as often as `times` says, which counts the calls.
fn claimed(mut times: impl FnMut(usize) -> usize) -> String {
    let device = Device::open(Choice::Software).unwrap();
    let options = Options {
        iterations: Some(2),
        ..Options::default()
    };
    let mut part = Part::new(PART, &device, &options);
    let stream = Stream::non_blocking(&device, "stream").unwrap();
    let host = HostBuffer::<u32>::page_locked(&device, ELEMENTS).unwrap();
    let mut buffer = DeviceBuffer::<u32>::new(&stream, ELEMENTS).unwrap();
    let mut calls = 0;
    Comparison::new(VARIANTS, Plan::new().bytes_in(host.bytes()))
        .variant("once", &[&stream], |buffer: &mut DeviceBuffer<u32>| {
            Ok(buffer.copy_from(&host)?)
        })
        .variant("as-often", &[&stream], |buffer| {
            calls += 1;
            Ok((0..times(calls)).try_for_each(|_| buffer.copy_from(&host))?)
        })
        .run(&mut part, &mut buffer)
        .unwrap();
    let claims = part.claims().iter().map(ToString::to_string);
    let mut of_work = claims.filter(|claim| claim.contains(SENTENCE));
    of_work.next().expect("a claim of the work")
}

#[test]
fn equal_work_is_what_was_planned() {
    assert_eq!(
        claimed(|_| 1),
        "ok      all variants do the same work: 1 KiB in (as planned)"
    );
}

#[test]
fn one_run_of_one_variant_that_does_more_is_a_false_claim() {
    for odd in [1, 2] {
        assert_eq!(
            claimed(|call| if call == odd { 2 } else { 1 }),
            "FAILED  all variants do the same work: variant as often does not do the planned work: \
             bytes in: planned 1024, enqueued 2048 (as planned)"
        );
    }
}

//! What a comparison claims of its variants' work.

use super::*;
use crate::compare::{Variant, Workload, variant};
use crate::example::PartInfo;
use crate::options::Options;
use cuda_host::stream;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use libcuda::Choice;

const PART: PartInfo = PartInfo {
    name: "part",
    question: "Is it the same work?",
    uses: &[],
    needs: &[],
};
const ELEMENTS: usize = 256;
const SENTENCE: &str = "all variants do the same work: ";

/// A copy in.
struct CopyIn {
    input: LockedBuffer<u32>,
    data: DeviceBuffer<u32>,
}

impl CopyIn {
    fn copy(&mut self, stream: &cust::stream::Stream) -> anyhow::Result<()> {
        // SAFETY: both live until the stopwatch has waited.
        unsafe { self.data.async_copy_from(&self.input, stream)? };
        Ok(())
    }
}

impl Workload for CopyIn {
    fn poison(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        Ok(Checked::default())
    }
}

/// The claim about the work when the second variant copies as often as `times` says, which counts the calls.
fn claimed(mut times: impl FnMut(usize) -> usize) -> String {
    let device = Device::open(Choice::Software).unwrap();
    let options = Options {
        iterations: Some(2),
        ..Options::default()
    };
    let mut part = Part::new(PART, &device, &options);
    let stream = stream::non_blocking().unwrap().named("stream");
    let mut work = CopyIn {
        input: LockedBuffer::new(&7, ELEMENTS).unwrap(),
        data: DeviceBuffer::zeroed(ELEMENTS).unwrap(),
    };
    let mut calls = 0;
    let variants: [Variant<'_, CopyIn>; 2] = [
        variant("once", [&stream], |work: &mut CopyIn| work.copy(&stream)),
        variant("as-often", [&stream], |work: &mut CopyIn| {
            calls += 1;
            (0..times(calls)).try_for_each(|_| work.copy(&stream))
        }),
    ];
    let plan = Plan::new().bytes_in(ELEMENTS * size_of::<u32>());
    part.compare(VARIANTS, plan, &mut work, variants).unwrap();
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

//! Copies from host memory to the device and back: how long each takes, and how long its call blocks the host.

use super::place::{CopyTimes, HostBuffer, least, note, table};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::check::Mismatch;
use examples_host::prelude::*;
use std::time::Duration;

/// How all of a host memory's elements are copied to the device and back, in a stream.
pub struct RoundTrip<'s, I, O> {
    stream: &'s Stream,
    copy_in: I,
    copy_out: O,
}

impl<'s, I, O> RoundTrip<'s, I, O>
where
    I: Fn(&[u32]) -> Result<()>,
    O: Fn(&mut [u32]) -> Result<()>,
{
    /// What `copy_in` and `copy_out` enqueue in `stream`.
    pub fn new(stream: &'s Stream, copy_in: I, copy_out: O) -> Self {
        Self { stream, copy_in, copy_out }
    }

    /// Copies each of `places` to the device and, into poisoned memory, back, several times in turn, and prints the least times:
    /// what disturbs a copy, such as another guest of the host, only adds to it. Claims that every element is right. Returns, of
    /// each place, the times of the copy in and of the copy out.
    ///
    /// # Errors
    /// What a copy returns.
    pub fn times(&self, part: &mut Part, places: &mut [HostBuffer]) -> Result<Vec<[CopyTimes; 2]>> {
        let watch = Stopwatch::new(part.device())?;
        let mut checked = Ok(Checked::default());
        let indices: Vec<usize> = (0..places.len()).collect();
        let found = sweep(part, 10, &indices, |&index, check| {
            let [into, out] = self.once(&watch, &mut places[index])?;
            if check {
                check::add(&mut checked, places[index].check().map_err(anyhow::Error::from))?;
            }
            anyhow::Ok([into.copy, into.call, out.copy, out.call])
        })?;
        for (place, [copy_in, _, copy_out, _]) in places.iter().zip(&found) {
            note(part, place, "in", copy_in);
            note(part, place, "out", copy_out);
        }
        let found: Vec<[CopyTimes; 2]> = found.iter().map(least).collect();
        part.say(table(places, &found));
        let sentence = "every element is right";
        part.expect("elements", sentence, right(&checked, "elements"));
        Ok(found)
    }

    /// Copies `place` once to the device and back, and compares every element with the CPU's.
    ///
    /// # Errors
    /// What a copy returns.
    pub fn check(
        &self,
        part: &Part,
        place: &mut HostBuffer,
    ) -> Result<std::result::Result<Checked, Mismatch>> {
        self.once(&Stopwatch::new(part.device())?, place)?;
        Ok(place.check())
    }

    fn once(&self, watch: &Stopwatch, place: &mut HostBuffer) -> Result<[CopyTimes; 2]> {
        let copy_in = self.copy(watch, || (self.copy_in)(&place.host))?;
        check::poison(&mut place.host);
        let copy_out = self.copy(watch, || (self.copy_out)(&mut place.host))?;
        Ok([copy_in, copy_out])
    }

    fn copy(&self, watch: &Stopwatch, copy: impl FnOnce() -> Result<()>) -> Result<CopyTimes> {
        let mut call = Duration::ZERO;
        let sample = watch.time([self.stream], || {
            let begin = host_clock::now();
            copy()?;
            call = host_clock::now() - begin;
            anyhow::Ok(())
        })?;
        let copy = sample.event;
        Ok(CopyTimes { copy, call })
    }
}

//! The host function. It returns nothing: what went wrong in it must be left where the program looks.

use examples_host::lent::in_place;
use examples_host::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What the calls of one run share with the program.
#[derive(Default)]
pub struct CallbackState {
    /// The chunks, in the order of the calls that worked on them.
    calls: Mutex<Vec<usize>>,
    /// When the first call began and the last one ended, and how long all of them took.
    worked: Mutex<Option<Worked>>,
    failed: OnceLock<NotANumber>,
}

/// The time of a run's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Worked {
    begin: Duration,
    end: Duration,
    in_calls: Duration,
}

/// The function cannot work on this chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotANumber {
    pub chunk: usize,
    /// The first element that is not a number.
    pub index: usize,
}

impl CallbackState {
    /// Works on a chunk. After a failure it does nothing: the stream continues, and calls it for the later chunks too.
    pub fn call(&self, chunk: usize, data: &mut [f32]) {
        if self.failed.get().is_some() {
            return;
        }
        let begin = host_clock::now();
        if let Err(failure) = in_place(data, |data| self.work_on(chunk, data)) {
            let _ = self.failed.set(failure);
        }
        self.note_time(begin, host_clock::now());
    }

    fn note_time(&self, begin: Duration, end: Duration) {
        let mut worked = self.worked.lock().unwrap_or_else(PoisonError::into_inner);
        let worked = worked.get_or_insert(Worked { begin, end, in_calls: Duration::ZERO });
        worked.end = end;
        worked.in_calls += end - begin;
    }

    /// The share of the time from the first call's begin to the last one's end in which a call was working.
    pub fn busy(&self) -> f64 {
        let worked = self.worked.lock().unwrap_or_else(PoisonError::into_inner);
        worked.map_or(0.0, |Worked { begin, end, in_calls }| {
            in_calls.as_secs_f64() / (end - begin).as_secs_f64().max(f64::MIN_POSITIVE)
        })
    }

    fn work_on(&self, chunk: usize, data: &mut [f32]) -> Result<(), NotANumber> {
        if let Some(index) = data.iter().position(|x| x.is_nan()) {
            return Err(NotANumber { chunk, index });
        }
        let order = self.note(chunk);
        data.iter_mut().for_each(|x| *x = transform(order, *x));
        Ok(())
    }

    /// Notes a call and returns how many there were before.
    fn note(&self, chunk: usize) -> usize {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(chunk);
        calls.len() - 1
    }

    /// The chunks that were worked on, in order.
    pub fn calls(&self) -> Vec<usize> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }

    /// What the program has to know when it has waited for the streams.
    pub fn outcome(&self) -> Result<(), NotANumber> {
        self.failed.get().cloned().map_or(Ok(()), Err)
    }
}

/// Halves an element and adds how many chunks were worked on before: the result shows the order of the calls.
pub fn transform(order: usize, x: f32) -> f32 {
    x * 0.5 + order as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_calls_is_idle() {
        let (function, us) = (CallbackState::default(), Duration::from_micros);
        assert_eq!(function.busy(), 0.0);
        function.note_time(us(100), us(130));
        function.note_time(us(180), us(200));
        assert_eq!(function.busy(), 0.5);
    }

    #[test]
    fn after_a_failure_nothing_is_worked_on() {
        let function = CallbackState::default();
        let (mut good, mut bad) = ([2.0, 4.0], [1.0, f32::NAN]);
        function.call(0, &mut good);
        function.call(1, &mut bad);
        let mut later = [2.0];
        function.call(2, &mut later);
        assert_eq!((good, later), ([1.0, 2.0], [2.0]));
        assert_eq!(function.calls(), [0]);
        assert_eq!(function.outcome(), Err(NotANumber { chunk: 1, index: 1 }));
    }
}

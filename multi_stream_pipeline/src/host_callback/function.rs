//! The host function, and what it leaves for the program: a host function returns nothing, so what went wrong in it must be
//! left where the program looks.

use examples_host::lent::in_place;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What the calls of one run share with the program.
#[derive(Default)]
pub struct Function {
    /// The chunks, in the order of the calls that worked on them.
    calls: Mutex<Vec<usize>>,
    failed: OnceLock<NotANumber>,
}

/// The function cannot work on a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotANumber {
    /// The chunk.
    pub chunk: usize,
    /// The first element that is not a number.
    pub index: usize,
}

impl Function {
    /// Works on a chunk. After a failure it does nothing: the stream goes on regardless, and calls it for the later chunks
    /// too.
    pub fn call(&self, chunk: usize, data: &mut [f32]) {
        if self.failed.get().is_some() {
            return;
        }
        if let Err(failure) = in_place(data, |data| self.work_on(chunk, data)) {
            let _ = self.failed.set(failure);
        }
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
    fn after_a_failure_nothing_is_worked_on() {
        let function = Function::default();
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

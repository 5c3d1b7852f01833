//! Handles that name no object of the kind that a call wants.

use std::collections::VecDeque;

use super::{Caller, because};
use crate::driver::c_abi::errors::CudaError;

/// The handles destroyed last, of one kind, and who destroyed them.
#[derive(Debug)]
pub(in crate::driver) struct Buried<H>(VecDeque<(H, Caller)>);

/// How many are remembered.
const REMEMBERED: usize = 64;

/// What the kinds of handles are called, by their numbers.
const KINDS: [(usize, &str); 12] = [
    (1, "context"),
    (2, "module"),
    (3, "function"),
    (4, "stream"),
    (5, "event"),
    (6, "library"),
    (7, "kernel"),
    (8, "linker's state"),
    (9, "memory pool"),
    (16, "graph"),
    (17, "graph node"),
    (18, "executable graph"),
];

impl<H> Default for Buried<H> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<H: Copy + Eq> Buried<H> {
    /// The object is destroyed by the present call.
    pub(in crate::driver) fn add(&mut self, handle: H) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((handle, Caller::here()));
    }

    /// `CUDA_ERROR_INVALID_HANDLE`, and why. `kind` is the kind that the call wants; the number is the handle's, and
    /// `was_given` says whether an object had it.
    pub(in crate::driver) fn refuse(
        &self,
        handle: H,
        kind: usize,
        number: usize,
        was_given: bool,
    ) -> CudaError {
        let wanted = name(kind);
        let by = self.0.iter().rev().find(|(buried, _)| *buried == handle);
        let by = by.map_or(String::new(), |(_, by)| format!(" by {}", by.in_words()));
        let other = KINDS.iter().find(|(other, _)| *other == number >> 28);
        let (what, remedy) = match other {
            _ if was_given => (
                format!("{} was destroyed{by}", numbered(kind, number)),
                format!("destroy the {wanted} after its last use"),
            ),
            Some((other, name)) if *other != kind => (
                format!(
                    "the handle is that of {}, and the call takes {}",
                    article(name),
                    article(wanted)
                ),
                format!("pass the handle of {}", article(wanted)),
            ),
            _ => (
                format!("{number:#x} is not the handle of {}", article(wanted)),
                format!(
                    "pass a handle that the driver has returned for {}, and check that call's result",
                    article(wanted)
                ),
            ),
        };
        because(CudaError::InvalidHandle, what, remedy)
    }
}

fn name(kind: usize) -> &'static str {
    let known = KINDS.iter().find(|(number, _)| *number == kind);
    known.map_or("object", |(_, name)| name)
}

/// "an event", "a stream".
fn article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {name}")
}

fn numbered(kind: usize, number: usize) -> String {
    format!("{} {}", name(kind), (number & 0x0fff_ffff) >> 4)
}

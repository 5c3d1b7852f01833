//! Why copies between the host and a device took long: pageable memory, and the engine that copies of one direction share.

use super::facts::Facts;
use super::serialised::HAND_OVER;
use chapter_results::intervals::{Engine, Recording};
use std::time::Duration;

/// The copies of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Copies {
    /// The direction.
    pub engine: Engine,
    /// How many copies are from or to pageable memory.
    pub pageable: usize,
    /// How long these took together.
    pub pageable_time: Duration,
    /// How many copies began when one of another stream ended that was running when they were submitted.
    pub queued: usize,
}

/// The directions with such copies.
pub fn slow(recording: &Recording, facts: &Facts) -> Vec<Copies> {
    [Engine::HostToDevice, Engine::DeviceToHost]
        .map(|engine| of_engine(recording, facts, engine))
        .into_iter()
        .filter(|copies| copies.pageable > 0 || copies.queued > 0)
        .collect()
}

fn of_engine(recording: &Recording, facts: &Facts, engine: Engine) -> Copies {
    let all = &recording.intervals;
    let mut places: Vec<usize> = (0..all.len())
        .filter(|place| all[*place].engine == engine)
        .collect();
    places.sort_by_key(|place| (all[*place].device, all[*place].span.start));
    let is_queued = |pair: &&[usize]| {
        let [first, second] = [&all[pair[0]], &all[pair[1]]];
        let idle = second.span.start.checked_sub(first.span.end);
        let follows = idle.is_some_and(|idle| Duration::from_nanos(idle) <= HAND_OVER);
        let called = facts.call(pair[1]).map(|call| call.end);
        let waited = called.is_some_and(|at| at < first.span.end.cast_signed());
        first.device == second.device && first.stream != second.stream && follows && waited
    };
    let queued = places.windows(2).filter(is_queued).count();
    let pageable = places.iter().filter(|place| facts.is_pageable(**place));
    let times: Vec<u64> = pageable
        .map(|place| all[*place].span.nanoseconds())
        .collect();
    Copies {
        engine,
        pageable: times.len(),
        pageable_time: Duration::from_nanos(times.iter().sum()),
        queued,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::facts::{HostMemory, TimedHostCall};
    use crate::analysis::testing::{operation, recording};
    use Engine::{DeviceToHost, HostToDevice, Kernel};

    /// What is known of operations that were submitted by calls which returned at these times.
    fn submitted(recording: &Recording, at: &[i64]) -> Facts {
        let mut facts = Facts::of(recording);
        for (operation, at) in facts.operations.iter_mut().zip(at) {
            operation.call = Some(TimedHostCall {
                name: "cuMemcpyHtoDAsync".to_owned(),
                thread: 0,
                start: at - 1,
                end: *at,
            });
        }
        facts
    }

    #[test]
    fn copies_of_one_direction_in_two_streams_wait_for_each_other() {
        let queued = |second: (Engine, &str, u64), called| {
            let (engine, stream, start) = second;
            let both = [
                operation(HostToDevice, "a", 0, 100_000),
                operation(engine, stream, start, start + 100_000),
            ];
            let recording = recording(both);
            let copies = slow(&recording, &submitted(&recording, &[0, called]));
            copies.iter().map(|copies| copies.queued).sum::<usize>()
        };
        assert_eq!(queued((HostToDevice, "b", 100_000), 10), 1);
        assert_eq!(queued((HostToDevice, "b", 105_000), 10), 1);
        assert_eq!(queued((HostToDevice, "b", 105_001), 10), 0, "a later start");
        assert_eq!(
            queued((HostToDevice, "b", 100_000), 100_000),
            0,
            "a later call"
        );
        assert_eq!(queued((HostToDevice, "a", 100_000), 10), 0, "one stream");
        assert_eq!(queued((DeviceToHost, "b", 100_000), 10), 0, "two engines");
        assert_eq!(queued((Kernel, "b", 100_000), 10), 0, "no copy");
    }

    #[test]
    fn copies_of_pageable_memory_are_counted_with_their_time() {
        let both = [
            operation(HostToDevice, "a", 0, 300),
            operation(DeviceToHost, "a", 400, 900),
            operation(DeviceToHost, "a", 1000, 1700),
        ];
        let recording = recording(both);
        let mut facts = Facts::of(&recording);
        facts.operations[2].memory = Some(HostMemory::Pageable);
        let expected = Copies {
            engine: DeviceToHost,
            pageable: 1,
            pageable_time: Duration::from_nanos(700),
            queued: 0,
        };
        assert_eq!(slow(&recording, &facts), [expected]);
    }
}

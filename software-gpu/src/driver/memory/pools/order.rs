//! The frees that happen before a stream's next operation, as far as the reuse of memory needs them.
//!
//! A stream's *reach* says, for each other stream, the last operation there that everything submitted to the stream
//! from now on comes after: by the stream's own order, by events, and by the legacy stream's rules. It is kept only
//! while there is a free whose end the host has not seen: dependencies between operations before that free do not matter.

use std::collections::BTreeMap;

use super::segments::FreePoint;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUstream};
use crate::timeline::OpId;

/// The last operation of each stream that something comes after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::driver) struct Reach(BTreeMap<CUstream, OpId>);

impl Reach {
    /// Whether the free lies before.
    pub(in crate::driver) fn covers(&self, free: &FreePoint) -> bool {
        self.0
            .get(&free.stream)
            .is_some_and(|last| *last >= free.op)
    }

    /// Extends it by all that `other` reaches.
    pub(in crate::driver) fn join(&mut self, other: &Self) {
        for (stream, op) in &other.0 {
            self.add(*stream, *op);
        }
    }

    fn add(&mut self, stream: CUstream, op: OpId) {
        let last = self.0.entry(stream).or_insert(op);
        *last = op.max(*last);
    }
}

/// The reach of streams and events.
#[derive(Debug, Default)]
pub(in crate::driver) struct PoolOrder {
    tracking: bool,
    streams: BTreeMap<CUstream, Reach>,
    events: BTreeMap<CUevent, Reach>,
    /// What the destroyed streams of a context reached, and whether blocking ones did.
    destroyed: BTreeMap<(CUcontext, bool), Reach>,
}

impl PoolOrder {
    /// Whether a checker needs the information.
    pub(in crate::driver) fn is_tracking(&self) -> bool {
        self.tracking
    }

    /// Starts to keep the order of what is submitted from now on.
    pub(in crate::driver) fn start(&mut self) {
        self.tracking = true;
    }

    /// Stops tracking and frees the history.
    pub(in crate::driver) fn stop(&mut self) {
        *self = Self::default();
    }

    /// What the next operation of `stream` comes after, when the legacy stream's rules put it behind `kin` too.
    pub(in crate::driver) fn next(&self, stream: CUstream, kin: &[CUstream]) -> Reach {
        let mut reach = Reach::default();
        for stream in kin.iter().chain([&stream]) {
            if let Some(other) = self.streams.get(stream) {
                reach.join(other);
            }
        }
        reach
    }

    /// What the destroyed streams of the context reached: the blocking ones alone, or all.
    pub(in crate::driver) fn destroyed(&self, context: CUcontext, blocking_only: bool) -> Reach {
        let mut reach = Reach::default();
        for ((of, blocking), other) in &self.destroyed {
            if *of == context && (*blocking || !blocking_only) {
                reach.join(other);
            }
        }
        reach
    }

    /// `op` was submitted to `stream`, after all of `reach`.
    pub(in crate::driver) fn submitted(&mut self, stream: CUstream, op: OpId, mut reach: Reach) {
        reach.add(stream, op);
        self.streams.insert(stream, reach);
    }

    /// `stream` was made to wait for frees.
    pub(in crate::driver) fn comes_after(&mut self, stream: CUstream, frees: &[FreePoint]) {
        if self.tracking {
            let reach = self.streams.entry(stream).or_default();
            for free in frees {
                reach.add(free.stream, free.op);
            }
        }
    }

    /// `event` stands for what `stream` has been given so far.
    pub(in crate::driver) fn recorded(&mut self, event: CUevent, stream: CUstream) {
        if self.tracking {
            let reach = self.streams.get(&stream).cloned().unwrap_or_default();
            self.events.insert(event, reach);
        }
    }

    /// `stream` waits for what `event` stands for now.
    pub(in crate::driver) fn waited(&mut self, stream: CUstream, event: CUevent) {
        if let Some(reach) = self.events.get(&event) {
            self.streams.entry(stream).or_default().join(reach);
        }
    }

    /// What `event` stands for.
    pub(in crate::driver) fn event(&self, event: CUevent) -> Reach {
        self.events.get(&event).cloned().unwrap_or_default()
    }

    /// The stream is destroyed; its operations still run.
    pub(in crate::driver) fn stream_destroyed(
        &mut self,
        stream: CUstream,
        context: CUcontext,
        blocking: bool,
    ) {
        if let Some(reach) = self.streams.remove(&stream) {
            self.destroyed
                .entry((context, blocking))
                .or_default()
                .join(&reach);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{OperationStage, Profile, Time, Timeline};

    const A: CUstream = CUstream(10);
    const B: CUstream = CUstream(11);
    const C: CUstream = CUstream(12);
    const EVENT: CUevent = CUevent(20);

    /// Submits operations as the simulator does.
    struct TestSimulator {
        timeline: Timeline,
        order: PoolOrder,
    }

    impl TestSimulator {
        fn new() -> Self {
            let timeline = Timeline::new(&[Profile::h200()], 8);
            let mut order = PoolOrder::default();
            order.start();
            Self { timeline, order }
        }

        fn submit(&mut self, stream: CUstream) -> FreePoint {
            let any = self.timeline.add_stream(0, 0);
            let op = self
                .timeline
                .submit(any, Time::ZERO, OperationStage::Marker, &[]);
            let reach = self.order.next(stream, &[]);
            self.order.submitted(stream, op, reach);
            FreePoint { stream, op }
        }

        fn reaches(&self, stream: CUstream, free: FreePoint) -> bool {
            self.order.next(stream, &[]).covers(&free)
        }
    }

    #[test]
    fn an_event_carries_what_its_stream_had_been_given_when_it_was_recorded() {
        let mut scene = TestSimulator::new();
        let before = scene.submit(A);
        scene.order.recorded(EVENT, A);
        let after = scene.submit(A);
        assert!(!scene.reaches(B, before));
        scene.order.waited(B, EVENT);
        assert!(scene.reaches(B, before) && !scene.reaches(B, after));
        scene.order.recorded(EVENT, B);
        scene.order.waited(C, EVENT);
        assert!(scene.reaches(C, before));
        assert!(!scene.reaches(C, after));
    }

    #[test]
    fn waiting_for_an_event_counts_as_of_the_wait() {
        let mut scene = TestSimulator::new();
        scene.order.recorded(EVENT, A);
        scene.order.waited(B, EVENT);
        let free = scene.submit(A);
        scene.order.recorded(EVENT, A);
        assert!(!scene.reaches(B, free));
        assert!(scene.order.event(EVENT).covers(&free));
    }

    #[test]
    fn kin_and_inserted_dependencies_count() {
        let mut scene = TestSimulator::new();
        let free = scene.submit(A);
        assert!(scene.order.next(B, &[A]).covers(&free));
        assert!(!scene.order.next(B, &[C]).covers(&free));
        scene.order.comes_after(B, &[free]);
        assert!(scene.reaches(B, free));
    }

    #[test]
    fn destroyed_streams_are_remembered_by_kind() {
        let mut scene = TestSimulator::new();
        let context = CUcontext(1);
        let (blocking, other) = (scene.submit(A), scene.submit(B));
        scene.order.stream_destroyed(A, context, true);
        scene.order.stream_destroyed(B, context, false);
        let reach = scene.order.destroyed(context, true);
        assert!(reach.covers(&blocking) && !reach.covers(&other));
        let reach = scene.order.destroyed(context, false);
        assert!(reach.covers(&blocking) && reach.covers(&other));
        assert!(!scene.order.destroyed(CUcontext(2), false).covers(&other));
    }
}

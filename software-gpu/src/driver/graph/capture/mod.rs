//! Stream capture: work given to a stream becomes nodes of a graph.
//!
//! `Simulator::submit` asks whether a stream is capturing, and hands the work to `sequence` instead of the timeline.
//! `events` carries a capture from stream to stream; `prohibited` knows what may not be done meanwhile; `calls` and
//! `info` are the calls that begin, end and describe a capture.

mod calls;
mod events;
mod info;
mod prohibited;
mod sequence;

pub(in crate::driver) use calls::*;
pub(in crate::driver) use events::EXTERNAL;
pub(in crate::driver) use info::*;
pub(in crate::driver) use prohibited::*;
pub(in crate::driver) use sequence::{Capture, Captures};

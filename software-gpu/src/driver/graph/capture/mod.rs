//! Stream capture: work given to a stream becomes nodes of a graph.

mod sequence;

pub(in crate::driver) use sequence::Captures;

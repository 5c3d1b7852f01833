//! Events in captures: a record makes an event stand for nodes, a wait carries the capture into another stream.

use std::ffi::c_uint;

use super::sequence::{CapturedEvent, CapturingStream};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUevent, CUstream};
use crate::driver::graph::node::Action;
use crate::driver::simulation::simulator::Simulator;

/// `CU_EVENT_RECORD_EXTERNAL` and `CU_EVENT_WAIT_EXTERNAL`: the event is that of the world outside of the graph.
pub(in crate::driver) const EXTERNAL: c_uint = 1;

impl Simulator {
    /// `cuEventRecord` in a capturing stream.
    pub(in crate::driver) fn capture_record(
        &mut self,
        stream: CUstream,
        event: CUevent,
        flags: c_uint,
    ) -> Result<(), CudaError> {
        self.captured_validly(stream)?;
        match flags {
            0 => {}
            EXTERNAL => return self.capture_node(stream, Action::Record(event)).map(|_| ()),
            _ => return Err(CudaError::InvalidValue),
        }
        let state = self.captures.streams.get(&stream);
        let state = state.ok_or(CudaError::IllegalState)?;
        let captured = CapturedEvent {
            capture: state.capture,
            nodes: state.dependencies.clone(),
        };
        self.captures.events.insert(event, captured);
        Ok(())
    }

    /// Whether a wait of the stream for the event has to do with a capture.
    pub(in crate::driver) fn is_captured(&self, stream: CUstream, event: CUevent) -> bool {
        self.is_capturing(stream) || self.captures.events.contains_key(&event)
    }

    /// `cuStreamWaitEvent` where the stream is capturing or the event was recorded in a capture.
    pub(in crate::driver) fn capture_wait(
        &mut self,
        stream: CUstream,
        event: CUevent,
        flags: c_uint,
    ) -> Result<(), CudaError> {
        self.captured_validly(stream)?;
        if flags == EXTERNAL {
            return self.capture_node(stream, Action::Wait(event)).map(|_| ());
        }
        let Some(captured) = self.captures.events.get(&event) else {
            let recorded = self.events.get(event)?.is_recorded();
            return match recorded {
                true => {
                    let error = self.because_of_isolation(stream, event);
                    Err(self.spoil(stream, error))
                }
                false => Ok(()),
            };
        };
        let (capture, nodes) = (captured.capture, captured.nodes.clone());
        if !self.captures.live(capture) {
            let error = self.because_captured(event, CudaError::InvalidValue);
            return Err(self.spoil(stream, error));
        }
        let context = self.streams.get(stream)?.context;
        if stream == self.contexts.get(context)?.legacy {
            self.captures.invalidate(|id, _| id == capture);
            return Err(self.because_legacy_joins(event));
        }
        match self.captures.streams.get_mut(&stream) {
            None => {
                let joined = CapturingStream::new(capture, nodes);
                self.captures.streams.insert(stream, joined);
                Ok(())
            }
            Some(state) if state.capture == capture => {
                state.join(&nodes);
                Ok(())
            }
            Some(state) => {
                let other = state.capture;
                self.captures
                    .invalidate(|id, _| id == capture || id == other);
                Err(self.because_merged(stream))
            }
        }
    }
}

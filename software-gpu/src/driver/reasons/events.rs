//! Events of other contexts, and the time between two events.

use super::because;
use super::capture::number_of;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUfunction, CUstream};
use crate::driver::simulation::simulator::Simulator;

impl Simulator {
    /// A record of an event in a stream of another context.
    pub(in crate::driver) fn because_elsewhere(
        &self,
        event: CUevent,
        stream: CUstream,
    ) -> CudaError {
        let of_event = self.events.get(event).map(|event| event.context);
        let of_stream = self.streams.get(stream).map(|stream| stream.context);
        let [a, b] = [of_event, of_stream].map(|context| self.place_of(context.ok()));
        because(
            CudaError::InvalidHandle,
            format!(
                "event {} belongs to {a}, and {} to {b}",
                number_of(event),
                self.name_of(stream)
            ),
            "create the event with the stream's context current, and record it there; streams of other contexts may wait for it",
        )
    }

    /// The time between events of two contexts.
    pub(in crate::driver) fn because_apart(&self, events: [CUevent; 2]) -> CudaError {
        let places = events.map(|event| {
            let context = self.events.get(event).map(|event| event.context);
            self.place_of(context.ok())
        });
        let [a, b] = events.map(number_of);
        because(
            CudaError::InvalidHandle,
            format!(
                "event {a} belongs to {}, and event {b} to {}: their clocks cannot be compared",
                places[0], places[1]
            ),
            "take the time between two events of one context",
        )
    }

    /// A launch in a stream of a context other than the kernel's.
    pub(in crate::driver) fn because_function_elsewhere(
        &self,
        function: CUfunction,
        stream: CUstream,
    ) -> CudaError {
        let of_function = self
            .functions
            .get(function)
            .map(|function| function.context);
        let of_stream = self.streams.get(stream).map(|stream| stream.context);
        let [a, b] = [of_function, of_stream].map(|context| self.place_of(context.ok()));
        because(
            CudaError::InvalidHandle,
            format!(
                "the kernel was loaded in {a}, and {} belongs to {b}",
                self.name_of(stream)
            ),
            "load the module with the stream's context current, and launch the kernel of that module",
        )
    }

    /// `context 2 of device 1`.
    fn place_of(&self, context: Option<CUcontext>) -> String {
        let found = context.and_then(|context| Some((context, self.contexts.get(context).ok()?)));
        found.map_or_else(
            || "a context that was destroyed".to_owned(),
            |(handle, context)| {
                let number = Table::<CUcontext, ()>::serial(handle);
                format!("context {number} of device {}", context.device)
            },
        )
    }
}

/// The time of an event that keeps none.
pub(in crate::driver) fn because_untimed(event: CUevent) -> CudaError {
    because(
        CudaError::InvalidHandle,
        format!(
            "event {} was created with CU_EVENT_DISABLE_TIMING and keeps no time",
            number_of(event)
        ),
        "create the event with CU_EVENT_DEFAULT",
    )
}

/// The time of an event that was never recorded.
pub(in crate::driver) fn because_unrecorded(event: CUevent) -> CudaError {
    because(
        CudaError::InvalidHandle,
        format!("event {} was never recorded", number_of(event)),
        "record it in the stream whose work is to be timed (cuEventRecord)",
    )
}

/// The time of an event that the device has not reached.
pub(in crate::driver) fn because_not_reached(event: CUevent) -> CudaError {
    because(
        CudaError::NotReady,
        format!(
            "the device has not reached the last record of event {}",
            number_of(event)
        ),
        "wait for the event first (cuEventSynchronize)",
    )
}

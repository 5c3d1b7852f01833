//! Stream capture.

use super::{Caller, because};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUevent, CUstream};
use crate::driver::graph::Capture;
use crate::driver::simulation::simulator::Simulator;

impl Simulator {
    /// The stream's name in reports.
    pub(in crate::driver) fn name_of(&self, stream: CUstream) -> String {
        self.ordering.name_of(stream)
    }

    fn names_of(&self, streams: &[CUstream]) -> String {
        let names: Vec<String> = streams.iter().map(|stream| self.name_of(*stream)).collect();
        names.join(", ")
    }

    /// `the capture of stream 2 (cuStreamBeginCapture at main.c:3, global mode)`.
    fn words_of(&self, capture: &Capture<'_>) -> String {
        let Capture {
            origin,
            began,
            mode,
            ..
        } = capture;
        let (origin, elsewhere) = (self.name_of(*origin), began.elsewhere());
        format!(
            "the capture of {origin} ({}, {mode} mode{elsewhere})",
            began.in_words()
        )
    }

    /// The call waits, or may: captures prohibit that.
    pub(in crate::driver) fn because_of_capture(
        &self,
        capture: &Capture<'_>,
        is_context: bool,
    ) -> CudaError {
        let own = capture.began.elsewhere().is_empty();
        let otherwise = match (is_context, own) {
            (true, _) => "",
            (false, true) => {
                "; where the call is safe, a capture in CU_STREAM_CAPTURE_MODE_RELAXED allows it"
            }
            (false, false) => {
                "; a capture in CU_STREAM_CAPTURE_MODE_THREAD_LOCAL restricts only its own thread"
            }
        };
        because(
            CudaError::StreamCaptureUnsupported,
            format!(
                "the call is not allowed during {}, which it has invalidated",
                self.words_of(capture)
            ),
            format!("make the call before the capture begins or after it has ended{otherwise}"),
        )
    }

    /// The stream captures, so nothing in it runs that a call could wait for or query.
    pub(in crate::driver) fn because_it_captures(
        &self,
        stream: CUstream,
        capture: &Capture<'_>,
    ) -> CudaError {
        because(
            CudaError::StreamCaptureUnsupported,
            format!(
                "{} takes part in {}, which the call has invalidated: the stream only records its work",
                self.name_of(stream),
                self.words_of(capture)
            ),
            "end the capture, instantiate and launch the graph, and then wait for the stream of the launch",
        )
    }

    /// Something that no node of a graph can stand for.
    pub(in crate::driver) fn because_no_node_can(&self, stream: CUstream, what: &str) -> CudaError {
        because(
            CudaError::StreamCaptureUnsupported,
            format!("{} is capturing, and {what}", self.name_of(stream)),
            "make the call outside of the capture, or in a stream that does not capture",
        )
    }

    pub(in crate::driver) fn because_invalidated(
        &self,
        origin: CUstream,
        broken: &Caller,
    ) -> CudaError {
        because(
            CudaError::StreamCaptureInvalidated,
            format!(
                "the capture of {} was invalidated by {}{}",
                self.name_of(origin),
                broken.in_words(),
                broken.elsewhere()
            ),
            "repair that call: it returned the error that says why; this one only ends the capture",
        )
    }

    pub(in crate::driver) fn because_unjoined(
        &self,
        origin: CUstream,
        left: &[Option<CUstream>],
    ) -> CudaError {
        let streams: Vec<CUstream> = left.iter().copied().flatten().collect();
        let origin = self.name_of(origin);
        let (what, who) = match streams.is_empty() {
            true => (
                "a stream that was destroyed".to_owned(),
                "that stream".to_owned(),
            ),
            false => (self.names_of(&streams), self.names_of(&streams)),
        };
        because(
            CudaError::StreamCaptureUnjoined,
            format!(
                "{what} took part in the capture, and {origin}, where it began, does not wait for all of that work"
            ),
            format!(
                "record an event on {who} after its last operation (cuEventRecord) and make {origin} wait for it \
                 (cuStreamWaitEvent) before cuStreamEndCapture"
            ),
        )
    }

    pub(in crate::driver) fn because_unmatched(
        &self,
        stream: CUstream,
        capture: &Capture<'_>,
    ) -> CudaError {
        because(
            CudaError::StreamCaptureUnmatched,
            format!(
                "{} only joined {}",
                self.name_of(stream),
                self.words_of(capture)
            ),
            format!(
                "end the capture where it began, in {}",
                self.name_of(capture.origin)
            ),
        )
    }

    pub(in crate::driver) fn because_of_thread(&self, capture: &Capture<'_>) -> CudaError {
        because(
            CudaError::StreamCaptureWrongThread,
            format!(
                "{} has to end in the thread that began it",
                self.words_of(capture)
            ),
            "end it there, or begin it in CU_STREAM_CAPTURE_MODE_RELAXED",
        )
    }

    pub(in crate::driver) fn because_not_capturing(&self, stream: CUstream) -> CudaError {
        because(
            CudaError::IllegalState,
            format!(
                "{} is not capturing: no capture has begun there, or it has ended",
                self.name_of(stream)
            ),
            "begin a capture in this stream first (cuStreamBeginCapture)",
        )
    }

    pub(in crate::driver) fn because_capturing_already(&self, capture: &Capture<'_>) -> CudaError {
        because(
            CudaError::IllegalState,
            format!(
                "the stream already takes part in {}",
                self.words_of(capture)
            ),
            "end that capture first (cuStreamEndCapture)",
        )
    }

    /// The legacy stream would wait for streams that only record their work.
    pub(in crate::driver) fn because_implicit(&self, capturing: &[CUstream]) -> CudaError {
        because(
            CudaError::StreamCaptureImplicit,
            format!(
                "the legacy default stream would wait for {}, which is capturing and was created without CU_STREAM_NON_BLOCKING",
                self.names_of(capturing)
            ),
            "use another stream than the null stream during the capture, or capture in a stream created with CU_STREAM_NON_BLOCKING",
        )
    }

    pub(in crate::driver) fn because_legacy(&self) -> CudaError {
        because(
            CudaError::StreamCaptureUnsupported,
            "the legacy default stream cannot capture",
            "capture in a stream of cuStreamCreate",
        )
    }

    /// A wait for what is outside of the capture.
    pub(in crate::driver) fn because_of_isolation(
        &self,
        stream: CUstream,
        event: CUevent,
    ) -> CudaError {
        because(
            CudaError::StreamCaptureIsolation,
            format!(
                "{} is capturing, and event {} was recorded outside of the capture: a graph cannot wait for work that runs only once",
                self.name_of(stream),
                number_of(event)
            ),
            "record the event in a stream of the capture, wait for it before the capture begins, or wait with CU_EVENT_WAIT_EXTERNAL",
        )
    }

    pub(in crate::driver) fn because_legacy_joins(&self, event: CUevent) -> CudaError {
        because(
            CudaError::StreamCaptureImplicit,
            format!(
                "the legacy default stream cannot capture, and event {} was recorded in a capture",
                number_of(event)
            ),
            "wait for the event in another stream",
        )
    }

    pub(in crate::driver) fn because_merged(&self, stream: CUstream) -> CudaError {
        because(
            CudaError::StreamCaptureMerge,
            format!(
                "{} takes part in another capture than the event's: the wait has invalidated both",
                self.name_of(stream)
            ),
            "capture both parts in one sequence, or launch two graphs in an order",
        )
    }

    pub(in crate::driver) fn because_captured(
        &self,
        event: CUevent,
        error: CudaError,
    ) -> CudaError {
        let event = number_of(event);
        let (what, remedy) = match error {
            CudaError::CapturedEvent => (
                format!(
                    "event {event} was last recorded in a capture: it stands for a node of a graph, and has no time and no end"
                ),
                "record the event outside of the capture, or in it with CU_EVENT_RECORD_EXTERNAL, and launch the graph",
            ),
            _ => (
                format!(
                    "event {event} was last recorded in a capture that is over: it stands for nothing"
                ),
                "record the event again, outside of a capture",
            ),
        };
        because(error, what, remedy)
    }

    /// A flag that says that an event is of the world outside of a graph, outside of a capture.
    pub(in crate::driver) fn because_external(&self, stream: CUstream) -> CudaError {
        because(
            CudaError::IllegalState,
            format!(
                "the flag EXTERNAL is for captures, and {} is not capturing",
                self.name_of(stream)
            ),
            "pass 0",
        )
    }
}

/// The number by which reports call the event.
pub(super) fn number_of(event: CUevent) -> u64 {
    Table::<CUevent, ()>::serial(event)
}

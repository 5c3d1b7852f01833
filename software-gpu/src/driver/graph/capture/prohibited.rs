//! What a program may not do while it captures.
//!
//! A call that is prohibited spoils the captures that prohibit it: they can only be ended. Which calls count as unsafe
//! was tried on an H200 with driver 580: allocating and freeing memory, page-locking it, setting limits, instantiating,
//! uploading and destroying executable graphs, and asking for or waiting for streams and events.

use std::cell::Cell;
use std::ffi::c_uint;

use super::sequence::{CaptureMode, Sequence};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUstream};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::host::threads::current;
use crate::driver::simulation::simulator::Simulator;

thread_local! {
    static MODE: Cell<c_uint> = const { Cell::new(0) };
}

entry_points! {
    /// Sets how the calling thread gets along with captures, and returns how it did before. Any number is accepted.
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        // SAFETY: the caller passes null or a mode.
        let mode = unsafe { mode.as_mut() }.ok_or(CudaError::InvalidValue)?;
        call(Cost::Free, |_| {
            CaptureMode::from_number(*mode)?;
            *mode = MODE.replace(*mode);
            Ok(())
        })
    }
}

impl CaptureMode {
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown mode.
    pub(super) fn from_number(number: c_uint) -> Result<Self, CudaError> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(CudaError::InvalidValue),
        }
    }
}

/// Whether a capture keeps the calling thread from unsafe calls.
fn prohibits(sequence: &Sequence) -> bool {
    let own = sequence.began.thread == current::serial() && sequence.mode != CaptureMode::Relaxed;
    match MODE.get() {
        0 => own || sequence.mode == CaptureMode::Global,
        1 => own,
        _ => false,
    }
}

impl Simulator {
    /// For calls that may be unsafe during a capture.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: the captures that prohibit it are spoiled.
    pub(in crate::driver) fn unsafe_in_captures(&mut self) -> Result<(), CudaError> {
        let Some(sequence) = self.captures.sequences.values().find(|s| prohibits(s)) else {
            return Ok(());
        };
        let error = self.because_of_capture(&sequence.in_a_sentence(), false);
        self.captures.invalidate(|_, sequence| prohibits(sequence));
        Err(error)
    }

    /// For calls that wait for a whole context: no mode allows them during a capture, in whichever thread it began.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: the captures are spoiled.
    pub(in crate::driver) fn waits_for_captures(
        &mut self,
        context: CUcontext,
    ) -> Result<(), CudaError> {
        let concerned = |sequence: &Sequence| sequence.context == context;
        let Some(sequence) = self.captures.sequences.values().find(|s| concerned(s)) else {
            return Ok(());
        };
        let error = self.because_of_capture(&sequence.in_a_sentence(), true);
        self.captures.invalidate(|_, sequence| concerned(sequence));
        Err(error)
    }

    /// For calls that wait for a stream or query it.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for a capturing stream, and as
    /// [`unsafe_in_captures`](Self::unsafe_in_captures).
    pub(in crate::driver) fn awaits_stream(&mut self, stream: CUstream) -> Result<(), CudaError> {
        if let Some((capture, sequence)) = self.captures.of_stream(stream) {
            let error = self.because_it_captures(stream, &sequence.in_a_sentence());
            self.captures.invalidate(|id, _| id == capture);
            return Err(error);
        }
        self.no_implicit_capture(stream)?;
        self.unsafe_in_captures()
    }

    /// For calls that wait for an event or ask whether it was reached.
    ///
    /// # Errors
    /// `CUDA_ERROR_CAPTURED_EVENT` for an event of a capture, which is spoiled; `CUDA_ERROR_INVALID_VALUE` if the
    /// capture is over; and as [`unsafe_in_captures`](Self::unsafe_in_captures).
    pub(in crate::driver) fn awaits_event(&mut self, event: CUevent) -> Result<(), CudaError> {
        let captured = self.captures.events.get(&event);
        let Some(capture) = captured.map(|captured| captured.capture) else {
            return self.unsafe_in_captures();
        };
        self.times_event(event)
            .inspect_err(|_| self.captures.invalidate(|id, _| id == capture))
    }

    /// For calls that ask when an event was reached: they spoil nothing.
    ///
    /// # Errors
    /// As [`awaits_event`](Self::awaits_event).
    pub(in crate::driver) fn times_event(&self, event: CUevent) -> Result<(), CudaError> {
        match self.captures.events.get(&event) {
            None => Ok(()),
            Some(captured) => Err(self.because_captured(
                event,
                match self.captures.live(captured.capture) {
                    true => CudaError::CapturedEvent,
                    false => CudaError::InvalidValue,
                },
            )),
        }
    }

    /// For everything that the legacy stream is given: it would wait for the blocking streams that are capturing.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: their captures are spoiled.
    pub(in crate::driver) fn no_implicit_capture(
        &mut self,
        stream: CUstream,
    ) -> Result<(), CudaError> {
        let captures = self.implicit_captures(stream)?;
        if captures.is_empty() {
            return Ok(());
        }
        let error = self.implies_no_capture(stream);
        self.captures.invalidate(|id, _| captures.contains(&id));
        error
    }

    /// As [`no_implicit_capture`](Self::no_implicit_capture), and spoils nothing.
    pub(super) fn implies_no_capture(&self, stream: CUstream) -> Result<(), CudaError> {
        let captures = self.implicit_captures(stream)?;
        if captures.is_empty() {
            return Ok(());
        }
        let capturing = self.captures.streams.iter();
        let concerned = capturing.filter(|(_, state)| captures.contains(&state.capture));
        let streams: Vec<_> = concerned.map(|(stream, _)| *stream).collect();
        Err(self.because_implicit(&streams))
    }

    /// The captures of blocking streams that the legacy stream would wait for, if `stream` is that one.
    pub(super) fn implicit_captures(&self, stream: CUstream) -> Result<Vec<u64>, CudaError> {
        if self.captures.streams.is_empty() {
            return Ok(Vec::new());
        }
        let context = self.streams.get(stream)?.context;
        if stream != self.contexts.get(context)?.legacy {
            return Ok(Vec::new());
        }
        let capturing = self.captures.streams.iter();
        let blocking = capturing.filter(|(handle, _)| {
            let stream = self.streams.get(**handle);
            stream.is_ok_and(|stream| stream.context == context && !stream.non_blocking)
        });
        Ok(blocking.map(|(_, state)| state.capture).collect())
    }
}

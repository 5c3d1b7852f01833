//! How long after the end of one operation another that depends on it can start.

use super::operations::Operation;
use super::profile::{Figure, Handover};
use super::queues::Unit;
use super::{CopyKind, Time, Work};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Kernel,
    Copy(CopyKind),
    Marker,
    HostFunction,
}

impl Kind {
    fn of(work: &Work) -> Self {
        match (Unit::of(work), work) {
            (Some(Unit::Multiprocessors), _) => Self::Kernel,
            (Some(Unit::CopyEngine(kind)), _) => Self::Copy(kind),
            (None, Work::HostFunction) => Self::HostFunction,
            (None, _) => Self::Marker,
        }
    }
}

impl Handover {
    /// No hand-over takes longer.
    pub(super) fn longest(&self) -> Time {
        let in_one_stream = [
            self.kernel_to_kernel_us,
            self.kernel_to_copy_us,
            self.copy_to_copy_us,
            self.copy_to_other_engine_us,
            self.to_marker_us,
            self.marker_to_marker_us,
            self.marker_to_kernel_us,
            self.marker_to_copy_us,
            self.to_host_function_us,
            self.from_host_function_us,
        ];
        let longest = in_one_stream.map(Figure::micros).into_iter().max();
        longest.unwrap_or(Time::ZERO) + self.across_streams_us.micros()
    }

    /// The time from the end of `from` to the earliest start of `to`.
    pub(super) fn between(&self, from: &Operation, to: &Operation) -> Time {
        let same_stream = self.in_one_stream(Kind::of(&from.work), Kind::of(&to.work));
        if from.stream == to.stream {
            same_stream
        } else {
            same_stream + self.across_streams_us.micros()
        }
    }

    fn in_one_stream(&self, from: Kind, to: Kind) -> Time {
        let figure = match (from, to) {
            (Kind::HostFunction, _) => self.from_host_function_us,
            (_, Kind::HostFunction) => self.to_host_function_us,
            (Kind::Kernel, Kind::Kernel) => self.kernel_to_kernel_us,
            (Kind::Kernel, Kind::Copy(_)) | (Kind::Copy(_), Kind::Kernel) => self.kernel_to_copy_us,
            (Kind::Copy(a), Kind::Copy(b)) if a == b => self.copy_to_copy_us,
            (Kind::Copy(_), Kind::Copy(_)) => self.copy_to_other_engine_us,
            (Kind::Marker, Kind::Marker) => self.marker_to_marker_us,
            (_, Kind::Marker) => self.to_marker_us,
            (Kind::Marker, Kind::Kernel) => self.marker_to_kernel_us,
            (Kind::Marker, Kind::Copy(_)) => self.marker_to_copy_us,
        };
        figure.micros()
    }
}

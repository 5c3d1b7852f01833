//! How long after the end of one operation another that depends on it can start.

use std::ops::Deref;

use super::operations::TimedOperation;
use super::profile::{Figure, Handover};
use super::queues::Unit;
use super::{CopyKind, OperationStage, Time};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Kernel,
    Copy(CopyKind),
    Marker,
    HostFunction,
}

impl Kind {
    fn of_unit(unit: Unit) -> Self {
        match unit {
            Unit::Multiprocessors => Self::Kernel,
            Unit::CopyEngine(kind) => Self::Copy(kind),
        }
    }

    fn of(work: &OperationStage) -> Self {
        match (Unit::of(work), work) {
            (Some(unit), _) => Self::of_unit(unit),
            (None, OperationStage::HostFunction) => Self::HostFunction,
            (None, _) => Self::Marker,
        }
    }
}

/// The copy engine, if the unit is one that the link keeps busy. Copies within the device are work of the
/// multiprocessors' kind.
fn on_link(unit: Unit) -> Option<CopyKind> {
    match unit {
        Unit::CopyEngine(kind) if kind != CopyKind::DeviceToDevice => Some(kind),
        _ => None,
    }
}

/// The hand-overs of a device.
#[derive(Clone, Copy)]
pub(super) struct HandOvers<'a>(pub(super) &'a Handover);

impl Deref for HandOvers<'_> {
    type Target = Handover;
    fn deref(&self) -> &Handover {
        self.0
    }
}

impl HandOvers<'_> {
    /// No hand-over takes longer.
    pub(super) fn longest(&self) -> Time {
        let in_one_stream = [
            self.kernel_to_kernel_us,
            self.kernel_to_kernel_in_graph_us,
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
        longest.unwrap_or(Time::ZERO) + self.change_of_unit() + self.across_streams_us.micros()
    }

    /// The time from the end of `from` to the earliest start of `to`.
    pub(super) fn between(&self, from: &TimedOperation, to: &TimedOperation) -> Time {
        if to.work == OperationStage::Note {
            return Time::ZERO;
        }
        // The device does not see a note: what comes behind it follows what was before it.
        let before = match (from.work, from.unit) {
            (OperationStage::Note, None) => return Time::ZERO,
            (OperationStage::Note, Some(unit)) => Kind::of_unit(unit),
            _ => Kind::of(&from.work),
        };
        let after = Kind::of(&to.work);
        let mut time = match (before, after) {
            (Kind::Kernel, Kind::Kernel) if to.is_of_launch_of(from) => {
                self.kernel_to_kernel_in_graph_us.micros()
            }
            _ => self.in_one_stream(before, after),
        };
        if before == Kind::Marker && after != Kind::Marker {
            time += self.between_units(from.unit, to.unit);
        }
        if from.stream != to.stream {
            time += self.across_streams_us.micros();
        }
        time
    }

    /// What event records and waits hand on to another unit takes as long as that unit's work would without them.
    fn between_units(&self, before: Option<Unit>, after: Option<Unit>) -> Time {
        let (Some(before), Some(after)) = (before, after) else {
            return Time::ZERO;
        };
        match (on_link(before), on_link(after)) {
            (Some(a), Some(b)) if a != b => self.copy_to_other_engine_us.micros(),
            (None, Some(_)) | (Some(_), None) => self.kernel_to_copy_us.micros(),
            _ => Time::ZERO,
        }
    }

    /// The most that a change of unit takes.
    pub(super) fn change_of_unit(&self) -> Time {
        let to_or_from_kernels = self.kernel_to_copy_us.micros();
        to_or_from_kernels.max(self.copy_to_other_engine_us.micros())
    }

    fn in_one_stream(&self, from: Kind, to: Kind) -> Time {
        let figure = match (from, to) {
            (Kind::HostFunction, _) => self.from_host_function_us,
            (_, Kind::HostFunction) => self.to_host_function_us,
            (Kind::Kernel, Kind::Kernel) => self.kernel_to_kernel_us,
            (Kind::Kernel, Kind::Copy(CopyKind::DeviceToDevice))
            | (Kind::Copy(CopyKind::DeviceToDevice), Kind::Kernel) => self.kernel_to_kernel_us,
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

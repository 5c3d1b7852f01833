//! The engine of an operation, as its call tells it.

use crate::intervals::Engine;
use libcuda::observe::{Action, Copied};

/// The engine that an operation occupies, where the call says it.
pub(super) fn of(action: &Action) -> Option<Engine> {
    match action {
        Action::Launch { .. } => Some(Engine::Kernel),
        Action::Copy { way, .. } => match way {
            Copied::HostToDevice => Some(Engine::HostToDevice),
            Copied::DeviceToHost => Some(Engine::DeviceToHost),
            Copied::DeviceToDevice => Some(Engine::DeviceToDevice),
            Copied::Unified => None,
        },
        Action::Set { .. } => Some(Engine::Set),
        Action::HostFunction { .. } => Some(Engine::HostFunction),
        _ => None,
    }
}

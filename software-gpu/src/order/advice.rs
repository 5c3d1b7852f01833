//! The missing edge, in words.

use super::ids::StreamId;
use super::site::{Place, Site};

/// What a finding says beside its two sides.
pub(super) struct Advice {
    /// What is to be added.
    pub(super) missing: String,
    /// What looks like it and is not.
    pub(super) nearly: Option<String>,
    /// Whether the side that ran second was called first.
    pub(super) reversed: bool,
}

/// What to add so that `later`, which does `verb` to memory, comes after `earlier`.
pub(super) fn order(earlier: &Site, later: &Site, verb: &str) -> String {
    let (first, second) = (&earlier.description.what, &later.description.what);
    match (&earlier.place, &later.place) {
        (Place::Node { launch, .. }, Place::Node { launch: other, .. }) if launch == other => {
            format!("make {second} depend on {first} in the graph")
        }
        (Place::Host { .. }, Place::Host { .. }) => {
            format!(
                "order {first} by {} before {second} by {}, as joining a thread does",
                earlier.thread, later.thread
            )
        }
        (Place::Host { .. }, place) if later.called < earlier.called => {
            let thread = earlier.thread;
            let host = "(cuStreamSynchronize, cuEventSynchronize)";
            format!(
                "synchronise with {} after {second} {host} before {thread} goes on to {first}",
                name(place)
            )
        }
        (Place::Host { .. }, _) => {
            let (from, to) = (earlier.thread, later.thread);
            format!(
                "order {first} by {from} before {to} submits {second}, as joining a thread does"
            )
        }
        (place, Place::Host { .. }) => {
            let thread = later.thread;
            let host = "(cuStreamSynchronize, cuEventSynchronize)";
            format!(
                "synchronise with {} after {first} {host} before {thread} {verb}",
                name(place)
            )
        }
        (a, b) => {
            let (a, b) = (after(a, first), before(b, second));
            format!("record an event after {a}; make {b}")
        }
    }
}

fn after(place: &Place, what: &str) -> String {
    match place {
        Place::Node { .. } => format!("the launch of the graph with {what} on {}", name(place)),
        _ => format!("{what} on {}", name(place)),
    }
}

fn before(place: &Place, what: &str) -> String {
    match place {
        Place::Node { .. } => format!(
            "{} wait for it before the launch of the graph with {what}",
            name(place)
        ),
        _ => format!("{} wait for it before {what}", name(place)),
    }
}

fn name(place: &Place) -> String {
    let unknown = || "its stream".to_owned();
    place
        .stream()
        .as_ref()
        .map_or_else(unknown, StreamId::to_string)
}

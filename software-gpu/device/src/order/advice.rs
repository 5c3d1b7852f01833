//! Says in a report what is missing between two accesses.

use std::borrow::Cow;
use std::sync::Arc;

use super::ids::ThreadId;
use super::names::Names;
use super::site::{AccessSite, Site};

/// What a finding says beside its two sides.
pub(super) struct Advice {
    /// The wait that the program lacks.
    pub(super) lack: String,
    /// The dependency to add.
    pub(super) missing: String,
    /// Texts that resemble it.
    pub(super) nearly: Option<String>,
    /// Whether the side that ran second was called first.
    pub(super) reversed: bool,
}

/// One of two accesses, and what it does to the bytes: "reads", "writes", "updates atomically", "allocates" or "frees".
#[derive(Clone, Copy)]
pub(super) struct AdvisedAccess<'a> {
    pub(super) site: &'a Arc<Site>,
    pub(super) verb: &'static str,
}

impl AdvisedAccess<'_> {
    /// The access as the subject of a sentence.
    pub(super) fn name(&self) -> Cow<'_, str> {
        match self.site.place {
            AccessSite::Host { thread, .. } => thread.to_string().into(),
            _ => with_article(&self.site.description.what),
        }
    }

    /// The same in two words, where the full name has been said.
    fn short(&self) -> String {
        match self.site.place {
            AccessSite::Host { thread, .. } => thread.to_string(),
            _ => format!("the {}", without_details(&self.site.description.what)),
        }
    }

    fn host(&self) -> Option<ThreadId> {
        match self.site.place {
            AccessSite::Host { thread, .. } => Some(thread),
            _ => None,
        }
    }

    fn object(&self) -> String {
        match self.verb {
            "frees" => "frees the memory".to_owned(),
            verb => format!("{verb} the bytes"),
        }
    }

    fn is_node(&self) -> bool {
        matches!(self.site.place, AccessSite::Node { .. })
    }

    fn stream(&self, names: &Names) -> String {
        let stream = self.site.place.stream();
        stream.map_or_else(|| "its stream".to_owned(), |stream| names.of(stream))
    }
}

/// "kernel `scale`" is a name; "copy of 16 bytes" takes an article.
pub(super) fn with_article(what: &str) -> Cow<'_, str> {
    if what.starts_with("kernel `") {
        what.into()
    } else {
        format!("the {what}").into()
    }
}

/// "kernel" of "kernel `scale`", "copy" of "copy of 16 bytes".
fn without_details(what: &str) -> &str {
    let end = [" of ", " from ", " `"]
        .iter()
        .filter_map(|mark| what.find(mark))
        .min();
    end.map_or(what, |end| &what[..end])
}

/// Which wait the program lacks, so that `later` comes after `earlier`.
pub(super) fn lack(earlier: AdvisedAccess<'_>, later: AdvisedAccess<'_>) -> String {
    let (mut first, mut second) = (earlier.short(), later.short());
    if first == second {
        (first, second) = match (earlier.name(), later.name()) {
            (one, other) if one != other && first == "the kernel" => {
                (one.into_owned(), other.into_owned())
            }
            _ => (
                first.replacen("the", "the earlier", 1),
                first.replacen("the", "the later", 1),
            ),
        };
    }
    match (earlier.host(), later.host()) {
        (Some(_), None) if later.site.called < earlier.site.called => {
            format!("{first} does not wait for {second}")
        }
        (None, Some(_)) => format!("{second} does not wait for {first}"),
        _ if overlap(earlier, later) => {
            format!("{second} may begin before {first} has ended")
        }
        _ => format!("nothing makes {second} wait for {first}"),
    }
}

/// Which side [`order`] makes wait for which: the second for the first.
pub(super) fn edge<'a>(
    earlier: AdvisedAccess<'a>,
    later: AdvisedAccess<'a>,
) -> (AdvisedAccess<'a>, AdvisedAccess<'a>) {
    let called_first = later.site.called < earlier.site.called;
    match (earlier.host(), later.host()) {
        (Some(_), None) if called_first => (later, earlier),
        _ => (earlier, later),
    }
}

/// What to add so that `later` comes after `earlier`.
pub(super) fn order(earlier: AdvisedAccess<'_>, later: AdvisedAccess<'_>, names: &Names) -> String {
    let (first, second) = (earlier.name(), later.name());
    match (earlier.host(), later.host()) {
        (Some(from), Some(to)) => {
            format!(
                "make {to} wait for {from} before it {}, as joining a thread does",
                later.object()
            )
        }
        (Some(_), None) if later.site.called < earlier.site.called => {
            synchronise(later, earlier, names)
        }
        (Some(from), None) => format!(
            "make {} wait for {from} before it submits {second}, as joining a thread does",
            later.site.thread
        ),
        (None, Some(_)) => synchronise(earlier, later, names),
        (None, None) if overlap(earlier, later) => format!(
            "execute griddepcontrol.wait (cudaGridDependencySynchronize) in {second} before it {}, or launch it without programmatic stream serialization",
            later.object()
        ),
        (None, None) if of_one_launch(earlier, later) => {
            format!("make {second} depend on {first} in the graph")
        }
        (None, None) => {
            let launch = |access: AdvisedAccess<'_>| {
                if access.is_node() {
                    "the launch of the graph with "
                } else {
                    ""
                }
            };
            format!(
                "record an event on {} after {}{first} (cuEventRecord); make {} wait for it before {}{second} (cuStreamWaitEvent)",
                earlier.stream(names),
                launch(earlier),
                later.stream(names),
                launch(later),
            )
        }
    }
}

/// What the host has to wait for before its own access.
fn synchronise(operation: AdvisedAccess<'_>, host: AdvisedAccess<'_>, names: &Names) -> String {
    format!(
        "synchronise with {} after {} (cuStreamSynchronize, cuEventSynchronize) before {} {}",
        operation.stream(names),
        operation.name(),
        host.name(),
        host.object()
    )
}

/// Whether the later one is a kernel that may begin before the earlier one, in the same stream, has ended.
fn overlap(earlier: AdvisedAccess<'_>, later: AdvisedAccess<'_>) -> bool {
    earlier.site.place.is_before_in_stream(&later.site.place)
}

fn of_one_launch(a: AdvisedAccess<'_>, b: AdvisedAccess<'_>) -> bool {
    match (&a.site.place, &b.site.place) {
        (AccessSite::Node { launch, .. }, AccessSite::Node { launch: other, .. }) => {
            launch == other
        }
        _ => false,
    }
}

//! What the checker has found, and how it says so.

use std::fmt;
use std::ops::Range;

use super::description::Description;
use super::ids::{EventId, OperationId, StreamId};
use super::site::{Place, Site};
use crate::memory::is_device_address;
use crate::reports::Kind;

/// Something that nothing orders, or that happens at the wrong time of an allocation's life.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which rule was broken, in short.
    pub kind: Kind,
    /// Which rule was broken.
    pub rule: Rule,
    /// Findings with the same key differ in the run of a loop only.
    pub key: String,
    /// The side that was executed first; of a use after or without order to a free, the free.
    pub first: Party,
    /// The side that was executed last.
    pub second: Party,
    /// Whether the second was called before the first.
    pub reversed: bool,
    /// The lowest addresses that both sides touch.
    pub bytes: Range<u64>,
    /// The allocation that these bytes belong to.
    pub allocation: Option<Owner>,
    /// The allocation that has got these bytes since.
    pub newer: Option<Owner>,
    /// What is to be added to the program, in words.
    pub missing: String,
    /// What the program does that looks like the missing order and is none, in words.
    pub nearly: Option<String>,
}

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Two accesses of the same bytes, one of which writes, need an order.
    Race,
    /// A use comes after the allocation.
    UsedBeforeAllocation,
    /// No use comes after the free.
    UsedAfterFree,
    /// A use and the free need an order.
    FreedWithoutOrder,
    /// As [`FreedWithoutOrder`](Self::FreedWithoutOrder), and the bytes have a new owner.
    Reused,
}

/// One side of a finding.
#[derive(Clone, Debug)]
pub struct Party {
    /// What it is and where it comes from.
    pub description: Description,
    /// Where it runs.
    pub place: Place,
    /// What it does to the bytes: "writes", "reads", "updates atomically", "allocates" or "frees".
    pub verb: &'static str,
}

/// An allocation in a finding.
#[derive(Clone, Debug)]
pub struct Owner {
    /// What it is and where it comes from.
    pub description: Description,
    /// Its addresses.
    pub range: Range<u64>,
}

impl Party {
    pub(super) fn new(site: &Site, verb: &'static str) -> Self {
        Self {
            description: site.description.clone(),
            place: site.place,
            verb,
        }
    }

    /// The operation, unless it is an access of the host.
    pub fn operation(&self) -> Option<OperationId> {
        match self.place {
            Place::Stream { operation, .. } | Place::Node { operation, .. } => Some(operation),
            Place::Host { .. } => None,
        }
    }

    /// What and where, without its place in a loop.
    pub(super) fn key(&self) -> String {
        let (what, verb, line) = (&self.description.what, self.verb, self.description.place());
        match self.place {
            Place::Stream { stream, .. } => format!("{what} {verb} {stream} {line:x}"),
            Place::Node { stream, .. } => format!("{what} {verb} node {stream:?} {line:x}"),
            Place::Host { thread, .. } => format!("{what} {verb} {thread} {line:x}"),
        }
    }

    fn line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.description.what, self.place)?;
        location(&self.description, f)?;
        write!(f, ", {}", self.verb)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (&self.first.description.what, &self.second.description.what);
        match self.rule {
            Rule::Race => writeln!(
                f,
                "race: nothing orders {first} and {second}, which touch the same bytes"
            ),
            Rule::UsedBeforeAllocation => {
                writeln!(
                    f,
                    "lifetime: {second} uses memory before its allocation: nothing makes it wait for {first}"
                )
            }
            Rule::UsedAfterFree => {
                writeln!(f, "lifetime: {second} uses memory after its free, {first}")
            }
            Rule::FreedWithoutOrder => writeln!(
                f,
                "lifetime: memory is freed without order: nothing orders {first} and {second}"
            ),
            Rule::Reused => writeln!(
                f,
                "lifetime: {second} uses memory that was freed without order and has a new owner"
            ),
        }?;
        write!(f, "  first:   ")?;
        self.first.line(f)?;
        if self.reversed {
            write!(f, "; called after the second")?;
        }
        write!(f, "\n  second:  ")?;
        self.second.line(f)?;
        write!(f, "\n  bytes:   ")?;
        self.range(f)?;
        if let Some(newer) = &self.newer {
            write!(f, "\n  now of:  ")?;
            newer.line(f)?;
        }
        write!(f, "\n  missing: {}", self.missing)?;
        match &self.nearly {
            Some(nearly) => write!(f, "\n  note:    {nearly}"),
            None => Ok(()),
        }
    }
}

impl Finding {
    /// Those of its sides that are operations.
    pub fn operations(&self) -> impl Iterator<Item = OperationId> {
        [&self.first, &self.second]
            .into_iter()
            .filter_map(Party::operation)
    }

    fn range(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        let bytes = end.saturating_sub(start);
        let Some(owner) = &self.allocation else {
            return write!(f, "{start:#x}..{end:#x} ({bytes} bytes)");
        };
        let offset = start.saturating_sub(owner.range.start);
        write!(
            f,
            "{offset}..{} ({bytes} bytes) of ",
            offset.saturating_add(bytes)
        )?;
        owner.line(f)
    }
}

impl Owner {
    /// Addresses of host memory are left out: they differ from run to run, and the place of the allocation says more.
    fn line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.range;
        write!(
            f,
            "{}, {} bytes",
            self.description.what,
            end.saturating_sub(start)
        )?;
        if is_device_address(start) {
            write!(f, " at {start:#x}")?;
        }
        location(&self.description, f)
    }
}

fn location(description: &Description, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let location = description.location.as_ref();
    match location.and_then(|location| location.locate()) {
        Some(location) => write!(f, " ({location})"),
        None => Ok(()),
    }
}

/// A wait for an event that was never recorded. Programs that wait before the first round of a loop do that on
/// purpose: whether it is worth a report is for the caller to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoEffect {
    /// Who waits.
    pub stream: StreamId,
    /// For what.
    pub event: EventId,
}

impl NoEffect {
    /// Waits with the same key differ in the run of a loop only.
    pub fn key(self) -> String {
        format!("{} {}", self.stream, self.event)
    }
}

impl fmt::Display for NoEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, event } = self;
        write!(
            f,
            "no effect: {stream} waits for {event}, which was never recorded\n  missing: record {event} before {stream} waits for it"
        )
    }
}

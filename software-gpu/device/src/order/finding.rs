//! What the checker has found, and how it says so.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::advice::{AdvisedAccess, with_article};
use super::description::{Description, called_from};
use super::ids::OperationId;
use super::names::Names;
use super::site::AccessSite;
use crate::Kind;
use crate::memory::is_device_address;

/// Something that nothing orders, or that happens at the wrong time of an allocation's life.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The broken rule, in short.
    pub kind: Kind,
    /// The rule that was broken.
    pub rule: OrderRule,
    /// Findings with the same key come from the same calls, in other rounds of a loop. Cheap: no symbol is looked up.
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
    /// The wait that the program lacks, in words.
    pub lack: String,
    /// The repair of the program, in words.
    pub missing: String,
    /// A near miss to show the user: for example an event that is recorded too early to order the two operations.
    pub nearly: Option<String>,
    /// The earlier finding whose repair orders these two sides too.
    pub repaired: Option<Repaired>,
}

/// A finding whose missing edge repairs another one as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Its [kind](Finding::kind).
    pub kind: Kind,
    /// Its [key](Finding::key).
    pub key: String,
    /// The edges of other findings are needed besides.
    pub with_others: bool,
}

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderRule {
    /// Two accesses of the same bytes, one of which writes, have to be ordered.
    Race,
    /// A use comes after the allocation.
    UsedBeforeAllocation,
    /// No use comes after the free.
    UsedAfterFree,
    /// A use has to be ordered before the free.
    FreedWithoutOrder,
    /// As [`FreedWithoutOrder`](Self::FreedWithoutOrder), and the bytes have a new owner.
    Reused,
}

/// One side of a finding.
#[derive(Clone, Debug)]
pub struct Party {
    /// The description of the operation, with its call site.
    pub description: Description,
    /// Where it runs.
    pub place: AccessSite,
    /// `place` in words.
    pub at: String,
    /// What it does to the bytes: "writes", "reads", "updates atomically", "allocates" or "frees".
    pub verb: &'static str,
}

/// An allocation in a finding.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The description of the operation, with its call site.
    pub description: Description,
    /// Its addresses.
    pub range: Range<u64>,
}

impl Party {
    pub(super) fn new(access: AdvisedAccess<'_>, names: &Names) -> Self {
        let AdvisedAccess { site, verb } = access;
        Self {
            description: site.description.clone(),
            place: site.place,
            at: site.place.in_words(names),
            verb,
        }
    }

    /// The operation, unless it is an access of the host.
    pub fn operation(&self) -> Option<OperationId> {
        match self.place {
            AccessSite::Stream { operation, .. } | AccessSite::Node { operation, .. } => {
                Some(operation)
            }
            AccessSite::Host { .. } => None,
        }
    }

    /// What and where, without its place in a loop.
    pub(super) fn key(&self) -> String {
        format!(
            "{} {} {} {:x}",
            self.description.what,
            self.verb,
            self.row(),
            self.description.place()
        )
    }

    /// What kind of operation, where, from which line of the program, and through which callers: each of them has its own repair.
    fn mistake(&self) -> String {
        let kind = without_sizes(&self.description.what);
        let line = self.description.line();
        let line = line.unwrap_or_else(|| format!("{:x}", self.description.place()));
        let callers = self.description.callers().join(" ");
        format!("{kind} {} {line} {callers}", self.row())
    }

    /// The stream or thread.
    fn row(&self) -> String {
        match self.place {
            AccessSite::Stream { stream, .. } => stream.to_string(),
            AccessSite::Node { stream, .. } => format!("node {stream:?}"),
            AccessSite::Host { thread, .. } => thread.to_string(),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        match self.place {
            AccessSite::Host { thread, .. } => thread.to_string().into(),
            _ => with_article(&self.description.what),
        }
    }

    fn line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.place.is_host() { " " } else { ", " };
        write!(f, "{}{separator}{}", self.description.what, self.at)?;
        location(&self.description, f)?;
        write!(f, ", {}", self.verb)
    }
}

/// The words without their numbers, so that a last, smaller piece counts as one more of the same. The name of a kernel
/// stays whole.
fn without_sizes(what: &str) -> String {
    let mut words = what.splitn(2, '`');
    let digits = |c: char| c.is_ascii_digit();
    let plain = words.next().unwrap_or_default().replace(digits, "");
    words
        .next()
        .map_or(plain.clone(), |name| plain + "`" + name)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lack = &self.lack;
        let second = self.second.name();
        match self.rule {
            OrderRule::Race => {
                let (earlier, later) = self.intended();
                let (earlier, later) = (earlier.name(), later.name());
                writeln!(
                    f,
                    "race: {earlier} and {later} touch the same bytes, and {lack}"
                )
            }
            OrderRule::UsedBeforeAllocation => {
                writeln!(
                    f,
                    "lifetime: {second} uses memory before its allocation: {lack}"
                )
            }
            OrderRule::UsedAfterFree => {
                let first = self.first.name();
                writeln!(f, "lifetime: {second} uses memory after {first}")
            }
            OrderRule::FreedWithoutOrder => {
                let user = if self.first.verb == "frees" {
                    &self.second
                } else {
                    &self.first
                };
                let user = user.name();
                writeln!(
                    f,
                    "lifetime: memory is freed without order: {user} may still use it, and {lack}"
                )
            }
            OrderRule::Reused => writeln!(
                f,
                "lifetime: {second} uses memory that was freed and now belongs to another allocation: {lack}"
            ),
        }?;
        write!(f, "  first:   ")?;
        self.first.line(f)?;
        if self.reversed {
            write!(f, "; called after the second")?;
        }
        write!(f, "{}", called_from(self.first.description.callers()))?;
        write!(f, "\n  second:  ")?;
        self.second.line(f)?;
        write!(f, "{}", called_from(self.second.description.callers()))?;
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
    /// Findings of which this is the same have one cause: operations of the same kind, submitted by the same lines to the
    /// same streams, in whatever order they ran and whichever bytes they touched. Looks up symbols.
    pub fn mistake(&self) -> String {
        let (earlier, later) = self.intended();
        format!(
            "{:?}: {}; {}",
            self.rule,
            earlier.mistake(),
            later.mistake()
        )
    }

    /// Both sides in one line, for the report of the finding that [repairs](Self::repaired) this one too.
    pub fn pair(&self) -> String {
        let (earlier, later) = self.intended();
        let side = |party: &Party| match party.description.line() {
            Some(line) => format!("{} ({line})", party.name()),
            None => party.name().into_owned(),
        };
        let edges = match self.repaired {
            Some(Repaired {
                with_others: true, ..
            }) => "this edge and those of other reports order",
            _ => "the same edge orders",
        };
        format!("{edges} {} and {}", side(earlier), side(later))
    }

    /// Both sides in the order in which the program means them.
    fn intended(&self) -> (&Party, &Party) {
        if self.reversed {
            (&self.second, &self.first)
        } else {
            (&self.first, &self.second)
        }
    }

    /// The sides that are operations.
    pub fn operations(&self) -> impl Iterator<Item = OperationId> {
        [&self.first, &self.second]
            .into_iter()
            .filter_map(Party::operation)
    }

    fn range(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { start, end } = self.bytes;
        let bytes = end.saturating_sub(start);
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        let Some(owner) = &self.allocation else {
            return write!(f, "{start:#x}..{end:#x} ({bytes} {unit})");
        };
        let offset = start.saturating_sub(owner.range.start);
        write!(
            f,
            "{offset}..{} ({bytes} {unit}) of ",
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
    match description.line() {
        Some(location) => write!(f, " ({location})"),
        None => Ok(()),
    }
}

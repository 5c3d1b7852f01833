//! The name of an operation in reports.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

/// Finds the place in the program from which an operation was submitted, when a report needs it: resolving symbols
/// costs far more than an operation.
pub trait Locate: Send + Sync {
    /// File and line, or function; `None` if there are no symbols.
    fn locate(&self) -> Option<String>;

    /// Where the function of that place was called, and so on up to `main`: file and line of each, the innermost first.
    fn callers(&self) -> &[String] {
        &[]
    }

    /// The same number for the same place, without looking up symbols.
    fn identity(&self) -> u64 {
        0
    }
}

impl<F: Fn() -> Option<String> + Send + Sync> Locate for F {
    fn locate(&self) -> Option<String> {
        self()
    }
}

/// Callers that a report names at most.
const CALLERS: usize = 6;

/// `\n  called:  from FILE:LINE, from FILE:LINE`, a line of a report; nothing without callers.
pub fn called_from(callers: &[String]) -> String {
    if callers.is_empty() {
        return String::new();
    }
    let named: Vec<_> = callers
        .iter()
        .take(CALLERS)
        .map(|line| format!("from {line}"))
        .collect();
    let more = match callers.len().saturating_sub(CALLERS) {
        0 => String::new(),
        1 => ", and 1 more".to_owned(),
        more => format!(", and {more} more"),
    };
    format!("\n  called:  {}{more}", named.join(", "))
}

/// A line of a program's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    file: Cow<'static, str>,
    line: u32,
}

impl SourceLine {
    /// A line of a file of any language.
    pub fn new(file: &str, line: u32) -> Self {
        let file = Cow::Owned(file.to_owned());
        Self { file, line }
    }
}

impl From<&'static Location<'static>> for SourceLine {
    fn from(location: &'static Location<'static>) -> Self {
        Self {
            file: location.file().into(),
            line: location.line(),
        }
    }
}

impl Locate for SourceLine {
    fn locate(&self) -> Option<String> {
        Some(format!("{}:{}", self.file, self.line))
    }

    fn identity(&self) -> u64 {
        identity_of(self)
    }
}

/// A hash of a place, for [`Locate::identity`].
pub fn identity_of(place: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    hasher.finish()
}

/// The name of an operation in reports.
#[derive(Clone)]
pub struct Description {
    /// As in "kernel `scale`" or "copy of 4096 bytes from device to host". Operations that do the same thing have the
    /// same words: a loop is reported once.
    pub what: Cow<'static, str>,
    /// Where the program submitted it.
    pub location: Option<Arc<dyn Locate>>,
}

impl Description {
    /// Without a location.
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            what: what.into(),
            location: None,
        }
    }

    /// Distinguishes it from operations with the same words that were submitted elsewhere.
    pub(super) fn place(&self) -> u64 {
        self.location
            .as_ref()
            .map_or(0, |location| location.identity())
    }

    /// The line of the program, if symbols give it.
    pub(super) fn line(&self) -> Option<String> {
        self.location.as_ref()?.locate()
    }

    /// The lines of its callers, the innermost first.
    pub(super) fn callers(&self) -> &[String] {
        self.location
            .as_ref()
            .map_or(&[], |location| location.callers())
    }

    /// With the place from which it was submitted.
    pub fn at(self, location: Arc<dyn Locate>) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }
}

impl From<&'static str> for Description {
    fn from(what: &'static str) -> Self {
        Self::new(what)
    }
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description")
            .field("what", &self.what)
            .field("located", &self.location.is_some())
            .finish()
    }
}

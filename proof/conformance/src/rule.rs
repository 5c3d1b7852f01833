//! What a rule is, and how it says that the driver broke it.

use std::fmt::{self, Debug};

use crate::api::{Code, SUCCESS};
use crate::scene::Scene;

/// One rule of the driver API or of stream semantics.
#[derive(Clone, Copy)]
pub struct Rule {
    /// What it is about: the name of its file.
    pub family: &'static str,
    /// Its name within the family.
    pub name: &'static str,
    /// The function of the driver API reference, or the section of a document, that states it.
    pub source: &'static str,
    /// The rule in one sentence.
    pub statement: &'static str,
    /// Tries it.
    pub check: fn(&mut Scene) -> Outcome,
    /// Where it is tried.
    pub place: Place,
}

/// Where a rule is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a context made for it, on a thread made for it.
    Context,
    /// As [`Context`](Self::Context), in a process made for it: the rule spoils the process.
    Process,
}

/// A check's result.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a check ended early.
#[derive(Debug)]
pub enum Failure {
    /// The driver did something else than the rule says.
    Broken {
        /// What was looked at.
        what: String,
        /// What the rule says.
        expected: String,
        /// What the driver did.
        came: String,
        /// The line of the rule's source file.
        line: u32,
    },
    /// The device lacks what the rule is about.
    Skipped(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken {
                what,
                expected,
                came,
                line,
            } => write!(f, "{what}: expected {expected}, came {came} (line {line})"),
            Self::Skipped(reason) => f.write_str(reason),
        }
    }
}

impl Failure {
    /// The device lacks `what`.
    pub fn skipped(what: &str) -> Self {
        Self::Skipped(what.to_owned())
    }
}

impl Rule {
    /// The same rule, tried in a process of its own.
    pub const fn in_process(mut self) -> Self {
        self.place = Place::Process;
        self
    }

    /// `family::name`.
    pub fn path(&self) -> String {
        format!("{}::{}", self.family, self.name)
    }
}

/// A rule of the family that the constant `FAMILY` in scope names: its check, its source, the rule in one sentence.
#[macro_export]
macro_rules! rule {
    ($check:ident, $source:literal, $statement:literal $(,)?) => {
        $crate::rule::Rule {
            family: FAMILY,
            name: stringify!($check),
            source: $source,
            statement: $statement,
            check: $check,
            place: $crate::rule::Place::Context,
        }
    };
}

/// Calls a driver function that must succeed.
#[macro_export]
macro_rules! ok {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::rule::gives($crate::api::SUCCESS, $crate::cu!($name($($argument),*)), stringify!($name))?
    };
}

/// Calls a driver function that must return the given code.
#[macro_export]
macro_rules! gives {
    ($code:expr, $name:ident($($argument:expr),* $(,)?)) => {
        $crate::rule::gives($code, $crate::cu!($name($($argument),*)), stringify!($name))?
    };
}

/// Two values must be the same: first what came, then what the rule says.
#[macro_export]
macro_rules! same {
    ($came:expr, $expected:expr $(,)?) => {
        $crate::rule::same(&$came, &$expected, stringify!($came))?
    };
}

/// A condition must hold.
#[macro_export]
macro_rules! holds {
    ($condition:expr $(,)?) => {
        $crate::rule::same(&$condition, &true, stringify!($condition))?
    };
}

/// Compares the code of a call.
#[track_caller]
pub fn gives(expected: Code, came: Code, what: &str) -> Outcome {
    same(&came, &expected, what)
}

/// Compares what came with what the rule says.
#[track_caller]
pub fn same<T: PartialEq + Debug + ?Sized>(came: &T, expected: &T, what: &str) -> Outcome {
    if came == expected {
        return Ok(());
    }
    Err(Failure::Broken {
        what: what.split_whitespace().collect::<Vec<_>>().join(" "),
        expected: format!("{expected:?}"),
        came: format!("{came:?}"),
        line: std::panic::Location::caller().line(),
    })
}

/// What a successful call stores through the pointer that it is given.
#[track_caller]
pub fn out<T: Default>(call: impl FnOnce(*mut T) -> Code) -> Outcome<T> {
    let mut value = T::default();
    gives(SUCCESS, call(&mut value), "a call that sets the scene")?;
    Ok(value)
}

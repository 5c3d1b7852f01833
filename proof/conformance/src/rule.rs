//! What a rule is, and how it says that the driver broke it.

use std::fmt::{self, Debug};
use std::panic::resume_unwind;
use std::thread;

use crate::api::{Code, SUCCESS};
use crate::scene::Scene;

/// The version of CUDA whose `cuda.h` has every function that the rules call.
pub const API_VERSION: i32 = 13_000;

/// One rule of the driver API or of stream semantics.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its subject: the name of its file.
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
    pub isolation: Isolation,
}

/// Where a rule is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
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
        /// The objects that were examined.
        what: String,
        /// What the rule says.
        expected: String,
        /// The driver's actions.
        came: String,
        /// The line of the rule's source file.
        line: u32,
    },
    /// The check panicked: the message.
    Panicked(String),
    /// The rule cannot be checked here.
    Skipped(Reason),
}

/// Why a rule cannot be checked on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The rule needs two devices.
    OneDevice,
    /// The driver is older than the functions that the rules call.
    OldDriver {
        /// The function that it lacks.
        function: &'static str,
        /// Its version, as `cuDriverGetVersion` returns it.
        version: i32,
    },
    /// A property of the device, such as the lack of a function: a sentence.
    Device(&'static str),
    /// Anything else. No machine explains it, so the run fails.
    Unexpected(String),
}

impl Reason {
    /// The driver lacks `function`. Every driver of [`API_VERSION`] has the functions that the rules call.
    pub fn missing(function: &'static str, version: i32) -> Self {
        if version < API_VERSION {
            Self::OldDriver { function, version }
        } else {
            Self::Unexpected(format!("the driver has no {function}"))
        }
    }

    /// Whether the machine explains the skip.
    pub fn is_expected(&self) -> bool {
        !matches!(self, Self::Unexpected(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneDevice => f.write_str("there is one device only"),
            Self::OldDriver { function, version } => {
                let (major, minor) = (version / 1000, version % 1000 / 10);
                write!(f, "the driver, of CUDA {major}.{minor}, has no {function}")
            }
            Self::Device(sentence) => f.write_str(sentence),
            Self::Unexpected(reason) => f.write_str(reason),
        }
    }
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
            Self::Panicked(message) => write!(f, "the check panicked: {message}"),
            Self::Skipped(reason) => write!(f, "{reason}"),
        }
    }
}

impl Failure {
    /// The rule is skipped because of a property of the device: `sentence` says which.
    pub fn device(sentence: &'static str) -> Self {
        Self::Skipped(Reason::Device(sentence))
    }

    /// The rule is skipped for a reason that no machine explains: the run fails.
    pub fn skipped(reason: &str) -> Self {
        Self::Skipped(Reason::Unexpected(reason.to_owned()))
    }
}

impl Rule {
    /// The same rule, tried in a process of its own.
    pub const fn in_process(mut self) -> Self {
        self.isolation = Isolation::Process;
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
            isolation: $crate::rule::Isolation::Context,
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

/// Runs `body` on a thread of its own, to which no context is current. A panic of that thread is one of the rule.
pub fn on_thread<T: Send>(body: impl FnOnce() -> Outcome<T> + Send) -> Outcome<T> {
    thread::scope(|scope| scope.spawn(body).join()).unwrap_or_else(|panic| resume_unwind(panic))
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

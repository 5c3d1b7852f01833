//! The subcommands.

pub mod check;
pub mod diff;
pub mod grade;
pub mod handout;
pub mod hint;
pub mod list;
pub mod next;
pub mod reset;
pub mod run;
pub mod session;
pub mod verify;
pub mod watch;

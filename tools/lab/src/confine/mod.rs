//! Confining a process on Linux before it starts: limits of its resources, no files but its own, no network, no other processes.
//!
//! A session of its own takes its terminal away, resource limits say how much it may use, Landlock ([`files`]) which files it may
//! open, and seccomp ([`calls`]) which system calls are answered at all. None of them needs privileges. A kernel without Landlock
//! is an error, not a weaker confinement.

mod calls;
mod files;

use crate::process::Confinement;
use anyhow::Result;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

/// The most that a process may write into one file.
const FILE_BYTES: u64 = 256 << 20;

/// Processors that a process may keep busy for its whole time.
const CORES: u64 = 4;

/// Makes a command start confined.
///
/// # Errors
/// This kernel cannot confine it.
pub fn confine(command: &mut Command, confinement: &Confinement, time: Duration) -> Result<()> {
    let resources = [
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_MSGQUEUE, 0),
        (libc::RLIMIT_FSIZE, FILE_BYTES),
        (libc::RLIMIT_CPU, CORES * time.as_secs().max(1)),
        (libc::RLIMIT_AS, confinement.memory),
    ];
    let mut filter = calls::Filter::of(confinement.role)?;
    let mut ruleset = Some(files::ruleset(confinement)?);
    let before_exec = move || -> io::Result<()> {
        for &(resource, limit) in &resources {
            let limit = libc::rlimit {
                rlim_cur: limit,
                rlim_max: limit,
            };
            // SAFETY: the structure outlives the call.
            if unsafe { libc::setrlimit(resource, &limit) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        files::restrict(ruleset.take())?;
        filter.apply()
    };
    // SAFETY: between fork and exec the closure makes system calls only; what it needs was allocated before.
    unsafe { command.pre_exec(before_exec) };
    Ok(())
}

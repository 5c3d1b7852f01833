//! Landlock: a process reads the system's libraries, what it is given and its own folder, and writes into its own folder only.

use crate::process::Confinement;
use anyhow::{Context, Result};
use landlock::{
    ABI, Access as _, AccessFs, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// The newest version of the rules that is used. An older kernel keeps those that it knows: the first version knows all of reading,
/// creating and writing.
const VERSION: ABI = ABI::V6;

/// What every program reads of the system: libraries, tools, and how many processors there are.
const SYSTEM: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/dev/urandom",
    "/dev/zero",
];

/// The rules of a confined process.
///
/// # Errors
/// The kernel has no Landlock.
pub fn ruleset(confinement: &Confinement) -> Result<RulesetCreated> {
    let (all, reading) = (AccessFs::from_all(VERSION), AccessFs::from_read(VERSION));
    let to_file = (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate)
        & AccessFs::from_file(VERSION);
    let created = Ruleset::default()
        .handle_access(all)
        .and_then(|ruleset| ruleset.scope(Scope::Signal | Scope::AbstractUnixSocket))
        .and_then(|ruleset| ruleset.create())
        .and_then(|created| created.add_rules(path_beneath_rules([&confinement.folder], all)))
        .and_then(|created| created.add_rules(path_beneath_rules(["/dev/null"], to_file)))
        .and_then(|created| created.add_rules(path_beneath_rules(SYSTEM, reading)))
        .and_then(|created| created.add_rules(path_beneath_rules(&confinement.readable, reading)));
    created.context("this kernel cannot keep a program from files outside its folder (Landlock)")
}

/// Enforces the rules for this process, which has just been forked, for ever. It also may read what the kernel says of the process
/// itself in `/proc`, and of no other.
///
/// # Errors
/// The kernel does not enforce them.
pub fn restrict(ruleset: Option<RulesetCreated>) -> io::Result<()> {
    let refused = || io::Error::from_raw_os_error(libc::ENOSYS);
    let ruleset = ruleset.ok_or_else(refused)?;
    // SAFETY: the path ends with a zero.
    let own = unsafe { libc::open(c"/proc/self".as_ptr(), libc::O_PATH | libc::O_CLOEXEC) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor has just been opened, and is closed with this value.
    let own = unsafe { OwnedFd::from_raw_fd(own) };
    let reading = PathBeneath::new(&own, AccessFs::from_read(VERSION));
    let ruleset = ruleset.add_rule(reading).map_err(|_| refused())?;
    let status = ruleset.restrict_self().map_err(|_| refused())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(refused()),
        _ => Ok(()),
    }
}

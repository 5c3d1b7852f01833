//! Confining a process on Linux before it starts: limits of its resources, no files but its own, no network, no other processes.
//!
//! Landlock restricts where files may be written, seccomp which system calls are answered, and resource limits how much may
//! be used. None of them needs privileges. A kernel without Landlock is an error, not a weaker confinement.

use crate::process::Limits;
use anyhow::{Context, Result, bail};
use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The most that a process may write into one file.
const FILE_BYTES: u64 = 256 << 20;

/// Makes a command start confined as the limits say.
///
/// # Errors
/// This kernel cannot confine it.
pub fn confine(command: &mut Command, limits: &Limits) -> Result<()> {
    if limits.folder.is_none() && limits.memory.is_none() {
        return Ok(());
    }
    let mut resources = vec![(libc::RLIMIT_CORE, 0), (libc::RLIMIT_FSIZE, FILE_BYTES)];
    resources.push((libc::RLIMIT_CPU, 4 * limits.time.as_secs().max(1)));
    if let Some(memory) = limits.memory {
        resources.push((libc::RLIMIT_AS, memory));
    }
    let mut filters = vec![filter(limits.may_fork)?];
    if !limits.may_fork {
        filters.push(no_clone3()?);
    }
    let mut ruleset = match &limits.folder {
        Some(folder) => Some(ruleset(folder)?),
        None => None,
    };
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
        if let Some(ruleset) = ruleset.take() {
            let status = ruleset
                .restrict_self()
                .map_err(|_| io::Error::from_raw_os_error(libc::ENOSYS))?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err(io::Error::from_raw_os_error(libc::ENOSYS));
            }
        }
        let refused = |_| io::Error::from_raw_os_error(libc::ENOSYS);
        filters
            .iter()
            .try_for_each(|filter| seccompiler::apply_filter(filter).map_err(refused))
    };
    // SAFETY: between fork and exec the closure makes system calls only; what it needs was allocated before.
    unsafe { command.pre_exec(before_exec) };
    Ok(())
}

fn ruleset(folder: &std::path::Path) -> Result<landlock::RulesetCreated> {
    let writing = AccessFs::from_write(ABI::V3);
    let to_file = writing & AccessFs::from_file(ABI::V3);
    let created = Ruleset::default()
        .handle_access(writing)
        .and_then(|ruleset| ruleset.create())
        .and_then(|created| created.add_rules(path_beneath_rules([folder], writing)))
        .and_then(|created| created.add_rules(path_beneath_rules(["/dev/null"], to_file)));
    created.context("this kernel cannot keep a program from writing outside its folder (Landlock)")
}

/// Which system calls are refused: those that reach the network or other processes, and, where no process may be started, those
/// that start one. Threads are allowed.
fn filter(may_fork: bool) -> Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kill,
        libc::SYS_tgkill,
        libc::SYS_tkill,
        libc::SYS_pidfd_send_signal,
        libc::SYS_io_uring_setup,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_keyctl,
        libc::SYS_setsid,
        libc::SYS_setpgid,
        libc::SYS_userfaultfd,
    ] {
        rules.insert(call, Vec::new());
    }
    if may_fork {
        for call in [
            libc::SYS_kill,
            libc::SYS_tgkill,
            libc::SYS_tkill,
            libc::SYS_socketpair,
            libc::SYS_setpgid,
        ] {
            rules.remove(&call);
        }
    } else {
        #[cfg(target_arch = "x86_64")]
        for call in [libc::SYS_fork, libc::SYS_vfork] {
            rules.insert(call, Vec::new());
        }
        let thread = u64::try_from(libc::CLONE_THREAD).unwrap_or_default();
        let no_thread = SeccompCondition::new(
            0,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(thread),
            0,
        )?;
        rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![no_thread])?]);
    }
    compiled(rules, libc::EPERM)
}

/// `clone3` keeps its flags where a filter cannot see them. As on an older kernel, the C library takes `clone` instead.
fn no_clone3() -> Result<BpfProgram> {
    compiled(
        BTreeMap::from([(libc::SYS_clone3, Vec::new())]),
        libc::ENOSYS,
    )
}

fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram> {
    let Ok(architecture) = std::env::consts::ARCH.try_into() else {
        bail!("this processor's system calls cannot be filtered");
    };
    let refused = SeccompAction::Errno(error.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    Ok(filter.try_into()?)
}

//! seccomp: the system calls that are answered. Every other one fails as if the kernel did not have it (`ENOSYS`), so the C library
//! takes an older one where there is one.
//!
//! A program needs memory, threads, clocks and files. It gets no call that reaches another process, the network or a device, and
//! none that changes whose a file is or who may use it, because Landlock does not look at those. It can neither remove nor rename
//! files nor make folders: its files stay where the grader counts them.

use crate::process::Role;
use anyhow::{Result, bail};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;
use std::io;

/// The calls allowed to every process, with any arguments.
const ANY: &[libc::c_long] = &[
    // Files that are open, or that Landlock lets the process open.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fadvise64,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    // Threads and signals of its own.
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_gettid,
    libc::SYS_getcpu,
    // The process.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    // Clocks.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
];

/// The same, under the older names that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_arch_prctl,
    libc::SYS_getrlimit,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// What a compiler and its linker call besides: they start processes, and arrange files within their folder.
const COMPILER: &[libc::c_long] = &[
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_umask,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_renameat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_utimensat,
    libc::SYS_fallocate,
    libc::SYS_flock,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_getpgid,
];

#[cfg(target_arch = "x86_64")]
const OLDER_COMPILER: &[libc::c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_chmod,
    libc::SYS_getpgrp,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_COMPILER: &[libc::c_long] = &[];

/// Commands of `fcntl` that concern the descriptor alone: none makes the kernel send signals (`F_SETOWN`, `F_SETSIG`, leases).
const FCNTL: [i32; 9] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
];

/// Requests of `ioctl` that ask or set a flag of the descriptor: none types into a terminal (`TIOCSTI`) or sets who is signalled.
const IOCTL: [u64; 6] = [
    libc::TCGETS,
    libc::TIOCGWINSZ,
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOCLEX,
    libc::FIONCLEX,
];

/// Names of threads, and of memory (glibc names its arenas).
const PRCTL: [i32; 3] = [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_SET_VMA];

/// Stands in the compiled filter for the number of the process that it is for, which is known only when the process exists.
const OWN_NUMBER: u32 = 0x5e1f_c0de;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// A filter for one process.
pub struct Filter(BpfProgram);

impl Filter {
    /// The filter for a role.
    ///
    /// # Errors
    /// This processor's calls cannot be filtered.
    pub fn of(role: Role) -> Result<Self> {
        let mut rules: Rules = BTreeMap::new();
        let mut any = |calls: &[libc::c_long]| {
            rules.extend(calls.iter().map(|call| (*call, Vec::new())));
        };
        any(ANY);
        any(OLDER);
        if role == Role::Compiler {
            any(COMPILER);
            any(OLDER_COMPILER);
        }
        by_argument(&mut rules, role)?;
        let Ok(architecture) = std::env::consts::ARCH.try_into() else {
            bail!("this processor's system calls cannot be filtered");
        };
        let refused = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?;
        Ok(Self(filter.try_into()?))
    }

    /// Enforces the filter for this process, which has just been forked, for ever. It allocates nothing.
    ///
    /// # Errors
    /// The kernel refuses the filter.
    pub fn apply(&mut self) -> io::Result<()> {
        let own = std::process::id();
        let places = self.0.iter_mut().filter(|step| step.k == OWN_NUMBER);
        places.for_each(|step| step.k = own);
        seccompiler::apply_filter(&self.0).map_err(|_| io::Error::from_raw_os_error(libc::ENOSYS))
    }
}

/// Calls that are answered for some arguments only.
fn by_argument(rules: &mut Rules, role: Role) -> Result<()> {
    let equals = |argument, value: u64| -> Result<SeccompRule> {
        let (length, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
        let condition = SeccompCondition::new(argument, length, equal, value)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    let has = |argument, mask: u64, value: u64| -> Result<Vec<SeccompRule>> {
        let (length, masked) = (SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask));
        let condition = SeccompCondition::new(argument, length, masked, value)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    let bits = |flags: i32| u64::from(flags.cast_unsigned());
    let one_of = |argument, values: &[u64]| -> Result<Vec<SeccompRule>> {
        values
            .iter()
            .map(|value| equals(argument, *value))
            .collect()
    };
    rules.insert(libc::SYS_fcntl, one_of(1, &FCNTL.map(bits))?);
    rules.insert(libc::SYS_ioctl, one_of(1, &IOCTL)?);
    rules.insert(libc::SYS_prctl, one_of(0, &PRCTL.map(bits))?);
    // Its own limits: 0 is the caller.
    rules.insert(libc::SYS_prlimit64, vec![equals(0, 0)?]);
    // Its own threads: `abort` and `raise` do this.
    rules.insert(libc::SYS_tgkill, vec![equals(0, OWN_NUMBER.into())?]);
    // `clone3` keeps its flags where a filter cannot see them. Without it the C library takes `clone`.
    let thread = bits(libc::CLONE_THREAD);
    let namespaces = bits(
        libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP,
    );
    let clone = match role {
        Role::Program => has(0, thread, thread)?,
        Role::Compiler => has(0, namespaces, 0)?,
    };
    rules.insert(libc::SYS_clone, clone);
    // A file without a name is one that the grader cannot count.
    let nameless = match role {
        Role::Program => bits(libc::O_TMPFILE & !libc::O_DIRECTORY),
        Role::Compiler => 0,
    };
    rules.insert(libc::SYS_openat, has(2, nameless, 0)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, has(1, nameless, 0)?);
    if role == Role::Compiler {
        let local = u64::from(libc::AF_UNIX.cast_unsigned());
        rules.insert(libc::SYS_socketpair, vec![equals(0, local)?]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_one_place_for_the_number_of_its_process() {
        for role in [Role::Program, Role::Compiler] {
            let filter = Filter::of(role).expect("a filter");
            let places = filter.0.iter().filter(|step| step.k == OWN_NUMBER);
            assert_eq!(places.count(), 1);
        }
    }
}

//! The program's own loads and stores of page-locked memory.
//!
//! The driver is not informed when a program reads a result or fills a buffer. So the driver protects pages: from the submission of a copy or a
//! memset, or the execution of a kernel, until the host has waited for it, the program cannot store where the operation reads, and cannot load
//! or store where it writes. The program's next access there faults. The handler of the fault notes its address and its line and opens the page,
//! and the access continues. The next call of the driver reports it to the [race checker](crate::order), which decides: a fault alone is no
//! race.
//!
//! - `protection`: which pages are protected, for which operations.
//! - `fault`: the handler of `SIGSEGV`. `stack`: the stack that it runs on. `fork`: what a child process finds.
//!
//! The software GPU itself uses a second mapping of the same pages, which is never protected
//! ([`AddressSpace::map_page_locked_twice`](crate::memory::AddressSpace::map_page_locked_twice)).
//!
//! Only pages are protected that one operation accesses as a whole, and only until any host thread has waited for it. So a program whose threads wait
//! as they must never faults. A system call does not fault, but fails with `EFAULT`: code that makes one for the program calls
//! [`system_call_accesses`] first.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::call_site::CallSite;
use crate::driver::checkers::ordering::{Ordering, accesses, calling_thread};
use crate::driver::host::call::Call;
use crate::driver::host::threads::current;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::{Accesses, ByteRanges};
use crate::order::{Description, HostAccess, HostClock};
use crate::timeline::OpId;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod fault;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod fork;
mod pending;
mod protection;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stack;

use pending::Pending;
pub(crate) use pending::may_race;
use protection::{DeviceAccess, Seen};

/// Whether this system can do all that.
pub(in crate::driver) const IS_SUPPORTED: bool = cfg!(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(fuzzing)
));

/// A memset of at most this many bytes sets a flag, which the host may poll.
const FLAG_BYTES: usize = 8;

/// The driver's side of it.
#[derive(Debug, Default)]
pub(in crate::driver) struct HostAccesses {
    is_on: bool,
    /// Accesses of operations that are to be protected when the program continues.
    new: Vec<DeviceAccess>,
    /// The host's clock when the program last continued.
    host: HostClock,
    /// Operations on host memory of any kind.
    pending: Pending,
    /// Pending operations that write a flag in page-locked memory, which the host may poll.
    flags: BTreeSet<OpId>,
    /// The clocks of such operations that have ended since the program last continued.
    set_flags: Vec<HostClock>,
}

impl HostAccesses {
    /// From now on, page-locked memory is protected while operations on it are pending.
    pub(in crate::driver) fn turn_on(&mut self) {
        self.is_on = IS_SUPPORTED;
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        fork::prepare();
    }

    /// The driver has allocated page-locked memory. It is watched if it is mapped twice: the device finds it at `device`.
    pub(in crate::driver) fn allocated(&self, start: u64, bytes: usize, device: Option<*mut u8>) {
        let device = device.map(|device| device as u64);
        if let Some(device) = device.filter(|device| self.is_on && *device != start) {
            protection::lock().add(start, bytes as u64, device);
        }
    }

    /// The memory is about to be released.
    pub(in crate::driver) fn freed(&mut self, start: u64) {
        if self.is_on {
            protection::lock().remove(start);
        }
    }

    /// The operation, submitted just now, will access its bytes.
    pub(in crate::driver) fn submitted(&mut self, ordering: &Ordering, op: OpId, effect: &Effect) {
        if !ordering.is_on() {
            return;
        }
        match effect {
            Effect::Copy(copy) => self.device_accesses(ordering, op, &copy.accesses()),
            Effect::Set(set) if set.rows.bytes().is_some_and(|bytes| bytes <= FLAG_BYTES) => {
                self.may_write_flag(op, &set.accesses().writes);
            }
            Effect::WriteValue(value) => self.may_write_flag(op, &value.range().into()),
            Effect::Set(set) => self.device_accesses(ordering, op, &set.accesses()),
            _ => {}
        }
    }

    /// The operation has accessed these bytes, or will. Waits for values and atomic operations do not race with a host that polls.
    pub(in crate::driver) fn device_accesses(
        &mut self,
        ordering: &Ordering,
        op: OpId,
        accesses: &Accesses,
    ) {
        let Some(step) = ordering.step_of(op) else {
            return;
        };
        for range in accesses.writes.iter().chain(accesses.reads.iter()) {
            self.pending.add(step, &range);
        }
        if !self.is_on {
            return;
        }
        self.may_write_flag(op, &accesses.atomics);
        for (ranges, writes) in [(&accesses.writes, true), (&accesses.reads, false)] {
            for range in ranges.iter() {
                self.new.extend(DeviceAccess::new(step, range, writes));
            }
        }
    }

    /// The operation writes these bytes, a flag if they are page-locked memory.
    fn may_write_flag(&mut self, op: OpId, bytes: &ByteRanges) {
        if bytes
            .iter()
            .any(|range| protection::may_hold_watched(&range))
        {
            self.flags.insert(op);
        }
    }

    /// The operation has ended. If it has set a flag, a host that finds it set continues after the operation, and no call of the driver
    /// tells that it has looked.
    pub(in crate::driver) fn ended(&mut self, ordering: &Ordering, op: OpId) {
        if self.flags.remove(&op) {
            self.set_flags.extend(ordering.clock_of(op));
        }
    }

    /// The program continues: protects what is pending, and opens what the host has waited for.
    pub(in crate::driver) fn before_program(&mut self, ordering: &mut Ordering) {
        let set_flags = std::mem::take(&mut self.set_flags);
        if self.new.is_empty() && !protection::is_any_protected() && self.pending.is_empty() {
            return;
        }
        let waited = ordering.host_clock();
        if let Some(host) = &waited {
            self.pending.forget_if(|step| host.knows(step));
        }
        if self.new.is_empty() && waited.is_none() && set_flags.is_empty() {
            return;
        }
        let is_behind_flag = |step| set_flags.iter().any(|clock| clock.knows(step));
        let mut protections = protection::lock();
        if let Some(host) = waited {
            protections.open_if(|step| host.knows(step));
            self.host = host;
        }
        let host = &self.host;
        for access in self.new.drain(..) {
            if !host.knows(access.step) && !is_behind_flag(access.step) {
                protections.add_access(access);
            }
        }
        if !set_flags.is_empty() {
            protections.open_if(is_behind_flag);
        }
    }

    /// A host function begins; everything in `clock` happens before it.
    pub(in crate::driver) fn before_host_function(&mut self, clock: &HostClock) {
        self.new.retain(|access| !clock.knows(access.step));
        if protection::is_any_protected() {
            protection::lock().open_if(|step| clock.knows(step));
        }
    }

    /// The program has declared that it accesses these bytes to the checker.
    pub(in crate::driver) fn declared(&mut self, range: Range<u64>) {
        if protection::is_any_protected() {
            protection::lock().open(range);
        }
    }

    /// Operations have ended while the program made no call: it may wait for what they write, and have seen it. Loads that the checker
    /// does not know of yet may be those of a loop that waits.
    pub(in crate::driver) fn program_polls(&mut self) {
        self.new.clear();
        if protection::is_any_protected() || protection::has_seen() {
            let mut protections = protection::lock();
            protections.open_if(|_| true);
            protections.forget_loads();
        }
    }
}

/// A system call on behalf of the program is about to access these bytes. It would fail with `EFAULT` at a protected page, so the
/// access is noted as the handler of a fault notes one, and the pages are opened.
pub(crate) fn system_call_accesses(access: HostAccess, range: Range<u64>) {
    if !protection::is_any_protected() || !protection::may_hold_watched(&range) {
        return;
    }
    let Some(address) = protection::lock().first_refused(&range, access) else {
        return;
    };
    let seen = Seen {
        access,
        address,
        site: CallSite::here(),
        thread: calling_thread(),
        in_host_function: current::in_host_function(),
    };
    let mut protections = protection::lock();
    protections.note(seen);
    protections.open(range);
}

impl Call {
    /// Reports to the checker what the program has accessed since the last call of the driver.
    pub(in crate::driver) fn tell_host_accesses(&mut self) {
        self.tell_seen();
    }
}

impl Simulator {
    /// As [`Call::tell_host_accesses`].
    pub(in crate::driver) fn tell_seen(&mut self) {
        if !protection::has_seen() {
            return;
        }
        let all = protection::lock().take_seen();
        let function = self.host_function;
        for Seen {
            access,
            address,
            site,
            thread,
            in_host_function,
        } in all
        {
            let range = address..address + 1;
            self.ordering
                .tell(|checker| match function.filter(|_| in_host_function) {
                    Some(function) => {
                        checker.accessed(function.into(), &accesses(access, range));
                    }
                    None => {
                        let description = Description::new(protection::word(access)).at(site);
                        checker.host_accessed(thread, access, range, description);
                    }
                });
        }
    }
}

//! Which pages of page-locked memory are protected, and what the program has accessed there.
#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "no page is protected there")
)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::call_site::CallSite;
use crate::memory::PAGE;
use crate::order::{HostAccess, OperationEpoch, ThreadId};

/// A page of the processor that this is for.
const PAGE_BYTES: u64 = PAGE as u64;
/// At most this many pages are opened at once to both sides of a fault: 4 MiB.
const MOST_PAGES: u64 = 1024;

static PROTECTIONS: Mutex<Protections> = Mutex::new(Protections::new());
/// Whether any page may be protected.
static ANY_PROTECTED: AtomicBool = AtomicBool::new(false);
/// Whether accesses wait to be reported.
static ANY_SEEN: AtomicBool = AtomicBool::new(false);
/// All memory that was ever watched lies in between.
static LOWEST: AtomicU64 = AtomicU64::new(u64::MAX);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// The lock on all protections. Its holder accesses no memory of the program.
pub(super) fn lock() -> MutexGuard<'static, Protections> {
    PROTECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether any page may be protected.
pub(super) fn is_any_protected() -> bool {
    ANY_PROTECTED.load(Ordering::Relaxed)
}

/// Whether the program has accessed protected memory since [`Protections::take_seen`].
pub(super) fn has_seen() -> bool {
    ANY_SEEN.load(Ordering::Relaxed)
}

/// Whether `address` may be in watched memory; takes no lock.
pub(super) fn may_be_watched(address: u64) -> bool {
    (LOWEST.load(Ordering::Relaxed)..HIGHEST.load(Ordering::Relaxed)).contains(&address)
}

/// Whether some of these bytes may be in watched memory; takes no lock.
pub(super) fn may_hold_watched(range: &Range<u64>) -> bool {
    LOWEST.load(Ordering::Relaxed) < range.end && range.start < HIGHEST.load(Ordering::Relaxed)
}

/// The name of a program's access in reports.
pub(super) fn word(access: HostAccess) -> &'static str {
    match access {
        HostAccess::Read => "load",
        HostAccess::Write => "store",
    }
}

/// What an operation of the device does to bytes of host memory.
#[derive(Clone, Debug)]
pub(super) struct DeviceAccess {
    pub(super) step: OperationEpoch,
    /// Bytes, then pages.
    range: Range<u64>,
    writes: bool,
}

impl DeviceAccess {
    /// For host memory; `None` for addresses of device memory.
    pub(super) fn new(step: OperationEpoch, range: Range<u64>, writes: bool) -> Option<Self> {
        may_be_watched(range.start).then_some(Self {
            step,
            range,
            writes,
        })
    }
}

impl DeviceAccess {
    /// Whether this access protects all that the earlier one does, and for as long.
    fn replaces(&self, earlier: &Self) -> bool {
        let covers = self.range.start <= earlier.range.start && earlier.range.end <= self.range.end;
        covers && self.writes >= earlier.writes && self.step.follows(earlier.step)
    }
}

/// An access of the program that faulted.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) access: HostAccess,
    /// Its first byte in a protected page.
    pub(super) address: u64,
    pub(super) site: Arc<CallSite>,
    pub(super) thread: ThreadId,
    pub(super) in_host_function: bool,
}

/// The accesses that a page allows the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PageAccess {
    /// No access: the device writes.
    None,
    /// Loads: the device reads.
    Loads,
    /// Loads and stores.
    All,
}

/// What a fault was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not watched memory.
    Foreign,
    /// The page is open by now: the access succeeds if it is made again.
    Open,
    /// The page is protected against this access.
    Protected,
}

/// All watched memory.
#[derive(Debug)]
pub(super) struct Protections {
    /// By the first address.
    allocations: BTreeMap<u64, Watched>,
    seen: Vec<Seen>,
}

/// One allocation.
#[derive(Debug)]
struct Watched {
    start: u64,
    /// Behind the last byte, and behind the last page.
    end: u64,
    end_of_pages: u64,
    /// Where the device's mapping starts.
    device: u64,
    /// Accesses of the device that protect whole pages.
    accesses: Vec<DeviceAccess>,
    /// How many pages the next fault opens to both sides.
    opens: u64,
    protect: fn(Range<u64>, PageAccess) -> bool,
}

impl Protections {
    const fn new() -> Self {
        Self {
            allocations: BTreeMap::new(),
            seen: Vec::new(),
        }
    }

    /// Watches an allocation, which has its pages for itself.
    pub(super) fn add(&mut self, start: u64, bytes: u64, device: u64) {
        let watched = Watched::new(start, bytes, device, protect);
        LOWEST.fetch_min(start, Ordering::Relaxed);
        HIGHEST.fetch_max(watched.end_of_pages, Ordering::Relaxed);
        self.allocations.insert(start, watched);
    }

    /// The allocation is about to be released.
    pub(super) fn remove(&mut self, start: u64) {
        self.allocations.remove(&start);
        self.count();
    }

    /// Protects the pages that the access covers.
    pub(super) fn add_access(&mut self, access: DeviceAccess) {
        if let Some(watched) = self.find(access.range.start) {
            watched.add(access);
            self.count();
        }
    }

    /// Opens what is protected for these operations alone.
    pub(super) fn open_if(&mut self, is_over: impl Fn(OperationEpoch) -> bool) {
        for watched in self.allocations.values_mut() {
            watched.open_if(&is_over);
        }
        self.count();
    }

    /// Opens the pages with these bytes.
    pub(super) fn open(&mut self, range: Range<u64>) {
        for watched in self.allocations.values_mut() {
            watched.open(pages_around(&range));
        }
        self.count();
    }

    /// The first byte of `range` in a page that refuses this access.
    pub(super) fn first_refused(&self, range: &Range<u64>, access: HostAccess) -> Option<u64> {
        let all = self.allocations.range(..range.end);
        let refusals = all.filter_map(|(_, watched)| watched.first_refused(range, access));
        refusals.min()
    }

    /// The cause of the fault of an access to `address`.
    pub(super) fn fault(&mut self, address: u64, access: HostAccess) -> Fault {
        match self.find(address) {
            None => Fault::Foreign,
            Some(watched) if watched.allows(address, access) => Fault::Open,
            Some(_) => Fault::Protected,
        }
    }

    /// Notes the access and opens its page. A loop over a protected buffer faults at every page, so each fault opens twice as many
    /// pages as the one before.
    pub(super) fn note(&mut self, seen: Seen) {
        if let Some(watched) = self.find(seen.address) {
            let page = pages_around(&(seen.address..seen.address + 1));
            let more = (watched.opens - 1) * PAGE_BYTES;
            watched.opens = (2 * watched.opens).min(MOST_PAGES);
            let pages = page.start.saturating_sub(more)..page.end.saturating_add(more);
            watched.open(pages);
        }
        self.seen.push(seen);
        ANY_SEEN.store(true, Ordering::Relaxed);
        self.count();
    }

    /// What the program has accessed since the last time.
    pub(super) fn take_seen(&mut self) -> Vec<Seen> {
        ANY_SEEN.store(false, Ordering::Relaxed);
        std::mem::take(&mut self.seen)
    }

    /// Loads that were not taken yet count for nothing.
    pub(super) fn forget_loads(&mut self) {
        self.seen.retain(|seen| seen.access != HostAccess::Read);
        ANY_SEEN.store(!self.seen.is_empty(), Ordering::Relaxed);
    }

    /// The process is a child: its memory becomes its own, and nothing is pending for it.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn leave_parent(&mut self) {
        for watched in self.allocations.values_mut() {
            watched.give_up();
            // Without memory for a copy the child shares the pages, as it would have done.
            let bytes = (watched.end_of_pages - watched.start) as usize;
            // SAFETY: both mappings live, have this size, are open, and are this thread's alone.
            unsafe { crate::memory::separate(watched.start, watched.device, bytes) };
        }
        self.take_seen();
        self.count();
    }

    fn find(&mut self, address: u64) -> Option<&mut Watched> {
        let (_, watched) = self.allocations.range_mut(..=address).next_back()?;
        (address < watched.end_of_pages).then_some(watched)
    }

    fn count(&self) {
        let mut all = self.allocations.values();
        let any = all.any(|watched| !watched.accesses.is_empty());
        ANY_PROTECTED.store(any, Ordering::Relaxed);
    }
}

impl Watched {
    fn new(
        start: u64,
        bytes: u64,
        device: u64,
        protect: fn(Range<u64>, PageAccess) -> bool,
    ) -> Self {
        let end = start + bytes;
        Self {
            start,
            end,
            end_of_pages: end.next_multiple_of(PAGE_BYTES),
            device,
            accesses: Vec::new(),
            opens: 1,
            protect,
        }
    }

    /// Protects the pages that the access covers as a whole. The bytes behind the allocation belong to no other one.
    fn add(&mut self, mut access: DeviceAccess) {
        let range = access.range.start.max(self.start)..access.range.end.min(self.end);
        let end = match range.end == self.end {
            true => self.end_of_pages,
            false => range.end / PAGE_BYTES * PAGE_BYTES,
        };
        access.range = range.start.next_multiple_of(PAGE_BYTES)..end;
        if access.range.is_empty() {
            return;
        }
        let pages = access.range.clone();
        // In a loop without a wait, the latest access stands for all of its stream.
        self.accesses.retain(|earlier| !access.replaces(earlier));
        self.accesses.push(access);
        self.opens = 1;
        self.apply(pages);
    }

    fn open_if(&mut self, is_over: impl Fn(OperationEpoch) -> bool) {
        let over = self
            .accesses
            .extract_if(.., |access| is_over(access.step))
            .collect::<Vec<_>>();
        for access in over {
            self.apply(access.range);
        }
    }

    /// Nothing protects these pages any more.
    fn open(&mut self, pages: Range<u64>) {
        let mut left = Vec::new();
        for access in self.accesses.drain(..) {
            let before = access.range.start..access.range.end.min(pages.start);
            let behind = access.range.start.max(pages.end)..access.range.end;
            for range in [before, behind] {
                if !range.is_empty() {
                    left.push(DeviceAccess {
                        range,
                        ..access.clone()
                    });
                }
            }
        }
        self.accesses = left;
        self.apply(pages);
    }

    fn allows(&self, address: u64, access: HostAccess) -> bool {
        match self.at(address) {
            PageAccess::All => true,
            PageAccess::Loads => access == HostAccess::Read,
            PageAccess::None => false,
        }
    }

    fn first_refused(&self, range: &Range<u64>, access: HostAccess) -> Option<u64> {
        let refusing = self.accesses.iter().filter(|pending| {
            let refuses = pending.writes || access == HostAccess::Write;
            refuses && pending.range.start < range.end && range.start < pending.range.end
        });
        refusing
            .map(|pending| pending.range.start.max(range.start))
            .min()
    }

    fn at(&self, address: u64) -> PageAccess {
        let covering = self
            .accesses
            .iter()
            .filter(|access| access.range.contains(&address));
        let allowed = covering.map(|access| match access.writes {
            true => PageAccess::None,
            false => PageAccess::Loads,
        });
        allowed.min().unwrap_or(PageAccess::All)
    }

    /// Sets the protection of these pages to what the accesses demand.
    fn apply(&mut self, pages: Range<u64>) {
        let pages = pages.start.max(self.start)..pages.end.min(self.end_of_pages);
        let bounds = self
            .accesses
            .iter()
            .flat_map(|access| [access.range.start, access.range.end]);
        let mut bounds: Vec<u64> = bounds.filter(|bound| pages.contains(bound)).collect();
        bounds.extend([pages.start, pages.end]);
        bounds.sort_unstable();
        bounds.dedup();
        let mut start = pages.start;
        for pair in bounds.windows(2) {
            let access = self.at(pair[0]);
            if pair[1] < pages.end && self.at(pair[1]) == access {
                continue;
            }
            if !(self.protect)(start..pair[1], access) {
                return self.give_up();
            }
            start = pair[1];
        }
    }

    /// The system allows no more mappings. One mapping of all pages needs none.
    fn give_up(&mut self) {
        self.accesses.clear();
        (self.protect)(self.start..self.end_of_pages, PageAccess::All);
    }
}

/// The pages with these bytes.
fn pages_around(range: &Range<u64>) -> Range<u64> {
    range.start / PAGE_BYTES * PAGE_BYTES..range.end.next_multiple_of(PAGE_BYTES)
}

/// Sets the protection of whole pages. Returns whether the system did.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn protect(pages: Range<u64>, access: PageAccess) -> bool {
    let flags = match access {
        PageAccess::None => libc::PROT_NONE,
        PageAccess::Loads => libc::PROT_READ,
        PageAccess::All => libc::PROT_READ | libc::PROT_WRITE,
    };
    if access != PageAccess::All && !super::fault::handle() {
        return false;
    }
    let bytes = (pages.end - pages.start) as usize;
    // SAFETY: the pages are the program's mapping of an allocation that lives. An access that they refuse now faults, and `fault`
    // lets it continue.
    unsafe { libc::mprotect(pages.start as *mut libc::c_void, bytes, flags) == 0 }
}

/// Elsewhere no page is protected.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn protect(_: Range<u64>, access: PageAccess) -> bool {
    access == PageAccess::All
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::order::{Checker, ContextId, OperationId, StreamId, ThreadId};

    const START: u64 = 1 << 20;
    const PAGES: u64 = 8;

    thread_local! {
        /// What each page allows, and whether the system refuses to protect pages.
        static SYSTEM: RefCell<(Vec<PageAccess>, bool)> = const { RefCell::new((Vec::new(), false)) };
    }

    fn protect_in_test(pages: Range<u64>, access: PageAccess) -> bool {
        SYSTEM.with_borrow_mut(|(all, refuses)| {
            let index = |address: u64| ((address - START) / PAGE_BYTES) as usize;
            all[index(pages.start)..index(pages.end)].fill(access);
            !*refuses || access == PageAccess::All
        })
    }

    /// An allocation that ends 100 bytes before its last page does, all of it open.
    fn watched(refuses: bool) -> Watched {
        SYSTEM.set((vec![PageAccess::All; PAGES as usize], refuses));
        Watched::new(START, PAGES * PAGE_BYTES - 100, 0, protect_in_test)
    }

    fn steps<const N: usize>() -> [OperationEpoch; N] {
        let mut checker = Checker::new();
        let (thread, stream) = (ThreadId::UNREGISTERED, StreamId(0));
        checker.context_created(thread, ContextId(0), stream);
        let mut next = 0;
        [(); N].map(|()| {
            next += 1;
            let operation = OperationId(next);
            checker.submitted(thread, stream, operation, &[], "copy".into());
            checker.step_of(operation).expect("submitted")
        })
    }

    fn allowed() -> Vec<PageAccess> {
        SYSTEM.with_borrow(|(all, _)| all.clone())
    }

    /// `range` counts from the start of the allocation.
    fn access(step: OperationEpoch, range: Range<u64>, writes: bool) -> DeviceAccess {
        let range = START + range.start..START + range.end;
        DeviceAccess {
            step,
            range,
            writes,
        }
    }

    #[test]
    fn pages_of_other_bytes_stay_open() {
        let [step] = steps();
        let mut watched = watched(false);
        watched.add(access(step, 100..PAGE_BYTES, true));
        watched.add(access(step, PAGE_BYTES..2 * PAGE_BYTES - 1, true));
        assert_eq!(allowed(), [PageAccess::All; PAGES as usize]);
        watched.add(access(step, 100..2 * PAGE_BYTES + 1, true));
        let mut expected = [PageAccess::All; PAGES as usize];
        expected[1] = PageAccess::None;
        assert_eq!(allowed(), expected);
    }

    #[test]
    fn the_last_page_belongs_to_the_allocation() {
        let [step] = steps();
        let mut watched = watched(false);
        let (last, end) = ((PAGES - 1) * PAGE_BYTES, PAGES * PAGE_BYTES - 100);
        watched.add(access(step, last..end - 1, false));
        assert_eq!(allowed(), [PageAccess::All; PAGES as usize]);
        watched.add(access(step, last..end, false));
        assert_eq!(allowed().last(), Some(&PageAccess::Loads));
        assert!(watched.allows(START + last, HostAccess::Read));
        assert!(!watched.allows(START + last, HostAccess::Write));
    }

    /// A loop of launches would collect them otherwise.
    #[test]
    fn the_latest_access_of_a_stream_stands_for_the_earlier_ones() {
        let [first, second] = steps();
        let mut watched = watched(false);
        watched.add(access(first, 0..PAGE_BYTES, false));
        watched.add(access(second, 0..2 * PAGE_BYTES, true));
        assert_eq!(watched.accesses.len(), 1);
        watched.add(access(second, 0..PAGE_BYTES, false));
        assert_eq!(watched.accesses.len(), 2);
        watched.open_if(|step| step == first);
        assert_eq!(allowed()[..2], [PageAccess::None; 2]);
        watched.open_if(|step| step == second);
        assert_eq!(allowed(), [PageAccess::All; PAGES as usize]);
    }

    /// A page that cannot be opened would fault for ever.
    #[test]
    fn a_system_that_refuses_leaves_all_open() {
        let [step] = steps();
        let mut watched = watched(true);
        watched.add(access(step, 0..PAGE_BYTES, true));
        assert_eq!(allowed(), [PageAccess::All; PAGES as usize]);
        assert!(watched.accesses.is_empty());
    }

    #[test]
    fn the_system_allows_what_no_pending_access_forbids() {
        let mut random = fastrand::Rng::with_seed(31);
        let steps: [OperationEpoch; 6] = steps();
        let mut watched = watched(false);
        let mut protected = 0;
        for round in 0..5000 {
            let mut bytes = [(); 2].map(|()| random.u64(0..=PAGES) * PAGE_BYTES);
            bytes.sort_unstable();
            let range = bytes[0]..bytes[1];
            let step = steps[random.usize(0..steps.len())];
            match random.u8(0..4) {
                0 | 1 => watched.add(access(step, range, random.bool())),
                2 => watched.open_if(|over| over == step),
                _ => watched.open(START + range.start..START + range.end),
            }
            let expected = (0..PAGES).map(|page| watched.at(START + page * PAGE_BYTES));
            assert_eq!(allowed(), expected.collect::<Vec<_>>(), "round {round}");
            protected += usize::from(watched.at(START) != PageAccess::All);
        }
        assert!(protected > 500, "{protected} rounds");
    }
}

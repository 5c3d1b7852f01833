//! When the effects of operations become visible.
//!
//! A kernel is executed when its start comes, and its stores become visible at its end; a copy from the device reads at
//! its start and lands at its end. Done literally, both would need a second copy of all data. Instead, most work is done
//! in place, and undone or done early only when another operation is about to notice:
//!
//! - a kernel's stores stay in memory (*showing*) until another operation is about to read or write there; then they
//!   are withdrawn and land at the kernel's end;
//! - a copy's source is read when it lands, unless something is about to overwrite it before (*reading*): then it is
//!   staged at that moment.
//!
//! What a kernel changes by atomic operations stays in memory while it runs, since kernels that run at the same time share
//! counters and flags. Streams that wait for a value there see it [without](Effects::read_value) the changes of kernels that
//! have not ended. In page-locked memory the host looks by itself: there the changes are taken back before the program runs
//! (*hidden*), and made again before the next kernel does.

use std::collections::BTreeMap;
use std::ops::Range;

use super::operation::{Copy, MemsetPattern, Place, Set, Side};
use crate::driver::memory::boxes::Rows;
use crate::memory::{
    AddressSpace, ByteRanges, HeldWrites, is_device_address, update_cell, without_atomics,
};
use crate::timeline::OpId;

/// The kernels that were executed and the copies that have started, but not ended.
#[derive(Debug, Default)]
pub(in crate::driver) struct Effects {
    /// In the order in which they were executed.
    kernels: Vec<Executed>,
    reading: BTreeMap<OpId, Reading>,
    /// What the host does not see of atomic operations in page-locked memory; `None` while memory shows all.
    hidden: Option<Vec<Hidden>>,
}

#[derive(Debug)]
struct Executed {
    op: OpId,
    writes: HeldWrites,
    showing: bool,
    has_atomics: bool,
    /// It has changed page-locked memory by atomic operations.
    atomics_of_host: bool,
}

/// A [cell](update_cell) of page-locked memory.
#[derive(Debug)]
struct Hidden {
    address: u64,
    /// What the host sees, unless it writes there.
    shown: u64,
    /// What kernels see.
    shared: u64,
}

/// A started copy's source.
#[derive(Debug)]
struct Reading {
    from: u64,
    rows: Rows,
    /// Bytes from the first one to the end of the last row.
    span: usize,
    /// The rows, packed.
    staged: Option<Vec<u8>>,
}

impl Effects {
    /// A kernel is about to be executed: it may read any memory, and must not see unfinished stores of other operations,
    /// except their atomic operations.
    pub(in crate::driver) fn before_kernel(&mut self, space: &AddressSpace) {
        self.show_atomics(space);
        self.withdraw_all(space);
    }

    fn withdraw_all(&mut self, space: &AddressSpace) {
        if let Some(kernel) = self.showing() {
            kernel.withdraw(space);
        }
    }

    /// The kernel whose stores are in memory. It can only be the one executed last: that has read what was there before.
    fn showing(&mut self) -> Option<&mut Executed> {
        self.kernels.last_mut().filter(|kernel| kernel.showing)
    }

    /// A kernel was executed.
    pub(in crate::driver) fn kernel_started(
        &mut self,
        op: OpId,
        writes: HeldWrites,
        space: &AddressSpace,
    ) {
        let mut kernel = Executed {
            op,
            has_atomics: writes.any_atomics(|_| true),
            atomics_of_host: writes.any_atomics(|base| !is_device_address(base)),
            writes,
            showing: true,
        };
        let noticed = |reading: &Reading| {
            reading.staged.is_none() && kernel.writes.overlaps(reading.from, reading.span)
        };
        if self.reading.values().any(noticed) {
            kernel.withdraw(space);
        }
        self.kernels.push(kernel);
    }

    /// Where the kernel's stores will land, in whole pages.
    pub(in crate::driver) fn stores(&self, op: OpId) -> ByteRanges {
        let kernel = self.kernels.iter().find(|kernel| kernel.op == op);
        kernel.map_or_else(ByteRanges::new, |kernel| kernel.writes.pages())
    }

    /// Ends a kernel at its modelled time. Returns whether it has stored to host memory.
    pub(in crate::driver) fn kernel_ended(&mut self, op: OpId, space: &AddressSpace) -> bool {
        let Some((at, kernel)) = self.take_kernel(op, space) else {
            return false;
        };
        let of_host = kernel.writes_host();
        if !kernel.showing {
            self.withdraw_all(space);
            for reading in self.reading.values_mut() {
                if kernel.writes.overlaps(reading.from, reading.span) {
                    reading.stage(space);
                }
            }
        }
        // What it takes along of one kernel comes from what those before that one have left.
        let mut taken_along = Vec::new();
        for (place, other) in self.kernels.iter_mut().enumerate().rev() {
            if other.has_atomics {
                let went_on = place < at;
                for word in &taken_along {
                    other.writes.overwritten(*word, 4, space);
                }
                let words = other.writes.overwritten_by(&kernel.writes, went_on, space);
                taken_along.extend(words);
            }
        }
        kernel.writes.land(space);
        of_host
    }

    /// The kernel is not under way any more. Returns how many of those that are were executed before it.
    fn take_kernel(&mut self, op: OpId, space: &AddressSpace) -> Option<(usize, Executed)> {
        let at = self.kernels.iter().position(|kernel| kernel.op == op)?;
        if self.kernels[at].writes_host() {
            self.show_atomics(space);
        }
        Some((at, self.kernels.remove(at)))
    }

    /// A copy starts to read mapped memory.
    pub(in crate::driver) fn copy_started(
        &mut self,
        op: OpId,
        from: u64,
        rows: Rows,
        space: &AddressSpace,
    ) {
        let span = rows.span().unwrap_or(0);
        self.before_read(from, span, space);
        let staged = None;
        let reading = Reading {
            from,
            rows,
            span,
            staged,
        };
        self.reading.insert(op, reading);
    }

    /// Ends a copy at its modelled time: its bytes land.
    pub(in crate::driver) fn copy_ended(&mut self, op: OpId, copy: &Copy, space: &AddressSpace) {
        let early = self.reading.remove(&op).and_then(|reading| reading.staged);
        if let Place::Mapped(from) = copy.from.place {
            self.before_read(from, copy.from.rows.span().unwrap_or(0), space);
        }
        if let Place::Mapped(to) = copy.to.place {
            self.before_write(to, copy.to.rows, space);
        }
        let (from, from_rows) = match copy.staged.as_ref().or(early.as_ref()) {
            Some(staged) => (Some(staged.as_ptr()), copy.from.rows.packed()),
            None => {
                let from = copy.from.pointer(space);
                (from.map(<*mut u8>::cast_const), copy.from.rows)
            }
        };
        if let (Some(from), Some(to)) = (from, copy.to.pointer(space)) {
            // SAFETY: both sides were checked to have that many bytes when the copy was requested, mapped memory was
            // just found, and pageable memory is the program's, which keeps it until the copy has ended.
            unsafe { copy_rows(from, from_rows, to, copy.to.rows) };
        }
    }

    /// Ends a memset at its modelled time.
    pub(in crate::driver) fn set_ended(&mut self, set: &Set, space: &AddressSpace) {
        let span = set.rows.span().unwrap_or(0);
        if let Place::Mapped(to) = set.to {
            self.before_write(to, set.rows, space);
        }
        if let Some(to) = set.to.pointer(span, space) {
            for offset in set.rows.offsets() {
                // SAFETY: the memory was checked when the memset was requested, and just found again; the row lies
                // inside its span.
                unsafe { fill(to.add(offset), set.rows.extent.width, set.pattern) };
            }
        }
    }

    /// The program is about to run and may look at page-locked memory.
    pub(in crate::driver) fn before_host(&mut self, space: &AddressSpace) {
        if let Some(kernel) = self.showing().filter(|kernel| kernel.writes_host()) {
            kernel.withdraw(space);
        }
        self.hide_atomics(space);
    }

    /// Whether atomic operations of the kernel, which has not ended, have changed one of these bytes.
    pub(in crate::driver) fn changes_atomically(
        &self,
        op: OpId,
        range: &Range<u64>,
        space: &AddressSpace,
    ) -> bool {
        let kernel = self.kernels.iter().find(|kernel| kernel.op == op);
        kernel.is_some_and(|kernel| kernel.writes.changes_atomically(range, space))
    }

    /// The value of 4 or 8 bytes with what has ended: without what the kernels under way have changed by atomic
    /// operations. `None` when the memory was freed.
    pub(in crate::driver) fn read_value(
        &self,
        address: u64,
        bytes: usize,
        space: &AddressSpace,
    ) -> Option<u64> {
        let is_hidden = self.hidden.is_some() && !is_device_address(address);
        let newest_first = self.writes().rev().filter(|_| !is_hidden);
        without_atomics(space, address, bytes, newest_first)
    }

    /// Takes back what atomic operations of kernels under way have changed in page-locked memory.
    fn hide_atomics(&mut self, space: &AddressSpace) {
        if self.hidden.is_some() || self.kernels.iter().all(|kernel| !kernel.atomics_of_host) {
            return;
        }
        let of_host = |base| !is_device_address(base);
        let cells = self
            .writes()
            .flat_map(|kernel| kernel.atomic_cells(space, of_host));
        let mut cells: Vec<u64> = cells.collect();
        cells.sort();
        cells.dedup();
        let hidden = cells.into_iter().filter_map(|address| {
            let (newest_first, mut shown) = (self.writes().rev(), 0);
            let shared = update_cell(space, address, |shared| {
                shown = HeldWrites::without_atomics(newest_first.clone(), space, address, shared);
                shown
            })?;
            (shown != shared).then_some(Hidden {
                address,
                shown,
                shared,
            })
        });
        self.hidden = Some(hidden.collect());
    }

    /// Makes the changes that were hidden again, of what the host has made of the memory meanwhile.
    fn show_atomics(&mut self, space: &AddressSpace) {
        for hidden in self.hidden.take().into_iter().flatten() {
            let Hidden {
                address,
                shown,
                shared,
            } = hidden;
            let unless_written = |now| if now == shown { shared } else { now };
            let now = update_cell(space, address, unless_written).unwrap_or(shown);
            if now == shown {
                continue;
            }
            let lost = HeldWrites::lost_words(self.writes(), space, address, (shown, now));
            for word in lost {
                self.overwritten(word, 4, space);
            }
            update_cell(space, address, |now| {
                HeldWrites::with_atomics(self.writes(), space, address, (shown, shared), now)
            });
        }
    }

    /// The effects of the kernels in flight.
    fn writes(&self) -> impl DoubleEndedIterator<Item = &HeldWrites> + Clone {
        self.kernels.iter().map(|kernel| &kernel.writes)
    }

    /// Other writes to these bytes come after the atomic operations of the kernels under way.
    fn overwritten(&mut self, address: u64, bytes: usize, space: &AddressSpace) {
        for kernel in self.kernels.iter_mut().filter(|kernel| kernel.has_atomics) {
            kernel.writes.overwritten(address, bytes, space);
        }
    }

    /// Forgets what was under way: the context has failed and its memory is undefined.
    pub(in crate::driver) fn discard(&mut self, op: OpId, space: &AddressSpace) {
        self.take_kernel(op, space);
        self.reading.remove(&op);
    }

    /// These bytes are about to be read.
    pub(in crate::driver) fn before_read(
        &mut self,
        address: u64,
        bytes: usize,
        space: &AddressSpace,
    ) {
        let noticed = |kernel: &&mut Executed| kernel.writes.overlaps(address, bytes);
        if let Some(kernel) = self.showing().filter(noticed) {
            kernel.withdraw(space);
        }
    }

    /// These rows of bytes are about to be changed.
    pub(in crate::driver) fn before_write(
        &mut self,
        address: u64,
        rows: Rows,
        space: &AddressSpace,
    ) {
        let span = rows.span().unwrap_or(0);
        if !is_device_address(address) {
            self.show_atomics(space);
        }
        self.before_read(address, span, space);
        if self.kernels.iter().any(|kernel| kernel.has_atomics) {
            for offset in rows.offsets() {
                self.overwritten(address + offset as u64, rows.extent.width, space);
            }
        }
        let end = address + span as u64;
        for reading in self.reading.values_mut() {
            if reading.from < end && address < reading.from + reading.span as u64 {
                reading.stage(space);
            }
        }
    }
}

impl Executed {
    fn writes_host(&self) -> bool {
        self.writes.any_allocation(|base| !is_device_address(base))
    }

    fn withdraw(&mut self, space: &AddressSpace) {
        if self.showing {
            self.writes.withdraw(space);
            self.showing = false;
        }
    }
}

impl Reading {
    fn stage(&mut self, space: &AddressSpace) {
        if self.staged.is_none()
            && let Some(from) = space.storage(self.from, self.span)
        {
            // SAFETY: `storage` found that many bytes there; no other thread writes while the simulation reads.
            self.staged = Some(unsafe { pack(from, self.rows) });
        }
    }
}

impl Side {
    /// Where the first byte is now, if all of them still are anywhere.
    fn pointer(self, space: &AddressSpace) -> Option<*mut u8> {
        self.place.pointer(self.rows.span()?, space)
    }
}

impl Place {
    /// Where the bytes are now, if they still are anywhere.
    fn pointer(self, bytes: usize, space: &AddressSpace) -> Option<*mut u8> {
        match self {
            Self::Mapped(address) => space.storage(address, bytes),
            Self::Pageable(address) => Some(address as *mut u8),
        }
    }
}

/// The bytes of the rows, without those in between.
///
/// # Safety
/// The rows from `from` on can be read.
pub(in crate::driver) unsafe fn pack(from: *const u8, rows: Rows) -> Vec<u8> {
    let mut packed = Vec::with_capacity(rows.bytes().unwrap_or(0));
    // SAFETY: the caller's promise; a box without rows between its rows is one row.
    unsafe {
        if rows.is_packed() {
            let bytes = rows.bytes().unwrap_or(0);
            packed.extend_from_slice(std::slice::from_raw_parts(from, bytes));
        } else {
            for offset in rows.offsets() {
                let row = std::slice::from_raw_parts(from.add(offset), rows.extent.width);
                packed.extend_from_slice(row);
            }
        }
    }
    packed
}

/// Copies rows of one extent. Contiguous bytes may overlap.
///
/// # Safety
/// `from_rows` from `from` on can be read, and `to_rows` from `to` on written.
unsafe fn copy_rows(from: *const u8, from_rows: Rows, to: *mut u8, to_rows: Rows) {
    // SAFETY: the caller's promise.
    unsafe {
        if from_rows.is_packed() && to_rows.is_packed() {
            std::ptr::copy(from, to, from_rows.bytes().unwrap_or(0));
            return;
        }
        for (source, target) in from_rows.offsets().zip(to_rows.offsets()) {
            std::ptr::copy(from.add(source), to.add(target), from_rows.extent.width);
        }
    }
}

/// Writes the pattern once, then doubles what is there.
///
/// # Safety
/// `bytes` bytes at `to` can be written, and are at least one pattern's.
unsafe fn fill(to: *mut u8, bytes: usize, pattern: MemsetPattern) {
    // SAFETY: the caller's promise; what is copied lies before what is written.
    unsafe {
        to.copy_from_nonoverlapping(pattern.bytes.as_ptr(), pattern.len);
        let mut filled = pattern.len;
        while filled < bytes {
            let more = filled.min(bytes - filled);
            to.add(filled).copy_from_nonoverlapping(to, more);
            filled += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{AllocationKind, PAGE, WriteHold};
    use crate::timeline::{CopyKind, OperationStage, Profile, Timeline};

    /// One allocation of two pages, and operations to do something to it.
    struct TwoPages {
        space: AddressSpace,
        base: u64,
        effects: Effects,
    }

    impl TwoPages {
        fn new() -> Self {
            let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
            let base = space
                .allocate(0, 2 * PAGE, AllocationKind::Device)
                .expect("fits");
            let effects = Effects::default();
            Self {
                space,
                base,
                effects,
            }
        }

        /// A kernel starts and stores one byte.
        fn kernel(&mut self, op: OpId, offset: usize, value: u8) {
            self.effects.before_kernel(&self.space);
            let hold = WriteHold::new(&self.space);
            hold.before_store(self.space.find(self.base).expect("mapped"), offset, 1);
            // SAFETY: the allocation has that many bytes, and the test has one thread.
            unsafe {
                self.space
                    .storage(self.base, 2 * PAGE)
                    .expect("mapped")
                    .add(offset)
                    .write(value)
            };
            self.effects.kernel_started(op, hold.suspend(), &self.space);
        }

        fn kernel_ends(&mut self, op: OpId) {
            self.effects.kernel_ended(op, &self.space);
        }

        /// Copies the whole allocation to `to`, from now until the returned copy's end.
        fn copy(&mut self, op: OpId, to: &mut [u8; 2 * PAGE]) -> Copy {
            self.effects
                .copy_started(op, self.base, Rows::row(to.len()), &self.space);
            Copy {
                kind: CopyKind::DeviceToHost,
                from: Side {
                    place: Place::Mapped(self.base),
                    rows: Rows::row(to.len()),
                },
                to: Side {
                    place: Place::Pageable(to.as_mut_ptr() as usize),
                    rows: Rows::row(to.len()),
                },
                pageable: true,
                taken: false,
                staged: None,
                node: None,
            }
        }

        fn copy_ends(&mut self, op: OpId, copy: Copy) {
            self.effects.copy_ended(op, &copy, &self.space);
        }

        fn set(&mut self, offset: usize, value: u8) {
            let to = Place::Mapped(self.base + offset as u64);
            let pattern = MemsetPattern {
                bytes: [value; 4],
                len: 1,
            };
            let rows = Rows::row(1);
            self.effects
                .set_ended(&Set { to, rows, pattern }, &self.space);
        }

        /// What a copy that starts now would read.
        fn byte(&mut self, offset: usize) -> u8 {
            self.effects.before_read(self.base, 2 * PAGE, &self.space);
            let storage = self.space.storage(self.base, 2 * PAGE).expect("mapped");
            // SAFETY: the allocation has that many bytes, and the test has one thread.
            unsafe { storage.add(offset).read() }
        }
    }

    fn operations<const N: usize>() -> [OpId; N] {
        let mut timeline = Timeline::new(&[Profile::h200()], 8);
        let stream = timeline.add_stream(0, 0);
        [(); N].map(|()| {
            timeline.submit(
                stream,
                crate::timeline::Time::ZERO,
                OperationStage::Marker,
                &[],
            )
        })
    }

    #[test]
    fn a_store_is_seen_from_the_kernels_end() {
        let (mut scene, [kernel]) = (TwoPages::new(), operations());
        scene.kernel(kernel, 3, 9);
        assert_eq!(scene.byte(3), 0);
        scene.kernel_ends(kernel);
        assert_eq!(scene.byte(3), 9);
    }

    #[test]
    fn a_copy_that_started_before_a_kernel_ended_reads_what_was_there() {
        let (mut scene, [kernel, early, late]) = (TwoPages::new(), operations());
        let (mut first, mut second) = ([0; 2 * PAGE], [0; 2 * PAGE]);
        let early_copy = scene.copy(early, &mut first);
        scene.kernel(kernel, 3, 9);
        let late_copy = scene.copy(late, &mut second);
        scene.kernel_ends(kernel);
        scene.copy_ends(late, late_copy);
        scene.copy_ends(early, early_copy);
        assert_eq!((first[3], second[3], scene.byte(3)), (0, 0, 9));
    }

    #[test]
    fn what_lands_under_a_copy_is_not_copied() {
        let (mut scene, [copying]) = (TwoPages::new(), operations());
        let mut seen = [0; 2 * PAGE];
        let copy = scene.copy(copying, &mut seen);
        scene.set(5, 7);
        scene.copy_ends(copying, copy);
        assert_eq!((seen[5], scene.byte(5)), (0, 7));
    }

    #[test]
    fn kernels_that_overlap_in_time_keep_each_others_stores() {
        let (mut scene, [first, second]) = (TwoPages::new(), operations());
        scene.kernel(first, 10, 1);
        scene.kernel(second, 11, 2);
        scene.kernel_ends(first);
        assert_eq!((scene.byte(10), scene.byte(11)), (1, 0));
        scene.kernel_ends(second);
        assert_eq!((scene.byte(10), scene.byte(11)), (1, 2));
    }

    #[test]
    fn a_memset_during_a_kernel_stays_beside_its_stores() {
        let (mut scene, [kernel]) = (TwoPages::new(), operations());
        scene.kernel(kernel, 20, 1);
        scene.set(21, 2);
        scene.kernel_ends(kernel);
        assert_eq!((scene.byte(20), scene.byte(21)), (1, 2));
    }
}

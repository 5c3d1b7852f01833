//! Loads, stores and atomics: addresses of a warp to host memory.
//!
//! A warp whose 32 addresses lie side by side and aligned is served by one bounds check and a copy of rows; any other
//! pattern goes lane by lane, in ascending order. Kernels that race with themselves race here too: accesses are plain
//! machine accesses through raw pointers, atomics are the host's.
//!
//! Generic addresses: shared, local and parameter space appear in windows that no device allocation and no host
//! pointer can lie in; everything else is global. Constant space is global memory.

use crate::memory::Allocation;
use crate::ptx::ir::Space;

use super::context::Context;
use super::fault::{Access, Fault, Nearest};
use super::op::{Handler, Op, Slot};
use super::shape::{LANES, Shape, handler, plain_handler};

/// Where generic addresses of shared memory start. The low half is the address in `.shared` space.
pub(super) const SHARED_WINDOW: u64 = 0x00f0_0000_0000_0000;
/// Where generic addresses of local memory start.
pub(super) const LOCAL_WINDOW: u64 = 0x00f1_0000_0000_0000;
/// Where generic addresses of kernel parameters start.
pub(super) const PARAMETER_WINDOW: u64 = 0x00f2_0000_0000_0000;
/// Size of a window.
pub(super) const WINDOW: u64 = 1 << 48;
/// Unit of global memory traffic.
const SECTOR: u64 = 32;

/// Combines the old value of an atomic operation with its operands, in the low bits.
pub(super) type Combine = fn(old: u64, b: u64, c: u64) -> u64;

/// What is fixed about one memory instruction.
#[derive(Clone, Copy)]
pub(super) struct Site {
    pub line: u32,
    pub space: Space,
    /// Added to the address row.
    pub offset: i64,
    /// The address is relative to the frame's local memory.
    pub relative: bool,
    /// The address row has 64-bit cells.
    pub wide_address: bool,
    /// Bytes of one element.
    pub bytes: u32,
    /// Elements per lane.
    pub count: u32,
    /// Loads extend by sign.
    pub signed: bool,
    /// Data rows have 64-bit cells.
    pub wide: bool,
    /// Data rows, one per element. A load without interest in an element names a scratch row.
    pub rows: [Slot; 4],
    /// Index of the site's entry in [`Context::caches`].
    pub cache: u32,
    /// Of an atomic operation: on global memory, and on shared.
    pub combine: Option<[Combine; 2]>,
}

impl Site {
    fn lane_bytes(&self) -> u64 {
        u64::from(self.bytes) * u64::from(self.count)
    }
}

/// The allocation that a site used last.
#[derive(Clone, Copy, Default)]
pub(super) struct Cached<'g> {
    base: u64,
    len: u64,
    allocation: Option<&'g Allocation>,
}

/// Host memory behind an address.
struct Target<'g> {
    pointer: *mut u8,
    /// For global memory: the allocation and the offset in it.
    global: Option<(&'g Allocation, usize)>,
}

/// The addresses of all lanes.
#[inline(always)]
unsafe fn addresses(cx: &Context<'_>, site: &Site, slot: Slot) -> [u64; LANES] {
    let base = if site.relative {
        i64::from(cx.local_base)
    } else {
        0
    };
    let offset = site.offset.wrapping_add(base) as u64;
    let mut addresses = [0; LANES];
    // SAFETY: lowering made the slot a row of the width that the site names.
    unsafe {
        if site.wide_address {
            let row = &*cx.row::<u64>(slot);
            for lane in 0..LANES {
                addresses[lane] = row[lane].wrapping_add(offset);
            }
        } else {
            let row = &*cx.row::<u32>(slot);
            for lane in 0..LANES {
                addresses[lane] = u64::from(row[lane]).wrapping_add(offset);
            }
        }
    }
    addresses
}

/// Whether the addresses are `first`, `first + bytes`, `first + 2 bytes`, ….
#[inline(always)]
fn contiguous(addresses: &[u64; LANES], bytes: u64) -> bool {
    let mut differs = 0;
    for lane in 0..LANES {
        differs |= addresses[lane] ^ addresses[0].wrapping_add(lane as u64 * bytes);
    }
    differs == 0 && addresses[0] & (bytes - 1) == 0
}

impl<'g> Context<'g> {
    /// The host memory of `len` bytes at `address`, accessed by `lane` (or by all lanes, if not local).
    #[inline(always)]
    fn target(&mut self, site: &Site, lane: usize, address: u64, len: u64) -> Option<Target<'g>> {
        let (space, address) = match site.space {
            Space::Generic => generic(address),
            space => (space, address),
        };
        match space {
            Space::Shared => {
                (address.checked_add(len)? <= u64::from(self.shared_bytes)).then(|| Target {
                    pointer: self.shared.wrapping_add(address as usize),
                    global: None,
                })
            }
            Space::Local => {
                let stack = self.local.wrapping_add(lane * self.local_stride as usize);
                (address.checked_add(len)? <= u64::from(self.local_stride)).then(|| Target {
                    pointer: stack.wrapping_add(address as usize),
                    global: None,
                })
            }
            Space::Param => {
                (address.checked_add(len)? <= self.grid.parameters.len() as u64).then(|| Target {
                    pointer: self
                        .grid
                        .parameters
                        .as_ptr()
                        .wrapping_add(address as usize)
                        .cast_mut(),
                    global: None,
                })
            }
            Space::Global | Space::Const | Space::Generic => self.global(site, address, len),
        }
    }

    #[inline(always)]
    fn global(&mut self, site: &Site, address: u64, len: u64) -> Option<Target<'g>> {
        let cached = &mut self.caches[site.cache as usize];
        let mut offset = address.wrapping_sub(cached.base);
        if offset >= cached.len {
            let allocation = self.hold.space().find(address)?;
            *cached = Cached {
                base: allocation.base(),
                len: allocation.len() as u64,
                allocation: Some(allocation),
            };
            offset = address - cached.base;
        }
        let allocation = cached.allocation?;
        (len <= cached.len - offset).then(|| Target {
            pointer: allocation.storage().wrapping_add(offset as usize),
            global: Some((allocation, offset as usize)),
        })
    }

    /// The checked memory of one lane's access; reports the fault when there is none.
    fn lane_target(
        &mut self,
        site: &Site,
        lane: usize,
        address: u64,
        access: Access,
    ) -> Option<Target<'g>> {
        let bytes = site.lane_bytes();
        if address & (bytes - 1) != 0 {
            let bytes = bytes as u32;
            self.fail(lane as u32, site.line, |place| Fault::Misaligned {
                place,
                access,
                address,
                bytes,
            });
            return None;
        }
        let target = self.target(site, lane, address, bytes);
        let read_only = access != Access::Load && is_parameter(site.space, address);
        if target.is_none() || read_only {
            self.fail_access(site, lane, address, access);
            return None;
        }
        target
    }

    #[cold]
    fn fail_access(&mut self, site: &Site, lane: usize, address: u64, access: Access) {
        let (space, bytes) = (site.space, site.lane_bytes() as u32);
        let memory = self.hold.space();
        let global = matches!(space, Space::Global | Space::Const | Space::Generic);
        let nearest = memory
            .nearest(address)
            .filter(|_| global)
            .map(|allocation| {
                let (base, len) = (allocation.base(), allocation.len() as u64);
                let distance = match address < base {
                    true => i128::from(address) - i128::from(base),
                    false => i128::from(address) - i128::from(base + len),
                };
                Nearest {
                    base,
                    len,
                    distance,
                }
            });
        self.fail(lane as u32, site.line, |place| Fault::IllegalAddress {
            place,
            access,
            space,
            address,
            bytes,
            nearest,
        });
    }

    /// Counts the traffic of a whole warp.
    #[inline(always)]
    fn count_row(&mut self, target: &Target<'_>, address: u64, bytes: u64, access: Access) {
        if target.global.is_some() {
            let sectors = (address + bytes - 1) / SECTOR - address / SECTOR + 1;
            self.count_sectors(sectors, access);
        } else {
            self.cost.shared_bytes += bytes;
        }
    }

    #[inline(always)]
    fn count_sectors(&mut self, sectors: u64, access: Access) {
        match access {
            Access::Load => self.cost.global_read_bytes += sectors * SECTOR,
            Access::Store | Access::Atomic => self.cost.global_write_bytes += sectors * SECTOR,
        }
    }
}

fn is_parameter(space: Space, address: u64) -> bool {
    space == Space::Param || space == Space::Generic && generic(address).0 == Space::Param
}

/// The space that a generic address lies in, and the address there.
#[inline(always)]
pub(super) fn generic(address: u64) -> (Space, u64) {
    let low = address & (WINDOW - 1);
    match address & !(WINDOW - 1) {
        SHARED_WINDOW => (Space::Shared, low),
        LOCAL_WINDOW => (Space::Local, low),
        PARAMETER_WINDOW => (Space::Param, low),
        _ => (Space::Global, address),
    }
}

/// Distinct sectors that the lanes of a warp touch.
#[derive(Default)]
struct Sectors {
    seen: [u64; LANES],
    count: usize,
}

impl Sectors {
    fn touch(&mut self, address: u64) {
        let sector = address / SECTOR;
        if !self.seen[..self.count]
            .iter()
            .rev()
            .any(|known| *known == sector)
        {
            self.seen[self.count] = sector;
            self.count += 1;
        }
    }
}

/// Reads an element of `bytes` bytes, extended to 64 bits.
///
/// # Safety
///
/// `pointer` is valid for reads of that many bytes.
#[inline(always)]
unsafe fn read(pointer: *const u8, bytes: u32, signed: bool) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match (bytes, signed) {
            (1, false) => pointer.read().into(),
            (1, true) => pointer.cast::<i8>().read() as u64,
            (2, false) => pointer.cast::<u16>().read_unaligned().into(),
            (2, true) => pointer.cast::<i16>().read_unaligned() as u64,
            (4, false) => pointer.cast::<u32>().read_unaligned().into(),
            (4, true) => pointer.cast::<i32>().read_unaligned() as u64,
            _ => pointer.cast::<u64>().read_unaligned(),
        }
    }
}

/// Writes the low `bytes` bytes of `value`.
///
/// # Safety
///
/// `pointer` is valid for writes of that many bytes.
#[inline(always)]
unsafe fn write(pointer: *mut u8, bytes: u32, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => pointer.write(value as u8),
            2 => pointer.cast::<u16>().write_unaligned(value as u16),
            4 => pointer.cast::<u32>().write_unaligned(value as u32),
            _ => pointer.cast::<u64>().write_unaligned(value),
        }
    }
}

/// # Safety
///
/// `slot` is a row of the current frame, with 64-bit cells if `wide`.
#[inline(always)]
unsafe fn set_cell(cx: &Context<'_>, slot: Slot, wide: bool, lane: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match wide {
            true => (*cx.row::<u64>(slot))[lane] = value,
            false => (*cx.row::<u32>(slot))[lane] = value as u32,
        }
    }
}

/// # Safety
///
/// `slot` is a row of the current frame, with 64-bit cells if `wide`.
#[inline(always)]
unsafe fn cell(cx: &Context<'_>, slot: Slot, wide: bool, lane: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match wide {
            true => (*cx.row::<u64>(slot))[lane],
            false => (*cx.row::<u32>(slot))[lane].into(),
        }
    }
}

struct Load;

impl Shape for Load {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let bytes = site.lane_bytes();
        if cx.mask == !0 && site.space != Space::Local && contiguous(&addresses, bytes) {
            let whole = bytes * LANES as u64;
            if let Some(target) = cx
                .target(site, 0, addresses[0], whole)
                .filter(|_| !is_local(site, addresses[0]))
            {
                cx.count_row(&target, addresses[0], whole, Access::Load);
                // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
                unsafe { load_rows(cx, site, target.pointer) };
                return;
            }
        }
        // SAFETY: as above.
        unsafe { load_lanes(cx, site, &addresses) }
    }
}

/// Whether a generic address lies in local memory, where lanes with adjacent addresses are not adjacent.
#[inline(always)]
fn is_local(site: &Site, address: u64) -> bool {
    site.space == Space::Generic && generic(address).0 == Space::Local
}

/// # Safety
///
/// `from` is valid for reads of all lanes' bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn load_rows(cx: &Context<'_>, site: &Site, from: *const u8) {
    // SAFETY: the caller's promise; rows and device memory never overlap.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) => from.copy_to_nonoverlapping(cx.row::<u32>(site.rows[0]).cast(), 128),
            (8, 1, true) => from.copy_to_nonoverlapping(cx.row::<u64>(site.rows[0]).cast(), 256),
            (4, 4, false) => {
                let quads = &*from.cast::<[[[u8; 4]; 4]; LANES]>();
                for (element, slot) in site.rows.iter().enumerate() {
                    let row = &mut *cx.row::<u32>(*slot);
                    for lane in 0..LANES {
                        row[lane] = u32::from_ne_bytes(quads[lane][element]);
                    }
                }
            }
            (bytes, count, wide) => {
                for lane in 0..LANES {
                    for element in 0..count as usize {
                        let place = from.add((lane * count as usize + element) * bytes as usize);
                        set_cell(
                            cx,
                            site.rows[element],
                            wide,
                            lane,
                            read(place, bytes, site.signed),
                        );
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The site's rows are rows of the current frame.
unsafe fn load_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    let mut sectors = Sectors::default();
    for lane in cx.lanes() {
        let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Load) else {
            return;
        };
        match target.global {
            Some(_) => sectors.touch(addresses[lane]),
            None => cx.cost.shared_bytes += site.lane_bytes(),
        }
        for element in 0..site.count as usize {
            // SAFETY: the target has all elements of a lane, and the rows are the frame's.
            unsafe {
                let value = read(
                    target.pointer.add(element * site.bytes as usize),
                    site.bytes,
                    site.signed,
                );
                set_cell(cx, site.rows[element], site.wide, lane, value);
            }
        }
    }
    cx.count_sectors(sectors.count as u64, Access::Load);
}

struct Store;

impl Shape for Store {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let bytes = site.lane_bytes();
        let movable =
            !matches!(site.space, Space::Local | Space::Param) && !is_local(site, addresses[0]);
        if cx.mask == !0
            && movable
            && contiguous(&addresses, bytes)
            && !is_parameter(site.space, addresses[0])
        {
            let whole = bytes * LANES as u64;
            if let Some(target) = cx.target(site, 0, addresses[0], whole) {
                cx.count_row(&target, addresses[0], whole, Access::Store);
                if let Some((allocation, offset)) = target.global {
                    cx.hold.before_store(allocation, offset, whole as usize);
                }
                // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
                unsafe { store_rows(cx, site, target.pointer) };
                return;
            }
        }
        // SAFETY: as above.
        unsafe { store_lanes(cx, site, &addresses) }
    }
}

/// # Safety
///
/// `to` is valid for writes of all lanes' bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn store_rows(cx: &Context<'_>, site: &Site, to: *mut u8) {
    // SAFETY: the caller's promise; rows and device memory never overlap.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) => to.copy_from_nonoverlapping(cx.row::<u32>(site.rows[0]).cast(), 128),
            (8, 1, true) => to.copy_from_nonoverlapping(cx.row::<u64>(site.rows[0]).cast(), 256),
            (4, 4, false) => {
                let [a, b, c, d] = site.rows.map(|slot| &*cx.row::<u32>(slot));
                let quads = &mut *to.cast::<[[[u8; 4]; 4]; LANES]>();
                for lane in 0..LANES {
                    quads[lane] = [a[lane], b[lane], c[lane], d[lane]].map(u32::to_ne_bytes);
                }
            }
            (bytes, count, wide) => {
                for lane in 0..LANES {
                    for element in 0..count as usize {
                        let place = to.add((lane * count as usize + element) * bytes as usize);
                        write(place, bytes, cell(cx, site.rows[element], wide, lane));
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The site's rows are rows of the current frame.
unsafe fn store_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    let mut sectors = Sectors::default();
    for lane in cx.lanes() {
        let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Store) else {
            return;
        };
        match target.global {
            Some((allocation, offset)) => {
                sectors.touch(addresses[lane]);
                cx.hold
                    .before_store(allocation, offset, site.lane_bytes() as usize);
            }
            None => cx.cost.shared_bytes += site.lane_bytes(),
        }
        for element in 0..site.count as usize {
            // SAFETY: the target has all elements of a lane, and the rows are the frame's.
            unsafe {
                let value = cell(cx, site.rows[element], site.wide, lane);
                write(
                    target.pointer.add(element * site.bytes as usize),
                    site.bytes,
                    value,
                );
            }
        }
    }
    cx.count_sectors(sectors.count as u64, Access::Store);
}

struct Atomic;

impl Shape for Atomic {
    /// `rows[0]` receives the old value, `b` and `c` are the operands.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        let Some([on_global, on_shared]) = site.combine else {
            return;
        };
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let mut sectors = Sectors::default();
        for lane in cx.lanes() {
            let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Atomic) else {
                return;
            };
            if let Some((allocation, offset)) = target.global {
                cx.hold
                    .before_store(allocation, offset, site.bytes as usize);
            }
            let combine = if target.global.is_some() {
                on_global
            } else {
                on_shared
            };
            // SAFETY: the rows are rows of the frame; the target is aligned and has that many bytes.
            let old = unsafe {
                let (b, c) = (
                    cell(cx, op.b, site.wide, lane),
                    cell(cx, op.c, site.wide, lane),
                );
                update(target.pointer, site.bytes, |old| combine(old, b, c))
            };
            match target.global {
                Some((allocation, offset)) => {
                    cx.hold.atomic_done(allocation, offset, site.bytes as usize);
                    cx.cost.atomics += 1;
                    sectors.touch(addresses[lane]);
                }
                None => cx.cost.shared_bytes += u64::from(site.bytes),
            }
            // SAFETY: as above.
            unsafe { set_cell(cx, site.rows[0], site.wide, lane, old) };
        }
        cx.count_sectors(sectors.count as u64, Access::Atomic);
    }
}

/// Replaces the value at `pointer` atomically and returns the old one.
///
/// # Safety
///
/// `pointer` is aligned to `bytes` (2, 4 or 8) and valid for that many bytes, shared only with other atomics.
unsafe fn update(pointer: *mut u8, bytes: u32, f: impl Fn(u64) -> u64) -> u64 {
    use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            2 => AtomicU16::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old.into()) as u16))
                .map(u64::from)
                .unwrap_or_else(u64::from),
            4 => AtomicU32::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old.into()) as u32))
                .map(u64::from)
                .unwrap_or_else(u64::from),
            _ => AtomicU64::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old)))
                .unwrap_or_else(|old| old),
        }
    }
}

/// Handler of `ld`: address row `a`, site `x`.
pub(super) fn load() -> Handler {
    handler::<Load>()
}

/// Handler of `st`: address row `a`, site `x`.
pub(super) fn store() -> Handler {
    handler::<Store>()
}

/// Handler of `atom` and `red`: address row `a`, operands `b` and `c`, site `x`.
pub(super) fn atomic() -> Handler {
    plain_handler::<Atomic>()
}

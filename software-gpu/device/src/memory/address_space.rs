//! Which allocation an address belongs to.

use std::ops::Range;
use std::ptr::NonNull;

use super::allocation::{Allocation, AllocationKind, Backing};
use super::freed::Freed;
use super::parts::{Parts, PoolAllocation};
use crate::texture::Objects;

/// Where device addresses start: above every address that a user process has on x86-64 and aarch64 with 48 bits.
const DEVICE_WINDOW: u64 = 0x0001_0000_0000_0000;
/// Bases of device allocations are multiples of this, as on the devices of today.
const ALIGNMENT: u64 = 512;
/// Unmapped addresses behind each device allocation, so that running over its end is noticed.
const GUARD: u64 = 64 << 10;

/// Not enough memory, modelled or real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {requested} bytes: {available} of the modelled memory are free")]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub requested: u64,
    /// Bytes that the model had left. When this is enough, the machine itself refused.
    pub available: u64,
}

/// Host memory cannot be page-locked, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// Part of the range is page-locked already.
    #[error("the range is page-locked already")]
    AlreadyRegistered,
    /// No registered range starts there.
    #[error("no registered range starts at this address")]
    NotRegistered,
    /// More than the model lets a process lock.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// All allocations of the devices and the page-locked host memory that they see.
#[derive(Debug)]
pub struct AddressSpace {
    /// Sorted by base.
    allocations: Vec<Allocation>,
    next_device_address: u64,
    devices: Vec<Budget>,
    page_locked: Budget,
    free_slots: Vec<usize>,
    slots: usize,
    parts: Parts,
    freed: Freed,
    removals: u64,
    maps_twice: bool,
    /// Texture and surface objects: kernels reach them through the memory that they run on.
    pub objects: Objects,
}

impl AddressSpace {
    /// An empty space for devices with that many bytes of memory each, in a host that lets `page_locked_bytes` be locked.
    pub fn new(device_bytes: &[u64], page_locked_bytes: u64) -> Self {
        Self {
            allocations: Vec::new(),
            next_device_address: DEVICE_WINDOW,
            devices: device_bytes.iter().copied().map(Budget::new).collect(),
            page_locked: Budget::new(page_locked_bytes),
            free_slots: Vec::new(),
            slots: 0,
            parts: Parts::default(),
            freed: Freed::default(),
            removals: 0,
            maps_twice: false,
            objects: Objects::default(),
        }
    }

    /// From now on, page-locked memory that [`allocate`](Self::allocate) gives is mapped twice where the system can do that: its
    /// address is the program's mapping, and [`storage`](Self::storage) is the device's. The first can be protected.
    pub fn map_page_locked_twice(&mut self) {
        self.maps_twice = true;
    }

    /// The allocation that contains `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let behind = self
            .allocations
            .partition_point(|allocation| allocation.base() <= address);
        let candidate = self.allocations.get(behind.checked_sub(1)?)?;
        (address < candidate.end()).then_some(candidate)
    }

    /// The allocation whose range is closest to `address`, for messages. Device addresses are not compared with host
    /// addresses.
    pub fn nearest(&self, address: u64) -> Option<&Allocation> {
        let on_device = is_device_address(address);
        self.allocations
            .iter()
            .filter(|allocation| is_device_address(allocation.base()) == on_device)
            .min_by_key(|allocation| {
                let before = allocation.base().saturating_sub(address);
                let behind = address.saturating_sub(allocation.end() - 1);
                before.max(behind)
            })
    }

    /// The addresses of the [`nearest`](Self::nearest) allocation, or of the nearest part of it when a memory pool has
    /// divided it.
    pub fn nearest_range(&self, address: u64) -> Option<Range<u64>> {
        let allocation = self.nearest(address)?;
        let whole = allocation.base()..allocation.end();
        let part = self.parts.nearest(address, whole.clone());
        Some(part.map_or(whole, PoolAllocation::range))
    }

    /// The addresses of the allocation that `address` was in, if it has been freed lately.
    pub fn freed_range(&self, address: u64) -> Option<Range<u64>> {
        self.freed.find(address)
    }

    /// The allocation of a memory pool that `address` lies in. Freed ones are found until their memory is used again or
    /// given back to the device.
    pub fn part(&self, address: u64) -> Option<&PoolAllocation> {
        self.parts.find(address)
    }

    /// A memory pool uses `bytes` bytes at `base`, inside an allocation, for an allocation of its own.
    pub fn add_part(&mut self, base: u64, bytes: usize) {
        self.parts.add(base, bytes as u64);
    }

    /// A memory pool's allocation is freed; its memory stays mapped.
    pub fn free_part(&mut self, base: u64) {
        self.parts.free(base);
    }

    /// All allocations.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Where the `bytes` bytes at `address` are, if one allocation contains them all.
    pub fn storage(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let allocation = self.find(address)?;
        let offset = allocation.offset_of(address, bytes)?;
        // SAFETY: the offset lies inside the allocation.
        Some(unsafe { allocation.storage().add(offset) })
    }

    /// New memory of a device, zeroed.
    ///
    /// [`AllocationKind::PageLocked`] gives an address that the host can use as a pointer; such memory belongs to no
    /// device, and `device` is not looked at.
    ///
    /// # Errors
    /// When the modelled memory or the machine's is exhausted, `bytes` is zero, or there is no such device.
    pub fn allocate(
        &mut self,
        device: usize,
        bytes: usize,
        kind: AllocationKind,
    ) -> Result<u64, OutOfMemory> {
        let device = (kind != AllocationKind::PageLocked).then_some(device);
        let refusal = OutOfMemory {
            requested: bytes as u64,
            available: self.budget(device).map_or(0, |budget| budget.available()),
        };
        if bytes == 0 || refusal.requested > refusal.available {
            return Err(refusal);
        }
        let twice = match device {
            None if self.maps_twice => Backing::mapped_twice(bytes),
            _ => None,
        };
        let backing = twice.or_else(|| Backing::zeroed(bytes)).ok_or(refusal)?;
        let base = match kind {
            AllocationKind::PageLocked => backing.program().as_ptr() as u64,
            AllocationKind::Device | AllocationKind::ModuleGlobal => {
                self.device_address(bytes).ok_or(refusal)?
            }
        };
        self.insert(base, bytes, kind, device, backing);
        Ok(base)
    }

    /// Releases what [`allocate`](Self::allocate) gave. `false` when no such allocation of that kind starts at
    /// `base`.
    pub fn free(&mut self, base: u64, kind: AllocationKind) -> bool {
        match self.position(base) {
            Some(position)
                if self.allocations[position].kind() == kind
                    && !self.allocations[position].is_registered() =>
            {
                self.remove(position);
                true
            }
            _ => false,
        }
    }

    /// Page-locks the program's own memory: `cuMemHostRegister`.
    ///
    /// # Errors
    /// When part of it is page-locked already, or the model allows no more.
    ///
    /// # Safety
    /// The memory must stay valid until [`unregister_host`](Self::unregister_host).
    pub unsafe fn register_host(
        &mut self,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Result<(), RegisterError> {
        let base = start.as_ptr() as u64;
        let end = base.saturating_add(bytes as u64);
        if self
            .allocations
            .iter()
            .any(|other| other.base() < end && base < other.end())
        {
            return Err(RegisterError::AlreadyRegistered);
        }
        let available = self.page_locked.available();
        if bytes == 0 || bytes as u64 > available {
            let requested = bytes as u64;
            return Err(OutOfMemory {
                requested,
                available,
            }
            .into());
        }
        self.insert(
            base,
            bytes,
            AllocationKind::PageLocked,
            None,
            Backing::borrowed(start),
        );
        Ok(())
    }

    /// Gives the program's memory back: `cuMemHostUnregister`.
    ///
    /// # Errors
    /// When no registered range starts there.
    pub fn unregister_host(&mut self, start: NonNull<u8>) -> Result<(), RegisterError> {
        match self.position(start.as_ptr() as u64) {
            Some(position) if self.allocations[position].is_registered() => {
                self.remove(position);
                Ok(())
            }
            _ => Err(RegisterError::NotRegistered),
        }
    }

    /// Replaces the program's memory by copies: the program may have taken it back.
    pub fn detach_registered(&mut self) {
        for allocation in &mut self.allocations {
            allocation.detach();
        }
    }

    /// Free and total bytes of a device's memory: `cuMemGetInfo`. None are those of a device that does not exist.
    pub fn device_memory(&self, device: usize) -> (u64, u64) {
        self.devices
            .get(device)
            .map_or((0, 0), |budget| (budget.available(), budget.total))
    }

    /// Number of slots in use or free: every allocation's slot is less.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    fn device_address(&mut self, bytes: usize) -> Option<u64> {
        let base = self.next_device_address;
        let end = base.checked_add(bytes as u64)?.checked_add(GUARD)?;
        self.next_device_address = end.checked_next_multiple_of(ALIGNMENT)?;
        Some(base)
    }

    fn insert(
        &mut self,
        base: u64,
        bytes: usize,
        kind: AllocationKind,
        device: Option<usize>,
        backing: Backing,
    ) {
        if let Some(budget) = self.budget(device) {
            budget.used += bytes as u64;
        }
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        let position = self
            .allocations
            .partition_point(|other| other.base() < base);
        let allocation = Allocation::new(base, bytes, kind, device, slot, backing);
        self.allocations.insert(position, allocation);
    }

    /// The number of removed allocations.
    pub fn removals(&self) -> u64 {
        self.removals
    }

    fn remove(&mut self, position: usize) {
        self.removals += 1;
        let allocation = self.allocations.remove(position);
        // The program's own memory stays valid.
        if !allocation.is_registered() {
            self.freed.add(allocation.base()..allocation.end());
        }
        self.parts.remove_all(allocation.base()..allocation.end());
        if let Some(budget) = self.budget(allocation.device()) {
            budget.used -= allocation.len() as u64;
        }
        self.free_slots.push(allocation.slot());
    }

    fn position(&self, base: u64) -> Option<usize> {
        self.allocations
            .binary_search_by_key(&base, Allocation::base)
            .ok()
    }

    /// The bytes of a device, or of page-locked memory.
    fn budget(&mut self, device: Option<usize>) -> Option<&mut Budget> {
        match device {
            Some(device) => self.devices.get_mut(device),
            None => Some(&mut self.page_locked),
        }
    }
}

/// Whether `address` is one of device memory, mapped or not.
pub fn is_device_address(address: u64) -> bool {
    address >= DEVICE_WINDOW
}

/// Bytes that may be in use, and are.
#[derive(Debug)]
struct Budget {
    total: u64,
    used: u64,
}

impl Budget {
    fn new(total: u64) -> Self {
        Self { total, used: 0 }
    }

    fn available(&self) -> u64 {
        self.total - self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> AddressSpace {
        AddressSpace::new(&[1 << 20, 1 << 10], 1 << 20)
    }

    #[test]
    fn an_address_belongs_to_the_allocation_around_it() {
        let mut space = space();
        let a = space
            .allocate(0, 100, AllocationKind::Device)
            .expect("fits");
        let b = space
            .allocate(0, 100, AllocationKind::Device)
            .expect("fits");
        assert_eq!(space.find(a + 99).map(Allocation::base), Some(a));
        assert_eq!(space.find(b).map(Allocation::base), Some(b));
        assert!(space.find(a + 100).is_none());
        assert!(space.find(a - 1).is_none());
        assert_eq!(space.nearest(a + 140).map(Allocation::base), Some(a));
        assert_eq!(space.nearest(b - 1).map(Allocation::base), Some(b));
    }

    #[test]
    fn bases_are_aligned_and_never_used_again() {
        let mut space = space();
        let first = space.allocate(0, 1, AllocationKind::Device).expect("fits");
        assert!(space.free(first, AllocationKind::Device));
        let second = space.allocate(0, 1, AllocationKind::Device).expect("fits");
        assert_ne!(first, second);
        assert_eq!(first % ALIGNMENT, 0);
        assert_eq!(second % ALIGNMENT, 0);
    }

    #[test]
    fn the_modelled_memory_is_the_limit() {
        let mut space = space();
        let all = space
            .allocate(0, 1 << 20, AllocationKind::Device)
            .expect("fits exactly");
        let refused = space
            .allocate(0, 1, AllocationKind::Device)
            .expect_err("full");
        assert_eq!((refused.requested, refused.available), (1, 0));
        assert!(space.free(all, AllocationKind::Device));
        assert_eq!(space.device_memory(0), (1 << 20, 1 << 20));
    }

    #[test]
    fn each_device_has_memory_of_its_own() {
        let mut space = space();
        let kind = AllocationKind::Device;
        let base = space.allocate(1, 1 << 10, kind).expect("fits exactly");
        assert_eq!(space.find(base).and_then(Allocation::device), Some(1));
        assert!(space.allocate(1, 1, kind).is_err());
        assert!(space.allocate(2, 1, kind).is_err());
        assert_eq!(space.device_memory(0), (1 << 20, 1 << 20));
        assert_eq!(space.device_memory(1), (0, 1 << 10));
        assert!(space.free(base, kind));
        assert_eq!(space.device_memory(1), (1 << 10, 1 << 10));
        let locked = space.allocate(1, 1, AllocationKind::PageLocked);
        let locked = locked.expect("fits");
        assert_eq!(space.find(locked).and_then(Allocation::device), None);
    }

    #[test]
    fn fresh_memory_is_zero() {
        let mut space = space();
        let base = space
            .allocate(0, 5000, AllocationKind::Device)
            .expect("fits");
        let bytes = space.storage(base, 5000).expect("mapped");
        // SAFETY: the allocation has 5000 bytes, and no other code knows it.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, 5000) };
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn registered_memory_is_found_at_its_own_address() {
        let mut space = space();
        let mut memory = vec![7_u8; 64];
        let start = NonNull::new(memory.as_mut_ptr()).expect("not null");
        // SAFETY: `memory` outlives the registration.
        unsafe { space.register_host(start, 64) }.expect("fits");
        let inside = NonNull::from(&mut memory[32]);
        // SAFETY: as above.
        let twice = unsafe { space.register_host(inside, 1) };
        assert_eq!(twice, Err(RegisterError::AlreadyRegistered));
        assert_eq!(
            space.storage(start.as_ptr() as u64 + 8, 56),
            Some(start.as_ptr().wrapping_add(8))
        );
        assert_eq!(space.storage(start.as_ptr() as u64 + 8, 57), None);
        assert!(!space.free(start.as_ptr() as u64, AllocationKind::PageLocked));
        assert_eq!(space.unregister_host(start), Ok(()));
        assert_eq!(
            space.unregister_host(start),
            Err(RegisterError::NotRegistered)
        );
    }
}

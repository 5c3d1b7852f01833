//! One contiguous range of addresses and the memory behind it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use super::PAGE;
#[cfg(target_os = "linux")]
use super::double_mapping::DoubleMapping;
use super::written::Written;

/// What an allocation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocationKind {
    /// Device memory of `cuMemAlloc` and its variants.
    Device,
    /// Page-locked host memory. Its addresses are host pointers.
    PageLocked,
    /// Device memory of a module's global variable.
    ModuleGlobal,
}

/// One contiguous range of addresses and the memory behind it.
#[derive(Debug)]
pub struct Allocation {
    base: u64,
    len: usize,
    kind: AllocationKind,
    device: Option<usize>,
    slot: usize,
    backing: Backing,
    pub(super) written: Written,
    /// Shadows that were used and can be used again: their pages are committed already.
    shadows: Mutex<Vec<Shadow>>,
}

impl Allocation {
    pub(super) fn new(
        base: u64,
        len: usize,
        kind: AllocationKind,
        device: Option<usize>,
        slot: usize,
        backing: Backing,
    ) -> Self {
        Self {
            base,
            len,
            kind,
            device,
            slot,
            backing,
            written: Written::new(kind != AllocationKind::Device),
            shadows: Mutex::default(),
        }
    }

    /// The first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The device whose memory it is; page-locked memory belongs to none.
    pub fn device(&self) -> Option<usize> {
        self.device
    }

    /// Bytes; never zero.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: an allocation has at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The first address behind the allocation.
    pub fn end(&self) -> u64 {
        self.base + self.len as u64
    }

    /// What the allocation is for.
    pub fn kind(&self) -> AllocationKind {
        self.kind
    }

    /// Where the byte at [`base`](Self::base) is. `len` bytes from here may be read and written.
    ///
    /// Kernels, copies and the host access the same bytes: no Rust reference to them may exist.
    #[inline]
    pub fn storage(&self) -> *mut u8 {
        self.backing.start.as_ptr()
    }

    /// The place of `address` in the allocation, if `bytes` bytes from there lie inside it.
    #[inline]
    pub fn offset_of(&self, address: u64, bytes: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.base)?).ok()?;
        (offset.checked_add(bytes)? <= self.len).then_some(offset)
    }

    /// A small number that no other live allocation of the address space has.
    #[inline]
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// Whether the memory is the program's own: `cuMemHostRegister`.
    pub(super) fn is_registered(&self) -> bool {
        matches!(self.backing.owner, Owner::Program)
    }

    /// Gives the program's memory back and continues with a copy of it, as far as it can still be read.
    pub(super) fn detach(&mut self) {
        if let (true, Some(copy)) = (self.is_registered(), Backing::zeroed(self.len)) {
            // SAFETY: the copy has that many bytes, and no other code knows it yet.
            let bytes = unsafe { std::slice::from_raw_parts_mut(copy.start.as_ptr(), self.len) };
            read_own_memory(self.base, bytes);
            self.backing = copy;
        }
    }

    /// Memory of the same size, with undefined contents.
    pub(super) fn take_shadow(&self) -> Shadow {
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        shadows.pop().unwrap_or_else(|| Shadow::new(self.len))
    }

    /// Returns a shadow for reuse. A kernel needs two at most; further ones are not kept.
    pub(super) fn give_shadow(&self, shadow: Shadow) {
        const KEPT: usize = 2;
        let mut shadows = self.shadows.lock().unwrap_or_else(PoisonError::into_inner);
        if shadows.len() < KEPT {
            shadows.push(shadow);
        }
    }
}

/// The memory behind an allocation: owned by it, or the program's own.
#[derive(Debug)]
pub(super) struct Backing {
    start: NonNull<u8>,
    owner: Owner,
}

/// How the memory is released.
#[derive(Debug)]
enum Owner {
    /// The program: the memory is registered.
    Program,
    /// The allocation, as a block of the heap.
    Heap(NonNull<u8>, Layout),
    /// The allocation, as two mappings.
    #[cfg(target_os = "linux")]
    Mappings(DoubleMapping),
}

// SAFETY: the memory is plain bytes, reached through raw pointers only; who may touch which byte when is what the
// simulation decides.
unsafe impl Send for Backing {}
// SAFETY: as above.
unsafe impl Sync for Backing {}

impl Backing {
    /// `len` zeroed bytes that start at a page boundary, or `None` when the machine has not enough memory.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        // An alignment that `calloc` gives by itself keeps large allocations lazily committed; asking the allocator
        // for page alignment would have it write the zeros.
        let layout = Layout::from_size_align(len.checked_add(PAGE)?, 16).ok()?;
        // SAFETY: the layout's size is not zero.
        let block = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let padding = block.as_ptr().align_offset(PAGE);
        // SAFETY: padding is less than PAGE, and the block has PAGE bytes more than `len`.
        let start = unsafe { block.add(padding) };
        Some(Self {
            start,
            owner: Owner::Heap(block, layout),
        })
    }

    /// `len` zeroed bytes in two mappings: `start` is the device's, and [`program`](Self::program) the program's. `None` when the
    /// machine has not enough memory, or no such mappings.
    #[cfg(target_os = "linux")]
    pub(super) fn mapped_twice(len: usize) -> Option<Self> {
        let memory = DoubleMapping::zeroed(len)?;
        Some(Self {
            start: memory.device(),
            owner: Owner::Mappings(memory),
        })
    }

    /// As on Linux, where two mappings of the same pages are easy to have.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn mapped_twice(_: usize) -> Option<Self> {
        None
    }

    /// Memory that the program owns.
    pub(super) fn borrowed(start: NonNull<u8>) -> Self {
        let owner = Owner::Program;
        Self { start, owner }
    }

    /// Where the program finds the bytes if they are host memory.
    pub(super) fn program(&self) -> NonNull<u8> {
        match &self.owner {
            Owner::Program | Owner::Heap(..) => self.start,
            #[cfg(target_os = "linux")]
            Owner::Mappings(memory) => memory.program(),
        }
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        if let Owner::Heap(block, layout) = self.owner {
            // SAFETY: `block` is what `alloc_zeroed` gave for this layout, and is freed once.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
    }
}

/// Reads memory of this process that may be gone: then the bytes stay as they are.
#[cfg(target_os = "linux")]
fn read_own_memory(address: u64, bytes: &mut [u8]) {
    use std::os::unix::fs::FileExt;
    if let Ok(memory) = std::fs::File::open("/proc/self/mem") {
        let _ = memory.read_exact_at(bytes, address);
    }
}

/// As on Linux, but whether the memory is still mapped is unknown.
#[cfg(not(target_os = "linux"))]
fn read_own_memory(_: u64, _: &mut [u8]) {}

/// Memory of an allocation's size in which other versions of its bytes are kept, each at its own offset.
#[derive(Debug)]
pub(super) struct Shadow {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is plain bytes, owned by the shadow.
unsafe impl Send for Shadow {}
// SAFETY: each writer through `at` states why no other access touches those bytes.
unsafe impl Sync for Shadow {}

impl Shadow {
    fn new(len: usize) -> Self {
        let layout = Layout::array::<u8>(len).expect("an allocation of this length exists");
        // SAFETY: an allocation has at least one byte.
        let start = NonNull::new(unsafe { alloc(layout) });
        let start = start.unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, layout }
    }

    /// Where the shadow of the byte at `offset` is.
    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.layout.size());
        self.start.as_ptr().wrapping_add(offset)
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: `start` is what `alloc` gave for this layout, and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

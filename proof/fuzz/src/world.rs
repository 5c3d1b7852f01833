//! What a program has: the objects that its calls made, memory that they may name, and its next bytes.

use std::ffi::c_void;
use std::sync::OnceLock;

/// Bytes of one call of a program: which call, and what it takes.
pub const RECORD: usize = 16;
/// Bytes of ordinary host memory that copies may use.
pub const HOST_BYTES: usize = 256 << 10;
/// Room behind each pointer for results.
const ROOM: usize = 512;

/// Kinds of handles: places in [`World::handles`].
pub const CONTEXT: usize = 0;
pub const STREAM: usize = 1;
pub const EVENT: usize = 2;
pub const MODULE: usize = 3;
pub const FUNCTION: usize = 4;
pub const POOL: usize = 5;
pub const GRAPH: usize = 6;
pub const NODE: usize = 7;
pub const EXECUTABLE: usize = 8;
/// Device addresses, and page-locked memory of the driver's.
pub const ADDRESS: usize = 9;
pub const PINNED: usize = 10;
pub const LIBRARY: usize = 11;
pub const KERNEL: usize = 12;
pub const LINK: usize = 13;
const KINDS: usize = 14;

/// Objects of a kind.
#[derive(Default)]
pub struct Objects {
    pub live: Vec<u64>,
    pub stale: Vec<u64>,
}

/// A program's state.
pub struct World {
    record: [u8; RECORD],
    read: usize,
    pub handles: [Objects; KINDS],
    /// Where the call under way returns objects: their kind and the place.
    pub made: Vec<(usize, Box<u64>)>,
    /// What the call under way takes away if it succeeds.
    pub ended: Option<(usize, u64)>,
    /// Memory that arguments point to, until the program ends.
    kept: Vec<Box<[u64]>>,
    /// Bytes of host memory behind the host pointer that the call under way takes.
    pub host_left: Option<usize>,
    /// The just-in-time options that the call under way takes.
    pub options: Vec<u32>,
    /// Where the call under way returns several objects: their kind, the place, and how many there is room for.
    pub arrays: Vec<(usize, *const u64, usize)>,
}

impl World {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            record: [0; RECORD],
            read: 0,
            handles: Default::default(),
            made: Vec::new(),
            ended: None,
            kept: Vec::new(),
            host_left: None,
            options: Vec::new(),
            arrays: Vec::new(),
        }
    }

    /// Begins a call.
    pub fn begin(&mut self, record: &[u8]) {
        self.record = [0; RECORD];
        self.record[..record.len()].copy_from_slice(record);
        self.read = 0;
        self.made.clear();
        self.ended = None;
        self.host_left = None;
        self.options.clear();
        self.arrays.clear();
    }

    /// Ends a call.
    pub fn end(&mut self, succeeded: bool) {
        for (kind, place) in std::mem::take(&mut self.made) {
            self.found(kind, if succeeded { *place } else { 0 });
        }
        for (kind, start, count) in std::mem::take(&mut self.arrays) {
            for index in 0..if succeeded { count } else { 0 } {
                // SAFETY: the array has this many elements, and lives as long as the program.
                self.found(kind, unsafe { start.add(index).read() });
            }
        }
        if let Some((kind, handle)) = self.ended.take().filter(|_| succeeded) {
            let objects = &mut self.handles[kind];
            objects.live.retain(|live| *live != handle);
            objects.stale.push(handle);
        }
    }

    fn found(&mut self, kind: usize, handle: u64) {
        let live = &mut self.handles[kind].live;
        if handle != 0 && !live.contains(&handle) {
            live.push(handle);
        }
    }

    /// The record's next byte; behind its end they follow from those before.
    pub fn byte(&mut self) -> u8 {
        let at = self.read % RECORD;
        if self.read >= RECORD {
            let before = self.record[(at + RECORD - 1) % RECORD];
            self.record[at] = self.record[at]
                .wrapping_mul(113)
                .wrapping_add(before ^ 0x5b);
        }
        self.read += 1;
        self.record[at]
    }

    /// The next `N` bytes as a number.
    pub fn number(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::from(self.byte()) % values.len()]
    }

    /// Room for results, zeroed, that lives as long as the program.
    pub fn room(&mut self) -> *mut c_void {
        self.keep(vec![0; ROOM / 8])
    }

    /// A pointer to these words, which live as long as the program.
    pub fn keep(&mut self, words: Vec<u64>) -> *mut c_void {
        let mut words = words.into_boxed_slice();
        let pointer = words.as_mut_ptr().cast();
        self.kept.push(words);
        pointer
    }

    /// An object: mostly one that lives, else one that is gone, of another kind, null or garbage.
    pub fn handle(&mut self, kind: usize) -> u64 {
        let (how, which) = (self.byte(), usize::from(self.byte()));
        let pick = |from: &[u64]| from.get(which % from.len().max(1)).copied();
        match how {
            0..=215 => pick(&self.handles[kind].live),
            216..=231 => pick(&self.handles[kind].stale),
            232..=239 => pick(&self.handles[which % KINDS].live),
            240..=243 => Some(0),
            244 => Some(1),
            245 => Some(2),
            246 => Some(u64::MAX),
            _ => Some(self.number()),
        }
        .unwrap_or(0)
    }

    /// A device address, of memory or not.
    pub fn address(&mut self) -> u64 {
        let base = match self.byte() {
            0..=199 => {
                let which = usize::from(self.byte());
                let live = &self.handles[ADDRESS].live;
                live.get(which % live.len().max(1)).copied().unwrap_or(0)
            }
            200..=215 => self.handle(ADDRESS),
            216..=231 => self.handle(PINNED),
            232..=243 => self.host().0,
            244..=247 => 0,
            248..=251 => 1 << 48,
            _ => self.number(),
        };
        base.wrapping_add(self.offset())
    }

    /// Mostly 0.
    pub fn offset(&mut self) -> u64 {
        match self.byte() {
            0..=127 => 0,
            128..=191 => 4 * u64::from(self.byte()),
            192..=223 => 256 * u64::from(self.byte()),
            224..=239 => u64::from(self.byte()),
            _ => self.one_of(&[
                65_535,
                65_536,
                1 << 20,
                1 << 21,
                u64::MAX,
                1 << 40,
                1 << 63,
                0u64.wrapping_sub(256),
            ]),
        }
    }

    /// A place in ordinary host memory, and the bytes behind it.
    pub fn host(&mut self) -> (u64, usize) {
        let offset = match self.byte() {
            0..=127 => 0,
            128..=191 => 4096 * usize::from(self.byte() & 31),
            _ => usize::from(self.byte()) * 16,
        };
        (host_memory() + offset as u64, HOST_BYTES - offset)
    }

    /// A number of bytes or elements: nothing, little, or far too much; nothing between, which would only cost time.
    pub fn size(&mut self) -> u64 {
        match self.byte() {
            0..=127 => 4 * u64::from(self.byte()),
            128..=159 => u64::from(self.byte()),
            160..=199 => 256 * u64::from(self.byte()),
            200..=231 => self.one_of(&[
                64 << 10,
                (64 << 10) + 1,
                128 << 10,
                1 << 20,
                2 << 20,
                3 << 20,
            ]),
            _ => self.one_of(&[
                1 << 39,
                1 << 40,
                1 << 47,
                1 << 62,
                1 << 63,
                u64::MAX,
                u64::MAX - 255,
                u64::MAX / 3,
            ]),
        }
    }

    /// Flags, an attribute or another small number; now and then any.
    pub fn small(&mut self) -> u32 {
        match self.byte() {
            0..=99 => 0,
            100..=199 => u32::from(self.byte() & 7),
            200..=219 => u32::from(self.byte()),
            220..=239 => 1 << (self.byte() & 31),
            _ => self.number() as u32,
        }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Host memory that is never freed, aligned as boxes of a copy want it.
fn host_memory() -> u64 {
    const ALIGN: usize = 64 << 10;
    static START: OnceLock<usize> = OnceLock::new();
    *START.get_or_init(|| {
        let memory: &'static mut [u8] = vec![0; HOST_BYTES + ALIGN].leak();
        (memory.as_mut_ptr() as usize).next_multiple_of(ALIGN)
    }) as u64
}

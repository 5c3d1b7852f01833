//! `cp.async.bulk.tensor`: boxes of a tensor in global memory to shared memory and back.

use crate::ptx::ir::Space;

use super::super::async_copy::{Announced, Completion, Transfer};
use super::super::cluster::map_address;
use super::super::context::{Context, Lanes};
use super::super::fault::{Access, Fault};
use super::super::op::{Handler, Op, Slot};
use super::super::tensor_map::{ALIGNMENT, BYTES, BoxRow, MAX_RANK, TensorMap};
use super::super::warp_handlers::{Shape, plain_handler};
use super::cells::cell;
use super::copy::BYTES_PER_CYCLE;
use super::target::{Target, addresses};
use super::{Site, generic};

/// What an address of a box in shared memory must be a multiple of.
const BOX_ALIGNMENT: u64 = 128;
/// Bytes that a swizzle moves together.
const PIECE: u32 = 16;

/// Constants of an instruction.
pub(in crate::exec) struct TensorCopy {
    pub rank: usize,
    /// Rows of 32-bit cells.
    pub coordinates: [Slot; MAX_RANK],
    /// Row of block masks, for `.multicast::cluster`.
    pub blocks: Option<Slot>,
}

/// A box of one lane's copy.
struct Tile {
    map: TensorMap,
    coordinates: [i32; MAX_RANK],
    line: u32,
    lane: usize,
}

/// Part of a row: its place within the row, and its bytes.
#[derive(Clone, Copy)]
struct RowPart {
    at: u32,
    bytes: u32,
}

/// The parts of a row that stay together in shared memory.
fn parts(map: &TensorMap) -> impl Iterator<Item = RowPart> + use<> {
    let bytes = map.row_bytes();
    let piece = match map.swizzle == 0 && !map.fills_nan {
        true => bytes,
        false => PIECE,
    };
    (0..bytes)
        .step_by(piece.max(1) as usize)
        .map(move |at| RowPart {
            at,
            bytes: piece.min(bytes - at),
        })
}

impl RowPart {
    /// What of it lies inside the tensor: bytes before, and bytes inside.
    fn inside(self, row: BoxRow) -> (u32, u32) {
        let (start, end) = (row.before, row.before + row.inside);
        let before = start.clamp(self.at, self.at + self.bytes) - self.at;
        let end = end.clamp(self.at + before, self.at + self.bytes) - self.at;
        (before, end - before)
    }
}

struct TensorCopyHandler<const STORES: bool>;

impl<const STORES: bool> Shape for TensorCopyHandler<STORES> {
    /// Address row `a` of the box in shared memory (site `x`), `b` of the tensor map (site `x + 1`), `d` of the mbarrier object
    /// (site `x + 2`) unless `STORES`; the rest is in tensor copy `c`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let code = cx.code;
        let sites = &code.sites[op.x as usize..];
        let copy = &code.tensor_copies[op.c as usize];
        // SAFETY: lowering made these the sites' address rows.
        let (shared, maps) = unsafe {
            (
                addresses(cx, &sites[0], op.a),
                addresses(cx, &sites[1], op.b),
            )
        };
        for lane in cx.lanes() {
            // SAFETY: lowering made these rows of 32-bit cells.
            let Some(tile) = (unsafe { cx.tile(&sites[1], copy, lane, maps[lane]) }) else {
                return;
            };
            if STORES {
                cx.store_tile(sites, &tile, shared[lane]);
                continue;
            }
            // SAFETY: lowering made `d` the address row of the third site, and the masks a row of 32-bit cells.
            let (mbarrier, blocks) = unsafe {
                let blocks = copy.blocks.map(|slot| cell(cx, slot, false, lane) as u32);
                (addresses(cx, &sites[2], op.d)[lane], blocks)
            };
            match blocks {
                None => cx.load_tile(sites, &tile, [[shared[lane], mbarrier]].into_iter()),
                Some(blocks) => {
                    let there = |rank: usize| {
                        [shared[lane], mbarrier].map(|address| map_address(address, rank as u32))
                    };
                    cx.load_tile(sites, &tile, Lanes(blocks & 0xffff).map(there));
                }
            }
        }
    }
}

impl<'g> Context<'g> {
    /// The box that a lane copies.
    ///
    /// # Safety
    ///
    /// The coordinates are rows of 32-bit cells of the running frame.
    unsafe fn tile(
        &mut self,
        site: &Site,
        copy: &TensorCopy,
        lane: usize,
        address: u64,
    ) -> Option<Tile> {
        if !address.is_multiple_of(ALIGNMENT) {
            self.refuse_copy(
                site,
                lane,
                format!("the tensor map at {address:#x} is not aligned to {ALIGNMENT} bytes"),
            );
            return None;
        }
        let (space, _) = generic(address);
        if matches!(space, Space::Shared | Space::Local) {
            self.refuse_copy(
                site,
                lane,
                format!("the tensor map at {address:#x} is in shared or local memory"),
            );
            return None;
        }
        let Some(target) = self.target(site, lane, address, BYTES as u64) else {
            self.fail_access(site, lane, address, Access::Load);
            return None;
        };
        if target.global.is_some() {
            self.watch_access(site, Access::Load, &target, BYTES as u64, lane);
        }
        // SAFETY: `target` found that many bytes.
        let bytes = unsafe { target.pointer.cast::<[u8; BYTES]>().read_unaligned() };
        let refusal = match TensorMap::of_bytes(&bytes) {
            None => format!("there is no tensor map at {address:#x}"),
            Some(map) if map.rank != copy.rank => {
                format!("the tensor map at {address:#x} has {} dimensions", map.rank)
            }
            Some(map) if map.interleave != 0 => {
                "interleaved layouts of tensors are not implemented".to_owned()
            }
            Some(map) if map.box_bytes()[1] > self.shared_bytes.into() => {
                format!(
                    "a box of {} bytes is larger than shared memory",
                    map.box_bytes()[1]
                )
            }
            Some(map) => {
                let mut coordinates = [0; MAX_RANK];
                for (coordinate, slot) in
                    coordinates.iter_mut().zip(copy.coordinates).take(copy.rank)
                {
                    // SAFETY: the caller's promise.
                    *coordinate = unsafe { cell(self, slot, false, lane) as i32 };
                }
                let first = i64::from(coordinates[0]) * i64::from(map.element);
                if first % i64::from(PIECE) == 0 {
                    let line = site.line;
                    return Some(Tile {
                        map,
                        coordinates,
                        line,
                        lane,
                    });
                }
                let first = coordinates[0];
                format!(
                    "a box begins at element {first} of a row, which is not aligned to {PIECE} bytes"
                )
            }
        };
        self.refuse_copy(site, lane, refusal);
        None
    }

    #[cold]
    fn refuse_copy(&mut self, site: &Site, lane: usize, message: String) {
        self.fail(lane as u32, site.line, |place| Fault::IllegalInstruction {
            place,
            message,
        });
    }

    /// The box's place in shared memory, checked, counted and made known to the checkers.
    fn box_in_shared(
        &mut self,
        site: &Site,
        tile: &Tile,
        address: u64,
        access: Access,
    ) -> Option<Target<'g>> {
        let [bytes, room] = tile.map.box_bytes();
        if !address.is_multiple_of(BOX_ALIGNMENT) {
            self.fail(tile.lane as u32, site.line, |place| Fault::Misaligned {
                place,
                access,
                address,
                bytes: BOX_ALIGNMENT as u32,
            });
            return None;
        }
        // Swizzles move bytes within lines that are as long.
        let whole = match tile.map.swizzle {
            0 => room,
            _ => room.next_multiple_of(BOX_ALIGNMENT),
        };
        let target = self.target(site, tile.lane, address, whole);
        let Some(target) = target.filter(|target| target.global.is_none()) else {
            self.fail_access(site, tile.lane, address, access);
            return None;
        };
        self.watch_bulk(site, access, &target, room as u32, tile.lane);
        self.cost.shared_bytes += bytes;
        Some(target)
    }

    /// The bytes of a row in global memory, checked, counted and made known to the checkers.
    fn row_in_global(
        &mut self,
        site: &Site,
        tile: &Tile,
        row: BoxRow,
        access: Access,
    ) -> Option<*mut u8> {
        let bytes = u64::from(row.inside);
        let site = &Site {
            space: Space::Global,
            ..*site
        };
        let Some(target) = self.target(site, tile.lane, row.address, bytes) else {
            self.fail_access(site, tile.lane, row.address, access);
            return None;
        };
        self.watch_access(site, access, &target, bytes, tile.lane);
        self.count_bulk(&target, row.address, bytes, access);
        if let (Access::Store, Some((allocation, offset))) = (access, target.global) {
            self.hold.before_store(allocation, offset, bytes as usize);
        }
        Some(target.pointer)
    }

    /// Global memory to the shared memory of each of these places, which tell their mbarrier objects.
    fn load_tile(&mut self, sites: &[Site], tile: &Tile, places: impl Iterator<Item = [u64; 2]>) {
        let rows: Vec<BoxRow> = tile.map.rows(tile.coordinates).collect();
        let mut sources = Vec::with_capacity(rows.len());
        for row in &rows {
            sources.push(match row.inside {
                0 => std::ptr::null(),
                _ => match self.row_in_global(&sites[1], tile, *row, Access::Load) {
                    Some(pointer) => pointer.cast_const(),
                    None => return,
                },
            });
        }
        let [bytes, _] = tile.map.box_bytes();
        let ready = self.cycles + u64::from(self.latencies().global) + bytes / BYTES_PER_CYCLE;
        for [to, mbarrier] in places {
            let Some(target) = self.box_in_shared(&sites[0], tile, to, Access::Store) else {
                return;
            };
            let Some(mbarrier) = self.mbarrier(&sites[2], tile.lane, mbarrier) else {
                return;
            };
            self.watch_arrival(mbarrier);
            let mut transfers = Transfers {
                map: &tile.map,
                start: to as u32,
                shared: target.pointer,
                ready,
                list: Vec::new(),
            };
            for (number, (row, source)) in rows.iter().zip(&sources).enumerate() {
                transfers.load(number as u32, *row, *source);
            }
            for transfer in &transfers.list {
                self.watch_writes(&sites[0], transfer.to, transfer.bytes, tile.lane);
            }
            self.cluster.announce(Announced {
                mbarrier,
                transfers: transfers.list,
                completion: Completion::Bytes(bytes as u32),
                line: tile.line,
            });
        }
    }

    /// Shared memory to global memory, what lies in the tensor.
    fn store_tile(&mut self, sites: &[Site], tile: &Tile, from: u64) {
        let Some(source) = self.box_in_shared(&sites[0], tile, from, Access::Load) else {
            return;
        };
        let [bytes, _] = tile.map.box_bytes();
        let mut transfers = Transfers {
            map: &tile.map,
            start: from as u32,
            shared: source.pointer,
            ready: self.cycles
                + u64::from(self.latencies().cluster_shared)
                + bytes / BYTES_PER_CYCLE,
            list: Vec::new(),
        };
        for (number, row) in tile.map.rows(tile.coordinates).enumerate() {
            if row.inside > 0 {
                match self.row_in_global(&sites[1], tile, row, Access::Store) {
                    Some(to) => transfers.store(number as u32, row, to),
                    None => return,
                }
            }
        }
        for Transfer { from, bytes, .. } in &transfers.list {
            self.watch_reads(&sites[0], from.cast_mut(), *bytes, tile.lane);
        }
        let groups = &mut self.copies[self.warp as usize].bulk;
        for transfer in transfers.list {
            groups.issue(tile.lane, transfer);
        }
    }
}

/// The transfers of a box that starts at the address `start` of shared memory, where `shared` points to.
struct Transfers<'m> {
    map: &'m TensorMap,
    start: u32,
    shared: *mut u8,
    ready: u64,
    list: Vec<Transfer>,
}

impl Transfers<'_> {
    /// Where a part of a row is in shared memory.
    fn place(&self, row: u32, part: RowPart) -> *mut u8 {
        let address = self.start.wrapping_add(row * self.map.pitch() + part.at);
        let offset = self.map.swizzled(address).wrapping_sub(self.start);
        self.shared.wrapping_add(offset as usize)
    }

    fn push(&mut self, from: *const u8, to: *mut u8, source_bytes: u32, bytes: u32) {
        if bytes > 0 {
            self.list.push(Transfer {
                from,
                to,
                source_bytes,
                bytes,
                ready: self.ready,
                phase: 0,
            });
        }
    }

    /// The value of elements outside of the tensor.
    fn fill(&mut self, to: *mut u8, bytes: u32) {
        /// The NaN of an H200 for elements of 16 bits.
        static NAN: [u16; 8] = [0x7ff7; 8];
        let (from, source_bytes) = match self.map.fills_nan {
            true => (NAN.as_ptr().cast(), bytes),
            false => (std::ptr::null(), 0),
        };
        self.push(from, to, source_bytes, bytes);
    }

    /// Brings a row, of which what lies inside the tensor is at `from`.
    fn load(&mut self, number: u32, row: BoxRow, from: *const u8) {
        for part in parts(self.map) {
            let to = self.place(number, part);
            let (before, inside) = part.inside(row);
            self.fill(to, before);
            let source = from.wrapping_add((part.at + before).saturating_sub(row.before) as usize);
            let there = to.wrapping_add(before as usize);
            self.push(source, there, inside, inside);
            let after = part.bytes - before - inside;
            self.fill(there.wrapping_add(inside as usize), after);
        }
    }

    /// Takes what lies inside the tensor to `to`.
    fn store(&mut self, number: u32, row: BoxRow, to: *mut u8) {
        for part in parts(self.map) {
            let (before, inside) = part.inside(row);
            let from = self.place(number, part).wrapping_add(before as usize);
            let there = to.wrapping_add((part.at + before).saturating_sub(row.before) as usize);
            self.push(from, there, inside, inside);
        }
    }
}

/// Handler of `cp.async.bulk.tensor`; see its shape for the operands.
pub(in crate::exec) fn copy_tensor(stores: bool) -> Handler {
    match stores {
        true => plain_handler::<TensorCopyHandler<true>>(),
        false => plain_handler::<TensorCopyHandler<false>>(),
    }
}

//! `wgmma`: matrix multiplications that warpgroups start and wait for (PTX ISA, "Asynchronous Warpgroup Level Matrix
//! Instructions").
//!
//! A multiplication of 64 rows belongs to four warps, and each computes 16 rows for itself. The hardware may perform one at any
//! time between its issue and the wait for it; here that is as late as possible, as it is with asynchronous copies: a kernel that
//! overwrites shared memory too early spoils the product in every run. Registers are safer: `ptxas` waits before an instruction that
//! touches those of a multiplication under way, and so does lowering.

use std::collections::VecDeque;

use half::{bf16, f16};

use super::context::Context;
use super::fault::{Access, Fault};
use super::matrix_descriptor::{MatrixDescriptor, PIECE};
use super::memory::Site;
use super::op::{Handler, Op, Slot};
use super::program::Code;
use super::tensor_core::{AccumulationRule, COLUMNS, DEPTH, Factor, Factors, ROWS, Sums, multiply};
use super::warp_handlers::{LANES, Shape, handler, plain_handler};
use super::watch::Knowledge;
use crate::ptx::ir::Space;

/// Warps of a warpgroup.
const WARPS: u32 = 4;
/// From one multiplication to the next one of a warpgroup at least, in cycles, as measured on an H200.
const LEAST_CYCLES: u64 = 31;

/// `wgmma.mma_async` as lowered.
pub(super) struct WarpgroupMultiplication {
    pub line: u32,
    /// Four rows for each eight columns.
    pub d: Vec<[Slot; 4]>,
    pub a: Left,
    /// Row of 64-bit cells: the descriptor of B.
    pub b: Slot,
    /// Predicate: whether D is added to.
    pub accumulates: Slot,
    /// One of the factors is negated.
    pub negated: bool,
    /// A and B are MN-major.
    pub transposed: [bool; 2],
    pub perform: Handler,
    /// For the checkers: reads of pieces.
    pub site: Site,
}

/// Where A is.
pub(super) enum Left {
    /// Row of 64-bit cells: a descriptor.
    Shared(Slot),
    Registers([Slot; 4]),
}

/// The multiplications of one warp, in the order of issue.
pub(super) struct Multiplications<'g> {
    pending: VecDeque<Pending<'g>>,
    /// Groups that it has committed.
    committed: u32,
    /// When the tensor core is done with all of them.
    done: u64,
}

struct Pending<'g> {
    /// Performs it. `a`, `b` and `c`, `d` are the halves of the descriptors of A and B; `e` says whether D is added to; `x` is the
    /// index of the multiplication.
    op: Op,
    registers: *mut u8,
    code: &'g Code,
    /// The number of its group, which may not be committed yet.
    group: u32,
    ready: u64,
    /// For the checkers: the warp's clock at the issue.
    knowledge: Option<Knowledge>,
}

impl Multiplications<'_> {
    pub fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            committed: 0,
            done: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pending.clear();
        (self.committed, self.done) = (0, 0);
    }
}

struct Issue;

impl Shape for Issue {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let code = cx.code;
        let m = &code.warpgroup_multiplications[op.x as usize];
        if !cx.is_whole_warp(m.line) || !cx.is_in_warpgroup(m.line) {
            return;
        }
        let a = match m.a {
            Left::Shared(slot) => cx.uniform_descriptor(slot, m.line),
            Left::Registers(_) => Some(0),
        };
        let (Some(a), Some(b)) = (a, cx.uniform_descriptor(m.b, m.line)) else {
            return;
        };
        // SAFETY: lowering made `accumulates` a predicate.
        let accumulates = unsafe { cx.predicate(m.accumulates) } != 0;
        let (a_bytes, columns) = (2 * (ROWS * DEPTH) as u64, (COLUMNS * m.d.len()) as u64);
        let from_shared = matches!(m.a, Left::Shared(_));
        // B is read once for four warps.
        let b_bytes = columns * 2 * DEPTH as u64 / u64::from(WARPS);
        cx.cost.shared_bytes += b_bytes + if from_shared { a_bytes } else { 0 };
        let knowledge = cx.watch.as_mut().and_then(|watch| watch.knowledge(cx.warp));
        let warp = &mut cx.multiplications[cx.warp as usize];
        // Four tensor cores of 512 multiply-adds in a cycle.
        warp.done = warp.done.max(cx.cycles) + (columns / 2).max(LEAST_CYCLES);
        warp.pending.push_back(Pending {
            op: Op {
                run: m.perform,
                a: a as u32,
                b: (a >> 32) as u32,
                c: b as u32,
                d: (b >> 32) as u32,
                e: accumulates.into(),
                x: op.x,
            },
            registers: cx.registers,
            code,
            group: warp.committed,
            ready: warp.done,
            knowledge,
        });
    }
}

struct Commit;

impl Shape for Commit {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if cx.is_whole_warp(op.x) {
            let warp = &mut cx.multiplications[cx.warp as usize];
            warp.committed = warp.committed.wrapping_add(1);
        }
    }
}

struct Wait;

impl Shape for Wait {
    /// The latest `e` groups may stay under way, and what is in no group yet.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if cx.is_whole_warp(op.x) {
            cx.perform_multiplications(op.e);
        }
    }
}

struct WaitForAll;

impl Shape for WaitForAll {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        if !cx.multiplications[cx.warp as usize].pending.is_empty() {
            let warp = &mut cx.multiplications[cx.warp as usize];
            // Copies without a group count as a group that is committed after the instruction.
            let open = warp.committed;
            warp.committed = open.wrapping_add(1);
            cx.perform_multiplications(0);
            cx.multiplications[cx.warp as usize].committed = open;
        }
    }
}

impl Context<'_> {
    /// Performs what is pending but the latest `but` groups, in order.
    fn perform_multiplications(&mut self, but: u32) {
        let warp = self.warp as usize;
        let (registers, code) = (self.registers, self.code);
        loop {
            let multiplications = &mut self.multiplications[warp];
            let committed = multiplications.committed;
            let is_due = |pending: &&Pending<'_>| committed.wrapping_sub(pending.group) > but;
            if multiplications.pending.front().filter(is_due).is_none() {
                break;
            }
            let Some(mut pending) = multiplications.pending.pop_front() else {
                break;
            };
            (self.registers, self.code) = (pending.registers, pending.code);
            self.cycles = self.cycles.max(pending.ready);
            self.exchange(&mut pending.knowledge);
            // SAFETY: the operation was made for that frame, which calls and returns do not leave before it is performed.
            unsafe { (pending.op.run)(self, &pending.op) };
            self.exchange(&mut pending.knowledge);
            if self.fault.is_some() {
                break;
            }
        }
        (self.registers, self.code) = (registers, code);
    }

    /// Exchanges the clock that the checkers use for accesses with an earlier one, and back again.
    fn exchange(&mut self, knowledge: &mut Option<Knowledge>) {
        if let (Some(watch), Some(knowledge)) = (&mut self.watch, knowledge) {
            watch.exchange(self.warp, knowledge);
        }
    }

    /// Whether the warp's group has four warps; else reports the fault.
    fn is_in_warpgroup(&mut self, line: u32) -> bool {
        let last = self.warp / WARPS * WARPS + WARPS;
        if last * LANES as u32 <= self.grid.threads_per_block() {
            return true;
        }
        self.refuse(
            line,
            "the block has no four warps for this warpgroup".to_owned(),
        );
        false
    }

    /// A descriptor, which must be the same in all threads.
    fn uniform_descriptor(&mut self, slot: Slot, line: u32) -> Option<u64> {
        // SAFETY: lowering made this a row of 64-bit cells.
        let row = unsafe { &*self.row::<u64>(slot) };
        let first = row[0];
        if row.iter().all(|bits| *bits == first) {
            return Some(first);
        }
        let message = "the threads of the warp have different matrix descriptors".to_owned();
        self.refuse(line, message);
        None
    }

    #[cold]
    fn refuse(&mut self, line: u32, message: String) {
        self.fail(0, line, |place| Fault::IllegalInstruction {
            place,
            message,
        });
    }

    /// A piece of a matrix in the block's shared memory. The checkers see the reads of A by each warp. They see
    /// those of B once, although all warps of the group read it: a part of the pieces is attributed to each warp.
    #[inline(always)]
    fn piece(&mut self, site: &Site, address: u32, whole: bool) -> Option<[u16; PIECE]> {
        const BYTES: u32 = 2 * PIECE as u32;
        if address + BYTES > self.shared_bytes {
            self.fail(0, site.line, |place| Fault::IllegalAddress {
                place,
                access: Access::Load,
                space: Space::Shared,
                address: address.into(),
                bytes: BYTES,
                nearest: None,
                freed: None,
            });
            return None;
        }
        if let Some(watch) = &mut self.watch
            && whole | (address / BYTES % WARPS == self.warp % WARPS)
        {
            let place = (address, BYTES);
            watch.shared(site, Access::Load, (self.warp, 0), place, false);
        }
        let from = self.shared.wrapping_add(address as usize);
        // SAFETY: the piece lies in the block's shared memory, which is aligned to 16 bytes as descriptors are.
        Some(unsafe { from.cast::<[u16; PIECE]>().read_volatile() })
    }

    /// `WIDTH` rows of a matrix in shared memory from `first` on, by `[k][row]`; `false` if that failed.
    #[inline(always)]
    fn shared_rows<const WIDTH: usize>(
        &mut self,
        site: &Site,
        descriptor: MatrixDescriptor,
        transposed: bool,
        first: usize,
        rows: &mut [[u16; WIDTH]; DEPTH],
    ) -> bool {
        let whole = WIDTH == ROWS;
        for line in 0..if transposed { DEPTH } else { WIDTH } {
            for start in (0..if transposed { WIDTH } else { DEPTH }).step_by(PIECE) {
                let (row, k) = if transposed {
                    (start, line)
                } else {
                    (line, start)
                };
                let address = descriptor.piece(transposed, (first + row) as u32, k as u32);
                let Some(piece) = self.piece(site, address, whole) else {
                    return false;
                };
                if transposed {
                    rows[k][row..][..PIECE].copy_from_slice(&piece);
                } else {
                    for (rows, element) in rows[k..].iter_mut().zip(piece) {
                        rows[row] = element;
                    }
                }
            }
        }
        true
    }
}

struct Perform<F>(std::marker::PhantomData<F>);

impl<F: Factor> Shape for Perform<F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let m = &cx.code.warpgroup_multiplications[op.x as usize];
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        cx.watch_instruction();
        let mut a = Factors::new();
        match m.a {
            Left::Registers(slots) => cx.left_rows(slots, &mut a.bits),
            Left::Shared(_) => {
                let descriptor = MatrixDescriptor::of_bits(wide(op.a, op.b));
                let first = (cx.warp % WARPS) as usize * ROWS;
                if !cx.shared_rows(&m.site, descriptor, m.transposed[0], first, &mut a.bits) {
                    return;
                }
            }
        }
        if m.negated {
            for element in a.bits.as_flattened_mut() {
                *element ^= 0x8000;
            }
        }
        a.decode::<F>();
        let mut factors = Factors::new();
        let b = MatrixDescriptor::of_bits(wide(op.c, op.d));
        let rule = AccumulationRule::of(cx.grid.compute_capability.0);
        for (strip, slots) in m.d.iter().enumerate() {
            let first = COLUMNS * strip;
            if !cx.shared_rows(&m.site, b, m.transposed[1], first, &mut factors.bits) {
                return;
            }
            factors.decode::<F>();
            let mut sums: Sums = [[0; COLUMNS]; ROWS];
            if op.e != 0 {
                cx.load_sums(slots, &mut sums);
            }
            multiply::<F>(rule, &a, &factors, &mut sums);
            cx.store_sums(slots, &sums);
        }
    }
}

/// Handler of `wgmma.mma_async`: multiplication `x`.
pub(super) fn issue() -> Handler {
    plain_handler::<Issue>()
}

/// Handler that performs a multiplication of factors of 16 bits; for [`WarpgroupMultiplication::perform`].
pub(super) fn perform(brain: bool) -> Handler {
    match brain {
        true => handler::<Perform<bf16>>(),
        false => handler::<Perform<f16>>(),
    }
}

/// Handler of `wgmma.commit_group`: line `x`.
pub(super) fn commit() -> Handler {
    plain_handler::<Commit>()
}

/// Handler of `wgmma.wait_group`: the latest `e` groups may stay under way; line `x`.
pub(super) fn wait() -> Handler {
    plain_handler::<Wait>()
}

/// Handler that waits for pending multiplications before their registers are accessed.
pub(super) fn wait_for_all() -> Handler {
    plain_handler::<WaitForAll>()
}

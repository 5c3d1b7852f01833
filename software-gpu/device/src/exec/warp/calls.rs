//! Frames: calls of functions, their local memory and their constants.

use super::super::context::{Context, Lanes};
use super::super::fault::Fault;
use super::super::grid::Grid;
use super::super::op::Slot;
use super::super::program::{Constant, Terminator, Value};
use super::super::warp_handlers::LANES;
use super::{Frame, Line, Split, State, Stop, Warp};

/// Calls nest at most this deep.
const MAX_FRAMES: usize = 512;

impl Warp {
    pub(super) fn call(
        &mut self,
        cx: &mut Context<'_>,
        callee: u32,
        arguments: &[u32],
        line: u32,
    ) -> Option<Stop> {
        let program = &*cx.grid.kernel.program;
        let code = &program.codes[callee as usize];
        let frame = self.frames.last()?;
        let mask = frame.current.mask;
        let local_base = frame.local_base + cx.code.local_bytes;
        if self.frames.len() == MAX_FRAMES || local_base + code.local_bytes > cx.local_stride {
            let place = cx.place(self.index, mask.trailing_zeros(), line);
            return Some(Stop::Fault(Box::new(Fault::StackOverflow { place })));
        }
        let stack_bytes = frame.stack_bytes + code.variable_bytes;
        if program.limited_stack && stack_bytes > cx.grid.stack_limit {
            return Some(Stop::Fault(Box::new(Fault::StackLimit {
                place: cx.place(self.index, mask.trailing_zeros(), line),
                function: code.name.clone(),
                bytes: stack_bytes,
                limit: cx.grid.stack_limit,
            })));
        }
        let from = frame.local_base;
        self.enter(cx, callee as usize, mask, Vec::new());
        let base = self.frames.last()?.base;
        self.fill(cx, &code.constants, base);
        for (argument, (offset, bytes)) in arguments.iter().zip(&code.arguments) {
            self.copy_local(
                cx.local_stride,
                mask,
                from + argument,
                local_base + offset,
                *bytes,
            );
        }
        None
    }

    /// A call by address: the current threads that call the same function as the first thread run now; the others run when those have
    /// returned.
    pub(super) fn call_indirect(
        &mut self,
        cx: &mut Context<'_>,
        target: Slot,
        callees: &[(u64, u32)],
        arguments: &[u32],
        line: u32,
    ) -> Option<Stop> {
        let frame = self.frames.last_mut()?;
        // SAFETY: lowering made the slot a 64-bit row of this frame.
        let row = unsafe { *cx.row::<u64>(target) };
        let first = Lanes(frame.current.mask).next()?;
        let together = Lanes(frame.current.mask).filter(|lane| row[*lane] == row[first]);
        let mask = together.fold(0, |mask, lane| mask | 1 << lane);
        let rest = frame.current.mask & !mask;
        if rest != 0 {
            frame.others.push(Split {
                mask: rest,
                ..frame.current
            });
            frame.current.mask = mask;
        }
        match callees.iter().find(|(address, _)| *address == row[first]) {
            Some((_, callee)) => self.call(cx, *callee, arguments, line),
            None => {
                let message = format!("a call of {:#x}, where no function is", row[first]);
                let place = cx.place(self.index, first as u32, line);
                Some(Stop::Fault(Box::new(Fault::IllegalInstruction {
                    place,
                    message,
                })))
            }
        }
    }

    /// Pushes a frame for `mask` behind the caller's, with zeroed local memory; its constants are yet to be filled.
    pub(super) fn enter(&mut self, cx: &Context<'_>, index: usize, mask: u32, others: Vec<Split>) {
        let codes = &cx.grid.kernel.program.codes;
        let code = &codes[index];
        let (base, local_base, below) = self.frames.last().map_or((0, 0, 0), |caller| {
            let sizes = &codes[caller.code];
            (
                caller.base + sizes.frame_bytes as usize,
                caller.local_base + sizes.local_bytes,
                caller.stack_bytes,
            )
        });
        let lines = (base + code.frame_bytes as usize) / 64;
        if self.registers.len() < lines {
            self.registers.resize(lines, Line([0; 64]));
        }
        let start = self
            .registers
            .as_mut_ptr()
            .wrapping_byte_add(base)
            .cast::<u8>();
        for (slot, bytes) in &code.zeroed {
            // SAFETY: the slots lie in the frame, which the register file has room for.
            unsafe { start.add(*slot as usize).write_bytes(0, *bytes as usize) };
        }
        let stride = cx.local_stride as usize;
        let local = self.local.as_mut_ptr().cast::<u8>();
        for lane in Lanes(if code.local_bytes == 0 { 0 } else { mask }) {
            // SAFETY: `call` has checked that the frame fits the stack of `stride` bytes; a kernel's always does.
            unsafe {
                local
                    .add(lane * stride + local_base as usize)
                    .write_bytes(0, code.local_bytes as usize)
            };
        }
        self.frames.push(Frame {
            code: index,
            base,
            local_base,
            stack_bytes: below + code.variable_bytes,
            current: Split {
                pc: 0,
                mask,
                state: State::Ready,
            },
            others,
        });
    }

    /// Pops the innermost frame, whose threads have all returned or exited, and resumes its caller.
    pub(super) fn leave(&mut self, cx: &Context<'_>) {
        let codes = &cx.grid.kernel.program.codes;
        let Some(frame) = self.frames.pop() else {
            return;
        };
        let Some(caller) = self.frames.last_mut() else {
            return;
        };
        caller.current.mask &= !self.exited;
        for split in &mut caller.others {
            split.mask &= !self.exited;
        }
        let mask = caller.current.mask;
        let (to, block) = (
            caller.local_base,
            &codes[caller.code].blocks[caller.current.pc as usize],
        );
        if let Terminator::Call { returns, next, .. }
        | Terminator::CallIndirect { returns, next, .. } = &block.end
        {
            caller.current.pc = *next;
            for (place, (offset, bytes)) in returns.iter().zip(&codes[frame.code].returns) {
                self.copy_local(
                    cx.local_stride,
                    mask,
                    frame.local_base + offset,
                    to + place,
                    *bytes,
                );
            }
        }
    }

    /// Copies bytes within the local memory of each lane in `mask`.
    pub(super) fn copy_local(&mut self, stride: u32, mask: u32, from: u32, to: u32, bytes: u32) {
        let local = self.local.as_mut_ptr().cast::<u8>();
        for lane in Lanes(mask) {
            let stack = local.wrapping_add(lane * stride as usize);
            // SAFETY: both ranges lie in frames that fit the stack of `stride` bytes.
            unsafe {
                stack
                    .add(from as usize)
                    .copy_to(stack.add(to as usize), bytes as usize)
            };
        }
    }

    /// Fills constant rows of the frame at `base`.
    pub(super) fn fill(&mut self, cx: &Context<'_>, constants: &[Constant], base: usize) {
        let start = self
            .registers
            .as_mut_ptr()
            .wrapping_byte_add(base)
            .cast::<u8>();
        for Constant { slot, wide, value } in constants {
            let row: [u64; LANES] = match *value {
                Value::Bits(bits) => [bits; LANES],
                Value::Parameter {
                    offset,
                    bytes,
                    signed,
                } => [parameter(cx.grid, offset, bytes, signed); LANES],
                Value::Special(special) => widened(&special.row(cx, self.index)),
            };
            let place = start.wrapping_add(*slot as usize);
            // SAFETY: lowering reserved a row of this width in the frame, and rows are aligned.
            unsafe {
                match wide {
                    true => place.cast::<[u64; LANES]>().write(row),
                    false => place.cast::<[u32; LANES]>().write(narrowed(&row)),
                }
            }
        }
    }
}

/// Cells with 64 bits. These are loops, because `map` of an array is not inlined at every opt-level.
#[inline(always)]
fn widened(row: &[u32; LANES]) -> [u64; LANES] {
    let mut wide = [0; LANES];
    for lane in 0..LANES {
        wide[lane] = row[lane].into();
    }
    wide
}

/// The low 32 bits of cells.
#[inline(always)]
fn narrowed(row: &[u64; LANES]) -> [u32; LANES] {
    let mut narrow = [0; LANES];
    for lane in 0..LANES {
        narrow[lane] = row[lane] as u32;
    }
    narrow
}

/// A kernel parameter as the bits of a cell.
fn parameter(grid: &Grid<'_>, offset: u32, bytes: u32, signed: bool) -> u64 {
    let mut cell = [0; 8];
    let (offset, bytes) = (offset as usize, bytes as usize);
    if let Some(value) = grid.parameters.get(offset..offset + bytes) {
        cell[..bytes].copy_from_slice(value);
    }
    let unused = 64 - 8 * bytes as u32;
    match signed {
        true => ((u64::from_le_bytes(cell) << unused) as i64 >> unused) as u64,
        false => u64::from_le_bytes(cell),
    }
}

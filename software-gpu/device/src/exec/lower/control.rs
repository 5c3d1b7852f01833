//! Control flow that takes operands: calls, barriers, `brx.idx`.

use crate::ptx::ir::{Instruction, Operand, Parameter, Symbol, Type};

use super::super::context::Context;
use super::super::cost::Weight;
use super::super::op::{Handler, Op, Slot};
use super::super::program::{BlockBarrier, Terminator};
use super::super::warp_handlers::{Shape, plain_handler};
use super::modifiers::Modifiers;
use super::{Lowering, Result, flow};

impl Lowering<'_> {
    /// The row that selects a target of `brx.idx`.
    pub fn branch_index(&mut self, i: &Instruction) -> Result<Slot> {
        let mut m = Modifiers::of(i);
        m.ignore(&["idx", "uni"]);
        m.end()?;
        let index = self.operand(i, 0)?;
        self.source(i, index, Type::U32)
    }

    /// The row of lane masks that a warp-wide instruction waits for.
    pub fn warp_members(&mut self, i: &Instruction) -> Result<Slot> {
        let members =
            flow::members(i).ok_or_else(|| self.malformed(i, "the member mask is missing"))?;
        self.source(i, members, Type::U32)
    }

    /// The operands of a block barrier; where it leads is up to the caller.
    pub fn block_barrier(&mut self, i: &Instruction) -> Result<BlockBarrier> {
        let mut m = Modifiers::of(i);
        m.take("cta");
        let aligned = m.take("aligned") || i.opcode == "bar";
        let (waits, is_reduction) = (!m.take("arrive"), m.take("red"));
        let is_sync = m.take("sync");
        if is_reduction {
            m.ignore(&["popc", "and", "or", "u32", "pred"]);
        } else if waits && !is_sync {
            return Err(self.unsupported(i, "this barrier is not implemented"));
        }
        m.end()?;
        let (id, threads, predicate) = match (is_reduction, i.operands.as_slice()) {
            (false, [id]) if waits => (id, None, None),
            (false, [id, threads]) => (id, Some(threads), None),
            (true, [_, id, predicate]) => (id, None, Some(predicate)),
            (true, [_, id, threads, predicate]) => (id, Some(threads), Some(predicate)),
            _ => return Err(self.malformed(i, "another number of operands is needed")),
        };
        let (negated, predicate) = match predicate {
            Some(Operand::Not(inner)) => (true, Some(&**inner)),
            other => (false, other),
        };
        let reduction = predicate
            .map(|predicate| self.predicate(i, predicate))
            .transpose()?;
        Ok(BlockBarrier {
            id: self.source(i, id, Type::U32)?,
            threads: threads
                .map(|threads| self.source(i, threads, Type::U32))
                .transpose()?,
            waits,
            aligned,
            reduction: reduction.map(|predicate| (predicate, negated)),
            next: 0,
        })
    }

    /// Reads the result of the `bar.red` that has just let the warp go.
    pub fn barrier_result(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        m.ignore(&["cta", "aligned", "red"]);
        let result = self.operand(i, 0)?;
        if m.take("popc") {
            let target = self.target(i, result, Type::U32)?;
            self.emit(plain_handler::<Votes>(), target, [0; 3]);
        } else {
            let handler: Handler = match m.take("and") {
                true => plain_handler::<AllVoted>(),
                false if m.take("or") => plain_handler::<AnyVoted>(),
                false => return Err(self.malformed(i, "`.popc`, `.and` or `.or` is needed")),
            };
            let target = self.predicate_target(i, result)?;
            self.emit(handler, target, [0; 3]);
        }
        Ok(Weight::FREE)
    }

    /// `call (result), function, (arguments);`, or with a register for the function and then its prototype.
    pub fn call(&mut self, i: &Instruction, next: u32) -> Result<Terminator> {
        let mut m = Modifiers::of(i);
        m.take("uni");
        m.end()?;
        let operands = match i.operands.as_slice() {
            [operands @ .., Operand::Label(_)] => operands,
            operands => operands,
        };
        let (returns, name, arguments): (&[Operand], _, &[Operand]) = match operands {
            [name] => (&[], name, &[]),
            [Operand::List(returns), name] => (returns, name, &[]),
            [name, Operand::List(arguments)] => (&[], name, arguments),
            [Operand::List(returns), name, Operand::List(arguments)] => (returns, name, arguments),
            _ => return Err(self.unsupported(i, "this form of call is not implemented")),
        };
        let link = self.link;
        let name = match name {
            Operand::Symbol(Symbol::Name(name), 0) => name,
            register @ Operand::Register(_) => {
                let target = self.source(i, register, Type::U64)?;
                return Ok(Terminator::CallIndirect {
                    target,
                    callees: link.callees().collect(),
                    arguments: self.places(i, arguments)?,
                    returns: self.places(i, returns)?,
                    next,
                });
            }
            _ => return Err(self.unsupported(i, "this form of call is not implemented")),
        };
        let Some(function) = link.function(name) else {
            return Err(self.malformed(i, format!("function `{name}` is not declared")));
        };
        let arguments = self.passed(i, arguments, &function.parameters)?;
        let returns = self.passed(i, returns, &function.returns)?;
        match link.index(name) {
            Some(callee) => Ok(Terminator::Call {
                callee,
                arguments,
                returns,
                next,
            }),
            None => self.system_call(i, name, &arguments, &returns, next),
        }
    }

    /// Where the variables passed by address of the function lie in the frame.
    fn places(&self, i: &Instruction, operands: &[Operand]) -> Result<Vec<u32>> {
        let place = |operand: &Operand| match operand {
            Operand::Symbol(Symbol::Variable(index), 0) => {
                self.local.get(*index).copied().flatten()
            }
            _ => None,
        };
        let places = operands.iter().map(|operand| {
            place(operand).ok_or_else(|| {
                self.unsupported(
                    i,
                    "arguments and results must be variables in `.param` space",
                )
            })
        });
        places.collect()
    }

    /// Where the variables passed for `parameters` lie in the frame.
    fn passed(
        &self,
        i: &Instruction,
        operands: &[Operand],
        parameters: &[Parameter],
    ) -> Result<Vec<u32>> {
        if operands.len() != parameters.len() {
            return Err(self.malformed(
                i,
                format!("{} arguments for {}", operands.len(), parameters.len()),
            ));
        }
        let place = |(operand, parameter): (&Operand, &Parameter)| {
            let (Operand::Symbol(Symbol::Variable(index), 0), None) = (operand, parameter.register)
            else {
                return Err(self.unsupported(
                    i,
                    "arguments and results must be variables in `.param` space",
                ));
            };
            let offset = self.local.get(*index).copied().flatten();
            let bytes = self
                .source
                .body
                .variables
                .get(*index)
                .map_or(0, |variable| variable.bytes);
            match offset.filter(|_| bytes >= parameter.bytes.into()) {
                Some(offset) => Ok(offset),
                None => Err(self.malformed(
                    i,
                    format!("no variable of {} bytes is passed", parameter.bytes),
                )),
            }
        };
        operands.iter().zip(parameters).map(place).collect()
    }
}

struct Votes;

impl Shape for Votes {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `d` a row of 32-bit cells.
        let row = unsafe { &mut *cx.row::<u32>(op.d) };
        cx.lanes().for_each(|lane| row[lane] = cx.barrier_result.0);
    }
}

struct AllVoted;

impl Shape for AllVoted {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let (votes, arrived) = cx.barrier_result;
        // SAFETY: lowering made `d` a predicate.
        unsafe { cx.set_predicate(op.d, if votes == arrived { !0 } else { 0 }) }
    }
}

struct AnyVoted;

impl Shape for AnyVoted {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        // SAFETY: lowering made `d` a predicate.
        unsafe { cx.set_predicate(op.d, if cx.barrier_result.0 > 0 { !0 } else { 0 }) }
    }
}

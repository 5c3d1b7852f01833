//! From opcode to section of the PTX ISA.

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::arithmetic::float::Modes;
use super::super::cost::Weight;
use super::super::op::{Handler, Slot};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// Emits the operations of an instruction that does not change control flow.
    pub fn instruction(&mut self, i: &Instruction) -> Result<Weight> {
        self.temporaries_used = [0; 2];
        let weight = match i.opcode.as_str() {
            "add" | "sub" | "mul" | "fma" | "div" | "abs" | "neg" | "min" | "max" | "mad"
                if is_float(i) =>
            {
                self.float(i)
            }
            "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "copysign" => {
                self.float(i)
            }
            "testp" => self.test_property(i),
            "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "div" | "rem" | "abs" | "neg"
            | "min" | "max" | "sad" | "addc" | "subc" | "madc" | "popc" | "clz" | "bfind"
            | "brev" | "bfe" | "bfi" | "fns" | "dp4a" | "dp2a" | "shl" | "shr" | "shf" | "and"
            | "or" | "xor" | "not" | "cnot" | "lop3" | "prmt" | "bmsk" | "szext" => self.integer(i),
            "setp" | "set" | "selp" | "slct" => self.compare(i),
            "cvt" => self.convert(i),
            "mov" | "ld" | "ldu" | "st" | "cvta" | "isspacep" | "prefetch" | "prefetchu"
            | "applypriority" | "discard" => self.data(i),
            "griddepcontrol" | "setmaxnreg" | "membar" | "fence" | "nanosleep" | "trap"
            | "brkpt" | "pmevent" => self.miscellaneous(i),
            "mbarrier" => self.mbarrier(i),
            "cp" => self.async_copy(i),
            "mapa" => self.map_address(i),
            "getctarank" => self.rank_of_address(i),
            "mma" | "ldmatrix" | "stmatrix" | "movmatrix" => self.matrix(i),
            "wmma" => self.wmma(i),
            "wgmma" => self.warpgroup(i),
            "tex" | "tld4" | "txq" | "suld" | "sust" | "suq" => self.texture(i),
            "bar" | "barrier" => self.barrier_result(i),
            "atom" | "red" => self.atomic(i),
            "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => self.warp_wide(i),
            opcode => {
                Err(self.unsupported(i, format!("instruction `{opcode}` is not implemented")))
            }
        }?;
        let after = std::mem::take(&mut self.after);
        self.ops.extend(after);
        Ok(weight)
    }

    /// Operand `index`.
    pub fn operand<'i>(&self, i: &'i Instruction, index: usize) -> Result<&'i Operand> {
        i.operands
            .get(index)
            .ok_or_else(|| self.malformed(i, format!("operand {} is missing", index + 1)))
    }

    /// Emits `run` with operand 0 as destination of type `target` and the following operands as `sources`.
    pub fn apply(
        &mut self,
        i: &Instruction,
        run: Handler,
        target: Type,
        sources: &[Type],
    ) -> Result<()> {
        if i.operands.len() != sources.len() + 1 {
            return Err(self.malformed(i, format!("{} operands are needed", sources.len() + 1)));
        }
        let mut slots = [0; 3];
        for (index, (slot, kind)) in slots.iter_mut().zip(sources).enumerate() {
            *slot = self.source(i, &i.operands[index + 1], *kind)?;
        }
        let d = self.target(i, &i.operands[0], target)?;
        self.emit(run, d, slots);
        Ok(())
    }

    /// The same as [`Self::apply`], with `modes` for a scalar handler.
    pub fn apply_modes(
        &mut self,
        i: &Instruction,
        run: Handler,
        modes: Modes,
        target: Type,
        sources: &[Type],
    ) -> Result<()> {
        self.apply(i, run, target, sources)?;
        if let Some(op) = self.ops.last_mut() {
            op.x = modes.bits();
        }
        Ok(())
    }

    /// The same as [`Self::apply`] for an instruction with one type, whose modifiers must all have been taken.
    pub fn uniform(
        &mut self,
        i: &Instruction,
        m: Modifiers<'_>,
        run: Option<Handler>,
        kind: Type,
    ) -> Result<()> {
        self.uniform_modes(i, m, run, Modes::default(), kind)
    }

    /// The same as [`Self::uniform`], with `modes` for a scalar handler.
    pub fn uniform_modes(
        &mut self,
        i: &Instruction,
        m: Modifiers<'_>,
        run: Option<Handler>,
        modes: Modes,
        kind: Type,
    ) -> Result<()> {
        m.end()?;
        let run =
            run.ok_or_else(|| self.unsupported(i, format!("type {kind} is not implemented here")))?;
        let count = sources(&i.opcode);
        if count == 2 && i.operands.len() == 4 && matches!(i.opcode.as_str(), "min" | "max") {
            return Err(self.unsupported(i, "the order of three numbers is not implemented"));
        }
        let sources = vec![kind; count];
        self.apply_modes(i, run, modes, kind, &sources)
    }

    /// Emits an operation with a small constant.
    pub fn emit_with(&mut self, run: Handler, d: Slot, sources: [Slot; 3], x: u32) {
        let mut op = self.op(run, d, sources);
        op.x = x;
        self.ops.push(op);
    }
}

/// How many operands of the instruction's type are read.
fn sources(opcode: &str) -> usize {
    match opcode {
        "abs" | "neg" | "not" | "cnot" | "brev" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos"
        | "lg2" | "ex2" | "tanh" => 1,
        "fma" | "mad" | "mad24" | "sad" => 3,
        _ => 2,
    }
}

fn is_float(i: &Instruction) -> bool {
    i.modifiers
        .iter()
        .filter_map(|name| Type::named(name))
        .next_back()
        .is_some_and(Type::is_float)
}

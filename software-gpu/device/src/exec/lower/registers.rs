//! Where values live: rows for registers, constants and temporaries, local memory for variables.

use crate::ptx::PtxError;
use crate::ptx::ir::{Instruction, Operand, RegisterId, Space, Symbol, Type};

use super::super::op::Slot;
use super::super::program::{Constant, Value};
use super::super::special_registers::Special;
use super::super::warp_handlers::{LANES, choose, logic, map1, test};
use super::Lowering;

type Result<T> = std::result::Result<T, PtxError>;

/// An address known when the module is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryAddress {
    /// The same in all frames.
    Fixed(u64),
    /// Relative to the frame's local memory.
    Local(u32),
}

/// Frames and local memory end here: a bound against hostile texts.
const MAX_FRAME: u32 = 64 << 20;
const MAX_LOCAL: u64 = 512 << 10;

impl<'l> Lowering<'l> {
    /// Gives local variables, and the arguments and return values of a function, their place in the frame.
    pub fn lay_out_local(&mut self) -> Result<()> {
        if !self.source.is_kernel {
            for parameter in self.source.parameters {
                let offset = self.reserve_local(parameter.bytes.into(), parameter.align)?;
                self.arguments.push((offset, parameter.bytes));
            }
            for value in self.source.returns {
                let offset = self.reserve_local(value.bytes.into(), value.align)?;
                self.returns.push((offset, value.bytes));
            }
        }
        for variable in &self.source.body.variables {
            if variable.space == Space::Local {
                let bytes = variable.bytes.min(MAX_LOCAL) as u32;
                self.variable_bytes = self.variable_bytes.saturating_add(bytes);
            }
            let offset = match variable.space {
                Space::Local | Space::Param => {
                    Some(self.reserve_local(variable.bytes, variable.align)?)
                }
                _ => None,
            };
            self.local.push(offset);
        }
        Ok(())
    }

    fn reserve_local(&mut self, bytes: u64, align: u32) -> Result<u32> {
        let offset = u64::from(self.local_bytes).next_multiple_of(align.into());
        let end = offset.saturating_add(bytes);
        if end > MAX_LOCAL {
            return Err(PtxError::syntax(
                0,
                "",
                "more than 512 KiB of local memory per thread",
            ));
        }
        self.local_bytes = end as u32;
        Ok(offset as u32)
    }

    /// Finds registers that are written once, with a value that is constant in a thread.
    pub fn find_constants(&mut self) {
        let instructions = &self.source.body.instructions;
        for instruction in instructions {
            let mut written = Vec::new();
            super::liveness::written(instruction, &mut written);
            for register in written {
                *self.writes.entry(register).or_default() += 1;
            }
        }
        // A constant may be copied before the text says where it comes from; three passes see through real code.
        for _ in 0..3 {
            for instruction in instructions {
                if let Some((register, value)) = self.constant_result(instruction) {
                    self.aliases.insert(register, value);
                }
            }
        }
    }

    fn constant_result(&self, instruction: &Instruction) -> Option<(RegisterId, Value)> {
        let [Operand::Register(register), from] = instruction.operands.as_slice() else {
            return None;
        };
        if instruction.guard.is_some() || self.writes.get(register) != Some(&1) {
            return None;
        }
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let kind = modifiers.last().and_then(|name| Type::named(name))?;
        let width = self.source.body.registers[*register as usize]
            .bytes()
            .max(4);
        let value = match (instruction.opcode.as_str(), modifiers.as_slice()) {
            ("mov", [_]) if kind.bytes().max(4) == width && kind != Type::Pred => {
                self.constant_operand(from, kind)?
            }
            ("cvta", [.., "global", _]) if width == 8 => self.constant_operand(from, kind)?,
            ("ld", ["param", _]) if kind.bytes() > 0 && kind.bytes() <= 8 => {
                self.parameter(from, kind)?
            }
            _ => return None,
        };
        Some((*register, value))
    }

    fn constant_operand(&self, operand: &Operand, kind: Type) -> Option<Value> {
        match operand {
            Operand::Register(register) => self.aliases.get(register).copied(),
            Operand::Special(name) if kind.bytes() == 4 => self.special(name).map(Value::Special),
            Operand::Symbol(symbol, offset) => match self.address(symbol)? {
                (_, MemoryAddress::Fixed(address)) => Some(Value::Bits(truncate(
                    address.wrapping_add(*offset as u64),
                    kind,
                ))),
                (_, MemoryAddress::Local(_)) => None,
            },
            literal => literal_bits(literal, kind).map(Value::Bits),
        }
    }

    /// The kernel parameter that `[name+offset]` denotes.
    pub fn parameter(&self, operand: &Operand, kind: Type) -> Option<Value> {
        let Operand::Address(base, offset) = operand else {
            return None;
        };
        let Operand::Symbol(Symbol::Parameter(index), more) = **base else {
            return None;
        };
        let parameter = self
            .source
            .parameters
            .get(index)
            .filter(|_| self.source.is_kernel)?;
        let offset = u32::try_from(offset.checked_add(more)?).ok()?;
        let end = offset.checked_add(kind.bytes())?;
        (end <= parameter.bytes && kind.bytes() > 0).then_some(Value::Parameter {
            offset: parameter.offset + offset,
            bytes: kind.bytes(),
            signed: kind.is_signed(),
        })
    }

    /// The space and address of a symbol.
    pub fn address(&self, symbol: &Symbol) -> Option<(Space, MemoryAddress)> {
        match symbol {
            Symbol::Parameter(index) if self.source.is_kernel => {
                let parameter = self.source.parameters.get(*index)?;
                Some((Space::Param, MemoryAddress::Fixed(parameter.offset.into())))
            }
            Symbol::Parameter(index) => Some((
                Space::Local,
                MemoryAddress::Local(self.arguments.get(*index)?.0),
            )),
            Symbol::Return(index) => Some((
                Space::Local,
                MemoryAddress::Local(self.returns.get(*index)?.0),
            )),
            Symbol::Variable(index) => match self.local.get(*index)? {
                Some(offset) => Some((Space::Local, MemoryAddress::Local(*offset))),
                None => {
                    let name = &self.source.body.variables.get(*index)?.name;
                    Some((
                        Space::Shared,
                        MemoryAddress::Fixed(self.link.shared_in(self.source, name)?),
                    ))
                }
            },
            Symbol::Name(name) => {
                let (space, address) = self.link.variable(name)?;
                Some((space, MemoryAddress::Fixed(address)))
            }
        }
    }

    fn reserve(&mut self, bytes: u32) -> Result<Slot> {
        let slot = self.frame_bytes;
        self.frame_bytes += bytes;
        match self.frame_bytes > MAX_FRAME {
            true => Err(PtxError::syntax(self.line, "", "too many registers in use")),
            false => Ok(slot),
        }
    }

    /// A new row.
    pub fn row(&mut self, wide: bool) -> Result<Slot> {
        self.reserve(if wide { 8 } else { 4 } * LANES as u32)
    }

    /// A row for use within the current instruction.
    pub fn temporary(&mut self, wide: bool) -> Result<Slot> {
        let pool = usize::from(wide);
        if self.temporaries_used[pool] == self.temporaries[pool].len() {
            let slot = self.row(wide)?;
            self.temporaries[pool].push(slot);
        }
        self.temporaries_used[pool] += 1;
        Ok(self.temporaries[pool][self.temporaries_used[pool] - 1])
    }

    /// A new predicate.
    pub fn new_predicate(&mut self) -> Result<Slot> {
        if self.predicates.0 == self.predicates.1 {
            let line = self.reserve(64)?;
            self.predicate_lines.push(line);
            self.predicates = (line, line + 64);
        }
        self.predicates.0 += 4;
        Ok(self.predicates.0 - 4)
    }

    /// The predicate that holds the carry flag CC.CF.
    pub fn carry_flag(&mut self) -> Result<Slot> {
        match self.carry {
            Some(slot) => Ok(slot),
            None => {
                let slot = self.new_predicate()?;
                Ok(*self.carry.insert(slot))
            }
        }
    }

    /// The row of a constant.
    pub fn constant(&mut self, value: Value, wide: bool) -> Result<Slot> {
        if let Some(slot) = self.constants.get(&(value, wide)) {
            return Ok(*slot);
        }
        let slot = self.row(wide)?;
        self.constants.insert((value, wide), slot);
        self.constant_rows.push(Constant { slot, wide, value });
        Ok(slot)
    }

    /// The row of a literal.
    pub fn literal(&mut self, bits: u64, kind: Type) -> Result<Slot> {
        self.constant(Value::Bits(bits), kind.bytes() == 8)
    }

    /// Whether a register stands for a constant row, so that writing it has been done.
    pub fn is_constant(&self, operand: Option<&Operand>) -> bool {
        matches!(operand, Some(Operand::Register(register)) if self.aliases.contains_key(register))
    }

    /// The row or predicate of a register.
    pub fn register(&mut self, register: RegisterId) -> Result<Slot> {
        if let Some(slot) = self.slots.get(&register) {
            return Ok(*slot);
        }
        let kind = self.source.body.registers[register as usize];
        let slot = match self.aliases.get(&register) {
            Some(value) => self.constant(*value, kind.bytes() == 8)?,
            None if kind == Type::Pred => self.new_predicate()?,
            None => self.row(kind.bytes() == 8)?,
        };
        self.slots.insert(register, slot);
        Ok(slot)
    }

    /// Bytes of the row of a register.
    pub fn row_bytes(&self, register: RegisterId) -> u32 {
        match self.source.body.registers[register as usize] {
            Type::Pred => 4,
            kind => kind.bytes().max(4) * LANES as u32,
        }
    }

    /// The row of an operand that is read as `kind`.
    pub fn source(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
        kind: Type,
    ) -> Result<Slot> {
        let wide = kind.bytes() == 8;
        match operand {
            Operand::Register(register) => {
                let declared = self.source.body.registers[*register as usize];
                let slot = self.register(*register)?;
                match (declared, declared.bytes() == 8) {
                    (Type::Pred, _) => {
                        Err(self.malformed(instruction, "a predicate where a value is needed"))
                    }
                    (_, is_wide) if is_wide == wide => Ok(slot),
                    (_, true) => {
                        let low = self.temporary(false)?;
                        self.emit(map1(|a: u64| a as u32), low, [slot, 0, 0]);
                        Ok(low)
                    }
                    (_, false) => {
                        let extended = self.temporary(true)?;
                        self.emit(map1(|a: u32| u64::from(a)), extended, [slot, 0, 0]);
                        Ok(extended)
                    }
                }
            }
            Operand::Special(name) => {
                if let Some(special) = self.special(name) {
                    return self.constant(Value::Special(special), wide);
                }
                let slot = self.temporary(wide)?;
                self.read_clock(instruction, name, slot, wide)?;
                Ok(slot)
            }
            Operand::Symbol(symbol, offset) => match self.address(symbol) {
                Some((_, MemoryAddress::Fixed(address))) => {
                    self.literal(truncate(address.wrapping_add(*offset as u64), kind), kind)
                }
                Some((_, MemoryAddress::Local(address))) => {
                    let slot = self.temporary(wide)?;
                    self.local_address(slot, wide, i64::from(address).wrapping_add(*offset));
                    Ok(slot)
                }
                None => Err(self.unknown_symbol(instruction, symbol)),
            },
            literal => match literal_bits(literal, kind) {
                Some(bits) => self.literal(bits, kind),
                None => Err(self.malformed(instruction, format!("operand does not fit {kind}"))),
            },
        }
    }

    /// The error for a symbol without an address.
    pub fn unknown_symbol(&self, instruction: &Instruction, symbol: &Symbol) -> PtxError {
        let name = match symbol {
            Symbol::Name(name) => name.as_str(),
            _ => "parameter",
        };
        self.malformed(
            instruction,
            format!("`{name}` is not declared, or has no address"),
        )
    }

    /// The row that receives a result of type `kind`. Where the register is wider, the result is extended afterwards.
    pub fn target(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
        kind: Type,
    ) -> Result<Slot> {
        let wide = kind.bytes() == 8;
        let Operand::Register(register) = operand else {
            return match operand {
                Operand::Sink => self.temporary(wide),
                _ => Err(self.malformed(instruction, "the destination must be a register")),
            };
        };
        let declared = self.source.body.registers[*register as usize];
        if declared == Type::Pred || kind == Type::Pred {
            return Err(self.malformed(instruction, "a predicate where a value is needed"));
        }
        let slot = self.register(*register)?;
        let is_wide = declared.bytes() == 8;
        if is_wide == wide {
            return Ok(slot);
        }
        let result = self.temporary(wide)?;
        let run = match (is_wide, kind.is_signed()) {
            (true, true) => map1(|a: i32| i64::from(a)),
            (true, false) => map1(|a: u32| u64::from(a)),
            (false, _) => {
                return Err(self.malformed(instruction, "the destination register is too small"));
            }
        };
        self.after.push(self.op(run, slot, [result, 0, 0]));
        Ok(result)
    }

    /// A predicate operand, perhaps negated.
    pub fn predicate(&mut self, instruction: &Instruction, operand: &Operand) -> Result<Slot> {
        match operand {
            Operand::Register(register) if self.is_predicate(*register) => self.register(*register),
            Operand::Not(inner) => {
                let slot = self.predicate(instruction, inner)?;
                let negated = self.new_predicate()?;
                self.emit(logic(|a, _| !a), negated, [slot, slot, 0]);
                Ok(negated)
            }
            Operand::Integer(value) => {
                let constant = self.new_predicate()?;
                let run = match value {
                    0 => logic(|_, _| 0),
                    _ => logic(|_, _| !0),
                };
                self.emit(run, constant, [constant, constant, 0]);
                Ok(constant)
            }
            Operand::Special(name) if name == "%is_explicit_cluster" => {
                let explicit = self.constant(Value::Special(Special::ExplicitCluster), false)?;
                let zero = self.literal(0, Type::U32)?;
                let predicate = self.new_predicate()?;
                self.emit(
                    test(|a: u32, b: u32| a != b),
                    predicate,
                    [explicit, zero, 0],
                );
                Ok(predicate)
            }
            _ => Err(self.malformed(instruction, "a predicate is needed")),
        }
    }

    /// A predicate destination.
    pub fn predicate_target(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
    ) -> Result<Slot> {
        match operand {
            Operand::Register(register) if self.is_predicate(*register) => self.register(*register),
            Operand::Sink => self.new_predicate(),
            _ => Err(self.malformed(instruction, "the destination must be a predicate")),
        }
    }

    fn is_predicate(&self, register: RegisterId) -> bool {
        self.source.body.registers[register as usize] == Type::Pred
    }

    /// A predicate as a row of `0` and `-1`, or rather of the two constants given.
    pub fn spread(
        &mut self,
        predicate: Slot,
        when_true: u64,
        when_false: u64,
        kind: Type,
        target: Slot,
    ) -> Result<()> {
        let (a, b) = (
            self.literal(when_true, kind)?,
            self.literal(when_false, kind)?,
        );
        let run = if kind.bytes() == 8 {
            choose::<u64>()
        } else {
            choose::<u32>()
        };
        self.emit(run, target, [a, b, predicate]);
        Ok(())
    }
}

/// The low bytes of `bits` that a value of `kind` has.
fn truncate(bits: u64, kind: Type) -> u64 {
    match kind.bytes() {
        8 => bits,
        bytes => bits & ((1 << (8 * bytes)) - 1),
    }
}

/// The cell of a literal read as `kind`.
fn literal_bits(operand: &Operand, kind: Type) -> Option<u64> {
    Some(match (operand, kind) {
        (Operand::Single(bits), Type::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
        (Operand::Double(bits), Type::F32) => (f64::from_bits(*bits) as f32).to_bits().into(),
        (Operand::Single(bits), _) => (*bits).into(),
        (Operand::Double(bits), _) if kind.bytes() == 8 => *bits,
        (Operand::Integer(value), Type::F64) => (*value as i64 as f64).to_bits(),
        (Operand::Integer(value), Type::F32) => (*value as i64 as f32).to_bits().into(),
        (Operand::Integer(value), _) => truncate(*value, kind),
        _ => return None,
    })
}

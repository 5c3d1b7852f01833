//! Elements of arrays as operands: `mov.u64 %rd1, table[2]`, `ld.shared.u32 %r2, tile[%r1+1]` (PTX ISA, "Arrays as
//! Operands").
//!
//! Where they are allowed and what they mean was tried with `ptxas` 13.0: an index counts elements of the declared basic type,
//! also in arrays of vectors and of several dimensions; an index of less than 64 bits is scaled in 32 bits and extended by
//! zeros.

use super::PtxError;
use super::body::BodyParser;
use super::ir::{Instruction, Operand, RegisterId, Symbol, Type};
use super::lexer::Token;

impl BodyParser<'_, '_> {
    /// The element that comes next as an operand of `opcode`, if one does: its address, in brackets where the instruction
    /// accesses memory.
    pub(super) fn element(&mut self, opcode: &str) -> Result<Option<Operand>, PtxError> {
        let Token::Word(name) = self.parser.peek() else {
            return Ok(None);
        };
        if self.parser.peek_second() != Token::Punctuation('[') {
            return Ok(None);
        }
        self.parser.next();
        let symbol = self.scopes.symbol(name);
        let local = symbol.is_some();
        let symbol = symbol.unwrap_or_else(|| Symbol::Name(name.to_owned()));
        let bytes = match local {
            true => self.scopes.array(name),
            false => self.parser.array(name),
        };
        let Some(bytes) = bytes else {
            return Err(self.parser.unexpected("an array in front of an index"));
        };
        let address = self.element_address(symbol, bytes.into())?;
        match opcode {
            "mov" | "cvta" => Ok(Some(address)),
            "ld" | "ldu" | "st" => Ok(Some(match address {
                Operand::Symbol(symbol, offset) => {
                    Operand::Address(Box::new(Operand::Symbol(symbol, 0)), offset)
                }
                register => Operand::Address(Box::new(register), 0),
            })),
            _ => Err(self.parser.unexpected("no array element here")),
        }
    }

    /// `[3]`, `[1+2]`, `[%r1]` or `[%r1+2]`: a symbol with an offset, or a register that instructions in front compute.
    fn element_address(&mut self, symbol: Symbol, bytes: i64) -> Result<Operand, PtxError> {
        self.parser.expect('[')?;
        let index = match self.parser.peek() {
            Token::Word(name) => {
                let named = self
                    .scopes
                    .register(name)
                    .filter(|named| named.elements == 1);
                let kind = named.map(|named| self.scopes.registers[named.first as usize]);
                self.parser.next();
                match (named, kind) {
                    (Some(named), Some(kind)) if kind.bytes() > 1 && !kind.is_float() => {
                        Some((named.first, kind))
                    }
                    _ => return Err(self.parser.unexpected("an integer register")),
                }
            }
            _ => None,
        };
        let mut constant = 0i64;
        if index.is_none() {
            let negative = self.parser.accept('-');
            let value = self.parser.integer("an index")? as i64;
            constant = if negative {
                value.wrapping_neg()
            } else {
                value
            };
        }
        if index.is_some() && self.parser.peek() == Token::Punctuation('-') {
            return Err(self.parser.expected("`+` or `]`"));
        }
        constant = constant.wrapping_add(self.offset()?);
        self.parser.expect(']')?;
        let offset = constant.wrapping_mul(bytes);
        Ok(match index {
            None => Operand::Symbol(symbol, offset),
            Some((register, kind)) => {
                let scaled = self.scaled(register, kind, bytes as u64);
                Operand::Register(self.computed(
                    ["add", "u64"],
                    Type::U64,
                    vec![Operand::Register(scaled), Operand::Symbol(symbol, offset)],
                ))
            }
        })
    }

    /// The register times `bytes`, as 64 bits.
    fn scaled(&mut self, register: RegisterId, kind: Type, bytes: u64) -> RegisterId {
        let factor = Operand::Integer(bytes);
        if kind.bytes() == 8 {
            let operands = vec![Operand::Register(register), factor];
            return self.computed(["mul", "lo.u64"], Type::U64, operands);
        }
        let word = match kind.bytes() {
            2 => self.computed(
                ["cvt", "u32.u16"],
                Type::U32,
                vec![Operand::Register(register)],
            ),
            _ => register,
        };
        let operands = vec![Operand::Register(word), factor];
        let scaled = self.computed(["mul", "lo.u32"], Type::U32, operands);
        self.computed(
            ["cvt", "u64.u32"],
            Type::U64,
            vec![Operand::Register(scaled)],
        )
    }

    /// A new register with the result of an instruction, which is appended.
    fn computed(
        &mut self,
        [opcode, modifiers]: [&str; 2],
        kind: Type,
        mut operands: Vec<Operand>,
    ) -> RegisterId {
        let result = self.scopes.unnamed_register(kind);
        operands.insert(0, Operand::Register(result));
        self.push(Instruction {
            line: self.parser.lexeme().line,
            guard: None,
            opcode: opcode.to_owned(),
            modifiers: modifiers.split('.').map(str::to_owned).collect(),
            operands,
        });
        result
    }
}

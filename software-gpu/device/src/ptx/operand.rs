//! Operands of instructions.

use super::PtxError;
use super::body::BodyParser;
use super::ir::{Operand, Symbol};
use super::lexer::Token;
use super::scope::Named;

/// `!` and vectors do not nest deeper in any instruction.
const MAX_DEPTH: usize = 4;

impl BodyParser<'_, '_> {
    /// The operands up to the semicolon.
    pub(super) fn operands(&mut self, opcode: &str) -> Result<Vec<Operand>, PtxError> {
        let mut operands = Vec::new();
        if self.parser.accept(';') {
            return Ok(operands);
        }
        loop {
            operands.push(match self.element(opcode)? {
                Some(element) => element,
                None => self.operand(0)?,
            });
            self.refuse_selector()?;
            if !self.parser.accept(',') {
                self.parser.expect(';')?;
                return Ok(operands);
            }
        }
    }

    /// Video instructions take a byte or half of a register: `%r1.b0`.
    fn refuse_selector(&self) -> Result<(), PtxError> {
        match self.parser.peek() {
            Token::Dotted("b0" | "b1" | "b2" | "b3" | "h0" | "h1") => {
                let selector = self.parser.lexeme();
                Err(self.parser.refused(selector, "a part of a register"))
            }
            _ => Ok(()),
        }
    }

    fn operand(&mut self, depth: usize) -> Result<Operand, PtxError> {
        if depth == MAX_DEPTH {
            return Err(self.parser.expected("a simpler operand"));
        }
        let operand = match self.parser.peek() {
            Token::Punctuation('!') => {
                self.parser.next();
                return Ok(Operand::Not(Box::new(self.operand(depth + 1)?)));
            }
            Token::Punctuation('{') => {
                self.parser.next();
                Operand::Vector(self.sequence('}', depth)?)
            }
            Token::Punctuation('(') => {
                self.parser.next();
                Operand::List(self.sequence(')', depth)?)
            }
            Token::Punctuation('[') => {
                self.parser.next();
                self.address(depth)?
            }
            Token::Word("_") => {
                self.parser.next();
                Operand::Sink
            }
            _ => self.scalar()?,
        };
        if self.parser.accept('|') {
            let second = self.operand(depth + 1)?;
            return Ok(Operand::Pair(Box::new(operand), Box::new(second)));
        }
        Ok(operand)
    }

    fn sequence(&mut self, end: char, depth: usize) -> Result<Vec<Operand>, PtxError> {
        let mut operands = Vec::new();
        while !self.parser.accept(end) {
            operands.push(self.operand(depth + 1)?);
            if !self.parser.accept(',') {
                self.parser.expect(end)?;
                break;
            }
        }
        Ok(operands)
    }

    /// `base`, `base+offset` or `offset`, and coordinates if there are any, up to the closing bracket.
    fn address(&mut self, depth: usize) -> Result<Operand, PtxError> {
        let base = self.operand(depth + 1)?;
        let offset = self.offset()?;
        let address = match base {
            Operand::Symbol(symbol, more) => Operand::Address(
                Box::new(Operand::Symbol(symbol, 0)),
                offset.wrapping_add(more),
            ),
            base => Operand::Address(Box::new(base), offset),
        };
        if !self.parser.accept(',') {
            self.parser.expect(']')?;
            return Ok(address);
        }
        self.parser.expect('{')?;
        let coordinates = self.sequence('}', depth)?;
        self.parser.expect(']')?;
        Ok(Operand::Tensor(Box::new(address), coordinates))
    }

    pub(super) fn offset(&mut self) -> Result<i64, PtxError> {
        let mut offset = 0i64;
        loop {
            let mut negative = false;
            match self.parser.peek() {
                Token::Punctuation('+') => {}
                Token::Punctuation('-') => negative = true,
                _ => return Ok(offset),
            }
            self.parser.next();
            negative ^= self.parser.accept('-');
            let value = self.parser.integer("an offset")? as i64;
            offset = offset.wrapping_add(if negative {
                value.wrapping_neg()
            } else {
                value
            });
        }
    }

    fn scalar(&mut self) -> Result<Operand, PtxError> {
        let negative = self.parser.accept('-');
        let lexeme = self.parser.next();
        Ok(match lexeme.token {
            Token::Integer(value) if negative => Operand::Integer(value.wrapping_neg()),
            Token::Integer(value) => Operand::Integer(value),
            Token::Single(bits) => Operand::Single(bits ^ u32::from(negative) << 31),
            Token::Double(bits) => Operand::Double(bits ^ u64::from(negative) << 63),
            Token::Word(name) if !negative => self.name(name)?,
            _ => return Err(self.parser.unexpected("an operand")),
        })
    }

    /// A register, a component of a vector, or the whole vector.
    fn register(&mut self, named: Named) -> Result<Operand, PtxError> {
        let registers = named.first..named.first + named.elements;
        if named.elements == 1 {
            return Ok(Operand::Register(named.first));
        }
        let Token::Dotted(component) = self.parser.peek() else {
            return Ok(Operand::Vector(registers.map(Operand::Register).collect()));
        };
        self.parser.next();
        let names = [["x", "r"], ["y", "g"], ["z", "b"], ["w", "a"]];
        let index = names.iter().position(|names| names.contains(&component));
        match registers.zip(0..).find(|(_, at)| Some(*at) == index) {
            Some((register, _)) => Ok(Operand::Register(register)),
            None => Err(self.parser.unexpected("a component of the vector")),
        }
    }

    fn name(&mut self, name: &str) -> Result<Operand, PtxError> {
        if let Some(named) = self.scopes.register(name) {
            return self.register(named);
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Integer(32));
        }
        if name.starts_with('%') {
            let mut special = name.to_owned();
            if let Token::Dotted(component @ ("x" | "y" | "z" | "w")) = self.parser.peek() {
                self.parser.next();
                special.push('.');
                special.push_str(component);
            }
            return Ok(Operand::Special(special));
        }
        let symbol = self
            .scopes
            .symbol(name)
            .unwrap_or_else(|| Symbol::Name(name.to_owned()));
        let offset = self.offset()?;
        Ok(Operand::Symbol(symbol, offset))
    }
}

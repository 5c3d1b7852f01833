//! Initialisers of module variables: numbers, nested lists, and addresses of other variables.

use super::PtxError;
use super::ir::{Relocation, Type, Variable};
use super::lexer::Token;
use super::parser::Parser;

/// Nested lists deeper than any array has dimensions.
const MAX_DEPTH: usize = 16;

impl Parser<'_> {
    /// The initialiser of `variable`, an (array of) `kind`.
    pub(super) fn initialiser(
        &mut self,
        variable: &mut Variable,
        kind: Type,
    ) -> Result<(), PtxError> {
        self.values(variable, kind, 0)?;
        variable.bytes = variable.bytes.max(variable.data.len() as u64);
        Ok(())
    }

    fn values(
        &mut self,
        variable: &mut Variable,
        kind: Type,
        depth: usize,
    ) -> Result<(), PtxError> {
        if !self.accept('{') {
            return self.value(variable, kind);
        }
        if depth == MAX_DEPTH {
            return Err(self.unexpected("fewer nested lists"));
        }
        while !self.accept('}') {
            self.values(variable, kind, depth + 1)?;
            if !self.accept(',') {
                return self.expect('}');
            }
        }
        Ok(())
    }

    fn value(&mut self, variable: &mut Variable, kind: Type) -> Result<(), PtxError> {
        let negative = self.accept('-');
        let lexeme = self.next();
        let bits = match (lexeme.token, kind) {
            (Token::Integer(value), Type::F32) => (value as f32).to_bits().into(),
            (Token::Integer(value), Type::F64) => (value as f64).to_bits(),
            (Token::Integer(_), _) if self.peek() == Token::Punctuation('(') => {
                return self.masked_address(variable, lexeme.line);
            }
            (Token::Integer(value), _) if negative => value.wrapping_neg(),
            (Token::Integer(value), _) => value,
            (Token::Single(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
            (Token::Single(bits), _) => bits.into(),
            (Token::Double(bits), Type::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
            (Token::Double(bits), _) => bits,
            (Token::Word(name), _) => return self.address(variable, name, kind.bytes(), 0),
            _ => return Err(self.unexpected("a value")),
        };
        let sign = match (negative, kind) {
            (true, Type::F32) => 1 << 31,
            (true, Type::F64) => 1 << 63,
            _ => 0,
        };
        variable
            .data
            .extend_from_slice(&(bits ^ sign).to_le_bytes()[..kind.bytes() as usize]);
        Ok(())
    }

    /// `name`, `name+4` or `generic(name)+4`.
    fn address(
        &mut self,
        variable: &mut Variable,
        name: &str,
        bytes: u32,
        shift: u32,
    ) -> Result<(), PtxError> {
        let mut symbol = name.to_owned();
        if name == "generic" && self.accept('(') {
            symbol = self.word("a variable name")?.to_owned();
            self.expect(')')?;
        }
        let mut addend = 0i64;
        while self.accept('+') {
            let negative = self.accept('-');
            let value = self.integer("an offset")? as i64;
            addend = addend.wrapping_add(if negative {
                value.wrapping_neg()
            } else {
                value
            });
        }
        if shift == 0 {
            variable.relocations.push(Relocation {
                offset: variable.data.len() as u64,
                bytes,
                symbol,
                addend,
            });
        }
        variable
            .data
            .resize(variable.data.len() + bytes as usize, 0);
        Ok(())
    }

    /// `0xFF00(name)`: one byte of an address. The bytes come in order, so the first one represents the address.
    fn masked_address(&mut self, variable: &mut Variable, line: u32) -> Result<(), PtxError> {
        let mask = match self.previous_integer() {
            Some(mask)
                if mask != 0
                    && mask >> mask.trailing_zeros() == 0xff
                    && mask.trailing_zeros() % 8 == 0 =>
            {
                mask
            }
            _ => {
                return Err(PtxError::unsupported(
                    line,
                    "",
                    "address mask other than one byte is not implemented",
                ));
            }
        };
        let shift = mask.trailing_zeros();
        self.expect('(')?;
        let name = self.word("a variable name")?;
        self.address(variable, name, 1, shift)?;
        self.expect(')')?;
        let first = variable.data.len() as u64 - 1 - u64::from(shift / 8);
        match variable.relocations.last_mut() {
            Some(last) if last.offset == first => last.bytes = shift / 8 + 1,
            _ => {
                return Err(PtxError::unsupported(
                    line,
                    name,
                    "address bytes out of order are not implemented",
                ));
            }
        }
        Ok(())
    }
}

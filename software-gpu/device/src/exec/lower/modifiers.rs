//! Modifiers of an instruction, taken one by one; what is left over is not implemented.

use crate::ptx::PtxError;
use crate::ptx::ir::{Instruction, Type};

/// The modifiers not taken yet.
pub(super) struct Modifiers<'i> {
    instruction: &'i Instruction,
    rest: Vec<&'i str>,
}

impl<'i> Modifiers<'i> {
    pub fn of(instruction: &'i Instruction) -> Self {
        Self {
            instruction,
            rest: instruction.modifiers.iter().map(String::as_str).collect(),
        }
    }

    /// Takes `name` if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let position = self.rest.iter().position(|known| *known == name);
        position
            .map(|position| self.rest.remove(position))
            .is_some()
    }

    /// Takes the first modifier that `choose` accepts.
    pub fn pick<T>(&mut self, choose: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (position, value) = self
            .rest
            .iter()
            .enumerate()
            .find_map(|(i, name)| Some((i, choose(name)?)))?;
        self.rest.remove(position);
        Some(value)
    }

    /// Takes the first type.
    pub fn kind(&mut self) -> Result<Type, PtxError> {
        self.pick(Type::named).ok_or_else(|| self.no_type())
    }

    /// A type has a number in its name. What has one may be a type that is not known here.
    pub fn no_type(&self) -> PtxError {
        let mut rest = self.rest.iter();
        match rest.find(|name| name.contains(|c: char| c.is_ascii_digit())) {
            Some(name) => self.not_implemented(name),
            None => {
                let message = "the instruction has no type";
                PtxError::syntax(self.instruction.line, self.instruction.mnemonic(), message)
            }
        }
    }

    /// Takes all that are in `hints`: they change no result.
    pub fn ignore(&mut self, hints: &[&str]) {
        self.rest.retain(|name| !hints.contains(name));
    }

    /// Takes all that begin with `prefix`.
    pub fn ignore_prefix(&mut self, prefix: &str) {
        self.rest.retain(|name| !name.starts_with(prefix));
    }

    /// Refuses what is left.
    pub fn end(self) -> Result<(), PtxError> {
        match self.rest.first() {
            None => Ok(()),
            Some(modifier) => Err(self.not_implemented(modifier)),
        }
    }

    fn not_implemented(&self, modifier: &str) -> PtxError {
        PtxError::unsupported(
            self.instruction.line,
            self.instruction.mnemonic(),
            format!("modifier `.{modifier}` is not implemented here"),
        )
    }
}

//! PTX front end: text → tokens → [`Module`].
//!
//! The parser knows PTX's *grammar* (directives, declarations, scopes, instruction syntax) and resolves names, but not
//! what an instruction means: an instruction is its opcode, its modifiers and its operands, as written. Meaning is
//! given by [`crate::exec::Executable::new`], which refuses unknown instructions by name. Together they uphold
//! one rule: nothing in a module is guessed or ignored silently, except what cannot change a result (debug sections,
//! `.loc`, `.file`, performance hints).
//!
//! - `lexer`: tokens with their line and column,
//! - [`ir`]: the module as data,
//! - `link`: several modules made one,
//! - `parser`: module-level directives; `body` (functions), `operand` and `initialiser` are its parts,
//! - `source_lines`: the source code that instructions were compiled from.

mod body;
mod element;
mod error;
mod initialiser;
pub mod ir;
mod lexer;
mod link;
mod operand;
mod parser;
mod scope;
mod source_lines;

pub use error::{PtxError, PtxErrorKind};
pub use ir::{Function, Kernel, Module, Parameter, Type, Variable};
pub use link::{LinkError, link};
pub use source_lines::SourceLines;

/// Parses the text of one PTX module.
///
/// Never panics: every text gives a module or a [`PtxError`] that names the place.
pub fn parse(source: &str) -> Result<Module, PtxError> {
    let module = parser::Parser::new(source)?.module()?;
    Ok(Module {
        has_own_lines: source.contains(lexer::FOR_THIS_DEVICE),
        ..module
    })
}

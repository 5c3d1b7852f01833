//! Short programs on CUDA streams, which need no compiler.
//!
//! A program has one call per line, under names that CUDA and cust have for it: copy, launch, record, wait, synchronise, allocate,
//! free, capture, launch a graph. [`parse`] reads it, [`check`] finds names and kinds that do not fit, [`run`] makes the calls
//! through cust, and [`rust`] and [`cpp`] write the program that it stands for. docs/stream-programs.md has the language.

pub mod check;
pub mod cpp;
mod error;
mod expression;
pub mod kernels;
mod lex;
mod parse;
pub mod run;
pub mod rust;
pub mod syntax;
pub mod words;

pub use error::ProgramError;
pub use parse::parse;

use syntax::StreamProgram;

/// Parses and checks a program.
///
/// # Errors
/// All lines that are wrong, in their order.
pub fn read(text: &str) -> Result<StreamProgram, Vec<ProgramError>> {
    let program = parse(text)?;
    let errors = check::check(&program);
    if errors.is_empty() {
        Ok(program)
    } else {
        Err(errors)
    }
}

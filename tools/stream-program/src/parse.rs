//! From the text of a program to its parts, line by line: each line has its own errors.

mod line;

use crate::error::ProgramError;
use crate::syntax::{Action, Statement, StreamProgram};
use line::ParsedLine;

/// Programs of more lines are refused.
const MOST_LINES: usize = 2000;

/// Reads a program.
///
/// # Errors
/// All lines that are no statement, in their order.
pub fn parse(text: &str) -> Result<StreamProgram, Vec<ProgramError>> {
    let mut errors = Vec::new();
    // The loops that are open, with their lines, and what stands in them.
    let mut open: Vec<(Statement, Vec<Statement>)> = Vec::new();
    let mut program = Vec::new();
    for (number, text) in (1..).zip(text.lines().take(MOST_LINES)) {
        let action = match ParsedLine::read(text) {
            Ok(line) => line,
            Err(message) => {
                errors.push(ProgramError::new(number, message));
                continue;
            }
        };
        match action {
            ParsedLine::Empty => {}
            ParsedLine::End => match open.pop() {
                Some((mut head, body)) => {
                    if let Action::For(.., lines) = &mut head.action {
                        *lines = body;
                    }
                    target(&mut open, &mut program).push(head);
                }
                None => errors.push(ProgramError::new(
                    number,
                    "no loop is open here: remove the }",
                )),
            },
            ParsedLine::Action(action) => {
                let statement = Statement {
                    line: number,
                    action: *action,
                };
                match statement.action {
                    Action::For(..) => open.push((statement, Vec::new())),
                    _ => target(&mut open, &mut program).push(statement),
                }
            }
        }
    }
    if let Some((head, _)) = open.last() {
        errors.push(ProgramError::new(
            head.line,
            "this loop has no end: close it with a line }",
        ));
    }
    if text.lines().nth(MOST_LINES).is_some() {
        let message = format!("a program has at most {MOST_LINES} lines");
        errors.push(ProgramError::new(MOST_LINES as u32, message));
    }
    if errors.is_empty() {
        Ok(program)
    } else {
        Err(errors)
    }
}

/// Where the next statement belongs.
fn target<'a>(
    open: &'a mut [(Statement, Vec<Statement>)],
    program: &'a mut StreamProgram,
) -> &'a mut Vec<Statement> {
    match open.last_mut() {
        Some((_, body)) => body,
        None => program,
    }
}

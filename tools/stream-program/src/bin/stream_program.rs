//! Checks, runs and translates a program on CUDA streams. The playground runs it in the browser.
//!
//! stream_program check|run|rust|cpp PROGRAM, stream_program words
//!
//! `check` prints what is wrong as JSON, by lines. `run` makes the calls; with LAB and LAB_RECORD it is recorded as a lab.

use std::process::ExitCode;
use std::{env, fs};
use stream_program::{ProgramError, cpp, read, run, rust, words};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (task, file) = match arguments[..] {
        ["words"] => {
            println!("{}", words::in_json());
            return ExitCode::SUCCESS;
        }
        [task @ ("check" | "run" | "rust" | "cpp"), file] => (task, file),
        _ => {
            eprintln!("usage: stream_program check|run|rust|cpp PROGRAM, or stream_program words");
            return ExitCode::from(2);
        }
    };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: cannot read {file}: {error}");
            return ExitCode::from(2);
        }
    };
    let program = read(&text);
    if task == "check" {
        let errors = program.err().unwrap_or_default();
        let errors = errors
            .iter()
            .map(|error| serde_json::json!({ "line": error.line, "message": error.message }));
        println!("{}", serde_json::Value::from_iter(errors));
        return ExitCode::SUCCESS;
    }
    match (program, task) {
        (Err(errors), _) => fail(&errors, 2),
        (Ok(program), "rust") => print(&rust::translate(&program)),
        (Ok(program), "cpp") => print(&cpp::translate(&program)),
        (Ok(program), _) => match run::run(&program) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&[error], 1),
        },
    }
}

fn print(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

fn fail(errors: &[ProgramError], code: u8) -> ExitCode {
    for error in errors {
        eprintln!("error: {error}");
    }
    ExitCode::from(code)
}

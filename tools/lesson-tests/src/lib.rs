//! What the tests of a lesson ask of its program, on a machine without a GPU: for their `[dev-dependencies]`.
//!
//! Every function panics, as a test does, where the program does not do what is asked.

use chapter_book::{shown::shown, summary};
use std::path::Path;
use std::process::{Command, Output};

/// A lesson's program, and what is expected of it.
pub struct Lesson {
    /// The program: `env!("CARGO_BIN_EXE_…")` of the lesson's package.
    pub program: &'static str,
    /// The text of its README.
    pub readme: &'static str,
}

impl Lesson {
    /// Runs the program on the software GPU, whatever the environment says of devices, races and widths.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program starts")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(["--device", "software"]).args(arguments);
        for name in [
            "COLUMNS",
            "CUDA_DRIVER",
            "SOFTWARE_GPU",
            "SOFTWARE_GPU_RACES",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// [`Self::readme_shows_wide_output`], in lines of at most 80 characters.
    #[track_caller]
    pub fn readme_shows(&self, part: &str) {
        fits_80_columns(&self.readme_shows_wide_output(part));
    }

    /// The README and the pages of the book show what this part prints: the README at least a piece of it, with a line `…` for what
    /// is left out. The part reports no race. Returns what it prints.
    ///
    /// The part runs on one core. `cargo chapter run --races fail --strict` runs all parts on all cores, and compares their times and
    /// timelines with the recorded ones.
    #[track_caller]
    pub fn readme_shows_wide_output(&self, part: &str) -> String {
        let output = one_core(self.command(&["--part", part, "--races", "fail"]));
        assert_eq!(code(&output), Some(0));
        assert_eq!(text(&output.stderr), "");
        let printed = text(&output.stdout);
        let name = Path::new(self.program).file_stem().expect("a program");
        let command = format!(
            "cargo run --quiet -p {} -- --device software --part {part}",
            name.display()
        );
        let in_readme = compare("README.md", self.readme, &command, &printed);
        assert!(in_readme > 0, "README.md does not show `{command}`");
        for page in summary::read().expect("the book can be read") {
            compare(&page.path, &page.text, &command, &printed);
        }
        printed
    }

    /// With `--validate` and these arguments, every run's elements are right, and standard error stays empty.
    #[track_caller]
    pub fn every_run_is_right(&self, arguments: &[&str]) {
        let output = self.run(&[&["--validate"], arguments].concat());
        assert_eq!(code(&output), Some(0));
        assert!(!text(&output.stdout).contains("are wrong"));
        assert_eq!(text(&output.stderr), "");
    }

    /// Each of these command lines is bad usage: exit code 2, and an error that contains the text beside it.
    #[track_caller]
    pub fn refuses(&self, command_lines: &[(&[&str], &str)]) {
        for (arguments, named) in command_lines {
            let output = self.run(arguments);
            assert_eq!(code(&output), Some(2), "{arguments:?}");
            assert!(text(&output.stderr).contains(named), "{arguments:?}");
        }
    }
}

/// Compares the outputs of this command that a document shows with what it has printed. Returns how many the document shows.
#[track_caller]
fn compare(document: &str, text: &str, command: &str, printed: &str) -> usize {
    let mut all = shown(text);
    all.retain(|shown| shown.command == command);
    for shown in &all {
        assert_eq!(
            shown.differs_from(printed),
            None,
            "{document} shows another output: `cargo book outputs --update` replaces it"
        );
    }
    all.len()
}

/// What the program prints and how it ends when its kernels run on one core.
pub fn one_core(mut command: Command) -> Output {
    command
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .expect("the program starts")
}

/// A program of one file on the software GPU, with races as failures and with these variables.
fn raw(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_remove("SOFTWARE_GPU")
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_RACES", "fail")
        .envs(variables.iter().copied());
    command
}

/// What a program of one file prints and how it ends with these arguments.
pub fn run_raw(program: &str, arguments: &[&str]) -> Output {
    one_core(raw(program, arguments, &[]))
}

/// A program of one file holds on the software GPU without a report, and the README shows what it prints. The README's text is of
/// all cores, and this run has one.
#[track_caller]
pub fn raw_shows(program: &str, readme: &str) {
    let output = run_raw(program, &[]);
    assert_eq!(code(&output), Some(0));
    assert_eq!(text(&output.stderr), "");
    let printed = text(&output.stdout);
    assert!(
        !printed.is_empty() && readme.contains(&printed),
        "README.md shows another output: put the one above into it"
    );
}

/// A program of one file ends with exit code 3 where these variables make a device that lacks what it needs, and names it.
#[track_caller]
pub fn raw_lacks(program: &str, variables: &[(&str, &str)], named: &str) {
    let output = one_core(raw(program, &[], variables));
    assert_eq!(code(&output), Some(3));
    assert!(text(&output.stderr).contains(named));
}

/// No line is longer than 80 characters.
#[track_caller]
pub fn fits_80_columns(said: &str) {
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "a line is longer than 80"
    );
}

/// What was printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// The exit code. Prints both outputs, which a failed test shows.
pub fn code(output: &Output) -> Option<i32> {
    println!("{}\n{}", text(&output.stdout), text(&output.stderr));
    output.status.code()
}

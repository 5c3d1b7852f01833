//! The figures: timelines of runs on the software GPU, drawn by `cargo chapter timeline`.
//!
//! `book/figures.toml` names the program, the part and the variants of each. They are drawn from modelled times, which are the
//! same on every machine, so a figure that is drawn again is the same file.

use crate::{pages, workspace};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A figure.
#[derive(Deserialize)]
pub struct Figure {
    /// Its file in `book/src/figures`, without `.svg`.
    pub name: String,
    /// The package of the program.
    pub program: String,
    /// The part that is run.
    pub part: String,
    /// The variants that are drawn, by the names that the program prints, in this order.
    pub variants: Vec<String>,
    /// Whether it is as narrow as a phone: streams only, and the first sentence of each finding.
    #[serde(default)]
    pub narrow: bool,
}

#[derive(Deserialize)]
struct FiguresFile {
    figure: Vec<Figure>,
}

/// The figures of `book/figures.toml`.
///
/// # Errors
/// The file cannot be read, or is not of this form.
pub fn read() -> Result<Vec<Figure>> {
    let text = fs::read_to_string(workspace().join("book/figures.toml"))
        .context("cannot read book/figures.toml")?;
    let file: FiguresFile = toml::from_str(&text).context("book/figures.toml")?;
    Ok(file.figure)
}

impl Figure {
    /// Where the picture is kept.
    pub fn path(&self) -> std::path::PathBuf {
        pages().join("figures").join(format!("{}.svg", self.name))
    }

    /// Runs the program and draws the figure. Returns the picture.
    ///
    /// # Errors
    /// The program fails, or has no such variant.
    pub fn draw(&self, folder: &Path) -> Result<String> {
        let [json, svg] =
            ["json", "svg"].map(|ending| folder.join(format!("{}.{ending}", self.name)));
        let mut program = cargo(&[
            "run",
            "--quiet",
            "--locked",
            "--package",
            &self.program,
            "--",
        ]);
        run(program
            .args(["--device", "software", "--part", &self.part, "--json"])
            .arg(&json))?;
        let text =
            fs::read_to_string(&json).with_context(|| format!("cannot read {}", json.display()))?;
        fs::write(&json, self.chosen(&text)?)
            .with_context(|| format!("cannot write {}", json.display()))?;
        let mut drawing = cargo(&[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "chapter",
            "--",
            "timeline",
        ]);
        drawing.arg(&json).arg("--svg").arg(&svg);
        if self.narrow {
            drawing.arg("--narrow");
        }
        run(&mut drawing)?;
        fs::read_to_string(&svg).with_context(|| format!("cannot read {}", svg.display()))
    }

    /// The file of a run with the timelines of this figure's variants alone.
    fn chosen(&self, run: &str) -> Result<String> {
        let mut run: Value = serde_json::from_str(run).context("not the file of a run")?;
        let part = run["parts"]
            .as_array_mut()
            .and_then(|parts| parts.iter_mut().find(|p| p["name"] == self.part));
        let part = part.with_context(|| format!("no part {}", self.part))?;
        let timelines = part["timelines"].as_array_mut().context("no timelines")?;
        let all = std::mem::take(timelines);
        for name in &self.variants {
            let found = all
                .iter()
                .find(|timeline| timeline["variant"]["text"] == **name);
            timelines.push(
                found
                    .with_context(|| format!("no timeline of {name}"))?
                    .clone(),
            );
        }
        Ok(run.to_string())
    }
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(workspace());
    for variable in [
        "COLUMNS",
        "CUDA_DRIVER",
        "SOFTWARE_GPU",
        "SOFTWARE_GPU_RACES",
    ] {
        command.env_remove(variable);
    }
    command
}

fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} fails: {errors}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_chosen_in_the_figures_order() {
        let run = r#"{"parts":[{"name":"p","timelines":[{"variant":{"text":"a"}},{"variant":{"text":"b"}},{"variant":{"text":"c"}}]}]}"#;
        let figure = |variants: &[&str]| Figure {
            name: "f".into(),
            program: "g".into(),
            part: "p".into(),
            variants: variants.iter().map(|&id| id.to_owned()).collect(),
            narrow: false,
        };
        let chosen: Value =
            serde_json::from_str(&figure(&["c", "a"]).chosen(run).unwrap()).unwrap();
        let names = chosen["parts"][0]["timelines"].as_array().unwrap().iter();
        assert_eq!(
            names.map(|t| &t["variant"]["text"]).collect::<Vec<_>>(),
            ["c", "a"]
        );
        assert!(figure(&["d"]).chosen(run).is_err());
    }

    #[test]
    fn every_figure_is_kept_and_every_picture_is_a_figures() {
        let figures = read().unwrap();
        for figure in &figures {
            assert!(
                figure.path().exists(),
                "{}: cargo book figures --update",
                figure.name
            );
        }
        let kept = fs::read_dir(pages().join("figures")).unwrap().count();
        assert_eq!(kept, figures.len());
    }
}

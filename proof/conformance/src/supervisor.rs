//! Hands rules to worker processes, and survives what a rule may do to its process.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::rule::{Isolation, Rule};
use crate::worker::{FAILED, PASSED, SKIPPED, UNEXPECTED};

/// A rule that takes longer counts as broken.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How a rule ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleOutcome {
    /// The driver keeps it.
    Passed,
    /// The driver breaks it: what was expected and what came.
    Failed(String),
    /// It cannot be checked on this machine: the reason.
    Skipped(String),
    /// It was not checked, and no property of the machine explains that: the reason.
    SkippedUnexpectedly(String),
}

/// Tries rules in worker processes.
pub struct Supervisor<'a> {
    /// The program, which `work RULE..` makes a worker.
    pub program: &'a Path,
    /// Whether workers may write to the terminal's error stream.
    pub verbose: bool,
}

impl Supervisor<'_> {
    /// Tries each rule and hands its verdict to `report`.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn run(
        &self,
        rules: &[&'static Rule],
        mut report: impl FnMut(&'static Rule, RuleOutcome),
    ) -> io::Result<()> {
        let mut rest = rules;
        while let Some(first) = rest.first() {
            let together = match first.isolation {
                Isolation::Context => rest
                    .iter()
                    .take_while(|rule| rule.isolation == Isolation::Context)
                    .count(),
                Isolation::Process => 1,
            };
            let tried = self.batch(&rest[..together], &mut report)?;
            rest = &rest[tried..];
        }
        Ok(())
    }

    /// As [`run`](Self::run), with `jobs` workers at a time. What is broken while others run beside it is tried again
    /// alone, and only that counts: a busy machine must not break a rule.
    ///
    /// # Errors
    /// When no worker can be started.
    pub fn run_beside(
        &self,
        jobs: usize,
        rules: &[&'static Rule],
        mut report: impl FnMut(&'static Rule, RuleOutcome),
    ) -> io::Result<()> {
        if jobs < 2 {
            return self.run(rules, report);
        }
        let mut again = Vec::new();
        thread::scope(|scope| {
            let (sender, verdicts) = mpsc::channel();
            let workers: Vec<_> = (0..jobs)
                .map(|job| {
                    let share: Vec<_> = rules.iter().skip(job).step_by(jobs).copied().collect();
                    let sender = sender.clone();
                    // The receiver lives until every sender is gone.
                    scope.spawn(move || {
                        self.run(&share, |rule, verdict| drop(sender.send((rule, verdict))))
                    })
                })
                .collect();
            drop(sender);
            for (rule, verdict) in verdicts {
                match verdict {
                    RuleOutcome::Failed(text) if !is_overdue(&text) => {
                        eprintln!("{}: checked again alone: {text}", rule.path());
                        again.push(rule);
                    }
                    verdict => report(rule, verdict),
                }
            }
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a supervisor panicked")))
            })
        })?;
        self.run(&again, report)
    }

    /// Gives the rules to one worker, up to the first that ends it. Returns how many have a verdict.
    fn batch(
        &self,
        rules: &[&'static Rule],
        report: &mut impl FnMut(&'static Rule, RuleOutcome),
    ) -> io::Result<usize> {
        let mut worker = self.start(rules)?;
        let lines = lines_of(&mut worker);
        for (index, rule) in rules.iter().enumerate() {
            let (verdict, is_last) = match lines.recv_timeout(TIME_LIMIT) {
                Ok(line) => (verdict(&line), false),
                Err(RecvTimeoutError::Timeout) => (RuleOutcome::Failed(overdue()), true),
                Err(RecvTimeoutError::Disconnected) => {
                    let status = worker.wait()?;
                    (
                        RuleOutcome::Failed(format!("its process ended: {status}")),
                        true,
                    )
                }
            };
            report(rule, verdict);
            if is_last {
                end(worker)?;
                return Ok(index + 1);
            }
        }
        end(worker)?;
        Ok(rules.len())
    }

    fn start(&self, rules: &[&'static Rule]) -> io::Result<Child> {
        let noise = if self.verbose {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        Command::new(self.program)
            .arg("work")
            .args(rules.iter().map(|rule| rule.path()))
            // The first launch of a kernel that is loaded lazily may wait for the whole context.
            .env("CUDA_MODULE_LOADING", "EAGER")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(noise)
            .spawn()
    }
}

/// The worker's lines as they come.
fn lines_of(worker: &mut Child) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = worker.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

fn verdict(line: &str) -> RuleOutcome {
    match line.split_once('\t') {
        Some((PASSED, _)) => RuleOutcome::Passed,
        Some((FAILED, text)) => RuleOutcome::Failed(text.to_owned()),
        Some((SKIPPED, text)) => RuleOutcome::Skipped(text.to_owned()),
        Some((UNEXPECTED, text)) => RuleOutcome::SkippedUnexpectedly(text.to_owned()),
        _ => RuleOutcome::Failed(format!("its process wrote {line:?}")),
    }
}

fn overdue() -> String {
    format!("it did not end within {} s", TIME_LIMIT.as_secs())
}

/// Whether the text is that of a rule that took too long: such a rule would again.
fn is_overdue(text: &str) -> bool {
    text == overdue()
}

/// The worker has nothing more to say; what it still does must not last.
fn end(mut worker: Child) -> io::Result<()> {
    // It may have ended by itself.
    let _ = worker.kill();
    worker.wait().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_another_form_is_a_failure() {
        assert_eq!(verdict("P\t"), RuleOutcome::Passed);
        assert_eq!(
            verdict("S\tone device"),
            RuleOutcome::Skipped("one device".to_owned())
        );
        assert_eq!(
            verdict("U\tno cuInit"),
            RuleOutcome::SkippedUnexpectedly("no cuInit".to_owned())
        );
        assert_eq!(verdict("F\tx"), RuleOutcome::Failed("x".to_owned()));
        assert!(matches!(verdict("passed"), RuleOutcome::Failed(_)));
        assert!(matches!(verdict("Q\t"), RuleOutcome::Failed(_)));
    }
}

//! processes: what changes with one process per GPU?
//!
//! On several hosts there is no other way, and on one it is the usual one: each process has one GPU, one context and a host thread
//! of its own. Streams of another process cannot be waited for, so that a library has to join them: NCCL. Before it can, the
//! processes must find each other. This part is the launcher: it starts this very program once for each GPU, with the variables
//! that `torchrun` sets, and judges what they say. The same program under `torchrun` or `srun` does the same on many hosts.
//!
//! ```text
//! rank 0   listen ...... id ──> NCCL ──> | sums | ──> leave
//! rank 1   connect ..... id ──> NCCL ──> | sums | ──> leave
//! ```
//!
//! A process that ends with an error, that waits for ever, or that is left behind would prove this wrong. So would one that comes
//! too late, or that expects another number of them, without an error that says so.

use anyhow::{Context, Result};
use examples_host::prelude::*;
use libcuda::Driver;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// A run of this program with these processes ends within this time, or has failed.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long the processes wait for each other where one is missing.
const SHORT: u32 = 2;

/// Processes of this program. None of them outlives this.
struct Processes(Vec<Child>);

impl Processes {
    /// One for each of `ranks`, of `world`, as a launcher would start them.
    fn start(ranks: &[(usize, usize)], timeout: u32, driver: Driver) -> Result<Self> {
        let port = free_port()?;
        let mut started = Self(Vec::new());
        for &(rank, world) in ranks {
            let mut command = Command::new(env::current_exe()?);
            command
                .env("RANK", rank.to_string())
                .env("WORLD_SIZE", world.to_string())
                .env("LOCAL_RANK", rank.to_string())
                .env("MASTER_ADDR", "127.0.0.1")
                .env("MASTER_PORT", port.to_string())
                .env("RENDEZVOUS_TIMEOUT", timeout.to_string())
                .env("CUDA_DRIVER", if driver == Driver::Software { "software" } else { "nvidia" });
            let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            started.0.push(child.spawn().context("starting a process for a rank")?);
        }
        Ok(started)
    }

    /// Waits for all of them, and returns what they said; `None` for those that had to be killed.
    fn finish(mut self) -> Result<Vec<Option<Output>>> {
        let deadline = Instant::now() + TIMEOUT;
        let mut found = Vec::new();
        for mut child in std::mem::take(&mut self.0) {
            while child.try_wait()?.is_none() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(10));
            }
            let ended = child.try_wait()?.is_some();
            if !ended {
                child.kill()?;
            }
            let output = child.wait_with_output()?;
            found.push(ended.then_some(output));
        }
        Ok(found)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port that no process listens on.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let (world, driver) = (part.device().count() as usize, part.device().driver());
    part.predict(format!(
        "{world} processes find each other, add up their numbers, and end. One that misses another\nsays so when its time is over; one that expects another number of them at once."
    ));
    let ranks: Vec<(usize, usize)> = (0..world).map(|rank| (rank, world)).collect();
    let outputs = Processes::start(&ranks, 60, driver)?.finish()?;
    let right =
        |output: &&Option<Output>| output.as_ref().is_some_and(|output| output.status.success());
    for output in outputs.iter().flatten() {
        let said = [text(&output.stdout), text(&output.stderr)];
        // Times of processes differ from run to run.
        part.detail(said.join("\n").trim());
    }
    let count = outputs.iter().filter(right).count();
    let mut found = format!("{count} of {world} processes");
    for (rank, output) in outputs.iter().enumerate().filter(|(_, output)| !right(output)) {
        let ended = output.as_ref().map(|output| output.status.to_string());
        let ended = ended.unwrap_or_else(|| "killed after its time".to_owned());
        found += &format!("; rank {rank}: {ended}");
    }
    let all = truth(count == world, found, "all");
    expect! { part; "sums", "every sum is right in every process" => all; }

    for (id, sentence, ranks, says) in [
        (
            "missing-rank",
            "a rank that does not come is named",
            &[(0, 2)][..],
            "rank 0 waited 2 s for 1 of 2 ranks",
        ),
        ("missing-root", "a rank without rank 0 says so", &[(1, 2)], "rank 1 found no rank 0"),
        (
            "unequal",
            "ranks that expect different numbers say so",
            &[(0, 2), (1, 3)],
            "rank 1 says WORLD_SIZE=3, rank 0 says 2",
        ),
    ] {
        let outputs = Processes::start(ranks, SHORT, driver)?.finish()?;
        let said: Vec<String> =
            outputs.iter().flatten().map(|output| text(&output.stderr)).collect();
        let named = said.iter().all(|said| said.contains(says)) && said.len() == ranks.len();
        let found = if named { "each does".to_owned() } else { said.join("; ") };
        expect! { part; "error/{id}", "{sentence}" => truth(named, found, says); }
    }
    part.take_away(
        "Processes need a place to meet and a library to join their streams; the work is the same.",
    );
    Ok(())
}

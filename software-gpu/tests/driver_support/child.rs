//! Tests again in processes of their own: the driver reads its environment once per process.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Set in the processes that [`passes`] starts.
const CHILD: &str = "SOFTWARE_GPU_TEST_CHILD";

/// Whether this process runs one test for [`passes`].
pub fn is_this() -> bool {
    env::var_os(CHILD).is_some()
}

/// Runs a test of this program, in the module that `module_path!()` names, alone in a process with these environment variables.
/// Fails unless the test passes there.
pub fn passes(module: &str, test: &str, variables: &[(&str, &dyn AsRef<OsStr>)]) -> Output {
    let (_, module) = module.split_once("::").expect("a module of this program");
    let mut command = Command::new(env::current_exe().expect("this program has a path"));
    command
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(CHILD, "1");
    for (name, value) in variables {
        command.env(name, value);
    }
    let output = command.output().expect("the process starts");
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    // With a name other than the test's no test would run, and that would be a success.
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{test} as a child: {stdout}{stderr}");
    output
}

/// Runs a test of this program in a process of its own, in which it never ends, until that has said `last` on standard error.
/// Returns what it has said by then; fails when two minutes do not suffice.
pub fn says(module: &str, test: &str, last: &str) -> String {
    let (_, module) = module.split_once("::").expect("a module of this program");
    let mut child = Command::new(env::current_exe().expect("this program has a path"))
        .args([
            "--exact",
            &format!("{module}::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the process starts");
    let stderr = child.stderr.take().expect("it is piped");
    let (lines, said) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // The thread that waited has observed enough.
            let _ = lines.send(line);
        }
    });
    let end = Instant::now() + Duration::from_secs(120);
    let mut text = String::new();
    while !text.contains(last)
        && let Ok(line) = said.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        text += &line;
        text += "\n";
    }
    child.kill().expect("it has not ended");
    child.wait().expect("it is a child");
    text
}

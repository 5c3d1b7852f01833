//! Tests again in processes of their own: the driver reads its environment once per process.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Output};

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
    // With another name than the test's no test would run, and that would be a success.
    let passed = output.status.success() && stdout.contains("1 passed");
    assert!(passed, "{test} as a child: {stdout}{stderr}");
    output
}

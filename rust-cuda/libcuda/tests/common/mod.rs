//! The choice of driver is made once per process, so a test that makes one gets its own process.

use std::env;
use std::process::Command;

const CHILD: &str = "LIBCUDA_TEST_CHILD";

/// Runs `body` in a process of its own with `variables` in its environment, and returns what it
/// wrote to standard error. `test` is the name of the calling test, which is what the new process
/// runs: there `body` is called and `None` returned.
pub fn isolated(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    if env::var(CHILD).is_ok_and(|child| child == test) {
        body();
        return None;
    }
    let program = env::current_exe().expect("the test program has a path");
    let output = Command::new(program)
        .args([test, "--exact", "--nocapture"])
        .env_remove("CUDA_DRIVER")
        .env(CHILD, test)
        .envs(variables.iter().copied())
        .output()
        .expect("the test program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(stdout.contains("1 passed"), "no test is called {test}");
    Some(stderr)
}

//! Becomes a shell, which writes outside of its folder.

use std::os::unix::process::CommandExt as _;

fn main() {
    let _ = std::process::Command::new("/bin/sh").args(["-c", "echo written > OUTSIDE"]).exec();
}

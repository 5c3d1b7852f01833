//! Submissions for the tests of the grader.

use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Programs that are no solution of lab 1. The place that one of them writes to is put in.
pub const HOSTILE: [(&str, &str); 11] = [
    ("hangs", "fn main() { loop {} }"),
    (
        "sleeps",
        "fn main() { std::thread::sleep(std::time::Duration::from_secs(3600)); }",
    ),
    ("crashes", "fn main() { unsafe { *(8 as *mut u64) = 1 } }"),
    ("aborts", "fn main() { std::process::abort() }"),
    (
        "eats_memory",
        "fn main() { let mut all = Vec::new(); loop { all.push(vec![1u8; 64 << 20]); } }",
    ),
    (
        "forks",
        "fn main() { if std::process::Command::new(\"/bin/sleep\").arg(\"600\").spawn().is_ok() { std::process::exit(77) } }",
    ),
    (
        "writes",
        "fn main() { if std::fs::write(\"OUTSIDE\", \"written\").is_ok() { std::process::exit(77) } }",
    ),
    (
        "fills_the_disk",
        "fn main() { for file in 0.. { let _ = std::fs::write(format!(\"{file}\"), vec![1u8; 64 << 20]); } }",
    ),
    (
        "prints_for_ever",
        "fn main() { loop { println!(\"{}\", \"x\".repeat(4096)); } }",
    ),
    (
        "connects",
        "fn main() { if std::net::UdpSocket::bind(\"127.0.0.1:0\").is_ok() { std::process::exit(77) } }",
    ),
    (
        "kills",
        "unsafe extern \"C\" { fn kill(process: i32, signal: i32) -> i32; fn getppid() -> i32; }\nfn main() { unsafe { kill(getppid(), 9); } }",
    ),
];

//! Makes files until the file system has no room for more.

fn main() {
    for file in 0.. {
        let _ = std::fs::write(format!("{file}"), "");
    }
}

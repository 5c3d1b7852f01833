//! Writes files until the disk is full.

fn main() {
    for file in 0.. {
        let _ = std::fs::write(format!("{file}"), vec![1u8; 64 << 20]);
    }
}

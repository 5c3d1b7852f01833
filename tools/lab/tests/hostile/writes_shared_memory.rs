//! Leaves a file in shared memory.

fn main() {
    if std::fs::write("/dev/shm/lab-hostile", "x").is_ok() {
        std::process::exit(77)
    }
}

//! Never ends, and does nothing.

fn main() {
    std::thread::sleep(std::time::Duration::from_secs(3600));
}

//! Starts threads until it cannot.

fn main() {
    loop {
        std::thread::spawn(|| std::thread::park());
    }
}

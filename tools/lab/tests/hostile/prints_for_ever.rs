//! Prints until it is stopped.

fn main() {
    loop {
        println!("{}", "x".repeat(4096));
    }
}

//! Never ends, and keeps a processor busy.

fn main() {
    loop {}
}

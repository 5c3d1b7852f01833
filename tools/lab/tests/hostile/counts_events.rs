//! Opens the counters of the processor.

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    let mut attributes = [0u32; 32];
    attributes[..2].copy_from_slice(&[1, 128]);
    if unsafe { syscall(298, attributes.as_ptr(), 0, -1, -1, 0) >= 0 } {
        std::process::exit(77)
    }
}

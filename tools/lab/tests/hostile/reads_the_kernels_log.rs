//! Asks for the log of the kernel.

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    if unsafe { syscall(103, 10, 0, 0) >= 0 } {
        std::process::exit(77)
    }
}

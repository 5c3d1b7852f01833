//! Signals a thread of the grader.

unsafe extern "C" {
    fn getppid() -> i32;
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    if unsafe { syscall(234, getppid(), getppid(), 0) == 0 || syscall(200, getppid(), 0) == 0 } {
        std::process::exit(77)
    }
}

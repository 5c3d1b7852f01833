//! Queues a signal for the grader.

unsafe extern "C" {
    fn getppid() -> i32;
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    let mut info = [0i32; 32];
    info[2] = -1; // SI_QUEUE
    if unsafe { syscall(129, getppid(), 0, &raw const info) == 0 } {
        std::process::exit(77)
    }
}

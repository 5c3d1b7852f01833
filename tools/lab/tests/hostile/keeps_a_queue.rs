//! Leaves a queue of messages behind (POSIX).

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    if unsafe { syscall(240, c"lab-queue".as_ptr(), 0o102, 0o600, 0) >= 0 } {
        std::process::exit(77)
    }
}

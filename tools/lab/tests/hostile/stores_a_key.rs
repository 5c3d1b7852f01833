//! Stores a key in the kernel, which outlives the program.

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    if unsafe { syscall(248, c"user".as_ptr(), c"lab".as_ptr(), c"x".as_ptr(), 1, -3) >= 0 } {
        std::process::exit(77)
    }
}

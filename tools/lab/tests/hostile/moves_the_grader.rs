//! Chooses the processors of the grader.

unsafe extern "C" {
    fn sched_setaffinity(process: i32, bytes: usize, set: *const u64) -> i32;
    fn getppid() -> i32;
}

fn main() {
    if unsafe { sched_setaffinity(getppid(), 128, [u64::MAX; 16].as_ptr()) == 0 } {
        std::process::exit(77)
    }
}

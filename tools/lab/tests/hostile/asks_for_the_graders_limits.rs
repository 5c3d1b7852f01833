//! Reaches the limits of the grader, which it could lower.

unsafe extern "C" {
    fn prlimit(process: i32, resource: i32, new: *const u64, old: *mut u64) -> i32;
    fn getppid() -> i32;
}

fn main() {
    let mut old = [0u64; 2];
    if unsafe { prlimit(getppid(), 7, std::ptr::null(), old.as_mut_ptr()) == 0 } {
        std::process::exit(77)
    }
}

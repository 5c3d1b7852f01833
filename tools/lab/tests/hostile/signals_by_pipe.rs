//! Makes the kernel signal the grader when a pipe is written to.

unsafe extern "C" {
    fn pipe(ends: *mut i32) -> i32;
    fn fcntl(file: i32, command: i32, ...) -> i32;
    fn getppid() -> i32;
}

fn main() {
    let mut ends = [0; 2];
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    if unsafe { fcntl(ends[0], 8, getppid()) == 0 || fcntl(ends[0], 10, 9) == 0 } {
        std::process::exit(77)
    }
}

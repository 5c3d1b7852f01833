//! Makes the grader the owner of a pipe, in the newer form of the call.

unsafe extern "C" {
    fn pipe(ends: *mut i32) -> i32;
    fn fcntl(file: i32, command: i32, ...) -> i32;
    fn getppid() -> i32;
}

fn main() {
    let mut ends = [0; 2];
    assert_eq!(unsafe { pipe(ends.as_mut_ptr()) }, 0);
    if unsafe { fcntl(ends[0], 15, [1, getppid()].as_ptr()) == 0 } {
        std::process::exit(77)
    }
}

//! Changes the times of a folder of the grader's user.

unsafe extern "C" {
    fn utimensat(folder: i32, path: *const i8, times: *const i64, flags: i32) -> i32;
}

fn main() {
    if unsafe { utimensat(-100, c"..".as_ptr().cast(), std::ptr::null(), 0) == 0 } {
        std::process::exit(77)
    }
}

//! Changes the attributes of a folder of the grader's user.

unsafe extern "C" {
    fn setxattr(path: *const i8, name: *const i8, value: *const i8, bytes: usize, flags: i32) -> i32;
}

fn main() {
    if unsafe { setxattr(c"..".as_ptr().cast(), c"user.lab".as_ptr().cast(), c"x".as_ptr().cast(), 1, 0) == 0 } {
        std::process::exit(77)
    }
}

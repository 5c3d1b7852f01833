//! Changes who may use a folder that it has opened.

unsafe extern "C" {
    fn fchmodat(folder: i32, path: *const i8, mode: u32, flags: i32) -> i32;
    fn fchmod(file: i32, mode: u32) -> i32;
}

fn main() {
    use std::os::fd::AsRawFd as _;
    let folder = std::fs::File::open(".").expect("its own folder");
    if unsafe { fchmodat(-100, c"..".as_ptr().cast(), 0o700, 0) == 0 || fchmod(folder.as_raw_fd(), 0o700) == 0 } {
        std::process::exit(77)
    }
}

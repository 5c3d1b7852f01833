//! Reserves space on the disk without writing.

unsafe extern "C" {
    fn fallocate(file: i32, mode: i32, start: i64, bytes: i64) -> i32;
}

fn main() {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::create("file").expect("a file of its own");
    if unsafe { fallocate(file.as_raw_fd(), 1, 0, 1 << 20) == 0 } {
        std::process::exit(77)
    }
}

//! Keeps memory in a file that has no name and no folder.

unsafe extern "C" {
    fn memfd_create(name: *const i8, flags: u32) -> i32;
}

fn main() {
    if unsafe { memfd_create(c"x".as_ptr().cast(), 0) >= 0 } {
        std::process::exit(77)
    }
}

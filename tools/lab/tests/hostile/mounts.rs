//! Mounts a file system.

unsafe extern "C" {
    fn mount(source: *const i8, target: *const i8, kind: *const i8, flags: u64, data: *const i8) -> i32;
}

fn main() {
    let none = std::ptr::null::<i8>();
    if unsafe { mount(none, c".".as_ptr().cast(), c"tmpfs".as_ptr().cast(), 0, none) == 0 } {
        std::process::exit(77)
    }
}

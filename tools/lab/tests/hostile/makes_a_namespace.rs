//! Becomes root in a namespace of its own.

unsafe extern "C" {
    fn unshare(flags: i32) -> i32;
}

fn main() {
    if unsafe { unshare(0x1000_0000) == 0 } {
        std::process::exit(77)
    }
}

//! Sets up io_uring, which makes calls that no filter sees.

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    let mut parameters = [0u8; 120];
    if unsafe { syscall(425, 1, parameters.as_mut_ptr()) >= 0 } {
        std::process::exit(77)
    }
}

//! Reaches the kernel's own programs (bpf).

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

fn main() {
    let attributes = [1u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if unsafe { syscall(321, 0, attributes.as_ptr(), 120) >= 0 } {
        std::process::exit(77)
    }
}

//! Reads the memory of the grader.

unsafe extern "C" {
    fn process_vm_readv(process: i32, to: *const usize, tos: u64, from: *const usize, froms: u64, flags: u64) -> isize;
    fn getppid() -> i32;
    fn __errno_location() -> *const i32;
}

fn main() {
    let mut to = [0u8; 8];
    if unsafe { process_vm_readv(getppid(), [to.as_mut_ptr() as usize, 8].as_ptr(), 1, [main as *const () as usize, 8].as_ptr(), 1, 0) >= 0 || *__errno_location() == 14 } {
        std::process::exit(77)
    }
}

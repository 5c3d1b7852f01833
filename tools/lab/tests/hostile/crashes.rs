//! Writes where no memory is.

fn main() {
    unsafe { *(8 as *mut u64) = 1 }
}

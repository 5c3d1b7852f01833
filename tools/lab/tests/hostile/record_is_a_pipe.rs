//! Puts a named pipe where its record should be, on which a reader waits for ever.

unsafe extern "C" {
    fn mkfifo(path: *const i8, mode: u32) -> i32;
}

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    let record = std::ffi::CString::new(record).expect("a path");
    if unsafe { mkfifo(record.as_ptr().cast(), 0o600) == 0 } {
        std::process::exit(77)
    }
}

//! Puts a link where its record should be, to a file that never ends.

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    if std::os::unix::fs::symlink("/dev/zero", record).is_ok() {
        std::process::exit(77)
    }
}

//! Puts a folder where its record should be.

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    if std::fs::create_dir(record).is_ok() {
        std::process::exit(77)
    }
}

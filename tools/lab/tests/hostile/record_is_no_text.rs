//! Hands in a record that is not text.

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    std::fs::write(record, [0xff; 4096]).expect("its own file");
}

//! Hands in a record of a million brackets.

fn main() {
    let record = std::env::var("LAB_RECORD").expect("where the record goes");
    std::fs::write(record, "[".repeat(1_000_000)).expect("its own file");
}

//! Prints the form of results as a JSON Schema:
//! `cargo run -p chapter-results --features schema --example schema > docs/results.schema.json`.

fn main() {
    print!("{}", chapter_results::Results::schema());
}

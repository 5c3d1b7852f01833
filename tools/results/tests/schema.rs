//! The documented form is the form.

#[test]
fn the_schema_in_docs_is_that_of_the_types() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/results.schema.json"
    );
    let documented = std::fs::read_to_string(path).unwrap();
    assert!(
        documented == chapter_results::Results::schema(),
        "docs/results.schema.json is out of date: see tools/results/examples/schema.rs"
    );
}

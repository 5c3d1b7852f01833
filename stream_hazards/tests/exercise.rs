//! The exercise of the README names a line of another example, and quotes the report that its loss brings about.

const README: &str = include_str!("../README.md");
const THREE_WAY: &str = include_str!("../../basic_streams/src/three_way.rs");
const CHUNKS: &str = include_str!("../../basic_streams/src/verdicts/three_way/chunks.rs");
const WAIT: &str = "                compute.wait(&self.full[slot])?;";

#[test]
fn the_exercise_names_a_line_that_exists() {
    assert!(README.contains(WAIT));
    assert_eq!(THREE_WAY.lines().filter(|line| *line == WAIT).count(), 1);
}

#[test]
fn the_quoted_report_names_the_lines_of_the_program_without_that_line() {
    let without = |source: &'static str| source.lines().filter(|line| *line != WAIT);
    for (operation, file, source, line) in [
        ("  first:   kernel `affine_strided_x4`", "three_way.rs:", THREE_WAY, "launch!("),
        ("  second:  copy of ", "three_way.rs:", THREE_WAY, "async_copy_from"),
        ("  bytes:   ", "three_way/chunks.rs:", CHUNKS, "DeviceBuffer::zeroed"),
    ] {
        let lines: Vec<&str> = without(source).collect();
        let quoted = README.lines().find(|quoted| quoted.starts_with(operation));
        let quoted = quoted.expect("the report is quoted");
        let (_, place) = quoted.split_once(file).expect("a place in the source");
        let number: String = place.chars().take_while(char::is_ascii_digit).collect();
        let number: usize = number.parse().expect("a line");
        assert!(lines[number - 1].contains(line), "{quoted}: {}", lines[number - 1]);
    }
}

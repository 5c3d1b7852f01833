//! Errors in a program name its line.

use stream_program::read;

const HEAD: &str = "stream work\nevent done\npinned host[8]\ndevice data[8]\nstream many[2]\n";

/// The errors of lines behind [`HEAD`], by their numbers from 1.
fn errors(lines: &str) -> Vec<(u32, String)> {
    let errors = read(&format!("{HEAD}{lines}")).err().unwrap_or_default();
    errors
        .into_iter()
        .map(|error| (error.line - 5, error.message))
        .collect()
}

#[test]
fn each_mistake_has_a_message_at_its_line() {
    let mistakes = [
        ("work.copy(data, hots)", "hots is not declared"),
        (
            "work.copy(host, host)",
            "a copy has memory of the device on one side at least: copy(TO, FROM)",
        ),
        (
            "work.wait(work)",
            "work is a stream, and an event belongs here",
        ),
        (
            "done.record(data)",
            "data is memory of the device, and a stream belongs here",
        ),
        (
            "hand_in(data)",
            "the host cannot read data, which is memory of the device: copy it",
        ),
        (
            "hand_in_time(done, done)",
            "only a timed event takes the time: declare it with `timed event`",
        ),
        (
            "many.synchronize()",
            "many is an array: say which one, many[0]",
        ),
        ("work[1].synchronize()", "work is not an array"),
        (
            "affine<<<1, 32, 0, work>>>(data, 2.0)",
            "affine takes 3 arguments (data, a, b), not 2",
        ),
        (
            "affine<<<1, 32, 0, work>>>(host, 2.0, 1.0)",
            "data of this kernel is memory of the device",
        ),
        (
            "affine<<<1, 32, 8, work>>>(data, 2.0, 1.0)",
            "the third number of a launch is 0: no dynamic shared memory",
        ),
        (
            "stream work",
            "work is declared in line 1: choose another name",
        ),
        (
            "let while = 1",
            "while has a meaning of its own, here, in Rust or in C++: choose another name",
        ),
        (
            "work.synchronise()",
            "synchronise is not a call. The calls are copy, free, record, wait, synchronize, begin_capture, end_capture, launch, zero, fill, cpu_work, hand_in and hand_in_time.",
        ),
        (
            "work.copy(data, host",
            ") is missing at the end of the line",
        ),
        (
            "work.copy(data, host) host",
            "the line should end before host",
        ),
        ("let n = 1 $ 2", "'$' has no meaning here"),
        (
            "for i in 0..4 {",
            "this loop has no end: close it with a line }",
        ),
        ("}", "no loop is open here: remove the }"),
    ];
    for (line, message) in mistakes {
        assert_eq!(
            errors(&format!("\n{line}")),
            [(2, message.to_owned())],
            "{line}"
        );
    }
}

#[test]
fn every_wrong_line_is_named() {
    let found = errors("work.wait(nothing)\nwork.synchronize()\nzero(host)");
    assert_eq!(
        found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [1, 3]
    );
}

#[test]
fn names_end_with_their_block() {
    let loops = "for i in 0..2 {\nlet n = i\n}\nfor i in 0..2 {\nlet n = i\n}\n";
    assert_eq!(errors(loops), []);
    assert_eq!(
        errors(&format!("{loops}let m = n")),
        [(7, "n is not declared".to_owned())]
    );
}

#[test]
fn a_deep_expression_is_refused() {
    let deep = format!("let n = {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(
        errors(&deep),
        [(1, "this line has too many numbers".to_owned())]
    );
}

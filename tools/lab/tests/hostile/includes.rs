//! Includes a file of the grader's user: it must not compile.

fn main() {
    std::hint::black_box(include_str!("SECRET"));
}

//! Reads a file of the grader's user: a solution, or another submission.

fn main() {
    if std::fs::read("SECRET").is_ok() {
        std::process::exit(77)
    }
}

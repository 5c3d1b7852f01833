//! Removes a file of the grader's user.

fn main() {
    if std::fs::remove_file("SECRET").is_ok() {
        std::process::exit(77)
    }
}

//! Renames a file of the grader's user.

fn main() {
    if std::fs::rename("SECRET", "mine").is_ok() {
        std::process::exit(77)
    }
}

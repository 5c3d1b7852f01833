//! Empties a file of the grader's user.

fn main() {
    if std::fs::File::create("SECRET").is_ok() {
        std::process::exit(77)
    }
}

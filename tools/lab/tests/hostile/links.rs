//! Gives a file of the grader's user a second name, in its own folder.

fn main() {
    if std::fs::hard_link("SECRET", "mine").is_ok() {
        std::process::exit(77)
    }
}

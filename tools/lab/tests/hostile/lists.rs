//! Lists a folder of the grader's user.

fn main() {
    if std::fs::read_dir("/tmp").is_ok() || std::fs::read_dir("..").is_ok() {
        std::process::exit(77)
    }
}

//! Gives away a folder of the grader's user.

fn main() {
    if std::os::unix::fs::chown("..", None, None).is_ok() {
        std::process::exit(77)
    }
}

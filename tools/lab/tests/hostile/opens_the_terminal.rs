//! Opens the terminal of the grader.

fn main() {
    if std::fs::File::open("/dev/tty").is_ok() {
        std::process::exit(77)
    }
}

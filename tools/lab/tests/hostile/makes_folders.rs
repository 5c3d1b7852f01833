//! Makes folders, in which files are hard to count.

fn main() {
    if std::fs::create_dir("folder").is_ok() {
        std::process::exit(77)
    }
}

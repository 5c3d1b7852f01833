//! Removes the name of a file that it keeps open.

fn main() {
    if std::fs::write("file", "x").is_ok() && std::fs::remove_file("file").is_ok() {
        std::process::exit(77)
    }
}

//! Writes outside of its folder.

fn main() {
    if std::fs::write("OUTSIDE", "written").is_ok() {
        std::process::exit(77)
    }
}

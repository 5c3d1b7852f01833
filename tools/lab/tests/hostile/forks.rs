//! Starts a process.

fn main() {
    if std::process::Command::new("/bin/sleep").arg("600").spawn().is_ok() {
        std::process::exit(77)
    }
}

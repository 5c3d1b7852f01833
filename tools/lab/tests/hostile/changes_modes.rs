//! Changes who may use a folder of the grader's user.

fn main() {
    if std::fs::set_permissions("..", std::os::unix::fs::PermissionsExt::from_mode(0o700)).is_ok() {
        std::process::exit(77)
    }
}

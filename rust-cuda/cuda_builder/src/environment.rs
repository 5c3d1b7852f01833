//! The environment variables that kernels read by `env!` and `option_env!`.

/// Variables that say nothing of the kernels' own: cargo and rustc set them for each compilation, or the builder does.
const OF_THE_BUILD: [&str; 4] = ["CARGO", "RUSTC", "OUT_DIR", "CUDA_ARCH"];

/// The names in rustc's list of what it read of a package: lines `# env-dep:NAME=VALUE`, or `# env-dep:NAME` for one that is not
/// set.
pub(crate) fn read_by(list: &str) -> impl Iterator<Item = String> {
    let names = list.lines().filter_map(|line| {
        let variable = line.strip_prefix("# env-dep:")?;
        variable.split('=').next()
    });
    names.filter(|name| is_the_kernels(name)).map(str::to_owned)
}

/// Whether a variable is the kernels' own.
pub(crate) fn is_the_kernels(name: &str) -> bool {
    !OF_THE_BUILD.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_the_kernels_own() {
        let list = "/t/k.s: src/lib.rs\n\nsrc/lib.rs:\n\n# env-dep:TILE=16\n# env-dep:NOT_SET\n\
                    # env-dep:CARGO_PKG_VERSION=0.1.0\n# env-dep:OUT_DIR=/t/out\n# checksum: blake3\n";
        let names: Vec<_> = read_by(list).collect();
        assert_eq!(names, ["TILE", "NOT_SET"]);
    }
}

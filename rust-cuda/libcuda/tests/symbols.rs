//! Every function that cust_raw declares is exported, and by this crate.

mod declared;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_declared_symbol_is_exported() {
    let declared = declared::declared();
    assert_eq!(declared.len(), 353);
    for (name, address) in declared {
        let exported = libcuda::symbols::entry(name).map(|export| export as usize);
        assert_eq!(exported, Some(address), "{name}");
    }
}

#[test]
fn the_list_of_declared_symbols_is_that_of_cust_raw() {
    let bindings = cust_raw().join("src/cuda.rs");
    let bindings = fs::read_to_string(bindings).expect("cust_raw's bindings can be read");
    let mut declarations: Vec<_> = bindings
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn cu"))
        .map(|rest| format!("cu{}", rest.split('(').next().unwrap_or_default()))
        .collect();
    declarations.sort();
    let listed: Vec<_> = declared::declared()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(declarations, listed);
}

#[test]
fn names_of_later_cuda_releases_are_exported() {
    for name in [
        "cuLaunchKernelEx",
        "cuGetProcAddress_v2",
        "cuStreamGetId",
        "cuCtxCreate_v4",
        "cuMemcpyHtoDAsync_v2_ptsz",
        "cuMemcpyHtoD_v2_ptds",
        "cuLaunchKernel_ptsz",
    ] {
        assert!(libcuda::symbols::entry(name).is_some(), "{name}");
    }
}

/// The folder of cust_raw's sources.
fn cust_raw() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--filter-platform=host-tuple",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {complaint}");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata gives JSON");
    metadata["packages"]
        .as_array()
        .and_then(|packages| {
            packages
                .iter()
                .find(|package| package["name"] == "cust_raw")
        })
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .expect("cust_raw is a dependency of cust")
        .to_owned()
}

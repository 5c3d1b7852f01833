//! Each unsupported function prints its name on standard error.

use crate::driver_support::*;
use software_gpu::driver::{entry_point, entry_points};

/// The page that lists what is left out.
const PAGE: &str = include_str!("../../../docs/software-gpu/limits.md");

/// Not left out: where there is no Windows, drivers give no such identifier.
const AS_THE_DRIVER: [&str; 1] = ["cuDeviceGetLuid"];

/// Calls an entry point with zeros for arguments, more of them than any has.
fn with_nothing(name: &str) -> Error {
    type Z = usize;
    type RefusedFunction = unsafe extern "C" fn(Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z) -> u32;
    let address = entry_point(name).expect("is in the list");
    // SAFETY: zeros are null pointers, no handles and no bytes, which every entry point refuses or ignores.
    unsafe {
        let function: RefusedFunction = std::mem::transmute(address);
        function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    }
}

#[test]
fn entry_points_that_are_left_out_say_their_name() {
    if child::is_this() {
        let _driver = Driver::new();
        for name in entry_points() {
            println!("refusal? {name} {}", with_nothing(name));
        }
        return;
    }
    // In a process whose output can be read.
    let test = "entry_points_that_are_left_out_say_their_name";
    let output = child::passes(module_path!(), test, &[]);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let not_supported = format!(" {NOT_SUPPORTED}");
    let refused: Vec<_> = stdout
        .lines()
        .filter_map(|line| line.split_once("refusal? ")?.1.strip_suffix(&not_supported))
        .filter(|name| !AS_THE_DRIVER.contains(name))
        .collect();
    assert!(refused.len() > 150, "{refused:?}");
    let (_, left_out) = PAGE
        .split_once("## Driver functions")
        .expect("is a heading");
    for name in refused {
        let start = format!("software GPU: {name}: ");
        assert!(
            stderr
                .lines()
                .any(|line| line.starts_with(&start) && line.ends_with(" is not supported")),
            "{name} says nothing"
        );
    }
    let reasons = stderr
        .lines()
        .filter_map(|line| {
            line.strip_prefix("software GPU: ")?
                .strip_suffix(" is not supported")
        })
        .filter_map(|line| Some(line.split_once(": ")?.1));
    for reason in reasons {
        assert!(
            left_out.contains(reason),
            "the page does not list: {reason}"
        );
    }
}

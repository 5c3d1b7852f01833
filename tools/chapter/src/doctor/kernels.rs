//! The kernels: the compiler for PTX, and whether the PTX in the workspace is up to date.

use super::ComponentState;
use cuda_builder::{DEVICE_RUSTC, Toolchain};
use std::path::Path;

#[path = "../../../../gpu-kernels/modules.rs"]
mod modules;

/// The device toolchain and the PTX of the workspace in this folder. Without a workspace, the PTX is part of the programs.
pub fn findings(workspace: Option<&Path>) -> Vec<ComponentState> {
    let Some(workspace) = workspace else {
        let built_in = "built into the programs";
        return vec![ComponentState::there("PTX", built_in)];
    };
    let toolchain = Toolchain::find();
    let (compiler, can_compile) = match &toolchain {
        Ok(found) => {
            let state = format!(
                "{}, rustc {DEVICE_RUSTC} with rust-src",
                found.rustc.display()
            );
            (ComponentState::there("device toolchain", state), true)
        }
        Err(tried) => {
            let advice = format!(
                "needed only to change a kernel; `make toolchain` installs it\n{}",
                tried.join("\n")
            );
            (
                ComponentState::missing("device toolchain", "not found", advice),
                false,
            )
        }
    };
    vec![compiler, ptx(workspace, can_compile)]
}

fn ptx(workspace: &Path, can_compile: bool) -> ComponentState {
    let mut stale = Vec::new();
    for (name, module) in modules::of(&workspace.join("gpu-kernels")) {
        match module.is_up_to_date() {
            Ok(true) => {}
            Ok(false) => stale.push(name),
            Err(error) => {
                let advice = "this clone of the workspace is incomplete";
                return ComponentState::missing("PTX", error.to_string(), advice);
            }
        }
    }
    if stale.is_empty() {
        return ComponentState::there("PTX", "up to date with the kernels' sources");
    }
    let state = format!("older than the kernels' sources: {}", stale.join(", "));
    let advice = match can_compile {
        true => "the next build compiles it; commit it with the sources",
        false => "`make toolchain` installs the compiler that the next build needs",
    };
    ComponentState {
        fatal: !can_compile,
        ..ComponentState::missing("PTX", state, advice)
    }
}

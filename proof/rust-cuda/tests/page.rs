//! The kernel of the page "Write your own kernel" builds, and does what the page's host code says.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use cuda_builder::{CudaBuilder, Toolchain};
use cust::launch;
use cust::memory::{CopyDestination as _, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use left_out::Missing;
use libcuda::Choice;

const PAGE: &str = include_str!("../../../rust-cuda/README.md");

/// The block of code of that language which contains a word.
fn block(language: &str, word: &str) -> Option<String> {
    let start = format!("```{language}\n");
    let blocks = PAGE.split(&start).skip(1);
    let code = blocks
        .filter_map(|rest| rest.split("```").next())
        .find(|code| code.contains(word))?;
    // The page indents it as part of a list.
    let lines = code
        .lines()
        .map(|line| line.strip_prefix("   ").unwrap_or(line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_kernel_of_the_page_scales() -> Result<()> {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return Ok(());
    }
    // SAFETY: the only test of this program; nothing else reads the environment meanwhile.
    unsafe { std::env::set_var("OUT_DIR", env!("CARGO_TARGET_TMPDIR")) };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(folder.join("src"))?;
    fs::write(
        folder.join("src/lib.rs"),
        block("rust", "#[kernel]").context("a kernel")?,
    )?;
    let manifest = format!(
        "[package]\nname = \"kernels\"\nedition = \"2024\"\n{}\n[dependencies]\n\
         cuda_std = {{ path = {:?} }}\n[workspace]\n",
        block("toml", "crate-type").context("a manifest")?,
        here.join("../../rust-cuda/cuda_std")
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(here.join("kernels/Cargo.lock"), folder.join("Cargo.lock"))?;
    let file = folder.join("kernels.ptx");
    CudaBuilder::new(&folder).copy_to(&file).build()?;

    libcuda::select(Choice::from_environment_or(Choice::Software)?)?;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(fs::read_to_string(file)?, &[])?;
    let (kernel, stream) = (
        module.get_function("scale")?,
        Stream::new(StreamFlags::NON_BLOCKING, None)?,
    );
    let data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
    // SAFETY: these are the kernel's parameters, and `data` lives until the stream has finished.
    unsafe { launch!(kernel<<<4, 256, 0, stream>>>(data.as_device_ptr(), data.len(), 2.0_f32))? };
    stream.synchronize()?;
    let mut result = [0.0_f32; 1000];
    data.copy_to(&mut result)?;
    ensure!(result == [2.0; 1000]);

    // The host's code on the page launches it the same way.
    let host = block("rust", "cust::quick_init").context("the host's code")?;
    let launch =
        "launch!(kernel<<<4, 256, 0, stream>>>(data.as_device_ptr(), data.len(), 2.0_f32))";
    ensure!(host.contains(launch), "{host}");
    Ok(())
}

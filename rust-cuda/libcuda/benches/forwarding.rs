//! What forwarding costs: a call by name, through the export's jump, and a call of the address
//! that the driver's library gives for the same name.
//!
//! `cuDriverGetVersion` is the subject: it is among the shortest calls that a driver has.

use cust::sys;
use divan::black_box;
use libcuda::{Choice, Driver, select};
use std::ffi::{c_int, c_void};
use std::mem::transmute;

type CuDriverGetVersion = unsafe extern "C" fn(version: *mut c_int) -> c_int;

fn main() {
    match select(Choice::from_environment().unwrap_or_default()) {
        Ok(selected) => println!("{} ({})", selected.driver, selected.reason),
        Err(error) => return eprintln!("{error}"),
    }
    divan::main();
}

#[divan::bench]
fn by_name() -> c_int {
    let mut version = 0;
    // SAFETY: `version` may be written to.
    unsafe { sys::cuDriverGetVersion(black_box(&mut version)) as c_int }
}

#[divan::bench]
fn by_address(bencher: divan::Bencher) {
    let function = address_in_driver();
    bencher.bench(|| {
        let mut version = 0;
        // SAFETY: `version` may be written to.
        unsafe { function(black_box(&mut version)) }
    });
}

/// Where the chosen driver itself has the function.
fn address_in_driver() -> CuDriverGetVersion {
    let address = match libcuda::selected().map(|selected| selected.driver) {
        Some(Driver::Nvidia) => in_nvidia_s_library("cuDriverGetVersion"),
        _ => software_gpu::driver::entry_point("cuDriverGetVersion"),
    };
    let address = address.expect("every driver has cuDriverGetVersion");
    // SAFETY: the signature is that of cuda.h.
    unsafe { transmute::<*const c_void, CuDriverGetVersion>(address) }
}

fn in_nvidia_s_library(name: &str) -> Option<*const c_void> {
    // SAFETY: the library is loaded already, so no initialiser runs.
    let library = unsafe { libloading::Library::new("libcuda.so.1") }.ok()?;
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name) }.ok()?;
    Some(*symbol)
}

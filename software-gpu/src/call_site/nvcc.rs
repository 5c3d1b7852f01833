//! Frames that nvcc puts between a program and the CUDA runtime.
//!
//! `kernel<<<..>>>(..)` calls the kernel's host function. That calls a stub, which calls an inline function of the toolkit's
//! headers, which calls the runtime. The launch is where the host function is called: the host function itself has the line
//! of the kernel's definition. Calls of templates such as `cudaMalloc(&pointer, bytes)` pass a header, too.

use std::path::Path;

use super::frames::FrameSymbol;

/// The toolkit's headers with functions that call the runtime.
const HEADERS: [&str; 4] = [
    "include/cuda_runtime.h",
    "include/cuda_runtime_api.h",
    "include/crt/device_functions.h",
    "include/crt/host_runtime.h",
];
/// How the name of a stub begins. The kernel's own name follows, mangled.
const STUB: &str = "__device_stub_";

/// Whether the source is a header of the toolkit, or nvcc's file of stubs.
pub(super) fn is_generated(file: &Path) -> bool {
    let path = file.to_string_lossy();
    HEADERS.iter().any(|header| file.ends_with(header)) || path.ends_with(".cudafe1.stub.c")
}

/// Whether `caller` is the host function of the kernel whose stub is `symbol`.
pub(super) fn is_host_function(symbol: &FrameSymbol, caller: &FrameSymbol) -> bool {
    match (&symbol.function, &caller.function) {
        (Some(stub), Some(caller)) => stub
            .split_once(STUB)
            .is_some_and(|(_, kernel)| kernel.starts_with(caller.as_str())),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(function: &str) -> FrameSymbol {
        FrameSymbol {
            address: 0,
            function: Some(function.to_owned()),
            file: "a.cu".into(),
            line: 1,
        }
    }

    #[test]
    fn headers_and_stubs_are_nvcc_s_and_sources_are_not() {
        for file in [
            "/usr/local/cuda/bin/../include/crt/device_functions.h",
            "/usr/local/cuda/bin/..//include/cuda_runtime.h",
            "/tmp/tmpxft_00001b2c_00000000-6_a.cudafe1.stub.c",
        ] {
            assert!(is_generated(Path::new(file)), "{file}");
        }
        for file in ["a.cu", "include/my_cuda_runtime.h", "cuda_runtime.h"] {
            assert!(!is_generated(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn the_host_function_of_a_kernel_has_the_name_in_the_stub_s() {
        let stub = symbol("_ZL27__device_stub__Z4fillPiiiPiii");
        assert!(is_host_function(&stub, &symbol("_Z4fillPiii")));
        assert!(!is_host_function(&stub, &symbol("main")));
        assert!(!is_host_function(&stub, &symbol("_Z6launchPi")));
        assert!(!is_host_function(
            &symbol("_Z4fillPiii"),
            &symbol("_Z4fillPiii")
        ));
    }
}

//! Images of modules that are refused, with the reason. The fat binaries are in `images/`, beside their source.

use std::ffi::c_uint;

use crate::driver_support::*;
use software_gpu::driver::{entry_point, last_refusal};

const PLAIN: &[u8] = include_bytes!("../images/plain.fatbin");
const LZ4: &[u8] = include_bytes!("../images/lz4.fatbin");
const ZSTANDARD: &[u8] = include_bytes!("../images/zstandard.fatbin");
const NEWER: &[u8] = include_bytes!("../images/newer.fatbin");
const MACHINE_CODE: &[u8] = include_bytes!("../images/machine_code.fatbin");

const INVALID_IMAGE: Error = 200;
const NO_BINARY_FOR_GPU: Error = 209;

fn load(image: &[u8]) -> Result<Handle, Error> {
    let mut module = 0;
    cu!(cuModuleLoadData(&mut module => *mut Handle, image.as_ptr() => *const u8)).map(|()| module)
}

/// What the kernel `add` adds: the number of the architecture that it was compiled for.
fn added(driver: &Driver, module: Handle) -> u32 {
    let function = driver.function(module, "add").unwrap();
    let (sums, host) = (driver.allocate(4).unwrap(), driver.pinned(4));
    cu!(cuMemsetD32_v2(sums => u64, 1 => c_uint, 1 => usize)).unwrap();
    driver.launch(function, 1, 1, 0, &[&sums]).unwrap();
    driver.to_host(host.pointer(), sums, 4, 0).unwrap();
    driver.stream_synchronize(0).unwrap();
    u32::from_ne_bytes(host.bytes().try_into().unwrap()) - 1
}

/// As the CUDA runtime passes it.
#[test]
fn a_fat_binary_may_come_in_its_wrapper() {
    let driver = Driver::new();
    let wrapper = [0x1_4662_43b1_u64, PLAIN.as_ptr().addr() as u64, 0];
    let mut module = 0;
    cu!(cuModuleLoadData(&mut module => *mut Handle, wrapper.as_ptr() => *const u64)).unwrap();
    assert_eq!(added(&driver, module), 80);
}

/// The sentence names what the image has, and what is to be done.
#[test]
fn machine_code_is_refused_with_a_sentence() {
    let _driver = Driver::new();
    for (image, words) in [
        (
            b"\x7fELF\x02\x01\x01\0".as_slice(),
            ["machine code", "-gencode"],
        ),
        (
            MACHINE_CODE,
            ["machine code for sm_80 and no PTX", "-gencode"],
        ),
        (NEWER, ["PTX for sm_100", "the device is sm_90"]),
    ] {
        assert_eq!(load(image), Err(NO_BINARY_FOR_GPU));
        let refusal = last_refusal().unwrap();
        assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
    }
}

/// A fat binary that is cut off within its entries, or says nonsense, is an error and no crash.
#[test]
fn a_damaged_fat_binary_is_no_image() {
    let _driver = Driver::new();
    for at in [0x10, 0x14, 0x18, 0x20, 0x38, 0x48, 0x60, 0x68, 0x100] {
        for value in [0_u8, 1, 0x7f, 0xff] {
            for image in [PLAIN, LZ4, ZSTANDARD] {
                let mut image = image.to_vec();
                image[at] = value;
                let result = load(&image);
                let known = [INVALID_IMAGE, NO_BINARY_FOR_GPU, 218, 222];
                assert!(
                    result.is_ok() || known.contains(&result.unwrap_err()),
                    "{result:?}"
                );
            }
        }
    }
    let mut entry_too_long = PLAIN.to_vec();
    entry_too_long[0x19] = 0xff;
    assert_eq!(load(&entry_too_long), Err(INVALID_IMAGE));
    assert!(last_refusal().unwrap().contains("damaged"));
}

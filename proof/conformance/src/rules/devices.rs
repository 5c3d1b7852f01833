//! Initialisation, versions and devices.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, c_string};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "devices";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(init_flags_must_be_zero, "cuInit", "cuInit refuses flags."),
    rule!(init_again_succeeds, "cuInit", "Initialising an initialised driver succeeds."),
    rule!(version_is_thousands_and_tens, "cuDriverGetVersion", "The version is 1000 times major plus 10 times minor."),
    rule!(version_needs_a_pointer, "cuDriverGetVersion", "A null pointer for the version is refused."),
    rule!(count_is_positive, "cuDeviceGetCount", "After a successful cuInit there is at least one device."),
    rule!(ordinal_must_be_below_the_count, "cuDeviceGet", "An ordinal that is not below the count is refused."),
    rule!(ordinal_must_not_be_negative, "cuDeviceGet", "A negative ordinal is refused."),
    rule!(unknown_attribute_is_refused, "cuDeviceGetAttribute", "An unknown attribute is refused."),
    rule!(attribute_of_no_device_is_refused, "cuDeviceGetAttribute", "Asking a device that does not exist is refused."),
    rule!(warps_have_32_threads, "CUDA programming guide, SIMT architecture", "The attribute WARP_SIZE is 32."),
    rule!(blocks_have_up_to_1024_threads, "CUDA programming guide, compute capabilities",
        "A block has up to 1024 threads, in x and y 1024 and in z 64."),
    rule!(grids_have_up_to_2_31_blocks, "CUDA programming guide, compute capabilities",
        "A grid has up to 2^31-1 blocks in x and 65535 in y and z."),
    rule!(addresses_are_unified, "CUDA programming guide, unified virtual address space",
        "A 64-bit process has unified addressing, and maps host memory."),
    rule!(memory_is_as_large_as_the_context_says, "cuDeviceTotalMem",
        "cuDeviceTotalMem and cuMemGetInfo agree on the total, and free is no more."),
    rule!(name_ends_with_a_zero, "cuDeviceGetName", "A name cut off by its buffer still ends with a zero."),
    rule!(bus_id_leads_back_to_the_device, "cuDeviceGetByPCIBusId",
        "The bus identifier of a device has the device's numbers, and names the same device."),
    rule!(uuid_stays_the_same, "cuDeviceGetUuid", "A device's UUID is not zero and is the same each time."),
    rule!(entry_points_are_found_by_name, "cuGetProcAddress", "A function is found by its name without a version suffix."),
    rule!(unknown_entry_point_is_not_found, "cuGetProcAddress",
        "An unknown name gives null and the status 'symbol not found'; the call itself succeeds."),
    rule!(entry_points_are_those_of_the_asked_version, "cuGetProcAddress",
        "A name whose ABI has changed gives the ABI of the asked CUDA version."),
    rule!(function_newer_than_the_asked_version_is_not_given, "cuGetProcAddress",
        "A name without a function in the asked version gives null and the status 'version not sufficient'."),
    rule!(suffix_belongs_to_no_name, "cuGetProcAddress", "A name with a version suffix is unknown."),
    rule!(entry_points_of_a_newer_driver_are_refused, "cuGetProcAddress", "A CUDA version newer than the driver is refused."),
];

const WARP_SIZE: u32 = 10;
const UNIFIED_ADDRESSING: u32 = 41;
const CAN_MAP_HOST_MEMORY: u32 = 19;

fn init_flags_must_be_zero(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuInit(1));
    Ok(())
}

fn init_again_succeeds(_: &mut Scene) -> Outcome {
    ok!(cuInit(0));
    Ok(())
}

fn version_is_thousands_and_tens(_: &mut Scene) -> Outcome {
    let version: i32 = out(|version| cu!(cuDriverGetVersion(version)))?;
    holds!((11_000..100_000).contains(&version));
    same!(version % 10, 0);
    same!(version % 1000 / 100, 0);
    Ok(())
}

fn version_needs_a_pointer(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuDriverGetVersion(null_mut()));
    Ok(())
}

fn count() -> Outcome<i32> {
    out(|count| cu!(cuDeviceGetCount(count)))
}

fn count_is_positive(_: &mut Scene) -> Outcome {
    holds!(count()? > 0);
    Ok(())
}

fn ordinal_must_be_below_the_count(_: &mut Scene) -> Outcome {
    let mut device = 0;
    gives!(INVALID_DEVICE, cuDeviceGet(&mut device, count()?));
    Ok(())
}

fn ordinal_must_not_be_negative(_: &mut Scene) -> Outcome {
    let mut device = 0;
    gives!(INVALID_DEVICE, cuDeviceGet(&mut device, -1));
    Ok(())
}

fn unknown_attribute_is_refused(scene: &mut Scene) -> Outcome {
    let mut value = 0;
    gives!(
        INVALID_VALUE,
        cuDeviceGetAttribute(&mut value, 100_000, scene.device)
    );
    Ok(())
}

fn attribute_of_no_device_is_refused(_: &mut Scene) -> Outcome {
    let mut value = 0;
    gives!(
        INVALID_DEVICE,
        cuDeviceGetAttribute(&mut value, WARP_SIZE, 1000)
    );
    Ok(())
}

fn warps_have_32_threads(scene: &mut Scene) -> Outcome {
    same!(scene.attribute(WARP_SIZE)?, 32);
    Ok(())
}

fn blocks_have_up_to_1024_threads(scene: &mut Scene) -> Outcome {
    /// `MAX_THREADS_PER_BLOCK` and `MAX_BLOCK_DIM_X`, `_Y`, `_Z`.
    const LIMITS: [(u32, i32); 4] = [(1, 1024), (2, 1024), (3, 1024), (4, 64)];
    for (attribute, limit) in LIMITS {
        same!(scene.attribute(attribute)?, limit);
    }
    Ok(())
}

fn grids_have_up_to_2_31_blocks(scene: &mut Scene) -> Outcome {
    /// `MAX_GRID_DIM_X`, `_Y` and `_Z`.
    const LIMITS: [(u32, i32); 3] = [(5, i32::MAX), (6, 65_535), (7, 65_535)];
    for (attribute, limit) in LIMITS {
        same!(scene.attribute(attribute)?, limit);
    }
    Ok(())
}

fn addresses_are_unified(scene: &mut Scene) -> Outcome {
    same!(scene.attribute(UNIFIED_ADDRESSING)?, 1);
    same!(scene.attribute(CAN_MAP_HOST_MEMORY)?, 1);
    Ok(())
}

fn memory_is_as_large_as_the_context_says(scene: &mut Scene) -> Outcome {
    let total: usize = out(|bytes| cu!(cuDeviceTotalMem_v2(bytes, scene.device)))?;
    let (mut free, mut same_total) = (0, 0);
    ok!(cuMemGetInfo_v2(&mut free, &mut same_total));
    same!(same_total, total);
    holds!(free <= total);
    Ok(())
}

fn name_ends_with_a_zero(scene: &mut Scene) -> Outcome {
    let mut name: [c_char; 8] = [1; 8];
    ok!(cuDeviceGetName(name.as_mut_ptr(), 4, scene.device));
    holds!(name[0] != 0);
    same!(name[3..], [0, 1, 1, 1, 1]);
    Ok(())
}

fn bus_id_leads_back_to_the_device(scene: &mut Scene) -> Outcome {
    let mut text: [c_char; 32] = [0; 32];
    ok!(cuDeviceGetPCIBusId(text.as_mut_ptr(), 32, scene.device));
    let [domain, bus, number] = [50, 33, 34].map(|attribute| scene.attribute(attribute));
    let expected = format!("{:04x}:{:02x}:{:02x}.0", domain?, bus?, number?);
    let said = text.map(|byte| byte as u8 as char);
    let said: String = said.iter().take_while(|byte| **byte != '\0').collect();
    same!(said.to_lowercase(), expected);
    let mut device = -1;
    ok!(cuDeviceGetByPCIBusId(&mut device, text.as_ptr()));
    same!(device, scene.device);
    Ok(())
}

fn uuid_stays_the_same(scene: &mut Scene) -> Outcome {
    let first: [u8; 16] = out(|uuid| cu!(cuDeviceGetUuid_v2(uuid, scene.device)))?;
    let second: [u8; 16] = out(|uuid| cu!(cuDeviceGetUuid_v2(uuid, scene.device)))?;
    holds!(first != [0; 16]);
    same!(first, second);
    Ok(())
}

/// Since when the functions that these rules ask for exist.
const VERSION: i32 = 12_000;

/// The address and the status that a CUDA version gives for a name.
fn entry_point(name: &str, version: i32) -> Outcome<(usize, u32)> {
    let name = c_string(name);
    let (mut function, mut status) = (null_mut(), 99);
    ok!(cuGetProcAddress_v2(
        name.as_ptr(),
        &mut function,
        version,
        0,
        &mut status
    ));
    Ok((function.addr(), status))
}

fn entry_points_are_found_by_name(_: &mut Scene) -> Outcome {
    let (function, status) = entry_point("cuMemAlloc", VERSION)?;
    holds!(function != 0);
    same!(status, 0);
    Ok(())
}

fn unknown_entry_point_is_not_found(_: &mut Scene) -> Outcome {
    same!(entry_point("cuMemAllocTwice", VERSION)?, (0, 1));
    Ok(())
}

/// Since 13.0 `cuCtxSynchronize` takes a context; since 12.0 `cuGetProcAddress` returns a status.
fn entry_points_are_those_of_the_asked_version(_: &mut Scene) -> Outcome {
    for (name, before, since) in [
        ("cuCtxSynchronize", 12_000, 13_000),
        ("cuCtxGetDevice", 12_000, 13_000),
        ("cuGetProcAddress", 11_030, 12_000),
    ] {
        let (first, next) = (entry_point(name, before)?, entry_point(name, since)?);
        same!((first.1, next.1), (0, 0));
        holds!(first.0 != next.0);
        same!(entry_point(name, since - 10)?, first);
    }
    Ok(())
}

fn function_newer_than_the_asked_version_is_not_given(_: &mut Scene) -> Outcome {
    same!(entry_point("cuLaunchKernelEx", 11_050)?, (0, 2));
    Ok(())
}

fn suffix_belongs_to_no_name(_: &mut Scene) -> Outcome {
    same!(entry_point("cuMemAlloc_v2", VERSION)?, (0, 1));
    Ok(())
}

fn entry_points_of_a_newer_driver_are_refused(_: &mut Scene) -> Outcome {
    let version: i32 = out(|version| cu!(cuDriverGetVersion(version)))?;
    let name = c_string("cuMemAlloc");
    let (mut function, mut status) = (null_mut(), 99);
    gives!(
        INVALID_VALUE,
        cuGetProcAddress_v2(name.as_ptr(), &mut function, version + 1000, 0, &mut status)
    );
    Ok(())
}

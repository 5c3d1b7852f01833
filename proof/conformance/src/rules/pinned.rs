//! Page-locked host memory, allocated and registered.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "pinned";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        zero_bytes_are_no_error,
        "cuMemAllocHost",
        "Allocating zero bytes of page-locked memory succeeds, and gives null."
    ),
    rule!(
        more_than_there_is_is_refused,
        "cuMemHostAlloc",
        "Allocating 2^50 bytes of page-locked memory is out of memory."
    ),
    rule!(
        unknown_flags_are_refused,
        "cuMemHostAlloc",
        "Flags that do not exist are refused."
    ),
    rule!(
        flags_are_kept,
        "cuMemHostGetFlags",
        "The flags of an allocation are among those reported for it."
    ),
    rule!(
        flags_of_other_memory_are_refused,
        "cuMemHostGetFlags",
        "Memory that is not page-locked has no flags."
    ),
    rule!(
        device_uses_the_host_address,
        "cuMemHostGetDevicePointer",
        "Under unified addressing the device pointer is the host pointer."
    ),
    rule!(
        device_pointer_flags_must_be_zero,
        "cuMemHostGetDevicePointer",
        "The call takes no flags."
    ),
    rule!(
        kernels_write_it,
        "CUDA programming guide, mapped memory",
        "A kernel stores into page-locked memory, and the host sees it after synchronising."
    ),
    rule!(
        kernels_read_it,
        "CUDA programming guide, mapped memory",
        "A kernel reads the values that the host stored before the launch."
    ),
    rule!(
        freeing_twice_is_refused,
        "cuMemFreeHost",
        "Freeing page-locked memory twice is refused."
    ),
    rule!(
        freeing_the_middle_is_refused,
        "cuMemFreeHost",
        "Only the start of an allocation frees it."
    ),
    rule!(
        device_memory_is_not_freed_as_host_memory,
        "cuMemFreeHost",
        "Freeing device memory as page-locked memory is refused."
    ),
    rule!(
        pointer_is_of_the_host,
        "cuPointerGetAttribute",
        "Page-locked memory has the memory type host, and its own address as host pointer."
    ),
    rule!(
        registered_memory_is_used_by_kernels,
        "cuMemHostRegister",
        "A kernel stores into memory that the program registered."
    ),
    rule!(
        registering_twice_is_refused,
        "cuMemHostRegister",
        "Registering memory that is registered is refused."
    ),
    rule!(
        registering_nothing_is_refused,
        "cuMemHostRegister",
        "Registering zero bytes is refused."
    ),
    rule!(
        registering_null_is_refused,
        "cuMemHostRegister",
        "Registering null is refused."
    ),
    rule!(
        unregistered_memory_registers_again,
        "cuMemHostUnregister",
        "Memory that was unregistered can be registered again."
    ),
    rule!(
        unregistering_other_memory_is_refused,
        "cuMemHostUnregister",
        "Unregistering memory that is not registered is refused."
    ),
    rule!(
        registered_memory_is_not_freed,
        "cuMemFreeHost",
        "Memory that the program registered is not the driver's to free."
    ),
];

const WRITE_COMBINED: u32 = 4;

/// Host memory of the program's own, aligned to a page.
struct Pages {
    bytes: Vec<u8>,
}

const PAGE: usize = 4096;

impl Pages {
    fn new() -> Self {
        Self {
            bytes: vec![0; 3 * PAGE],
        }
    }

    fn start(&mut self) -> *mut c_void {
        let offset = self.bytes.as_ptr().align_offset(PAGE);
        self.bytes.as_mut_ptr().wrapping_add(offset).cast()
    }

    fn word(&mut self) -> u32 {
        // SAFETY: the first page lies within the bytes, and its start is aligned.
        unsafe { self.start().cast::<u32>().read_volatile() }
    }
}

fn zero_bytes_are_no_error(_: &mut Scene) -> Outcome {
    let (mut first, mut second) = (std::ptr::dangling_mut(), std::ptr::dangling_mut());
    ok!(cuMemAllocHost_v2(&mut first, 0));
    ok!(cuMemHostAlloc(&mut second, 0, 0));
    same!((first, second), (null_mut(), null_mut()));
    Ok(())
}

fn more_than_there_is_is_refused(_: &mut Scene) -> Outcome {
    let mut start = null_mut();
    gives!(OUT_OF_MEMORY, cuMemHostAlloc(&mut start, 1 << 50, 0));
    Ok(())
}

fn unknown_flags_are_refused(_: &mut Scene) -> Outcome {
    let mut start = null_mut();
    gives!(INVALID_VALUE, cuMemHostAlloc(&mut start, 64, 0x100));
    Ok(())
}

fn flags_are_kept(_: &mut Scene) -> Outcome {
    let mut start = null_mut();
    ok!(cuMemHostAlloc(&mut start, 64, WRITE_COMBINED));
    let flags: u32 = out(|flags| cu!(cuMemHostGetFlags(flags, start)))?;
    same!(flags & WRITE_COMBINED, WRITE_COMBINED);
    Ok(())
}

fn flags_of_other_memory_are_refused(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    let mut flags = 0;
    gives!(INVALID_VALUE, cuMemHostGetFlags(&mut flags, pages.start()));
    Ok(())
}

fn device_uses_the_host_address(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    let address: Address =
        out(|address| cu!(cuMemHostGetDevicePointer_v2(address, pinned.pointer(), 0)))?;
    same!(address, pinned.address());
    Ok(())
}

fn device_pointer_flags_must_be_zero(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    let mut address = 0;
    gives!(
        INVALID_VALUE,
        cuMemHostGetDevicePointer_v2(&mut address, pinned.pointer(), 1)
    );
    Ok(())
}

fn kernels_write_it(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    scene.store(pinned.address(), 77, 0)?;
    ok!(cuCtxSynchronize());
    same!(pinned.word(), 77);
    Ok(())
}

fn kernels_read_it(scene: &mut Scene) -> Outcome {
    let (pinned, address) = (scene.pinned(64)?, scene.device(4)?);
    pinned.fill(5);
    scene.move_word(address, pinned.address(), 0)?;
    same!(scene.word(address)?, 0x0505_0505);
    Ok(())
}

fn freeing_twice_is_refused(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    ok!(cuMemFreeHost(pinned.pointer()));
    gives!(INVALID_VALUE, cuMemFreeHost(pinned.pointer()));
    Ok(())
}

fn freeing_the_middle_is_refused(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(4096)?;
    gives!(
        INVALID_VALUE,
        cuMemFreeHost(pinned.pointer().wrapping_byte_add(512))
    );
    ok!(cuMemFreeHost(pinned.pointer()));
    Ok(())
}

fn device_memory_is_not_freed_as_host_memory(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    gives!(INVALID_VALUE, cuMemFreeHost(address as *mut c_void));
    Ok(())
}

fn pointer_is_of_the_host(scene: &mut Scene) -> Outcome {
    /// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and `_HOST_POINTER`; `CU_MEMORYTYPE_HOST`.
    const MEMORY_TYPE: u32 = 2;
    const HOST_POINTER: u32 = 4;
    const HOST: u32 = 1;
    let pinned = scene.pinned(64)?;
    let (mut kind, mut pointer) = (0_u32, null_mut::<c_void>());
    ok!(cuPointerGetAttribute(
        (&raw mut kind).cast(),
        MEMORY_TYPE,
        pinned.address()
    ));
    ok!(cuPointerGetAttribute(
        (&raw mut pointer).cast(),
        HOST_POINTER,
        pinned.address()
    ));
    same!(kind, HOST);
    same!(pointer, pinned.pointer());
    Ok(())
}

fn registered_memory_is_used_by_kernels(scene: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    let start = pages.start();
    ok!(cuMemHostRegister_v2(start, PAGE, 0));
    let address: Address = out(|address| cu!(cuMemHostGetDevicePointer_v2(address, start, 0)))?;
    scene.store(address, 78, 0)?;
    ok!(cuCtxSynchronize());
    ok!(cuMemHostUnregister(start));
    same!(pages.word(), 78);
    Ok(())
}

fn registering_twice_is_refused(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    let start = pages.start();
    ok!(cuMemHostRegister_v2(start, PAGE, 0));
    let again = cu!(cuMemHostRegister_v2(start, PAGE, 0));
    ok!(cuMemHostUnregister(start));
    same!(again, HOST_MEMORY_ALREADY_REGISTERED);
    Ok(())
}

fn registering_nothing_is_refused(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    gives!(INVALID_VALUE, cuMemHostRegister_v2(pages.start(), 0, 0));
    Ok(())
}

fn registering_null_is_refused(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuMemHostRegister_v2(null_mut(), PAGE, 0));
    Ok(())
}

fn unregistered_memory_registers_again(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    let start = pages.start();
    for _ in 0..2 {
        ok!(cuMemHostRegister_v2(start, PAGE, 0));
        ok!(cuMemHostUnregister(start));
    }
    Ok(())
}

fn unregistering_other_memory_is_refused(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    gives!(
        HOST_MEMORY_NOT_REGISTERED,
        cuMemHostUnregister(pages.start())
    );
    Ok(())
}

fn registered_memory_is_not_freed(_: &mut Scene) -> Outcome {
    let mut pages = Pages::new();
    let start = pages.start();
    ok!(cuMemHostRegister_v2(start, PAGE, 0));
    let freed = cu!(cuMemFreeHost(start));
    ok!(cuMemHostUnregister(start));
    same!(freed, INVALID_VALUE);
    Ok(())
}

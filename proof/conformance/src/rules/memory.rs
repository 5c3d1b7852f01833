//! Device memory: allocating, releasing, and what an address says about itself.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "memory";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(zero_bytes_are_refused, "cuMemAlloc", "Allocating zero bytes is refused."),
    rule!(a_place_for_the_address_is_needed, "cuMemAlloc", "Allocating without a place for the address is refused."),
    rule!(addresses_are_aligned_to_256, "CUDA programming guide, device memory accesses",
        "Every allocation starts at a multiple of 256 bytes."),
    rule!(allocations_do_not_overlap, "cuMemAlloc", "Allocations that live at the same time share no byte."),
    rule!(more_than_there_is_is_refused, "cuMemAlloc",
        "Allocating more than the device has is out of memory, and the context works on."),
    rule!(absurd_size_is_refused, "cuMemAlloc", "Allocating 2^60 bytes is out of memory."),
    rule!(free_memory_falls, "cuMemGetInfo", "An allocation takes at least its bytes from the device's free memory."),
    rule!(null_is_freed_in_vain, "cuMemFree", "Freeing null does nothing."),
    rule!(freeing_twice_is_refused, "cuMemFree", "Freeing memory twice is refused."),
    rule!(freeing_waits_for_all_streams, "CUDA programming guide, stream-ordered memory allocator",
        "Freeing memory waits for the work of all streams, whether or not they use it."),
    rule!(freeing_the_middle_is_refused, "cuMemFree", "Only the start of an allocation frees it."),
    rule!(host_memory_is_not_freed_as_device_memory, "cuMemFree", "Freeing page-locked memory as device memory is refused."),
    rule!(range_of_an_inner_address, "cuMemGetAddressRange",
        "An address inside an allocation names its start and the bytes that were asked for."),
    rule!(range_outputs_are_optional, "cuMemGetAddressRange", "Either of the two outputs may be left out."),
    rule!(range_of_no_allocation_is_not_found, "cuMemGetAddressRange", "An address outside every allocation is not found."),
    rule!(pitch_holds_the_row, "cuMemAllocPitch",
        "The pitch is at least the row's width, and every row starts at an aligned address."),
    rule!(pitch_needs_an_element_size, "cuMemAllocPitch", "An element size that is not 4, 8 or 16 is refused."),
    rule!(pitch_of_nothing_is_refused, "cuMemAllocPitch", "Rows of zero bytes are refused."),
    rule!(freed_memory_cannot_be_copied, "cuMemFree", "Copying from memory that was freed is refused."),
    rule!(device_pointers_say_so, "cuPointerGetAttribute",
        "Device memory has the memory type device, and its own address as device pointer."),
    rule!(device_memory_has_no_host_pointer, "cuPointerGetAttribute", "Asking device memory for a host pointer is refused."),
    rule!(pointer_names_its_context_and_device, "cuPointerGetAttribute",
        "An address names the context and the device it was allocated in."),
    rule!(pointer_names_its_range, "cuPointerGetAttribute", "An inner address names the start and the size of its allocation."),
    rule!(buffer_ids_are_unique, "cuPointerGetAttribute",
        "Every allocation has an identifier of its own, also at an address used before."),
    rule!(plain_memory_is_not_managed, "cuPointerGetAttribute", "Memory of cuMemAlloc is not managed."),
    rule!(unknown_pointer_is_refused, "cuPointerGetAttribute", "An address that CUDA does not know is refused."),
    rule!(unknown_pointer_attributes_are_zero, "cuPointerGetAttributes",
        "Several attributes of an address that CUDA does not know are zero, without an error."),
    rule!(unknown_pointer_attribute_is_refused, "cuPointerGetAttribute", "An unknown attribute is refused."),
];

fn allocate(bytes: usize) -> Outcome<Address> {
    out(|address| cu!(cuMemAlloc_v2(address, bytes)))
}

fn zero_bytes_are_refused(_: &mut Scene) -> Outcome {
    let mut address = 0;
    gives!(INVALID_VALUE, cuMemAlloc_v2(&mut address, 0));
    Ok(())
}

fn a_place_for_the_address_is_needed(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuMemAlloc_v2(null_mut(), 4));
    Ok(())
}

fn addresses_are_aligned_to_256(_: &mut Scene) -> Outcome {
    for bytes in [1, 3, 100, 257, 5000, 100_001] {
        same!(allocate(bytes)? % 256, 0);
    }
    Ok(())
}

fn allocations_do_not_overlap(_: &mut Scene) -> Outcome {
    let mut starts = Vec::new();
    for _ in 0..50 {
        starts.push(allocate(1000)?);
    }
    starts.sort_unstable();
    holds!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 1000));
    Ok(())
}

fn more_than_there_is_is_refused(scene: &mut Scene) -> Outcome {
    let total: usize = out(|bytes| cu!(cuDeviceTotalMem_v2(bytes, scene.device)))?;
    let mut address = 0;
    gives!(
        OUT_OF_MEMORY,
        cuMemAlloc_v2(&mut address, total + (1 << 30))
    );
    ok!(cuMemFree_v2(allocate(4)?));
    Ok(())
}

fn absurd_size_is_refused(_: &mut Scene) -> Outcome {
    let mut address = 0;
    gives!(OUT_OF_MEMORY, cuMemAlloc_v2(&mut address, 1 << 60));
    Ok(())
}

fn free_memory_falls(_: &mut Scene) -> Outcome {
    const BYTES: usize = 256 << 20;
    let free = || {
        let (mut free, mut total) = (0, 0);
        ok!(cuMemGetInfo_v2(&mut free, &mut total));
        Ok(free)
    };
    let before = free()?;
    allocate(BYTES)?;
    holds!(free()? + BYTES <= before);
    Ok(())
}

fn null_is_freed_in_vain(_: &mut Scene) -> Outcome {
    ok!(cuMemFree_v2(0));
    Ok(())
}

fn freeing_twice_is_refused(_: &mut Scene) -> Outcome {
    let address = allocate(1000)?;
    ok!(cuMemFree_v2(address));
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn freeing_the_middle_is_refused(_: &mut Scene) -> Outcome {
    let address = allocate(1024)?;
    gives!(INVALID_VALUE, cuMemFree_v2(address + 512));
    ok!(cuMemFree_v2(address));
    Ok(())
}

fn host_memory_is_not_freed_as_device_memory(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    gives!(INVALID_VALUE, cuMemFree_v2(pinned.address()));
    Ok(())
}

fn range_of_an_inner_address(_: &mut Scene) -> Outcome {
    let address = allocate(1000)?;
    let (mut base, mut bytes) = (0, 0);
    ok!(cuMemGetAddressRange_v2(
        &mut base,
        &mut bytes,
        address + 999
    ));
    same!((base, bytes), (address, 1000));
    Ok(())
}

fn range_outputs_are_optional(_: &mut Scene) -> Outcome {
    let address = allocate(1000)?;
    let (mut base, mut bytes) = (0, 0);
    ok!(cuMemGetAddressRange_v2(&mut base, null_mut(), address));
    ok!(cuMemGetAddressRange_v2(null_mut(), &mut bytes, address));
    same!((base, bytes), (address, 1000));
    Ok(())
}

fn range_of_no_allocation_is_not_found(_: &mut Scene) -> Outcome {
    let (mut base, mut bytes) = (0, 0);
    gives!(
        NOT_FOUND,
        cuMemGetAddressRange_v2(&mut base, &mut bytes, 64)
    );
    Ok(())
}

fn pitch_holds_the_row(_: &mut Scene) -> Outcome {
    let (mut address, mut pitch) = (0, 0);
    ok!(cuMemAllocPitch_v2(&mut address, &mut pitch, 1000, 7, 4));
    holds!(pitch >= 1000);
    same!(pitch % 256, 0);
    same!(address % 256, 0);
    ok!(cuMemsetD8_v2(address, 1, pitch * 7));
    Ok(())
}

fn pitch_needs_an_element_size(_: &mut Scene) -> Outcome {
    let (mut address, mut pitch) = (0, 0);
    gives!(
        INVALID_VALUE,
        cuMemAllocPitch_v2(&mut address, &mut pitch, 1000, 7, 3)
    );
    Ok(())
}

fn pitch_of_nothing_is_refused(_: &mut Scene) -> Outcome {
    let (mut address, mut pitch) = (0, 0);
    gives!(
        INVALID_VALUE,
        cuMemAllocPitch_v2(&mut address, &mut pitch, 0, 7, 4)
    );
    Ok(())
}

fn freed_memory_cannot_be_copied(_: &mut Scene) -> Outcome {
    // A size at which the allocator returns the pages to the system.
    let bytes = 64 << 20;
    let address = allocate(bytes)?;
    ok!(cuMemFree_v2(address));
    let mut word = 0_u32;
    gives!(
        INVALID_VALUE,
        cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4)
    );
    Ok(())
}

/// `CU_POINTER_ATTRIBUTE_*`.
const CONTEXT: u32 = 1;
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const BUFFER_ID: u32 = 7;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
pub(super) const RANGE_START: u32 = 11;
pub(super) const RANGE_SIZE: u32 = 12;
/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE: u64 = 2;

/// An attribute of any size up to eight bytes.
pub(super) fn attribute(attribute: u32, address: Address) -> Outcome<u64> {
    let mut value = 0_u64;
    ok!(cuPointerGetAttribute(
        (&raw mut value).cast(),
        attribute,
        address
    ));
    Ok(value)
}

fn device_pointers_say_so(_: &mut Scene) -> Outcome {
    let address = allocate(64)?;
    same!(attribute(MEMORY_TYPE, address)?, DEVICE);
    same!(attribute(DEVICE_POINTER, address + 8)?, address + 8);
    Ok(())
}

fn device_memory_has_no_host_pointer(_: &mut Scene) -> Outcome {
    let address = allocate(64)?;
    let mut pointer: *mut c_void = null_mut();
    gives!(
        INVALID_VALUE,
        cuPointerGetAttribute((&raw mut pointer).cast(), HOST_POINTER, address)
    );
    Ok(())
}

fn pointer_names_its_context_and_device(scene: &mut Scene) -> Outcome {
    let address = allocate(64)?;
    same!(attribute(CONTEXT, address)?, scene.context as u64);
    same!(attribute(DEVICE_ORDINAL, address)?, scene.device as u64);
    Ok(())
}

fn pointer_names_its_range(_: &mut Scene) -> Outcome {
    let address = allocate(1000)?;
    same!(attribute(RANGE_START, address + 100)?, address);
    same!(attribute(RANGE_SIZE, address + 100)?, 1000);
    Ok(())
}

fn buffer_ids_are_unique(_: &mut Scene) -> Outcome {
    let mut ids = Vec::new();
    for _ in 0..4 {
        let (kept, freed) = (allocate(64)?, allocate(64)?);
        ids.extend([attribute(BUFFER_ID, kept)?, attribute(BUFFER_ID, freed)?]);
        ok!(cuMemFree_v2(freed));
    }
    ids.sort_unstable();
    ids.dedup();
    same!(ids.len(), 8);
    Ok(())
}

fn plain_memory_is_not_managed(_: &mut Scene) -> Outcome {
    let address = allocate(64)?;
    same!(attribute(IS_MANAGED, address)?, 0);
    Ok(())
}

fn unknown_pointer_is_refused(_: &mut Scene) -> Outcome {
    let word = 0_u32;
    let mut value = 0_u64;
    let address = &raw const word as Address;
    gives!(
        INVALID_VALUE,
        cuPointerGetAttribute((&raw mut value).cast(), MEMORY_TYPE, address)
    );
    Ok(())
}

fn unknown_pointer_attributes_are_zero(_: &mut Scene) -> Outcome {
    let word = 0_u32;
    let (mut kind, mut context) = (9_u32, 9_u64);
    let mut attributes = [MEMORY_TYPE, CONTEXT];
    let mut values = [(&raw mut kind).cast(), (&raw mut context).cast()];
    let address = &raw const word as Address;
    ok!(cuPointerGetAttributes(
        2,
        attributes.as_mut_ptr(),
        values.as_mut_ptr(),
        address
    ));
    same!((kind, context), (0, 0));
    Ok(())
}

fn unknown_pointer_attribute_is_refused(_: &mut Scene) -> Outcome {
    let address = allocate(64)?;
    let mut value = 0_u64;
    gives!(
        INVALID_VALUE,
        cuPointerGetAttribute((&raw mut value).cast(), 1000, address)
    );
    Ok(())
}

fn freeing_waits_for_all_streams(scene: &mut Scene) -> Outcome {
    for stream in [scene.stream()?, scene.non_blocking()?] {
        let unused = allocate(4)?;
        scene.busy(stream)?;
        let before = scene.recorded(stream)?;
        ok!(cuMemFree_v2(unused));
        holds!(!is_pending(before)?);
    }
    Ok(())
}

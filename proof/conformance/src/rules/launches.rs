//! Launches: shapes, limits, arguments, and the attributes of kernels.

use std::ffi::c_void;
use std::ptr::{from_mut, null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "launches";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(zero_extents_are_refused, "cuLaunchKernel", "A grid or block of zero in any extent is refused."),
    rule!(large_blocks_are_refused, "cuLaunchKernel",
        "More threads in a block than the device allows are refused, in an extent and in all."),
    rule!(large_grids_are_refused, "cuLaunchKernel", "More blocks in y or z than the device allows are refused."),
    rule!(refused_launch_does_nothing, "cuLaunchKernel", "A refused launch executes nothing, and the stream remains usable."),
    rule!(null_kernel_is_refused, "cuLaunchKernel", "A null kernel is refused."),
    rule!(kernel_and_stream_of_one_context, "cuLaunchKernel", "A kernel is launched in streams of its own context only."),
    rule!(every_thread_runs_once, "CUDA programming guide, thread hierarchy", "Every thread of every block runs once."),
    rule!(kernels_see_their_shape, "PTX ISA, special registers", "A kernel sees the extents of its grid and of its blocks."),
    rule!(arguments_of_every_size, "cuLaunchKernel", "Arguments of one, two, four and eight bytes arrive as passed."),
    rule!(arguments_are_taken_at_the_call, "cuLaunchKernel",
        "A launch copies its arguments: changing the variables after the call has no effect."),
    rule!(arguments_in_one_buffer, "CU_LAUNCH_PARAM_BUFFER_POINTER", "Arguments may be passed packed in one buffer."),
    rule!(one_form_of_arguments, "cuLaunchKernel", "Arguments in both forms at once are refused."),
    rule!(maxntid_is_a_limit, "PTX ISA, .maxntid", "A launch with more threads than .maxntid declares is refused."),
    rule!(reqntid_is_the_only_shape, "PTX ISA, .reqntid", "A launch with another block than .reqntid declares is refused."),
    rule!(shared_memory_has_a_limit, "cuLaunchKernel", "More dynamic shared memory than the default limit is refused."),
    rule!(shared_memory_limit_can_be_raised, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "With the attribute set, a kernel has dynamic shared memory up to the device's limit."),
    rule!(shared_memory_limit_has_a_limit, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "The attribute cannot exceed the device's limit."),
    rule!(kernels_see_their_shared_memory, "PTX ISA, %dynamic_smem_size",
        "A kernel sees how much dynamic shared memory it was launched with."),
    rule!(attribute_threads, "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
        "The most threads of a block are the device's, or what .maxntid declares."),
    rule!(attribute_shared, "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES",
        "A kernel's static shared memory is the declared amount, without dynamic memory."),
    rule!(attribute_versions, "CU_FUNC_ATTRIBUTE_PTX_VERSION",
        "A kernel names the architecture of its PTX and of the code made of it."),
    rule!(attribute_registers, "CU_FUNC_ATTRIBUTE_NUM_REGS", "A kernel uses registers, and no more than 255."),
    rule!(unknown_attribute_is_refused, "cuFuncGetAttribute", "An unknown attribute is refused."),
    rule!(configured_launch, "cuLaunchKernelEx", "A launch by configuration without attributes is a plain launch."),
];

/// The code of a launch of the kernel that does nothing.
fn launch(scene: &mut Scene, grid: [u32; 3], block: [u32; 3]) -> Outcome<Code> {
    let function = scene.kernel("nothing")?;
    Ok(scene.try_shaped(function, grid, block, 0, 0, &[]))
}

fn zero_extents_are_refused(scene: &mut Scene) -> Outcome {
    for extent in 0..3 {
        let mut shape = [1; 3];
        shape[extent] = 0;
        same!(launch(scene, shape, [1; 3])?, INVALID_VALUE);
        same!(launch(scene, [1; 3], shape)?, INVALID_VALUE);
    }
    Ok(())
}

fn large_blocks_are_refused(scene: &mut Scene) -> Outcome {
    for block in [
        [1025, 1, 1],
        [1, 1025, 1],
        [1, 1, 65],
        [32, 33, 1],
        [512, 1, 3],
    ] {
        same!(launch(scene, [1; 3], block)?, INVALID_VALUE);
    }
    same!(launch(scene, [1; 3], [32, 32, 1])?, SUCCESS);
    same!(launch(scene, [1; 3], [4, 4, 64])?, SUCCESS);
    Ok(())
}

fn large_grids_are_refused(scene: &mut Scene) -> Outcome {
    same!(launch(scene, [1, 65_536, 1], [1; 3])?, INVALID_VALUE);
    same!(launch(scene, [1, 1, 65_536], [1; 3])?, INVALID_VALUE);
    same!(launch(scene, [1, 65_535, 1], [1; 3])?, SUCCESS);
    Ok(())
}

fn refused_launch_does_nothing(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let refused = scene.try_shaped(function, [1; 3], [2048, 1, 1], 0, 0, &[&address]);
    same!(refused, INVALID_VALUE);
    scene.launch("count", 0, &[&address])?;
    same!(scene.word(address)?, 1);
    Ok(())
}

fn null_kernel_is_refused(scene: &mut Scene) -> Outcome {
    same!(scene.try_launch(0, 0, &[]), INVALID_HANDLE);
    Ok(())
}

fn kernel_and_stream_of_one_context(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let other: Handle = out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))?;
    let foreign = scene.stream()?;
    let code = scene.try_launch(function, foreign, &[]);
    ok!(cuCtxDestroy_v2(other));
    same!(code, INVALID_HANDLE);
    Ok(())
}

fn every_thread_runs_once(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let code = scene.try_shaped(function, [5, 3, 2], [33, 2, 3], 0, 0, &[&address]);
    same!(code, SUCCESS);
    same!(scene.word(address)?, 5 * 3 * 2 * 33 * 2 * 3);
    Ok(())
}

fn kernels_see_their_shape(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(24)?, scene.kernel("shape")?);
    let code = scene.try_shaped(function, [5, 3, 2], [7, 4, 6], 0, 0, &[&address]);
    same!(code, SUCCESS);
    let words: Vec<u8> = [5_u32, 3, 2, 7, 4, 6]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    same!(scene.bytes(address, 24)?, words);
    Ok(())
}

const A: u8 = 200;
const B: u16 = 60_000;
const C: u32 = 4_000_000_000;
const D: u64 = 1 << 40;
const SUM: u64 = A as u64 + B as u64 + C as u64 + D;

fn arguments_of_every_size(scene: &mut Scene) -> Outcome {
    let address = scene.device(8)?;
    scene.launch("sum_parameters", 0, &[&address, &A, &B, &C, &D])?;
    same!(scene.bytes(address, 8)?, SUM.to_le_bytes().to_vec());
    Ok(())
}

fn arguments_are_taken_at_the_call(scene: &mut Scene) -> Outcome {
    let (address, stream) = (scene.device(4)?, scene.stream()?);
    let function = scene.kernel("store")?;
    scene.busy(stream)?;
    let mut value = 31_u32;
    let mut pointers = [
        (&raw const address).cast_mut().cast(),
        from_mut(&mut value).cast(),
    ];
    ok!(cuLaunchKernel(
        function,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        stream,
        pointers.as_mut_ptr(),
        null_mut()
    ));
    value = 32;
    pointers[0] = null_mut();
    same!(scene.word(address)?, 31);
    holds!(value == 32 && pointers[0].is_null());
    Ok(())
}

/// Packs arguments of `sum_parameters` as its parameters lie.
fn packed(address: Address) -> [u8; 24] {
    let mut buffer = [0; 24];
    buffer[..8].copy_from_slice(&address.to_ne_bytes());
    buffer[8] = A;
    buffer[10..12].copy_from_slice(&B.to_ne_bytes());
    buffer[12..16].copy_from_slice(&C.to_ne_bytes());
    buffer[16..].copy_from_slice(&D.to_ne_bytes());
    buffer
}

/// `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`.
const BUFFER_POINTER: *mut c_void = std::ptr::without_provenance_mut(1);
const BUFFER_SIZE: *mut c_void = std::ptr::without_provenance_mut(2);

fn arguments_in_one_buffer(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(8)?, scene.kernel("sum_parameters")?);
    let (mut buffer, mut bytes) = (packed(address), 24_usize);
    let (data, size) = (buffer.as_mut_ptr().cast(), from_mut(&mut bytes).cast());
    let mut extra = [BUFFER_POINTER, data, BUFFER_SIZE, size, null_mut()];
    ok!(cuLaunchKernel(
        function,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        null_mut(),
        extra.as_mut_ptr()
    ));
    same!(scene.bytes(address, 8)?, SUM.to_le_bytes().to_vec());
    Ok(())
}

fn one_form_of_arguments(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(8)?, scene.kernel("count")?);
    let (mut buffer, mut bytes) = (address.to_ne_bytes(), 8_usize);
    let (data, size) = (buffer.as_mut_ptr().cast(), from_mut(&mut bytes).cast());
    let mut extra = [BUFFER_POINTER, data, BUFFER_SIZE, size, null_mut()];
    let mut pointers = [(&raw const address).cast_mut().cast()];
    gives!(
        INVALID_VALUE,
        cuLaunchKernel(
            function,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            0,
            pointers.as_mut_ptr(),
            extra.as_mut_ptr()
        )
    );
    Ok(())
}

fn maxntid_is_a_limit(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    let code = |threads| scene.try_shaped(function, [1; 3], [threads, 1, 1], 0, 0, &[]);
    same!(code(64), SUCCESS);
    same!(code(1), SUCCESS);
    same!(code(96), INVALID_VALUE);
    Ok(())
}

fn reqntid_is_the_only_shape(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("exactly_64")?;
    let code = |threads| scene.try_shaped(function, [1; 3], [threads, 1, 1], 0, 0, &[]);
    same!(code(64), SUCCESS);
    same!(code(32), INVALID_VALUE);
    same!(code(96), INVALID_VALUE);
    Ok(())
}

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK` and `_OPTIN`.
const SHARED_PER_BLOCK: u32 = 8;
const SHARED_PER_BLOCK_OPTIN: u32 = 97;
/// `CU_FUNC_ATTRIBUTE_*`.
const MAX_THREADS: u32 = 0;
const SHARED_SIZE: u32 = 1;
const NUM_REGS: u32 = 4;
const PTX_VERSION: u32 = 5;
const BINARY_VERSION: u32 = 6;
const MAX_DYNAMIC_SHARED: u32 = 8;

fn with_shared(scene: &mut Scene, bytes: i32) -> Outcome<Code> {
    let (address, function) = (scene.device(4)?, scene.kernel("dynamic_shared")?);
    let code = scene.try_shaped(
        function,
        [1; 3],
        [1; 3],
        bytes.cast_unsigned(),
        0,
        &[&address],
    );
    if code == SUCCESS {
        same!(scene.word(address)?, bytes.cast_unsigned());
    }
    Ok(code)
}

fn shared_memory_has_a_limit(scene: &mut Scene) -> Outcome {
    let limit = scene.attribute(SHARED_PER_BLOCK)?;
    same!(with_shared(scene, limit)?, SUCCESS);
    same!(with_shared(scene, limit + 16)?, INVALID_VALUE);
    Ok(())
}

fn shared_memory_limit_can_be_raised(scene: &mut Scene) -> Outcome {
    let limit = scene.attribute(SHARED_PER_BLOCK_OPTIN)?;
    let function = scene.kernel("dynamic_shared")?;
    ok!(cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, limit));
    let kept: i32 = out(|value| cu!(cuFuncGetAttribute(value, MAX_DYNAMIC_SHARED, function)))?;
    same!(kept, limit);
    same!(with_shared(scene, limit)?, SUCCESS);
    Ok(())
}

fn shared_memory_limit_has_a_limit(scene: &mut Scene) -> Outcome {
    let limit = scene.attribute(SHARED_PER_BLOCK_OPTIN)?;
    let function = scene.kernel("dynamic_shared")?;
    gives!(
        INVALID_VALUE,
        cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, limit + 1)
    );
    Ok(())
}

fn kernels_see_their_shared_memory(scene: &mut Scene) -> Outcome {
    same!(with_shared(scene, 4096)?, SUCCESS);
    same!(with_shared(scene, 16)?, SUCCESS);
    Ok(())
}

fn attribute(scene: &mut Scene, kernel: &str, attribute: u32) -> Outcome<i32> {
    let function = scene.kernel(kernel)?;
    out(|value| cu!(cuFuncGetAttribute(value, attribute, function)))
}

fn attribute_threads(scene: &mut Scene) -> Outcome {
    same!(attribute(scene, "nothing", MAX_THREADS)?, 1024);
    same!(attribute(scene, "at_most_64", MAX_THREADS)?, 64);
    Ok(())
}

fn attribute_shared(scene: &mut Scene) -> Outcome {
    same!(attribute(scene, "static_shared", SHARED_SIZE)?, 1024);
    same!(attribute(scene, "dynamic_shared", SHARED_SIZE)?, 0);
    Ok(())
}

fn attribute_versions(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
    const CAPABILITY: [u32; 2] = [75, 76];
    let [major, minor] = [
        scene.attribute(CAPABILITY[0])?,
        scene.attribute(CAPABILITY[1])?,
    ];
    same!(attribute(scene, "nothing", PTX_VERSION)?, 70);
    same!(
        attribute(scene, "nothing", BINARY_VERSION)?,
        major * 10 + minor
    );
    Ok(())
}

fn attribute_registers(scene: &mut Scene) -> Outcome {
    let registers = attribute(scene, "spin", NUM_REGS)?;
    holds!((1..=255).contains(&registers));
    Ok(())
}

fn unknown_attribute_is_refused(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let mut value = 0;
    gives!(
        INVALID_VALUE,
        cuFuncGetAttribute(&mut value, 1000, function)
    );
    Ok(())
}

fn configured_launch(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let config = LaunchConfig {
        grid: [3, 1, 1],
        block: [5, 1, 1],
        shared_bytes: 0,
        stream: 0,
        attributes: null(),
        attribute_count: 0,
    };
    let mut pointers = [(&raw const address).cast_mut().cast()];
    ok!(cuLaunchKernelEx(
        &config,
        function,
        pointers.as_mut_ptr(),
        null_mut()
    ));
    same!(scene.word(address)?, 15);
    Ok(())
}

//! What a kernel's failure does to everything else. Each rule spoils its process.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, c_string};
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "faults";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(trap_reaches_other_streams, "CUDA_ERROR_LAUNCH_FAILED",
        "A trap in one stream is reported by a query and by a synchronisation of another.").in_process(),
    rule!(trap_reaches_the_legacy_copy, "CUDA_ERROR_LAUNCH_FAILED",
        "A synchronous copy behind a trap returns its error; neither it nor an asynchronous one brings bytes.").in_process(),
    rule!(nothing_is_launched_any_more, "CUDA_ERROR_LAUNCH_FAILED",
        "After a failed kernel launches and copies are refused with its error.").in_process(),
    rule!(nothing_is_freed_any_more, "CUDA_ERROR_LAUNCH_FAILED",
        "After a failed kernel memory and streams cannot be freed: the calls return its error.").in_process(),
    rule!(modules_are_not_loaded_any_more, "CUDA_ERROR_LAUNCH_FAILED",
        "After a failed kernel loading a module returns its error.").in_process(),
    rule!(graphs_are_not_launched_any_more, "CUDA_ERROR_LAUNCH_FAILED",
        "After a failed kernel launching a graph returns its error.").in_process(),
    rule!(kernel_node_fails_as_a_kernel, "cuGraphLaunch",
        "A kernel that traps in a graph fails as one launched in a stream: the synchronisation says so.").in_process(),
    rule!(devices_answer_after_a_failure, "cuDeviceGetAttribute",
        "Calls that need no context work after a failed kernel.").in_process(),
    rule!(work_before_the_failure_is_done, "CUDA programming guide, streams",
        "Work that completed before the failed kernel stays visible in page-locked memory.").in_process(),
    rule!(pools_fail_too, "CUDA_ERROR_LAUNCH_FAILED",
        "After a failed kernel allocating in stream order returns its error.").in_process(),
    rule!(out_of_bounds_by_far_is_illegal, "CUDA_ERROR_ILLEGAL_ADDRESS",
        "A kernel that reads outside every allocation fails with an illegal address.").in_process(),
];

/// Fails in the legacy stream, and waits for it.
fn fail(scene: &mut Scene) -> Outcome {
    scene.launch("trap", 0, &[])?;
    gives!(LAUNCH_FAILED, cuCtxSynchronize());
    Ok(())
}

fn trap_reaches_other_streams(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    scene.launch("trap", first, &[])?;
    gives!(LAUNCH_FAILED, cuStreamSynchronize(first));
    gives!(LAUNCH_FAILED, cuStreamQuery(second));
    gives!(LAUNCH_FAILED, cuStreamSynchronize(second));
    Ok(())
}

fn trap_reaches_the_legacy_copy(scene: &mut Scene) -> Outcome {
    let (address, mut word, pinned) = (scene.device(4)?, 5_u32, scene.pinned(4)?);
    ok!(cuMemsetD32_v2(address, 7, 1));
    scene.launch("trap", 0, &[])?;
    // The failure may be known already.
    let _ = cu!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, 0));
    gives!(
        LAUNCH_FAILED,
        cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4)
    );
    same!((word, pinned.word()), (5, 0));
    Ok(())
}

fn nothing_is_launched_any_more(scene: &mut Scene) -> Outcome {
    let (address, pinned) = (scene.device(4)?, scene.pinned(4)?);
    let function = scene.kernel("count")?;
    fail(scene)?;
    same!(scene.try_launch(function, 0, &[&address]), LAUNCH_FAILED);
    gives!(
        LAUNCH_FAILED,
        cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, 0)
    );
    gives!(LAUNCH_FAILED, cuMemsetD32Async(address, 1, 1, 0));
    Ok(())
}

fn nothing_is_freed_any_more(scene: &mut Scene) -> Outcome {
    let (address, stream) = (scene.device(4)?, scene.stream()?);
    fail(scene)?;
    gives!(LAUNCH_FAILED, cuMemFree_v2(address));
    gives!(LAUNCH_FAILED, cuStreamDestroy_v2(stream));
    Ok(())
}

fn modules_are_not_loaded_any_more(scene: &mut Scene) -> Outcome {
    fail(scene)?;
    let (text, mut module) = (c_string(crate::scene::PTX), 0);
    gives!(
        LAUNCH_FAILED,
        cuModuleLoadData(&mut module, text.as_ptr().cast())
    );
    Ok(())
}

fn graphs_are_not_launched_any_more(scene: &mut Scene) -> Outcome {
    let graph: Handle = out(|graph| cu!(cuGraphCreate(graph, 0)))?;
    let executable: Handle =
        out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))?;
    fail(scene)?;
    gives!(LAUNCH_FAILED, cuGraphLaunch(executable, 0));
    Ok(())
}

fn kernel_node_fails_as_a_kernel(scene: &mut Scene) -> Outcome {
    let graph: Handle = out(|graph| cu!(cuGraphCreate(graph, 0)))?;
    let node = KernelNodeParams {
        function: scene.kernel("trap")?,
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        parameters: null_mut(),
        extra: null_mut(),
        kernel: 0,
        context: 0,
    };
    let _: Handle = out(|added| cu!(cuGraphAddKernelNode_v2(added, graph, null_mut(), 0, &node)))?;
    let executable: Handle =
        out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))?;
    ok!(cuGraphLaunch(executable, 0));
    gives!(LAUNCH_FAILED, cuStreamSynchronize(0));
    Ok(())
}

fn devices_answer_after_a_failure(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_ATTRIBUTE_WARP_SIZE`.
    const WARP_SIZE: u32 = 10;
    fail(scene)?;
    same!(scene.attribute(WARP_SIZE)?, 32);
    let (mut version, mut count) = (0, 0);
    ok!(cuDriverGetVersion(&mut version));
    ok!(cuDeviceGetCount(&mut count));
    Ok(())
}

fn work_before_the_failure_is_done(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(4)?;
    scene.store(pinned.address(), 17, 0)?;
    ok!(cuStreamSynchronize(0));
    fail(scene)?;
    same!(pinned.word(), 17);
    Ok(())
}

fn pools_fail_too(scene: &mut Scene) -> Outcome {
    let mut address = 0;
    fail(scene)?;
    gives!(LAUNCH_FAILED, cuMemAllocAsync(&mut address, 64, 0));
    Ok(())
}

fn out_of_bounds_by_far_is_illegal(scene: &mut Scene) -> Outcome {
    /// An address of 47 bits that no allocator hands out: near the end of user space.
    const NOWHERE: Address = 0x7fff_0000_0000;
    let to = scene.device(4)?;
    scene.move_word(to, NOWHERE, 0)?;
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    Ok(())
}

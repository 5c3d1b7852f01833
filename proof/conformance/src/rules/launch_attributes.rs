//! Cooperative launches, clusters and other attributes of launches.

use std::ptr::null_mut;

use crate::api::*;
use crate::rule::{Failure, Outcome, Rule, out};
use crate::scene::{BUSY, Scene, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "launch_attributes";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(blocks_meet, "cuLaunchCooperativeKernel",
        "All blocks of a cooperative launch run at once: they can wait for each other."),
    rule!(grid_must_fit_at_once, "cuLaunchCooperativeKernel", "A cooperative grid of more blocks than fit at once is refused."),
    rule!(largest_grid_fits, "cuLaunchCooperativeKernel", "A cooperative grid of as many blocks as fit at once runs."),
    rule!(cooperative_by_attribute, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE", "The attribute makes a launch cooperative."),
    rule!(attribute_to_ignore, "CU_LAUNCH_ATTRIBUTE_IGNORE", "An attribute to ignore changes nothing."),
    rule!(priority_by_attribute, "CU_LAUNCH_ATTRIBUTE_PRIORITY", "A launch may have a priority of its own."),
    rule!(programmatic_event_waits_for_the_blocks, "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT",
        "An event of a launch is reached when all blocks have triggered it, at the latest at their ends."),
    rule!(launch_completion_event_waits_for_earlier_work, "CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT",
        "An event of a launch's beginning is not reached while earlier work keeps the kernel from beginning."),
    rule!(events_of_launches_keep_no_time, "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT",
        "A launch that would record an event with timing, or one with the external flag, is refused."),
    rule!(window_misses_do_not_persist, "CUaccessPolicyWindow", "Hits of a window may persist in the L2 cache, misses may not."),
    rule!(domains_are_the_devices, "CUlaunchMemSyncDomainMap",
        "A launch is mapped to memory synchronisation domains below the device's count."),
    rule!(blocks_form_clusters, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        "Blocks see clusters of the size that the attribute asks for."),
    rule!(blocks_know_their_rank, "PTX ISA, %cluster_ctarank",
        "The blocks of a cluster of four have the ranks 0 to 3, in the order of the grid."),
    rule!(without_attribute_clusters_are_single, "PTX ISA, %cluster_nctarank",
        "Without the attribute a block is its own cluster."),
    rule!(grid_is_made_of_whole_clusters, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        "A grid that is no multiple of the cluster is refused."),
    rule!(eight_blocks_are_portable, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        "Clusters of eight blocks run on every device with clusters."),
    rule!(sixteen_blocks_must_be_allowed, "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
        "Clusters of more than eight blocks are refused unless the kernel allows them, and then up to sixteen."),
    rule!(kernels_demand_their_clusters, "PTX ISA, .reqnctapercluster",
        "A kernel that names its cluster is launched in such clusters only, and the attributes cannot be set."),
    rule!(clusters_are_left_to_the_launch, "PTX ISA, .explicitcluster",
        "A kernel may demand that each launch names a cluster, and bound its size."),
    rule!(required_cluster_is_set_at_run_time, "CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH",
        "A kernel whose required cluster is set is launched in such clusters."),
    rule!(wishes_change_nothing, "CUlaunchAttributeID",
        "Attributes about scheduling, memory domains and the carveout leave results alone."),
    rule!(largest_cluster_is_known, "cuOccupancyMaxPotentialClusterSize",
        "The largest cluster has eight blocks, and more when the kernel allows them."),
    rule!(a_multicast_reaches_its_blocks, "PTX ISA, cp.async.bulk",
        "A multicast copy writes into each block's shared memory and tells each block's mbarrier object."),
    rule!(blocks_arrive_at_each_others_objects, "PTX ISA, mbarrier.arrive",
        "Arrivals of other blocks of the cluster complete a phase."),
    rule!(clusters_fit_on_the_device, "cuOccupancyMaxActiveClusters",
        "At least one cluster of two blocks fits on the device at once; clusters that are too large have no number."),
];

/// `CU_LAUNCH_ATTRIBUTE_*`.
const IGNORE: u32 = 0;
const COOPERATIVE: u32 = 2;
const CLUSTER_DIMENSION: u32 = 4;
const PRIORITY: u32 = 8;
const ACCESS_POLICY_WINDOW: u32 = 1;
const PROGRAMMATIC_EVENT: u32 = 7;
const MEM_SYNC_DOMAIN_MAP: u32 = 9;
const LAUNCH_COMPLETION_EVENT: u32 = 12;

fn attribute(id: u32, words: &[u32]) -> LaunchAttribute {
    let mut value = [0; 16];
    value[..words.len()].copy_from_slice(words);
    LaunchAttribute { id, pad: 0, value }
}

fn configuration(blocks: u32, attributes: &[LaunchAttribute]) -> LaunchConfig {
    LaunchConfig {
        grid: [blocks, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
        stream: 0,
        attributes: attributes.as_ptr(),
        attribute_count: attributes.len() as u32,
    }
}

/// Launches a kernel of one pointer with attributes, on blocks of 32 threads.
fn launch(function: Handle, to: Address, blocks: u32, attributes: &[LaunchAttribute]) -> Code {
    let config = configuration(blocks, attributes);
    let mut pointers = [(&raw const to).cast_mut().cast()];
    cu!(cuLaunchKernelEx(
        &config,
        function,
        pointers.as_mut_ptr(),
        null_mut()
    ))
}

/// Launches `meet` cooperatively on blocks of one thread.
fn meet(scene: &mut Scene, to: Address, blocks: u32) -> Outcome<Code> {
    let function = scene.kernel("meet")?;
    let mut pointers = [(&raw const to).cast_mut().cast()];
    Ok(cu!(cuLaunchCooperativeKernel(
        function,
        blocks,
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        pointers.as_mut_ptr()
    )))
}

/// How many blocks of one thread of `meet` fit on the device at once.
fn most(scene: &mut Scene) -> Outcome<u32> {
    /// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
    const MULTIPROCESSORS: u32 = 16;
    let function = scene.kernel("meet")?;
    let per_multiprocessor: i32 = out(|blocks| {
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks, function, 1, 0
        ))
    })?;
    Ok((per_multiprocessor * scene.attribute(MULTIPROCESSORS)?).cast_unsigned())
}

fn blocks_meet(scene: &mut Scene) -> Outcome {
    let address = scene.device(8)?;
    same!(meet(scene, address, 20)?, SUCCESS);
    same!((scene.word(address)?, scene.word(address + 4)?), (20, 20));
    Ok(())
}

fn grid_must_fit_at_once(scene: &mut Scene) -> Outcome {
    let (address, most) = (scene.device(8)?, most(scene)?);
    same!(
        meet(scene, address, most + 1)?,
        COOPERATIVE_LAUNCH_TOO_LARGE
    );
    same!(scene.word(address)?, 0);
    Ok(())
}

fn largest_grid_fits(scene: &mut Scene) -> Outcome {
    let (address, most) = (scene.device(8)?, most(scene)?);
    same!(meet(scene, address, most)?, SUCCESS);
    same!(
        (scene.word(address)?, scene.word(address + 4)?),
        (most, most)
    );
    Ok(())
}

fn cooperative_by_attribute(scene: &mut Scene) -> Outcome {
    let (address, most) = (scene.device(8)?, most(scene)?);
    let function = scene.kernel("meet")?;
    let cooperative = [attribute(COOPERATIVE, &[1])];
    same!(
        launch(function, address, most + 1, &cooperative),
        COOPERATIVE_LAUNCH_TOO_LARGE
    );
    Ok(())
}

fn attribute_to_ignore(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    same!(
        launch(function, address, 2, &[attribute(IGNORE, &[])]),
        SUCCESS
    );
    same!(scene.word(address)?, 64);
    Ok(())
}

fn priority_by_attribute(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let (mut least, mut greatest) = (0, 0);
    ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
    let priority = [attribute(PRIORITY, &[greatest.cast_unsigned()])];
    same!(launch(function, address, 2, &priority), SUCCESS);
    same!(scene.word(address)?, 64);
    Ok(())
}

/// The attribute of a launch that records an event.
fn recording(id: u32, event: Handle, flags: u32) -> LaunchAttribute {
    attribute(id, &[event as u32, (event >> 32) as u32, flags])
}

fn programmatic_event_waits_for_the_blocks(scene: &mut Scene) -> Outcome {
    let (function, event) = (scene.kernel("spin")?, scene.event_with(DISABLE_TIMING)?);
    let attributes = [recording(PROGRAMMATIC_EVENT, event, 0)];
    let nanoseconds = BUSY.as_nanos() as u64;
    same!(launch(function, nanoseconds, 2, &attributes), SUCCESS);
    for _ in 0..100 {
        holds!(is_pending(event)?);
    }
    ok!(cuEventSynchronize(event));
    holds!(!is_pending(event)?);
    Ok(())
}

fn launch_completion_event_waits_for_earlier_work(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let event = scene.event_with(DISABLE_TIMING)?;
    scene.busy(0)?;
    let attributes = [recording(LAUNCH_COMPLETION_EVENT, event, 0)];
    same!(launch(function, address, 2, &attributes), SUCCESS);
    holds!(is_pending(event)?);
    ok!(cuEventSynchronize(event));
    same!(scene.word(address)?, 64);
    Ok(())
}

fn events_of_launches_keep_no_time(scene: &mut Scene) -> Outcome {
    const EXTERNAL: u32 = 1;
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let (timed, untimed) = (scene.event()?, scene.event_with(DISABLE_TIMING)?);
    for id in [PROGRAMMATIC_EVENT, LAUNCH_COMPLETION_EVENT] {
        for attribute in [recording(id, timed, 0), recording(id, untimed, EXTERNAL)] {
            holds!(launch(function, address, 1, &[attribute]) != SUCCESS);
        }
    }
    same!(scene.word(address)?, 0);
    Ok(())
}

fn window_misses_do_not_persist(scene: &mut Scene) -> Outcome {
    const STREAMING: u32 = 1;
    const PERSISTING: u32 = 2;
    let (address, function) = (scene.device(4096)?, scene.kernel("count")?);
    let [low, high] = [address as u32, (address >> 32) as u32];
    for (on_miss, code) in [(STREAMING, SUCCESS), (PERSISTING, INVALID_VALUE)] {
        let window = [low, high, 4096, 0, 0.5_f32.to_bits(), PERSISTING, on_miss];
        let attributes = [attribute(ACCESS_POLICY_WINDOW, &window)];
        same!(launch(function, address, 1, &attributes), code);
    }
    Ok(())
}

fn domains_are_the_devices(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT`.
    const DOMAINS: u32 = 126;
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let count = scene.attribute(DOMAINS)?.cast_unsigned();
    for (remote, code) in [(count - 1, SUCCESS), (count, INVALID_VALUE)] {
        let attributes = [attribute(MEM_SYNC_DOMAIN_MAP, &[remote << 8])];
        same!(launch(function, address, 1, &attributes), code);
    }
    Ok(())
}

/// A kernel for clusters.
///
/// # Errors
/// The rule is skipped on devices without clusters.
fn cluster_kernel(scene: &mut Scene, kernel: &str) -> Outcome<Handle> {
    /// `CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH`.
    const CLUSTER_LAUNCH: u32 = 120;
    if scene.attribute(CLUSTER_LAUNCH)? == 0 {
        return Err(Failure::device("the device has no clusters"));
    }
    let module = scene.load(include_str!("../../ptx/cluster.ptx"))?;
    scene.kernel_of(module, kernel)
}

fn blocks_form_clusters(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    same!(
        launch(
            function,
            address,
            8,
            &[attribute(CLUSTER_DIMENSION, &[4, 1, 1])]
        ),
        SUCCESS
    );
    same!(scene.word(address)?, 8 * 32 * 4);
    Ok(())
}

fn without_attribute_clusters_are_single(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    same!(launch(function, address, 8, &[]), SUCCESS);
    same!(scene.word(address)?, 8 * 32);
    Ok(())
}

fn grid_is_made_of_whole_clusters(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    let code = launch(
        function,
        address,
        7,
        &[attribute(CLUSTER_DIMENSION, &[4, 1, 1])],
    );
    same!(code, INVALID_CLUSTER_SIZE);
    Ok(())
}

/// The code of a launch of this many blocks in clusters, and the word that it leaves.
fn in_clusters(
    scene: &mut Scene,
    kernel: &str,
    [cluster, blocks]: [u32; 2],
) -> Outcome<(Code, u32)> {
    let (function, address) = (cluster_kernel(scene, kernel)?, scene.device(4)?);
    let attributes = [attribute(CLUSTER_DIMENSION, &[cluster, 1, 1])];
    let code = launch(function, address, blocks, &attributes);
    Ok((code, scene.word(address)?))
}

fn eight_blocks_are_portable(scene: &mut Scene) -> Outcome {
    let found = in_clusters(scene, "cluster_size", [8, 8])?;
    same!(found, (SUCCESS, 8 * 32 * 8));
    Ok(())
}

fn sixteen_blocks_must_be_allowed(scene: &mut Scene) -> Outcome {
    let found = in_clusters(scene, "cluster_size", [16, 16])?;
    same!(found, (INVALID_CLUSTER_SIZE, 0));
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    ok!(cuFuncSetAttribute(function, NON_PORTABLE, 1));
    same!(
        out(|value| cu!(cuFuncGetAttribute(value, NON_PORTABLE, function)))?,
        1
    );
    let launch = |cluster| {
        launch(
            function,
            address,
            32,
            &[attribute(CLUSTER_DIMENSION, &[cluster, 1, 1])],
        )
    };
    same!((launch(16), launch(32)), (SUCCESS, INVALID_CLUSTER_SIZE));
    same!(scene.word(address)?, 32 * 32 * 16);
    Ok(())
}

fn blocks_know_their_rank(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "rank")?, scene.device(32)?);
    let clusters = [attribute(CLUSTER_DIMENSION, &[4, 1, 1])];
    same!(launch(function, address, 8, &clusters), SUCCESS);
    let ranks: Vec<u8> = [0, 1, 2, 3, 0, 1, 2, 3]
        .map(|rank| [rank, 0, 0, 0])
        .concat();
    same!(scene.bytes(address, 32)?, ranks);
    Ok(())
}

/// `CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET`, `_REQUIRED_CLUSTER_WIDTH`, `_HEIGHT`, `_DEPTH` and
/// `_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const MUST_BE_SET: u32 = 10;
const REQUIRED: [u32; 3] = [11, 12, 13];
const NON_PORTABLE: u32 = 14;

fn kernels_demand_their_clusters(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "in_pairs")?, scene.device(4)?);
    for (attribute, expected) in REQUIRED.into_iter().zip([2, 1, 1]) {
        same!(
            out(|value| cu!(cuFuncGetAttribute(value, attribute, function)))?,
            expected
        );
    }
    gives!(INVALID_VALUE, cuFuncSetAttribute(function, REQUIRED[0], 4));
    let fours = [attribute(CLUSTER_DIMENSION, &[4, 1, 1])];
    same!(launch(function, address, 3, &[]), INVALID_CLUSTER_SIZE);
    same!(launch(function, address, 4, &fours), INVALID_CLUSTER_SIZE);
    same!(launch(function, address, 4, &[]), SUCCESS);
    same!(scene.word(address)?, 4 * 32 * 2);
    Ok(())
}

fn clusters_are_left_to_the_launch(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "explicit")?, scene.device(4)?);
    same!(
        out(|value| cu!(cuFuncGetAttribute(value, MUST_BE_SET, function)))?,
        1
    );
    let launch = |cluster| {
        launch(
            function,
            address,
            8,
            &[attribute(CLUSTER_DIMENSION, &[cluster, 1, 1])],
        )
    };
    same!((launch(4), launch(8)), (SUCCESS, INVALID_CLUSTER_SIZE));
    same!(
        self::launch(function, address, 8, &[]),
        INVALID_CLUSTER_SIZE
    );
    Ok(())
}

fn required_cluster_is_set_at_run_time(scene: &mut Scene) -> Outcome {
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    for (attribute, value) in REQUIRED.into_iter().zip([2, 1, 1]) {
        ok!(cuFuncSetAttribute(function, attribute, value));
    }
    same!(launch(function, address, 4, &[]), SUCCESS);
    same!(scene.word(address)?, 4 * 32 * 2);
    Ok(())
}

fn wishes_change_nothing(scene: &mut Scene) -> Outcome {
    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE`, `_PROGRAMMATIC_STREAM_SERIALIZATION`,
    /// `_MEM_SYNC_DOMAIN_MAP`, `_MEM_SYNC_DOMAIN` and `_PREFERRED_SHARED_MEMORY_CARVEOUT`.
    const WISHES: [(u32, &[u32]); 5] =
        [(5, &[1]), (6, &[1]), (9, &[0x100]), (10, &[1]), (14, &[50])];
    let (function, address) = (cluster_kernel(scene, "cluster_size")?, scene.device(4)?);
    for (id, value) in WISHES {
        let code = launch(function, address, 1, &[attribute(id, value)]);
        same!((id, code), (id, SUCCESS));
    }
    same!(scene.word(address)?, 5 * 32);
    Ok(())
}

fn largest_cluster_is_known(scene: &mut Scene) -> Outcome {
    let function = cluster_kernel(scene, "cluster_size")?;
    let config = configuration(1, &[]);
    let largest =
        || out::<i32>(|size| cu!(cuOccupancyMaxPotentialClusterSize(size, function, &config)));
    same!(largest()?, 8);
    ok!(cuFuncSetAttribute(function, NON_PORTABLE, 1));
    holds!(largest()? > 8);
    Ok(())
}

fn a_multicast_reaches_its_blocks(scene: &mut Scene) -> Outcome {
    let found = in_clusters(scene, "multicast", [4, 8])?;
    same!(found, (SUCCESS, 8 * 10));
    Ok(())
}

fn blocks_arrive_at_each_others_objects(scene: &mut Scene) -> Outcome {
    let found = in_clusters(scene, "arrive_everywhere", [4, 8])?;
    same!(found, (SUCCESS, 8));
    Ok(())
}

fn clusters_fit_on_the_device(scene: &mut Scene) -> Outcome {
    let function = cluster_kernel(scene, "cluster_size")?;
    let attributes = [attribute(CLUSTER_DIMENSION, &[2, 1, 1])];
    let config = configuration(2, &attributes);
    let clusters: i32 =
        out(|clusters| cu!(cuOccupancyMaxActiveClusters(clusters, function, &config)))?;
    holds!(clusters > 0);
    let attributes = [attribute(CLUSTER_DIMENSION, &[16, 1, 1])];
    let (config, mut none) = (configuration(16, &attributes), 9);
    gives!(
        INVALID_CLUSTER_SIZE,
        cuOccupancyMaxActiveClusters(&mut none, function, &config)
    );
    gives!(
        INVALID_VALUE,
        cuOccupancyMaxActiveClusters(&mut none, function, std::ptr::null())
    );
    Ok(())
}

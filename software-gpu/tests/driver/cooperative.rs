//! Cooperative launches, clusters, and the attributes of `cuLaunchKernelEx`.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const COOPERATIVE_LAUNCH_TOO_LARGE: Error = 720;
const INVALID_CLUSTER_SIZE: Error = 912;

const COOPERATIVE: c_uint = 2;
const CLUSTER_DIMENSION: c_uint = 4;

/// `meet` is a grid-wide barrier and stores the number of blocks that arrived; `rank` stores each block's rank in its
/// cluster; the others demand clusters.
const KERNELS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry meet(.param .u64 counter, .param .u64 out)
{
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<4>;
    ld.param.u64 %rd0, [counter]; ld.param.u64 %rd1, [out];
    mov.u32 %r0, %nctaid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    setp.ne.u32 %p0, %r2, 0; @%p0 bra met;
    atom.global.add.u32 %r3, [%rd0], 1;
poll:
    ld.volatile.global.u32 %r4, [%rd0]; setp.lt.u32 %p1, %r4, %r0; @%p1 bra poll;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4;
met:
    bar.sync 0; ret;
}
.visible .entry rank(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [out]; mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r1, 4; add.u64 %rd0, %rd0, %rd1; st.global.u32 [%rd0], %r0; ret;
}
.visible .entry in_pairs(.param .u64 out) .reqnctapercluster 2, 1, 1
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [out]; mov.u32 %r0, %cluster_ctarank; mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd1, %r1, 4; add.u64 %rd0, %rd0, %rd1; st.global.u32 [%rd0], %r0; ret;
}
.visible .entry explicit() .explicitcluster .maxclusterrank 4 { ret; }
";

#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: u32,
    value: [u32; 16],
}

#[repr(C)]
struct Config {
    extents: [c_uint; 7],
    stream: Handle,
    attributes: *const Attribute,
    count: c_uint,
}

fn attribute(id: c_uint, first: &[u32]) -> Attribute {
    let mut value = [0; 16];
    value[..first.len()].copy_from_slice(first);
    let padding = 0;
    Attribute { id, padding, value }
}

fn config(grid: u32, block: u32, attributes: &[Attribute]) -> Config {
    Config {
        extents: [grid, 1, 1, block, 1, 1, 0],
        stream: 0,
        attributes: attributes.as_ptr(),
        count: attributes.len() as c_uint,
    }
}

fn launch_with(
    function: Handle,
    [grid, block]: [u32; 2],
    attributes: &[Attribute],
    arguments: &[&dyn Argument],
) -> Result<(), Error> {
    let pointers: Vec<_> = arguments
        .iter()
        .map(|argument| (**argument).pointer())
        .collect();
    let config = config(grid, block, attributes);
    cu!(cuLaunchKernelEx(
        &config => *const Config,
        function => Handle,
        pointers.as_ptr() => *const *const c_void,
        std::ptr::null() => *const *const c_void,
    ))
}

fn launch_cooperative(
    function: Handle,
    [grid, block]: [u32; 2],
    shared_bytes: c_uint,
    arguments: &[&dyn Argument],
) -> Result<(), Error> {
    let pointers: Vec<_> = arguments
        .iter()
        .map(|argument| (**argument).pointer())
        .collect();
    cu!(cuLaunchCooperativeKernel(
        function => Handle,
        grid => c_uint, 1 => c_uint, 1 => c_uint,
        block => c_uint, 1 => c_uint, 1 => c_uint,
        shared_bytes => c_uint,
        0 => Handle,
        pointers.as_ptr() => *const *const c_void,
    ))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

fn function_attribute(function: Handle, attribute: c_uint) -> c_int {
    let mut value = -7;
    cu!(cuFuncGetAttribute(&mut value => *mut c_int, attribute => c_uint, function => Handle))
        .unwrap();
    value
}

fn set_attribute(function: Handle, attribute: c_uint, value: c_int) -> Result<(), Error> {
    cu!(cuFuncSetAttribute(function => Handle, attribute => c_uint, value => c_int))
}

/// CUDA C++ programming guide, "Grid Synchronization": all blocks of a cooperative launch are resident.
#[test]
fn the_blocks_of_a_cooperative_grid_meet() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let meet = driver.function(module, "meet").unwrap();
    let memory = driver.allocate(4 * 513).unwrap();
    driver.fill(memory, 0, 4 * 513);
    launch_cooperative(meet, [256, 64], 0, &[&memory, &(memory + 4)]).unwrap();
    assert_eq!(words(&driver.read(memory + 4, 4 * 256)), [256; 256]);
    driver.fill(memory, 0, 4 * 513);
    let attributes = [attribute(COOPERATIVE, &[1])];
    launch_with(meet, [512, 64], &attributes, &[&memory, &(memory + 4)]).unwrap();
    assert_eq!(words(&driver.read(memory + 4, 4 * 512)), [512; 512]);
}

/// cuLaunchCooperativeKernel: "The total number of blocks launched cannot exceed the maximum number of blocks per
/// multiprocessor as returned by cuOccupancyMaxActiveBlocksPerMultiprocessor times the number of multiprocessors".
#[test]
fn a_cooperative_grid_must_fit_at_once() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let meet = driver.function(module, "meet").unwrap();
    let mut blocks = 0;
    cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks => *mut c_int, meet => Handle, 1024 => c_int, 0 => usize,
    ))
    .unwrap();
    let mut multiprocessors = 0;
    cu!(cuDeviceGetAttribute(&mut multiprocessors => *mut c_int, 16 => c_int, 0 => c_int)).unwrap();
    let most = (blocks * multiprocessors) as u32;
    let memory = driver.allocate(4 * (most as usize + 1)).unwrap();
    driver.fill(memory, 0, 4 * (most as usize + 1));
    let arguments: [&dyn Argument; 2] = [&memory, &(memory + 4)];
    assert_eq!(
        launch_cooperative(meet, [most + 1, 1024], 0, &arguments),
        Err(COOPERATIVE_LAUNCH_TOO_LARGE)
    );
    launch_cooperative(meet, [most, 1024], 0, &arguments).unwrap();
    assert_eq!(words(&driver.read(memory, 4)), [most]);
}

#[test]
fn a_launch_attribute_makes_clusters() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let rank = driver.function(module, "rank").unwrap();
    let out = driver.allocate(4 * 16).unwrap();
    launch_with(
        rank,
        [16, 32],
        &[attribute(CLUSTER_DIMENSION, &[4, 1, 1])],
        &[&out],
    )
    .unwrap();
    assert_eq!(words(&driver.read(out, 64)), [0, 1, 2, 3].repeat(4));
    launch_with(rank, [16, 32], &[], &[&out]).unwrap();
    assert_eq!(words(&driver.read(out, 64)), [0; 16]);
}

/// CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: "must be a divisor of the grid"; at most 8 blocks unless
/// CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED is set.
#[test]
fn clusters_have_limits() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let rank = driver.function(module, "rank").unwrap();
    let out = driver.allocate(4 * 32).unwrap();
    let launch = |extent: u32| {
        let attributes = [attribute(CLUSTER_DIMENSION, &[extent, 1, 1])];
        launch_with(rank, [32, 1], &attributes, &[&out])
    };
    assert_eq!(launch(3), Err(INVALID_CLUSTER_SIZE));
    assert_eq!(launch(16), Err(INVALID_CLUSTER_SIZE));
    set_attribute(rank, 14, 1).unwrap();
    assert_eq!(function_attribute(rank, 14), 1);
    launch(16).unwrap();
    assert_eq!(launch(32), Err(INVALID_CLUSTER_SIZE));
}

#[test]
fn a_kernel_may_demand_its_clusters() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let in_pairs = driver.function(module, "in_pairs").unwrap();
    let out = driver.allocate(4 * 4).unwrap();
    assert_eq!(
        (11..14)
            .map(|a| function_attribute(in_pairs, a))
            .collect::<Vec<_>>(),
        [2, 1, 1]
    );
    driver.launch(in_pairs, 4, 1, LEGACY, &[&out]).unwrap();
    assert_eq!(words(&driver.read(out, 16)), [0, 1, 0, 1]);
    assert_eq!(
        driver.launch(in_pairs, 3, 1, LEGACY, &[&out]),
        Err(INVALID_CLUSTER_SIZE)
    );
    let attributes = [attribute(CLUSTER_DIMENSION, &[4, 1, 1])];
    assert_eq!(
        launch_with(in_pairs, [4, 1], &attributes, &[&out]),
        Err(INVALID_CLUSTER_SIZE)
    );
    assert_eq!(set_attribute(in_pairs, 11, 4), Err(NOT_PERMITTED));
    let explicit = driver.function(module, "explicit").unwrap();
    assert_eq!(function_attribute(explicit, 10), 1);
    assert_eq!(
        driver.launch(explicit, 4, 1, LEGACY, &[]),
        Err(INVALID_CLUSTER_SIZE)
    );
    launch_with(explicit, [4, 1], &attributes, &[]).unwrap();
    let attributes = [attribute(CLUSTER_DIMENSION, &[8, 1, 1])];
    assert_eq!(
        launch_with(explicit, [8, 1], &attributes, &[]),
        Err(INVALID_CLUSTER_SIZE)
    );
    driver.synchronize().unwrap();
}

#[test]
fn a_required_cluster_can_be_set_at_run_time() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let rank = driver.function(module, "rank").unwrap();
    let out = driver.allocate(4 * 4).unwrap();
    for (attribute, value) in [(11, 2), (12, 1), (13, 1)] {
        set_attribute(rank, attribute, value).unwrap();
    }
    driver.launch(rank, 4, 1, LEGACY, &[&out]).unwrap();
    assert_eq!(words(&driver.read(out, 16)), [0, 1, 0, 1]);
}

#[test]
fn the_device_says_how_many_clusters_it_holds() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let rank = driver.function(module, "rank").unwrap();
    let active_of = |cluster: [u32; 3], block: u32| {
        let attributes = [attribute(CLUSTER_DIMENSION, &cluster)];
        let (config, mut count) = (config(cluster[0], block, &attributes), -1);
        cu!(cuOccupancyMaxActiveClusters(
            &mut count => *mut c_int, rank => Handle, &config => *const Config,
        ))
        .map(|()| count)
    };
    let active = |cluster: u32, block: u32| active_of([cluster, 1, 1], block);
    assert_eq!(active(1, 1024), Ok(264));
    assert_eq!(active(2, 1024), Ok(132));
    assert_eq!(active(8, 1024), Ok(32));
    assert_eq!(active(16, 1024), Err(INVALID_CLUSTER_SIZE));
    assert_eq!(active_of([u32::MAX; 3], 1024), Err(INVALID_CLUSTER_SIZE));
    let largest = || {
        let (config, mut size) = (config(1, 1024, &[]), -1);
        cu!(cuOccupancyMaxPotentialClusterSize(
            &mut size => *mut c_int, rank => Handle, &config => *const Config,
        ))
        .map(|()| size)
    };
    assert_eq!(largest(), Ok(8));
    set_attribute(rank, 14, 1).unwrap();
    assert_eq!(largest(), Ok(16));
    let nobody = std::ptr::null::<Config>();
    assert_eq!(
        cu!(cuOccupancyMaxActiveClusters(&mut 0 => *mut c_int, rank => Handle, nobody => *const Config)),
        Err(INVALID_VALUE)
    );
}

#[test]
fn attributes_that_are_wishes_change_nothing_and_others_are_refused() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let rank = driver.function(module, "rank").unwrap();
    let out = driver.allocate(4).unwrap();
    let launch = |id, words: &[u32]| launch_with(rank, [1, 1], &[attribute(id, words)], &[&out]);
    for (id, words) in [
        (0, [7, 7]),
        (5, [1, 0]),
        (6, [1, 0]),
        (8, [0, 0]),
        (9, [0, 1]),
        (10, [1, 0]),
        (14, [50, 0]),
        (16, [1, 0]),
    ] {
        assert_eq!(launch(id, &words), Ok(()), "attribute {id}");
    }
    for (id, expected) in [(3, INVALID_VALUE), (13, NOT_SUPPORTED), (99, INVALID_VALUE)] {
        assert_eq!(launch(id, &[1]), Err(expected), "attribute {id}");
    }
    driver.synchronize().unwrap();
}

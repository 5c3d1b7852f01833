//! What functions need, and what bounds it: registers, constant memory, occupancy; and the limits of a context.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const UNSUPPORTED_LIMIT: Error = 215;
const ILLEGAL_ADDRESS: Error = 700;
/// `CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES`, `CU_FUNC_ATTRIBUTE_NUM_REGS`.
const CONST_SIZE_BYTES: c_uint = 2;
const NUM_REGS: c_uint = 4;

fn attribute(function: Handle, attribute: c_uint) -> c_int {
    let mut value = 0;
    cu!(cuFuncGetAttribute(&mut value => *mut c_int, attribute => c_uint, function => Handle))
        .unwrap();
    value
}

/// A kernel that holds `live` sums at once, with these directives.
fn kernel(directives: &str, live: usize) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..live).map(text).collect::<String>();
    format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out){directives}
        {{ .reg .b32 %r<{live}>; .reg .b64 %rd; ld.param.u64 %rd, [out];\n{}{} ret; }}\n",
        each(&|n| format!("ld.global.u32 %r{n}, [%rd+{}];\n", 4 * n)),
        each(&|n| format!("st.global.u32 [%rd+{}], %r{n};\n", 4 * (live - n))),
    )
}

/// Loads with `CU_JIT_MAX_REGISTERS`.
fn load_bounded(ptx: &str, registers: usize) -> Handle {
    let (text, mut module, option) = (CString::new(ptx).unwrap(), 0, 0 as c_uint);
    let mut value: *mut c_void = std::ptr::without_provenance_mut(registers);
    cu!(cuModuleLoadDataEx(
        &mut module => *mut Handle, text.as_ptr() => *const c_char,
        1 => c_uint, &option => *const c_uint, &mut value => *mut *mut c_void,
    ))
    .unwrap();
    module
}

/// Directives and options bound registers as they do in `ptxas` 13.0, whose figures these are.
#[test]
fn registers_are_bounded_as_by_ptxas() {
    let driver = Driver::new();
    let registers = |module| attribute(driver.function(module, "k").unwrap(), NUM_REGS);
    let free = registers(driver.module(&kernel("", 90)).unwrap());
    assert!(free > 90, "{free}");
    for (directives, expected) in [
        (" .maxnreg 32", 32),
        (" .maxnreg 33", 32),
        (" .maxnreg 16", 24),
        (" .maxntid 1024", 64),
        (" .maxntid 1024 .maxnreg 40", 40),
        (" .maxntid 32", free),
    ] {
        let module = driver.module(&kernel(directives, 90)).unwrap();
        assert_eq!(registers(module), expected, "{directives}");
    }
    for (directives, option, expected) in [
        ("", 40, 40),
        ("", 33, 32),
        ("", 4, 24),
        ("", 0, free),
        ("", 300, free),
        (" .maxntid 1024", 24, 64),
        (" .maxnreg 32", 24, 32),
    ] {
        let module = load_bounded(&kernel(directives, 90), option);
        assert_eq!(registers(module), expected, "{directives} {option}");
    }
}

/// The bound of a link, or of one of its inputs, is kept in its image.
#[test]
fn a_link_keeps_its_bound() {
    let driver = Driver::new();
    let text = CString::new(kernel("", 90)).unwrap();
    let null = std::ptr::null_mut::<c_void>();
    for (of_link, of_input, expected) in [
        (Some(40), None, 40),
        (Some(40), Some(32), 32),
        (None, Some(48), 48),
    ] {
        let option = 0 as c_uint;
        let value =
            |bound: Option<usize>| std::ptr::without_provenance_mut::<c_void>(bound.unwrap_or(0));
        let (mut link, mut image, mut module) = (0, std::ptr::null::<c_void>(), 0);
        cu!(cuLinkCreate_v2(
            1 => c_uint, &option => *const c_uint, &mut value(of_link) => *mut *mut c_void, &mut link => *mut Handle
        ))
        .unwrap();
        cu!(cuLinkAddData_v2(
            link => Handle, 1 => c_uint, text.as_ptr() => *const c_char, text.count_bytes() => usize, null => *mut c_void,
            1 => c_uint, &option => *const c_uint, &mut value(of_input) => *mut *mut c_void,
        ))
        .unwrap();
        cu!(cuLinkComplete(link => Handle, &mut image => *mut *const c_void, null => *mut c_void))
            .unwrap();
        cu!(cuModuleLoadData(&mut module => *mut Handle, image => *const c_void)).unwrap();
        cu!(cuLinkDestroy(link => Handle)).unwrap();
        let function = driver.function(module, "k").unwrap();
        assert_eq!(attribute(function, NUM_REGS), expected);
    }
}

/// `CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES` counts constant variables and no parameters.
#[test]
fn constant_memory_is_that_of_variables() {
    let driver = Driver::new();
    let without = driver.module(&kernel("", 4)).unwrap();
    assert_eq!(
        attribute(driver.function(without, "k").unwrap(), CONST_SIZE_BYTES),
        0
    );
    let constants = ".address_size 64\n.const .u32 first[3]; .const .align 16 .b8 second[20];";
    let with = kernel("", 4).replace(".address_size 64", constants);
    let with = driver.module(&with).unwrap();
    assert_eq!(
        attribute(driver.function(with, "k").unwrap(), CONST_SIZE_BYTES),
        36
    );
}

/// A `CUkernel` stands for its function in the current context.
#[test]
fn occupancy_is_known_of_a_kernel_without_a_context() {
    let _driver = Driver::new();
    let (text, name) = (CString::new(kernel("", 4)).unwrap(), c"k");
    let (mut library, mut kernel) = (0, 0);
    let none = std::ptr::null::<c_void>();
    cu!(cuLibraryLoadData(
        &mut library => *mut Handle, text.as_ptr() => *const c_char,
        none => *const c_void, none => *const c_void, 0 => c_uint,
        none => *const c_void, none => *const c_void, 0 => c_uint,
    ))
    .unwrap();
    cu!(cuLibraryGetKernel(&mut kernel => *mut Handle, library => Handle, name.as_ptr() => *const c_char))
        .unwrap();
    let (mut blocks, mut grid, mut block, mut bytes) = (0, 0, 0, 0_usize);
    cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks => *mut c_int, kernel => Handle, 1024 => c_int, 0 => usize
    ))
    .unwrap();
    assert_eq!(blocks, 2);
    cu!(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &mut blocks => *mut c_int, kernel => Handle, 256 => c_int, 0 => usize, 0 => c_uint
    ))
    .unwrap();
    assert_eq!(blocks, 8);
    // A quarter of a multiprocessor's shared memory, and 1 KiB reserved per block.
    cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &mut blocks => *mut c_int, kernel => Handle, 32 => c_int, 57 << 10 => usize
    ))
    .unwrap();
    assert_eq!(blocks, 3);
    cu!(cuOccupancyMaxPotentialBlockSize(
        &mut grid => *mut c_int, &mut block => *mut c_int, kernel => Handle, none => *const c_void, 0 => usize, 0 => c_int,
    ))
    .unwrap();
    assert_eq!((grid, block), (264, 1024));
    cu!(cuOccupancyAvailableDynamicSMemPerBlock(
        &mut bytes => *mut usize, kernel => Handle, 2 => c_int, 256 => c_int
    ))
    .unwrap();
    assert_eq!(bytes, 116_736 - 1024);
    let config: [u64; 7] = [1 << 32 | 8, 64 << 32 | 1, 1 << 32 | 1, 0, 0, 0, 0];
    let mut size = 0;
    cu!(cuOccupancyMaxPotentialClusterSize(
        &mut size => *mut c_int, kernel => Handle, config.as_ptr() => *const u64
    ))
    .unwrap();
    assert_eq!(size, 8);
    cu!(cuOccupancyMaxActiveClusters(&mut size => *mut c_int, kernel => Handle, config.as_ptr() => *const u64))
        .unwrap();
    assert!(size > 0);
}

/// `CUlaunchConfig` of a row of blocks of 1024 threads with this `CUlaunchAttribute`.
fn config(blocks: u64, attribute: &[u64; 9]) -> [u64; 7] {
    let address = attribute.as_ptr().addr() as u64;
    [
        1 << 32 | blocks,
        1024 << 32 | 1,
        1 << 32 | 1,
        0,
        0,
        address,
        1,
    ]
}

/// Clusters lie within groups of multiprocessors, of which the profile has eight.
#[test]
fn clusters_that_fit_are_those_of_the_profile() {
    const INVALID_CLUSTER_SIZE: Error = 912;
    const CLUSTER_DIMENSION: u64 = 4;
    let driver = Driver::new();
    let module = driver
        .module(&kernel("", 4).replace("sm_70", "sm_90"))
        .unwrap();
    let k = driver.function(module, "k").unwrap();
    let active = |[x, y, z]: [u64; 3]| {
        let attribute = [CLUSTER_DIMENSION, y << 32 | x, z, 0, 0, 0, 0, 0, 0];
        let mut count = -1;
        cu!(cuOccupancyMaxActiveClusters(
            &mut count => *mut c_int, k => Handle, &config(x, &attribute) => *const [u64; 7]
        ))
        .map(|()| count)
    };
    for (blocks, clusters) in [(1, 264), (2, 132), (8, 32)] {
        assert_eq!(active([blocks, 1, 1]), Ok(clusters));
    }
    assert_eq!(active([u32::MAX.into(); 3]), Err(INVALID_CLUSTER_SIZE));
}

/// A synchronisation policy belongs to streams, and the device cannot update kernels; schedules of NVLink are ignored.
#[test]
fn launches_refuse_attributes_that_they_cannot_have() {
    let driver = Driver::new();
    let module = driver.module(&kernel("", 4)).unwrap();
    let (k, out) = (
        driver.function(module, "k").unwrap(),
        driver.allocate(64).unwrap(),
    );
    driver.fill(out, 0, 64);
    let launch = |attribute: u64| {
        let arguments = [out.pointer()];
        cu!(cuLaunchKernelEx(
            &config(1, &[attribute, 1, 0, 0, 0, 0, 0, 0, 0]) => *const [u64; 7], k => Handle,
            arguments.as_ptr() => *const *const c_void, std::ptr::null() => *const *const c_void,
        ))
    };
    assert_eq!(
        [3, 13, 16].map(launch),
        [Err(INVALID_VALUE), Err(NOT_SUPPORTED), Ok(())]
    );
    driver.synchronize().unwrap();
}

/// A kernel that calls through a pointer has the stack that its context allows.
#[test]
fn the_stack_is_what_the_context_allows() {
    const PTX: &str = ".version 7.0 .target sm_70 .address_size 64
        .func holds() { .local .align 8 .b8 held[2000]; .reg .b32 %a; mov.u32 %a, 1; st.local.u8 [held], %a; ret; }
        .visible .entry calls() { .reg .b64 %f; mov.u64 %f, holds;
            prototype: .callprototype _ (); call %f, (), prototype; ret; }";
    let driver = Driver::new();
    let module = driver.module(PTX).unwrap();
    let calls = driver.function(module, "calls").unwrap();
    let run = |bytes: usize| {
        cu!(cuCtxSetLimit(0 => c_uint, bytes => usize))?;
        driver.launch(calls, 1, 1, 0, &[])?;
        driver.synchronize()
    };
    assert_eq!((run(2000), run(1 << 40)), (Ok(()), Ok(())));
    assert_eq!(run(1999), Err(ILLEGAL_ADDRESS));
}

/// Limits 6 to 8: persisting lines of L2, and what belongs to contexts that share the device with graphics.
#[test]
fn newer_limits_are_known() {
    let _driver = Driver::new();
    let get = |limit: c_uint| {
        let mut value = 99_usize;
        cu!(cuCtxGetLimit(&mut value => *mut usize, limit => c_uint)).map(|()| value)
    };
    let set = |limit: c_uint, value: usize| cu!(cuCtxSetLimit(limit => c_uint, value => usize));
    // As an H200 answers: ten steps are the most, a fresh context has three.
    assert_eq!((get(6), get(8)), (Ok(11_796_480), Ok(0)));
    assert_eq!(get(7), Ok(232_448));
    set(6, 1 << 20).unwrap();
    assert_eq!(get(6), Ok(3_932_160));
    set(6, 0).unwrap();
    assert_eq!(get(6), Ok(0));
    set(6, 1 << 40).unwrap();
    assert_eq!(get(6), Ok(39_321_600));
    assert_eq!(
        (set(7, 1), set(8, 1)),
        (Err(UNSUPPORTED_LIMIT), Err(UNSUPPORTED_LIMIT))
    );
    assert_eq!(get(10), Err(INVALID_VALUE));
}

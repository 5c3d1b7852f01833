//! Libraries, their kernels, and the names of functions.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const NOT_FOUND: Error = 500;
const INVALID_PTX: Error = 218;
const NO_BINARY_FOR_GPU: Error = 209;
const FILE_NOT_FOUND: Error = 301;

const KERNELS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 counter = 40;
.visible .entry bump(.param .u32 step, .param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u32 %r0, [step]; ld.param.u64 %rd0, [out];
    atom.global.add.u32 %r1, [counter], %r0; st.global.u32 [%rd0], %r1; ret;
}
.visible .entry nothing() { ret; }
";

fn load(ptx: &str) -> Result<Handle, Error> {
    let text = CString::new(ptx).unwrap();
    load_image(text.as_ptr().cast())
}

fn load_image(image: *const c_void) -> Result<Handle, Error> {
    let mut library = 0;
    let none = std::ptr::null::<c_void>();
    cu!(cuLibraryLoadData(
        &mut library => *mut Handle, image => *const c_void,
        none => *const c_void, none => *const c_void, 0 => c_uint,
        none => *const c_void, none => *const c_void, 0 => c_uint,
    ))
    .map(|()| library)
}

fn kernel(library: Handle, name: &str) -> Result<Handle, Error> {
    let (mut kernel, name) = (0, CString::new(name).unwrap());
    cu!(cuLibraryGetKernel(&mut kernel => *mut Handle, library => Handle, name.as_ptr() => *const c_char)).map(|()| kernel)
}

fn function(kernel: Handle) -> Result<Handle, Error> {
    let mut function = 0;
    cu!(cuKernelGetFunction(&mut function => *mut Handle, kernel => Handle)).map(|()| function)
}

fn name_by(call: &str, handle: Handle) -> String {
    let mut name = std::ptr::null::<c_char>();
    match call {
        "kernel" => cu!(cuKernelGetName(&mut name => *mut *const c_char, handle => Handle)),
        _ => cu!(cuFuncGetName(&mut name => *mut *const c_char, handle => Handle)),
    }
    .unwrap();
    // SAFETY: the driver gives a string that lives as long as the library.
    unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned()
}

fn word(driver: &Driver, address: Address) -> u32 {
    u32::from_ne_bytes(driver.read(address, 4).try_into().unwrap())
}

/// Each context has its own copy of the library's variables.
#[test]
fn a_library_is_loaded_into_each_context_that_uses_it() {
    let driver = Driver::new();
    let library = load(KERNELS).unwrap();
    let bump = kernel(library, "bump").unwrap();
    let out = driver.allocate(4).unwrap();
    driver
        .launch(function(bump).unwrap(), 1, 1, LEGACY, &[&2_u32, &out])
        .unwrap();
    driver
        .launch(function(bump).unwrap(), 1, 1, LEGACY, &[&2_u32, &out])
        .unwrap();
    assert_eq!(word(&driver, out), 42);
    let mut other = 0;
    cu!(cuCtxCreate_v2(&mut other => *mut Handle, 0 => c_uint, 0 => c_int)).unwrap();
    let out = driver.allocate(4).unwrap();
    driver
        .launch(function(bump).unwrap(), 1, 1, LEGACY, &[&2_u32, &out])
        .unwrap();
    assert_eq!(word(&driver, out), 40);
    cu!(cuCtxDestroy_v2(other => Handle)).unwrap();
    cu!(cuLibraryUnload(library => Handle)).unwrap();
    assert_eq!(function(bump), Err(INVALID_HANDLE));
    assert_eq!(kernel(library, "bump"), Err(INVALID_HANDLE));
}

/// cuLaunchKernel: "f can be a CUkernel cast to CUfunction".
#[test]
fn a_kernel_of_a_library_can_be_launched_as_it_is() {
    let driver = Driver::new();
    let library = load(KERNELS).unwrap();
    let bump = kernel(library, "bump").unwrap();
    let out = driver.allocate(4).unwrap();
    driver.launch(bump, 1, 1, LEGACY, &[&1_u32, &out]).unwrap();
    assert_eq!(word(&driver, out), 40);
    let (mut address, mut bytes, name) = (0, 0, c"counter");
    cu!(cuLibraryGetGlobal(
        &mut address => *mut Address, &mut bytes => *mut usize, library => Handle, name.as_ptr() => *const c_char,
    ))
    .unwrap();
    assert_eq!((bytes, word(&driver, address)), (4, 41));
    cu!(cuLibraryUnload(library => Handle)).unwrap();
}

#[test]
fn a_library_tells_what_is_in_it() {
    let _driver = Driver::new();
    let library = load(KERNELS).unwrap();
    let mut count = 0;
    cu!(cuLibraryGetKernelCount(&mut count => *mut c_uint, library => Handle)).unwrap();
    assert_eq!(count, 2);
    let mut kernels = [0; 3];
    cu!(cuLibraryEnumerateKernels(kernels.as_mut_ptr() => *mut Handle, 3 => c_uint, library => Handle)).unwrap();
    let names: BTreeSet<String> = kernels[..2]
        .iter()
        .map(|kernel| name_by("kernel", *kernel))
        .collect();
    assert_eq!(
        names,
        BTreeSet::from(["bump".to_owned(), "nothing".to_owned()])
    );
    assert_eq!(kernels[2], 0);
    let bump = kernel(library, "bump").unwrap();
    let mut owner = 0;
    cu!(cuKernelGetLibrary(&mut owner => *mut Handle, bump => Handle)).unwrap();
    assert_eq!(owner, library);
    let parameter = |index: usize| {
        let (mut offset, mut bytes) = (0, 0);
        cu!(cuKernelGetParamInfo(bump => Handle, index => usize, &mut offset => *mut usize, &mut bytes => *mut usize))
            .map(|()| (offset, bytes))
    };
    assert_eq!(
        (parameter(0), parameter(1), parameter(2)),
        (Ok((0, 4)), Ok((8, 8)), Err(INVALID_VALUE))
    );
    assert_eq!(kernel(library, "missing"), Err(NOT_FOUND));
    cu!(cuLibraryUnload(library => Handle)).unwrap();
}

#[test]
fn attributes_of_a_kernel_are_those_of_its_function() {
    let _driver = Driver::new();
    let library = load(KERNELS).unwrap();
    let bump = kernel(library, "bump").unwrap();
    cu!(cuKernelSetAttribute(8 => c_uint, 100_000 => c_int, bump => Handle, 0 => c_int)).unwrap();
    let (mut of_kernel, mut of_function) = (0, 0);
    cu!(cuKernelGetAttribute(&mut of_kernel => *mut c_int, 8 => c_uint, bump => Handle, 0 => c_int)).unwrap();
    let function = function(bump).unwrap();
    cu!(cuFuncGetAttribute(&mut of_function => *mut c_int, 8 => c_uint, function => Handle))
        .unwrap();
    assert_eq!((of_kernel, of_function), (100_000, 100_000));
    assert_eq!(
        cu!(cuKernelSetAttribute(0 => c_uint, 1 => c_int, bump => Handle, 0 => c_int)),
        Err(INVALID_VALUE)
    );
    cu!(cuLibraryUnload(library => Handle)).unwrap();
}

#[test]
fn functions_have_names_and_are_loaded() {
    let driver = Driver::new();
    let module = driver.module(KERNELS).unwrap();
    let bump = driver.function(module, "bump").unwrap();
    assert_eq!(name_by("function", bump), "bump");
    let mut state = 7;
    cu!(cuFuncIsLoaded(&mut state => *mut c_uint, bump => Handle)).unwrap();
    assert_eq!(state, 1);
    cu!(cuFuncLoad(bump => Handle)).unwrap();
    let mut functions = [0; 2];
    cu!(cuModuleEnumerateFunctions(functions.as_mut_ptr() => *mut Handle, 2 => c_uint, module => Handle)).unwrap();
    assert!(functions.contains(&bump) && functions[0] != functions[1]);
    assert_eq!(cu!(cuFuncLoad(77 => Handle)), Err(INVALID_HANDLE));
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let driver = Driver::new();
    assert_eq!(
        load(".version 7.0\n.target sm_70\n.entry broken {"),
        Err(INVALID_PTX)
    );
    let unknown = KERNELS.replace(
        "ret; }\n",
        "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r0], 32; ret; }\n",
    );
    let refused = function(kernel(load(&unknown).unwrap(), "nothing").unwrap()).unwrap();
    let launched = driver.launch(refused, 1, 1, 0, &[]);
    assert_eq!(launched, Err(NOT_SUPPORTED));
    assert_eq!(
        load_image(c"\x7fELF".as_ptr().cast()),
        Err(NO_BINARY_FOR_GPU)
    );
    assert_eq!(load_image(std::ptr::null()), Err(INVALID_VALUE));
    let (mut library, none) = (0, std::ptr::null::<c_void>());
    let missing = cu!(cuLibraryLoadFromFile(
        &mut library => *mut Handle, c"/nowhere/at/all.ptx".as_ptr() => *const c_char,
        none => *const c_void, none => *const c_void, 0 => c_uint,
        none => *const c_void, none => *const c_void, 0 => c_uint,
    ));
    assert_eq!(missing, Err(FILE_NOT_FOUND));
    driver.synchronize().unwrap();
}

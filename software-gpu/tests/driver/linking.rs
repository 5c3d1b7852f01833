//! Linking of PTX: `cuLink*`.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const NO_BINARY_FOR_GPU: Error = 209;
const INVALID_PTX: Error = 218;
const UNSUPPORTED_PTX_VERSION: Error = 222;
const INVALID_SOURCE: Error = 300;
const FILE_NOT_FOUND: Error = 301;
const UNKNOWN: Error = 999;

/// `CUjitInputType`.
const CUBIN: c_uint = 0;
const PTX: c_uint = 1;
const FAT_BINARY: c_uint = 2;
const OBJECT: c_uint = 3;

const HEADER: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

/// Stores `triple(seed)`, both of which another module defines.
const USER: &str = "
.extern .global .u32 seed;
.extern .func (.param .b32 out) triple(.param .b32 x);
.visible .entry use(.param .u64 to)
{
    .reg .b32 %r<2>; .reg .b64 %rd;
    ld.param.u64 %rd, [to]; ld.global.u32 %r0, [seed];
    { .param .b32 x; .param .b32 out; st.param.b32 [x], %r0; call (out), triple, (x); ld.param.b32 %r1, [out]; }
    st.global.u32 [%rd], %r1; ret;
}";
const SEED: &str = ".visible .global .u32 seed = 14;";
const TRIPLE: &str = "
.visible .func (.param .b32 out) triple(.param .b32 x)
{ .reg .b32 %r; ld.param.b32 %r, [x]; mul.lo.u32 %r, %r, 3; st.param.b32 [out], %r; ret; }";

/// A link with a log for errors, which is where the driver finds it until the link is gone.
struct Link {
    state: Handle,
    log: Box<[u8; 200]>,
    values: Box<[*mut c_void; 2]>,
}

impl Link {
    fn new() -> Self {
        Self::with_log_of(200)
    }

    fn with_log_of(bytes: usize) -> Self {
        let mut log = Box::new([0xff; 200]);
        let size = std::ptr::without_provenance_mut(bytes);
        let mut values = Box::new([log.as_mut_ptr().cast(), size]);
        let (options, mut state) = ([5, 6], 0);
        cu!(cuLinkCreate_v2(
            2 => c_uint, options.as_ptr() => *const c_uint, values.as_mut_ptr() => *mut *mut c_void,
            &mut state => *mut Handle,
        ))
        .unwrap();
        Self { state, log, values }
    }

    fn add_as(&self, kind: c_uint, name: &str, data: &[u8]) -> Result<(), Error> {
        let name = CString::new(name).unwrap();
        let none = std::ptr::null::<c_void>();
        cu!(cuLinkAddData_v2(
            self.state => Handle, kind => c_uint, data.as_ptr() => *const u8, data.len() => usize,
            name.as_ptr() => *const c_char, 0 => c_uint, none => *const c_void, none => *const c_void,
        ))
    }

    fn add(&self, name: &str, body: &str) -> Result<(), Error> {
        self.add_as(PTX, name, format!("{HEADER}{body}\0").as_bytes())
    }

    fn add_file(&self, path: &CStr) -> Result<(), Error> {
        let none = std::ptr::null::<c_void>();
        cu!(cuLinkAddFile_v2(
            self.state => Handle, PTX => c_uint, path.as_ptr() => *const c_char,
            0 => c_uint, none => *const c_void, none => *const c_void,
        ))
    }

    /// The image, as long as the link lives.
    fn complete(&self) -> Result<&[u8], Error> {
        let (mut image, mut bytes) = (std::ptr::null::<u8>(), 0);
        cu!(cuLinkComplete(self.state => Handle, &mut image => *mut *const u8, &mut bytes => *mut usize))?;
        // SAFETY: the driver says that that many bytes are there.
        Ok(unsafe { std::slice::from_raw_parts(image, bytes) })
    }

    fn log(&self) -> String {
        let text = CStr::from_bytes_until_nul(&self.log[..]).expect("ends with a zero");
        assert_eq!(
            self.values[1].addr(),
            text.count_bytes(),
            "what was written"
        );
        text.to_str().unwrap().to_owned()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = cu!(cuLinkDestroy(self.state => Handle));
    }
}

fn load(image: &[u8]) -> Result<Handle, Error> {
    let mut module = 0;
    cu!(cuModuleLoadData(&mut module => *mut Handle, image.as_ptr() => *const u8)).map(|()| module)
}

/// What a kernel stores that takes nothing but an address.
fn stored(driver: &Driver, module: Handle, kernel: &str) -> u32 {
    let function = driver.function(module, kernel).unwrap();
    let to = driver.allocate(4).unwrap();
    driver.fill(to, 0xff, 4);
    driver.launch(function, 1, 1, LEGACY, &[&to]).unwrap();
    u32::from_ne_bytes(driver.read(to, 4).try_into().unwrap())
}

#[test]
fn functions_and_variables_of_other_modules_are_found() {
    let driver = Driver::new();
    let link = Link::new();
    link.add("user", USER).unwrap();
    link.add("seed", SEED).unwrap();
    link.add("triple", TRIPLE).unwrap();
    let image = link.complete().unwrap();
    assert_eq!(link.log(), "");
    let module = load(image).unwrap();
    drop(link);
    assert_eq!(stored(&driver, module, "use"), 42);
    let (mut address, mut bytes, name) = (0, 0, c"seed");
    cu!(cuModuleGetGlobal_v2(
        &mut address => *mut Address, &mut bytes => *mut usize, module => Handle, name.as_ptr() => *const c_char,
    ))
    .unwrap();
    assert_eq!(driver.read(address, bytes), 14_u32.to_ne_bytes());
}

#[test]
fn modules_are_added_from_files() {
    let driver = Driver::new();
    let path = std::env::temp_dir().join(format!("linking-{}.ptx", std::process::id()));
    std::fs::write(&path, format!("{HEADER}{SEED}{TRIPLE}")).unwrap();
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let link = Link::new();
    let added = link.add_file(&name);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(added, Ok(()));
    assert_eq!(link.add_file(c"/nowhere/at/all.ptx"), Err(FILE_NOT_FOUND));
    link.add("user", USER).unwrap();
    let module = load(link.complete().unwrap()).unwrap();
    assert_eq!(stored(&driver, module, "use"), 42);
}

#[test]
fn what_nobody_defines_is_named_at_the_end() {
    let _driver = Driver::new();
    let link = Link::new();
    link.add("user", USER).unwrap();
    assert_eq!(link.complete(), Err(UNKNOWN));
    let lines = [
        "error   : Undefined reference to 'triple' in 'user'",
        "error   : Undefined reference to 'seed' in 'user'",
    ];
    assert_eq!(link.log(), lines.join("\n"));
    link.add("triple", TRIPLE).unwrap();
    assert_eq!(link.complete(), Err(UNKNOWN));
    assert_eq!(link.log(), lines[1]);
}

#[test]
fn a_second_definition_is_refused_when_it_is_added() {
    let driver = Driver::new();
    let link = Link::new();
    for (name, body) in [("user", USER), ("seed", SEED), ("triple", TRIPLE)] {
        link.add(name, body).unwrap();
    }
    let message = |what: &str, first: &str| {
        format!("error   : Multiple definition of '{what}' in 'again', first defined in '{first}'")
    };
    assert_eq!(link.add("again", TRIPLE), Err(INVALID_SOURCE));
    assert_eq!(link.log(), message("triple", "triple"));
    assert_eq!(link.add("again", SEED), Err(INVALID_SOURCE));
    assert_eq!(link.log(), message("seed", "seed"));
    assert_eq!(
        link.add("again", ".visible .entry use() { ret; }"),
        Err(INVALID_SOURCE)
    );
    assert_eq!(link.log(), message("use", "user"));
    let weak = TRIPLE.replace(".visible", ".weak").replace("3;", "5;");
    link.add("weak", &weak).unwrap();
    let module = load(link.complete().unwrap()).unwrap();
    assert_eq!(stored(&driver, module, "use"), 42);
}

/// PTX ISA, "Linking Directives": without `.visible`, a symbol is known in its module only.
#[test]
fn local_symbols_of_one_name_stay_apart() {
    let driver = Driver::new();
    let link = Link::new();
    let unit = |kernel: &str, value: u32| {
        format!(
            ".global .u32 seed = {value};
             .visible .entry {kernel}(.param .u64 to) {{ .reg .b32 %r; .reg .b64 %rd;
             ld.param.u64 %rd, [to]; ld.global.u32 %r, [seed]; st.global.u32 [%rd], %r; ret; }}"
        )
    };
    link.add("one", &unit("one", 1)).unwrap();
    link.add("two", &unit("two", 2)).unwrap();
    let module = load(link.complete().unwrap()).unwrap();
    assert_eq!(stored(&driver, module, "one"), 1);
    assert_eq!(stored(&driver, module, "two"), 2);
    let alone = Link::new();
    alone.add("user", USER).unwrap();
    alone.add("triple", TRIPLE).unwrap();
    let hidden = ".global .u32 seed = 1;";
    alone.add("hidden", hidden).unwrap();
    assert_eq!(alone.complete(), Err(UNKNOWN));
}

#[test]
fn the_outcome_is_an_image_for_libraries_and_further_links() {
    let driver = Driver::new();
    let first = Link::new();
    first.add("seed", SEED).unwrap();
    first.add("triple", TRIPLE).unwrap();
    let image = first.complete().unwrap();
    let second = Link::new();
    second.add_as(CUBIN, "first", image).unwrap();
    second.add("user", USER).unwrap();
    assert_eq!(second.add("again", SEED), Err(INVALID_SOURCE));
    let (image, none, mut library) = (second.complete().unwrap(), std::ptr::null::<c_void>(), 0);
    cu!(cuLibraryLoadData(
        &mut library => *mut Handle, image.as_ptr() => *const u8, none => *const c_void, none => *const c_void,
        0 => c_uint, none => *const c_void, none => *const c_void, 0 => c_uint,
    ))
    .unwrap();
    let mut module = 0;
    cu!(cuLibraryGetModule(&mut module => *mut Handle, library => Handle)).unwrap();
    assert_eq!(stored(&driver, module, "use"), 42);
    cu!(cuLibraryUnload(library => Handle)).unwrap();
}

#[test]
fn what_cannot_be_linked_is_refused() {
    let _driver = Driver::new();
    let link = Link::new();
    assert_eq!(
        link.add("broken", ".visible .entry k() {"),
        Err(INVALID_PTX)
    );
    assert!(link.log().contains("line"), "{}", link.log());
    let newer = format!("{HEADER}{SEED}\0").replace("8.0", "9.9");
    assert_eq!(
        link.add_as(PTX, "newer", newer.as_bytes()),
        Err(UNSUPPORTED_PTX_VERSION)
    );
    let other = format!("{HEADER}{SEED}\0").replace("sm_70", "sm_100");
    assert_eq!(
        link.add_as(PTX, "other", other.as_bytes()),
        Err(NO_BINARY_FOR_GPU)
    );
    for (kind, expected) in [
        (CUBIN, NO_BINARY_FOR_GPU),
        (FAT_BINARY, NO_BINARY_FOR_GPU),
        (OBJECT, NOT_SUPPORTED),
        (99, INVALID_VALUE),
    ] {
        assert_eq!(
            link.add_as(kind, "binary", b"\x7fELF binary"),
            Err(expected),
            "kind {kind}"
        );
    }
    assert_eq!(link.add_as(PTX, "empty", &[]), Err(INVALID_VALUE));
    link.add("seed", SEED).unwrap();
    let image = link.complete().unwrap();
    assert_eq!(link.add("late", TRIPLE), Err(INVALID_VALUE));
    assert_eq!(link.complete().map(<[u8]>::as_ptr), Ok(image.as_ptr()));
}

#[test]
fn links_that_do_not_exist_are_refused() {
    let _driver = Driver::new();
    let link = Link::new();
    cu!(cuLinkDestroy(link.state => Handle)).unwrap();
    assert_eq!(link.add("seed", SEED), Err(INVALID_HANDLE));
    assert_eq!(link.complete(), Err(INVALID_HANDLE));
    assert_eq!(
        cu!(cuLinkDestroy(link.state => Handle)),
        Err(INVALID_HANDLE)
    );
    let none = std::ptr::null::<c_void>();
    let create = |count: c_uint, option: c_uint, out: *mut Handle| {
        let mut value = std::ptr::null_mut::<c_void>();
        cu!(cuLinkCreate_v2(
            count => c_uint, &option => *const c_uint, &mut value => *mut *mut c_void, out => *mut Handle,
        ))
    };
    let mut state = 0;
    assert_eq!(create(1, 5, std::ptr::null_mut()), Err(INVALID_VALUE));
    assert_eq!(create(1, 1000, &mut state), Err(INVALID_VALUE));
    cu!(cuCtxSetCurrent(none => *const c_void)).unwrap();
    assert_eq!(create(0, 0, &mut state), Err(INVALID_CONTEXT));
}

#[test]
fn a_log_holds_what_fits_into_its_buffer() {
    let _driver = Driver::new();
    let link = Link::with_log_of(16);
    link.add("user", USER).unwrap();
    assert_eq!(link.complete(), Err(UNKNOWN));
    assert_eq!(link.log(), "error   : Undef");
    assert_eq!(link.log[16..], [0xff; 184]);
}

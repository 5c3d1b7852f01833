//! Linking of PTX: `cuLink*`.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const NO_BINARY_FOR_GPU: Error = 209;
const UNSUPPORTED_PTX_VERSION: Error = 222;
const INVALID_SOURCE: Error = 300;
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

/// A link with an error log, whose address the driver uses until the link is destroyed.
struct LoggedLink {
    state: Handle,
    log: Box<[u8; 200]>,
    values: Box<[*mut c_void; 2]>,
}

impl LoggedLink {
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

impl Drop for LoggedLink {
    fn drop(&mut self) {
        let _ = cu!(cuLinkDestroy(self.state => Handle));
    }
}

#[test]
fn undefined_symbols_are_named_at_the_end() {
    let _driver = Driver::new();
    let link = LoggedLink::new();
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
    let _driver = Driver::new();
    let link = LoggedLink::new();
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
}

/// The image is PTX, which can be linked once more; that of a GPU's driver cannot.
#[test]
fn an_image_is_linked_with_further_texts() {
    let driver = Driver::new();
    let first = LoggedLink::new();
    first.add("seed", SEED).unwrap();
    first.add("triple", TRIPLE).unwrap();
    let second = LoggedLink::new();
    let image = first.complete().unwrap();
    second.add_as(CUBIN, "first", image).unwrap();
    second.add("user", USER).unwrap();
    assert_eq!(second.add("again", SEED), Err(INVALID_SOURCE));
    let image = second.complete().unwrap();
    let module = driver.module(std::str::from_utf8(image).unwrap().trim_end_matches('\0'));
    let function = driver.function(module.unwrap(), "use").unwrap();
    let to = driver.allocate(4).unwrap();
    driver.launch(function, 1, 1, LEGACY, &[&to]).unwrap();
    assert_eq!(driver.read(to, 4), 42_u32.to_ne_bytes());
}

#[test]
fn what_cannot_be_linked_is_refused() {
    let _driver = Driver::new();
    let link = LoggedLink::new();
    let text = |from: &str, to: &str| format!("{HEADER}{SEED}\0").replace(from, to).into_bytes();
    for (kind, data, expected) in [
        (PTX, text("8.0", "10.0"), UNSUPPORTED_PTX_VERSION),
        (PTX, text("sm_70", "sm_100"), NO_BINARY_FOR_GPU),
        (PTX, vec![], INVALID_VALUE),
        (CUBIN, b"\x7fELF binary".to_vec(), NO_BINARY_FOR_GPU),
        (FAT_BINARY, b"\x7fELF binary".to_vec(), NO_BINARY_FOR_GPU),
        (OBJECT, b"\x7fELF binary".to_vec(), NOT_SUPPORTED),
    ] {
        assert_eq!(
            link.add_as(kind, "refused", &data),
            Err(expected),
            "kind {kind}"
        );
    }
    link.add("seed", SEED).unwrap();
    let image = link.complete().unwrap();
    assert_eq!(link.add("late", TRIPLE), Err(INVALID_VALUE));
    assert_eq!(link.complete().map(<[u8]>::as_ptr), Ok(image.as_ptr()));
}

#[test]
fn a_log_holds_what_fits_into_its_buffer() {
    let _driver = Driver::new();
    let link = LoggedLink::with_log_of(16);
    link.add("user", USER).unwrap();
    assert_eq!(link.complete(), Err(UNKNOWN));
    assert_eq!(link.log(), "error   : Undef");
    assert_eq!(link.log[16..], [0xff; 184]);
}

//! The page about errors has every code that a call can return, and each of these codes has a call that returns it: here, in
//! `reasons`, or in a conformance rule.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_uint, c_void};
use std::fs;
use std::path::Path;

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const PAGE: &str = include_str!("../../../docs/software-gpu/errors.md");
const CODES: &str = include_str!("../../src/driver/c_abi/errors.rs");

/// The texts of all sources of this crate that can return a code.
fn sources(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, texts);
        } else if !path.ends_with("c_abi/errors.rs") {
            texts.push(fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// Whether `text` has `name` behind `::` as a whole word.
fn names(text: &str, name: &str) -> bool {
    let path = format!("::{name}");
    let mut places = text.match_indices(&path);
    places.any(|(at, _)| {
        let behind = text[at + path.len()..].chars().next();
        !behind.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

/// `NUMBER NAME` of each code that a source names.
fn returned() -> BTreeSet<String> {
    let mut texts = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut texts,
    );
    let declared = CODES.lines().filter_map(|line| {
        let (variant, rest) = line.strip_prefix("    ")?.split_once(" = ")?;
        let (number, rest) = rest.split_once(", \"")?;
        let (name, _) = rest.split_once('"')?;
        Some((variant, format!("{number} {name}")))
    });
    declared
        .filter(|(variant, _)| texts.iter().any(|text| names(text, variant)))
        .map(|(_, code)| code)
        .collect()
}

#[test]
fn the_page_has_the_codes_that_the_sources_name_and_no_others() {
    let rows = PAGE.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix("| ")?.split_once(" `")?;
        let (name, _) = rest.split_once('`')?;
        Some(format!("{number} {name}"))
    });
    let rows: Vec<String> = rows.collect();
    let numbers = rows.iter().map(|row| row.split(' ').next().unwrap_or(row));
    let numbers: Vec<u32> = numbers
        .map(|number| number.parse().expect(number))
        .collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let returned = returned();
    assert!(returned.len() > 40, "{returned:?}");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), returned);
}

#[test]
fn a_call_before_the_initialisation_is_refused() {
    if !child::is_this() {
        let test = "a_call_before_the_initialisation_is_refused";
        child::passes(module_path!(), test, &[]);
        return;
    }
    let mut count = 0;
    let called = cu!(cuDeviceGetCount(&mut count => *mut i32));
    assert_eq!(called, Err(3));
    let said = software_gpu::last_error().expect("a sentence");
    assert!(said.contains("call cuInit(0) first"), "{said}");
}

#[test]
fn a_context_with_some_of_the_multiprocessors_is_refused() {
    let _driver = Driver::new();
    let (mut context, parameters) = (0, [0_u8; 64]);
    let created = cu!(cuCtxCreate_v3(
        &mut context => *mut Handle, parameters.as_ptr() => *const u8, 1 => i32, 0 => c_uint, 0 => i32));
    assert_eq!(created, Err(224));
}

#[test]
fn a_picture_of_a_graph_that_cannot_be_written_is_an_error_of_the_system() {
    let _driver = Driver::new();
    let (mut graph, path) = (0, c"/nowhere/at/all/graph.dot");
    cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)).expect("cuGraphCreate");
    let written = cu!(cuGraphDebugDotPrint(
        graph => Handle, path.as_ptr() => *const c_char, 0 => c_uint));
    assert_eq!(written, Err(304));
}

#[test]
fn memory_is_registered_once_and_unregistered_where_it_begins() {
    let _driver = Driver::new();
    let memory = vec![0_u8; 3 * 4096];
    let start = memory.as_ptr();
    let register = |start: *const u8, bytes: usize| {
        cu!(cuMemHostRegister_v2(
            start.cast::<c_void>() => *const c_void, bytes => usize, 0 => c_uint))
    };
    let unregister =
        |start: *const u8| cu!(cuMemHostUnregister(start.cast::<c_void>() => *const c_void));
    register(start, 2 * 4096).expect("cuMemHostRegister");
    assert_eq!(register(start.wrapping_add(4096), 2 * 4096), Err(712));
    assert_eq!(unregister(start.wrapping_add(4096)), Err(713));
    unregister(start).expect("cuMemHostUnregister");
    assert_eq!(unregister(start), Err(713));
}

/// Kernels that end by a fault, and the code of each.
const FAULTS: [(&str, u32); 4] = [
    ("fails_assert", 710),
    ("nests_too_deep", 714),
    ("branches_beyond", 715),
    ("misaligned", 716),
];

const KERNELS: &str = ".version 6.0
.target sm_70
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 8 .b8 text[8] = {120, 0, 0, 0, 0, 0, 0, 0};
.visible .entry fails_assert() {
  .reg .b64 %t;
  mov.u64 %t, text; cvta.global.u64 %t, %t;
  {
    .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
    st.param.b64 [m], %t; st.param.b64 [f], %t; st.param.b32 [l], 7; st.param.b64 [n], %t; st.param.b64 [c], 1;
    call.uni __assertfail, (m, f, l, n, c);
  }
  ret;
}
.func deeper() { call.uni deeper; ret; }
.visible .entry nests_too_deep() { call.uni deeper; ret; }
.visible .entry branches_beyond() {
  .reg .u32 %i;
  mov.u32 %i, 9;
  targets: .branchtargets A, B;
  brx.idx %i, targets;
A: ret;
B: ret;
}
.visible .entry misaligned() {
  .reg .b64 %t; .reg .b32 %v;
  mov.u64 %t, text; add.s64 %t, %t, 1;
  ld.global.u32 %v, [%t]; st.global.u32 [%t], %v;
  ret;
}";

#[test]
fn each_fault_of_a_kernel_has_its_code_and_later_calls_return_it() {
    for (name, code) in FAULTS {
        let driver = Driver::new();
        let kernel = driver.kernel(KERNELS, name);
        driver.launch(kernel, 1, 1, 0, &[]).expect("starts");
        assert_eq!(driver.synchronize(), Err(code), "{name}");
        assert_eq!(driver.allocate(64), Err(code), "{name}: a later call");
    }
}

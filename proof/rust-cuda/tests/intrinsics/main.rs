//! Every function of `cuda_std::intrinsics` on the driver that `CUDA_DRIVER` names, the software GPU when it is not set: those that the host has, too, give its bits; those with a rounding
//! mode round as they say; and on the host those of `f32` are compared with those of `f64`.

mod harness;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Result;
use cuda_builder::{CudaBuilder, NvvmArch, Toolchain};
use cust::launch;
use cust::memory::{CopyDestination as _, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use harness::{Bits, IntrinsicArgument, Numbers};
use left_out::Missing;
use libcuda::Choice;

/// A function: its name, the types of its arguments and result as text, and itself.
struct IntrinsicCase {
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
    call: fn(&mut Numbers) -> u64,
}

macro_rules! functions {
    ($($module:ident { safe { $($safe:tt)* } unsafe { $($unsafe:tt)* } })*) => {
        $(functions! { @$module $($unsafe)* })*
    };
    (@intrinsics $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        const FUNCTIONS: &[IntrinsicCase] = &[$(IntrinsicCase {
            name: stringify!($name),
            arguments: &[$(stringify!($type)),*],
            result: stringify!($result),
            // SAFETY: pointers point to room for one value.
            call: |numbers| unsafe {
                let _ = &numbers;
                let result: $result = cuda_std::intrinsics::$name($(<$type>::take(numbers)),*);
                result.bits()
            },
        }),*];
    };
    (@$module:ident $($rest:tt)*) => {};
}

macro_rules! generic_functions {
    ($($rest:tt)*) => {};
}
use generic_functions as traits;
use generic_functions as atomics;

include!("../../upstream/src/signatures.rs");

/// Intrinsics that read a given number of values.
const OF_ARRAYS: [&str; 4] = ["norm", "normf", "rnorm", "rnormf"];

impl IntrinsicCase {
    /// Its instruction's rounding mode, if that is all there is: such a function does not compute on the host.
    fn rounding(&self) -> Option<&'static str> {
        let (of, mode) = self.name.rsplit_once('_')?;
        let rust = ["frsqrt", "int2double", "uint2double"];
        let is_mode = ["rn", "rd", "ru", "rz"].contains(&mode);
        (is_mode && !rust.contains(&of)).then_some(mode)
    }

    /// Approximations of the hardware, which the host does not have.
    fn is_approximate(&self) -> bool {
        self.name.starts_with("fast_")
    }

    fn value(&self, bits: u64) -> f64 {
        match self.result {
            "f32" => f32::from_bits(bits as u32).into(),
            "f64" => f64::from_bits(bits),
            "i32" => (bits as i32).into(),
            _ => bits as i64 as f64,
        }
    }
}

/// The calls of each function. Integers beside floats are small: they are orders and exponents.
fn calls(function: &IntrinsicCase) -> Vec<([f64; 4], [i64; 3])> {
    let with_floats = function.arguments.iter().any(|of| of.starts_with('f'));
    let integers = match with_floats {
        true => [[0, 1, 2], [3, 2, 1], [5, 0, 4], [2, 2, 2]],
        false => [
            [0x1234_5678_9abc_def0, -7, 0x0000_3201],
            [-3, 0x7fff_ffff_ffff_fff1, 0x7654],
            [0, i64::MIN, -1],
            [0x00c0_ffee, 0x0012_3456_789a_bcde, 3],
        ],
    };
    let floats = [
        [0.3, 0.7, 1.1, 0.9],
        [0.75, -0.2, 3.3, 0.9],
        [0.123_456_789, 2.5, -1.0 / 3.0, 0.9],
        [1.0 / 3.0, 0.1, 1e-3, 0.9],
        [-0.6, 1.7, 0.4, 0.9],
        [2.6, -1.9, 5.0, 0.9],
        [12.34, 0.5, -7.7, 0.9],
        [-2.5, -2.5, 2.0, 0.9],
    ];
    let pairs = floats.iter().zip(integers.iter().cycle());
    pairs
        .map(|(&floats, &integers)| (floats, integers))
        .collect()
}

/// The crate of one kernel that calls the function of a number.
fn source() -> String {
    let mut text = String::from(
        "#![no_std]\nuse cuda_std::intrinsics;\nuse cuda_std::prelude::*;\nmod harness;\nuse harness::*;\n\
         #[kernel]\npub unsafe fn call(which: u32, floats: &[[f64; 4]], integers: &[[i64; 3]], out: *mut [u64; 3]) {\n\
         let i = thread::index_1d() as usize;\nlet mut numbers = Numbers::new(floats[i], integers[i]);\n\
         let result = match which {\n",
    );
    for (number, function) in FUNCTIONS.iter().enumerate() {
        let arguments = function
            .arguments
            .iter()
            .map(|of| format!("<{of}>::take(&mut numbers)"));
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        writeln!(
            text,
            "{number} => unsafe {{ intrinsics::{}({arguments}).bits() }},",
            function.name
        )
        .unwrap();
    }
    text + "_ => 0,\n};\nunsafe { *out.add(i) = [result, numbers.stored[0], numbers.stored[1]] };\n}\n"
}

fn compile() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("calls");
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-cuda/cuda_std");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/lib.rs"), source()).unwrap();
    fs::write(folder.join("src/harness.rs"), include_str!("harness.rs")).unwrap();
    let manifest = format!(
        "[package]\nname = \"calls\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         cuda_std = {{ path = {cuda_std:?}, default-features = false }}\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(cuda_std.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let file = folder.join("calls.ptx");
    CudaBuilder::new(&folder)
        .arch(NvvmArch::Compute70)
        .fma_contraction(false)
        .copy_to(&file)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    fs::read_to_string(file).unwrap()
}

/// What the GPU gives for each function and call: the result, and what is stored through pointers.
fn results(ptx: &str) -> Result<Vec<Vec<[u64; 3]>>> {
    libcuda::select(Choice::from_environment_or(Choice::Software)?)?;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(ptx, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernel = module.get_function("call")?;
    let mut results = Vec::new();
    for (number, function) in FUNCTIONS.iter().enumerate() {
        if OF_ARRAYS.contains(&function.name) {
            results.push(Vec::new());
            continue;
        }
        let calls = calls(function);
        let floats: Vec<f64> = calls.iter().flat_map(|call| call.0).collect();
        let integers: Vec<i64> = calls.iter().flat_map(|call| call.1).collect();
        let (floats, integers) = (
            DeviceBuffer::from_slice(&floats)?,
            DeviceBuffer::from_slice(&integers)?,
        );
        let out = DeviceBuffer::from_slice(&vec![0_u64; 3 * calls.len()])?;
        let (n, which) = (calls.len(), number as u32);
        // SAFETY: the parameters are the kernel's; each thread has its numbers and a place for results.
        unsafe {
            launch!(kernel<<<1, n as u32, 0, stream>>>(
                which, floats.as_device_ptr(), n, integers.as_device_ptr(), n, out.as_device_ptr()
            ))?;
        }
        stream.synchronize()?;
        let mut words = vec![0_u64; 3 * n];
        out.copy_to(&mut words)?;
        results.push(
            words
                .chunks(3)
                .map(|words| [words[0], words[1], words[2]])
                .collect(),
        );
    }
    Ok(results)
}

/// Next to each other, or the same.
fn is_step(function: &IntrinsicCase, low: f64, high: f64) -> bool {
    match function.result {
        "f32" => high as f32 == low as f32 || high as f32 == (low as f32).next_up(),
        _ => high == low || high == low.next_up(),
    }
}

/// The four roundings of one operation: `rn` is the host's; the others are around it.
fn check_rounding(function: &IntrinsicCase, call: usize, results: &[Vec<[u64; 3]>]) {
    let (of, _) = function.name.rsplit_once('_').unwrap();
    let get = |mode| {
        let name = format!("{of}_{mode}");
        let at = FUNCTIONS.iter().position(|other| other.name == name);
        at.map(|at| function.value(results[at][call][0]))
    };
    let Some([nearest, down, up, zero]) = Some(["rn", "rd", "ru", "rz"].map(get))
        .filter(|all| all.iter().all(Option::is_some))
        .map(|all| all.map(Option::unwrap))
    else {
        return; // `float2half_rn`
    };
    if nearest.is_nan() {
        assert!(down.is_nan() && up.is_nan() && zero.is_nan(), "{of}");
        return;
    }
    let ([x, y, z, _], integers) = calls(function)[call];
    let exact = |value: f64| match of.split_once('2') {
        Some((_, "int" | "ll")) => Some([
            value.round_ties_even(),
            value.floor(),
            value.ceil(),
            value.trunc(),
        ]),
        Some((_, "uint" | "ull")) if value >= 0.0 => Some([
            value.round_ties_even(),
            value.floor(),
            value.ceil(),
            value.trunc(),
        ]),
        _ => None,
    };
    let argument = if of.starts_with("float2") {
        f64::from(x as f32)
    } else {
        x
    };
    if function.result.starts_with('i') {
        if let Some(expected) = exact(argument) {
            assert_eq!([nearest, down, up, zero], expected, "{of} of {argument}");
        }
        return;
    }
    let host = match of {
        "dadd" => x + y,
        "dsub" => x - y,
        "dmul" => x * y,
        "ddiv" => x / y,
        "drcp" => 1.0 / x,
        "dsqrt" => x.sqrt(),
        "fma" => x.mul_add(y, z),
        "double2float" => (x as f32).into(),
        "int2float" => (integers[0] as i32 as f32).into(),
        "uint2float" => (integers[0] as u32 as f32).into(),
        "ll2float" => (integers[0] as f32).into(),
        "ull2float" => (integers[0] as u64 as f32).into(),
        "ll2double" => integers[0] as f64,
        "ull2double" => integers[0] as u64 as f64,
        _ => {
            let [x, y, z] = [x as f32, y as f32, z as f32];
            f64::from(match of {
                "fadd" => x + y,
                "fsub" => x - y,
                "fmul" => x * y,
                "fdiv" => x / y,
                "frcp" => 1.0 / x,
                "fsqrt" => x.sqrt(),
                "fmaf" | "fmaf_ieee" => x.mul_add(y, z),
                _ => panic!("what is {of}?"),
            })
        }
    };
    assert_eq!(nearest, host, "{of}_rn, call {call}");
    assert!(
        down <= nearest && nearest <= up && is_step(function, down, up),
        "{of}: {down} {nearest} {up}"
    );
    assert_eq!(zero, if nearest < 0.0 { up } else { down }, "{of}_rz");
}

#[test]
fn all_functions_compute_on_the_gpu() -> Result<()> {
    if Toolchain::find().is_err() {
        left_out::note(Missing::DeviceToolchain);
        return Ok(());
    }
    // In the target folder: `core` is compiled once for all tests.
    // SAFETY: the only test of this program that reads the environment.
    unsafe { std::env::set_var("OUT_DIR", env!("CARGO_TARGET_TMPDIR")) };
    let results = results(&compile())?;
    for (function, found) in FUNCTIONS.iter().zip(&results) {
        for (call, &[result, first, second]) in found.iter().enumerate() {
            let (floats, integers) = calls(function)[call];
            if function.rounding().is_some() {
                check_rounding(function, call, &results);
                continue;
            }
            if function.name == "half2float" {
                continue; // also an instruction
            }
            let mut numbers = Numbers::new(floats, integers);
            let expected = (function.call)(&mut numbers);
            let (found, host) = (function.value(result), function.value(expected));
            let same = match function.is_approximate() {
                true => {
                    (found - host).abs() <= 1e-5 * host.abs().max(1.0)
                        || found.is_nan() && host.is_nan()
                }
                false => {
                    result == expected && [first, second] == numbers.stored
                        || found.is_nan() && host.is_nan()
                }
            };
            assert!(
                same,
                "{} of {floats:?}, {integers:?}: {found}, {host} on the host",
                function.name
            );
        }
    }
    Ok(())
}

/// Error from `f32` to `f64`, in units of the last place.
#[test]
fn functions_of_f32_are_near_those_of_f64() {
    let mut worst: Vec<(&str, f64)> = Vec::new();
    for function in FUNCTIONS {
        let Some(wide) = function.name.strip_suffix('f') else {
            continue;
        };
        let Some(wide) = FUNCTIONS.iter().find(|other| other.name == wide) else {
            continue;
        };
        let floats = function.arguments.iter().all(|of| *of == "f32") && function.result == "f32";
        if !floats || OF_ARRAYS.contains(&wide.name) {
            continue;
        }
        let mut error = 0.0_f64;
        for step in 0..2000 {
            let x = f64::from((step as f32 - 1000.0) * 0.0073);
            let numbers =
                || Numbers::new([x, 0.7_f32.into(), 1.3_f32.into(), 2.1_f32.into()], [0; 3]);
            let found = function.value((function.call)(&mut numbers()));
            let expected = wide.value((wide.call)(&mut numbers()));
            if expected.is_finite() && (expected.abs() as f32).is_normal() {
                let unit = f64::from((expected.abs() as f32).next_up() - expected.abs() as f32);
                error = error.max((found - expected).abs() / unit);
            }
        }
        worst.push((function.name, error));
    }
    assert!(worst.len() > 60, "{}", worst.len());
    let allowed = |name: &str| match name {
        "erfcf" | "exp10f" => 3.0,
        "coshf" | "sinhf" | "tanhf" | "acoshf" | "asinhf" | "atanhf" | "powf" | "tanf" => 2.0,
        "rcbrtf" | "rsqrtf" => 1.5,
        "tgammaf" => 10.0,
        // Near their zeros.
        "lgammaf" => 100.0,
        "j0f" | "j1f" | "y0f" | "y1f" => 1e5,
        _ => 1.0,
    };
    let beyond: Vec<_> = worst
        .iter()
        .filter(|(name, error)| *error > allowed(name))
        .collect();
    assert!(beyond.is_empty(), "{beyond:?}");
}

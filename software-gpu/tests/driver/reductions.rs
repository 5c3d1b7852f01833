//! The classic reductions, compiled by nvcc: one pass after the other without the host in between, until one sum is left.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const REDUCTIONS: &str = include_str!("../reductions/reductions.ptx");

/// Elements: none of a block's, one more and one less than a warp and a block, and many blocks.
const COUNTS: [u32; 7] = [1, 2, 31, 33, 257, 4096, 65_537];
/// Blocks of the kernels whose threads add many elements.
const MOST_BLOCKS: u32 = 64;

/// A type of elements whose sums are exact here.
trait Element: Copy + PartialEq + std::fmt::Debug {
    const NAME: &'static str;
    fn of(value: i32) -> Self;
    fn bytes(self) -> [u8; 8];
}

macro_rules! elements {
    ($($kind:ident $name:literal;)*) => {$(
        impl Element for $kind {
            const NAME: &'static str = $name;

            fn of(value: i32) -> Self {
                value as $kind
            }

            fn bytes(self) -> [u8; 8] {
                let mut bytes = [0; 8];
                bytes[..size_of::<Self>()].copy_from_slice(&self.to_ne_bytes());
                bytes
            }
        }
    )*};
}

elements! {
    i32 "int";
    f32 "float";
    f64 "double";
}

/// Whole numbers of both signs, no two neighbours equal, whose sums every type holds exactly.
fn value(index: u32) -> i32 {
    (index.wrapping_mul(2_654_435_761) >> 25) as i32 - 60
}

/// The kernel and its launch parameters.
#[derive(Clone, Copy, Debug)]
struct ReductionKernel {
    number: u32,
    threads: u32,
}

impl ReductionKernel {
    fn name<T: Element>(self) -> String {
        match self.number {
            5 | 6 => format!("reduce{}_{}_{}", self.number, T::NAME, self.threads),
            number => format!("reduce{number}_{}", T::NAME),
        }
    }

    /// Blocks that sum up `count` elements.
    fn blocks(self, count: u32) -> u32 {
        let per_thread = if matches!(self.number, 3..=6 | 9) {
            2
        } else {
            1
        };
        let blocks = count.div_ceil(self.threads * per_thread);
        if (6..=8).contains(&self.number) {
            blocks.min(MOST_BLOCKS)
        } else {
            blocks
        }
    }
}

/// Sums up on the device: launches and copies in one stream, then one wait.
fn sum_on_device<T: Element>(
    driver: &Driver,
    module: Handle,
    variant: ReductionKernel,
    count: u32,
) -> [u8; 8] {
    let bytes = size_of::<T>();
    let function = driver.function(module, &variant.name::<T>()).unwrap();
    let (input, host) = (
        driver.allocate(count as usize * bytes).unwrap(),
        driver.pinned(count as usize * bytes),
    );
    for index in 0..count {
        let element = T::of(value(index)).bytes();
        for (at, byte) in element[..bytes].iter().enumerate() {
            // SAFETY: `at` checks the offset, and nothing runs on the device.
            unsafe { host.at(index as usize * bytes + at).write(*byte) };
        }
    }
    let stream = driver.stream(NON_BLOCKING);
    driver
        .to_device(input, host.pointer(), count as usize * bytes, stream)
        .unwrap();
    let sums = driver
        .allocate(variant.blocks(count) as usize * bytes)
        .unwrap();
    // The sums of a pass are copied here before the next pass, which writes where they were.
    let between = driver
        .allocate(variant.blocks(count) as usize * bytes)
        .unwrap();
    let (mut from, mut left) = (input, count);
    loop {
        let blocks = variant.blocks(left);
        let shared = variant.threads.max(32) * bytes as u32;
        let arguments: [&dyn LaunchArgument; 3] = [&from, &sums, &left];
        driver
            .launch_shaped(
                function,
                [blocks, 1, 1],
                [variant.threads, 1, 1],
                shared,
                stream,
                &arguments,
            )
            .unwrap();
        left = blocks;
        if left == 1 {
            break;
        }
        cu!(cuMemcpyDtoDAsync_v2(
            between => u64, sums => u64, left as usize * bytes => usize, stream => Handle
        ))
        .unwrap();
        from = between;
    }
    driver.to_host(host.pointer(), sums, bytes, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    let mut sum = [0; 8];
    sum[..bytes].copy_from_slice(&host.bytes()[..bytes]);
    for memory in [input, sums, between] {
        cu!(cuMemFree_v2(memory => u64)).unwrap();
    }
    sum
}

fn check<T: Element>(numbers: &[u32], sizes: &[u32]) {
    let driver = Driver::new();
    let module = driver.module(REDUCTIONS).unwrap();
    for number in numbers {
        for threads in sizes {
            let variant = ReductionKernel {
                number: *number,
                threads: *threads,
            };
            for count in COUNTS {
                // A pass of one thread for each sum never ends.
                if variant.blocks(2) > 1 || u64::from(count) > u64::from(*threads) * 4096 {
                    continue;
                }
                let expected = T::of((0..count).map(value).sum());
                let came = sum_on_device::<T>(&driver, module, variant, count);
                assert_eq!(came, expected.bytes(), "{variant:?} of {count} {}", T::NAME);
            }
        }
    }
}

#[test]
fn sums_of_integers() {
    check::<i32>(&[0, 1, 2, 3, 4, 7], &[1, 16, 32, 256, 1024]);
    check::<i32>(&[5, 6], &[1, 8, 32, 64, 256, 1024]);
    check::<i32>(&[8], &[32, 96, 512]);
    check::<i32>(&[9], &[64, 256]);
}

#[test]
fn sums_of_single_precision() {
    check::<f32>(&[0, 1, 2, 3, 4, 7], &[8, 256]);
    check::<f32>(&[5, 6], &[256]);
    check::<f32>(&[8], &[64, 512]);
}

#[test]
fn sums_of_double_precision() {
    check::<f64>(&[0, 1, 2, 3, 4, 7], &[128]);
    check::<f64>(&[5, 6], &[256]);
}

/// All kernels of the module can be launched.
#[test]
fn no_kernel_is_refused() {
    let driver = Driver::new();
    let module = driver.module(REDUCTIONS).unwrap();
    let mut count = 0 as c_uint;
    cu!(cuModuleGetFunctionCount(&mut count => *mut c_uint, module => Handle)).unwrap();
    let mut functions = vec![0; count as usize];
    cu!(cuModuleEnumerateFunctions(functions.as_mut_ptr() => *mut Handle, count => c_uint, module => Handle)).unwrap();
    assert!(functions.len() > 30);
    for function in functions {
        let mut registers = 0;
        cu!(cuFuncGetAttribute(&mut registers => *mut c_int, 4 => c_uint, function => Handle))
            .unwrap();
        assert!(registers > 0);
    }
}

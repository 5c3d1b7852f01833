//! Launches, on the software GPU: where they run, what they are given, and what is refused.

use examples_host::device::Device;
use examples_host::prelude::*;
use libcuda::Choice;
use std::sync::{Mutex, MutexGuard, PoisonError};

kernels! {
    unsafe struct Kernels {
        fn affine(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine;
        fn fma_chain(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_chain;
    }
}

/// Copies of this many elements take long enough for the host and other streams to get ahead of them.
const LEN: usize = 256 * 1024;
const GRID: Grid = Grid::new(LEN as u32 / 256, 256);

struct Bench {
    device: Device,
    kernels: Kernels,
    input: HostBuffer<f32>,
    output: HostBuffer<f32>,
    _alone: MutexGuard<'static, ()>,
}

/// One test at a time: the modelled host then has one thread, and recordings do not mix.
static ALONE: Mutex<()> = Mutex::new(());

impl Bench {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Device::open(Choice::Software).unwrap();
        let mut input = HostBuffer::page_locked(&device, LEN).unwrap();
        Seed::new(7).fill_f32(0, input.write().unwrap());
        let mut output = HostBuffer::page_locked(&device, LEN).unwrap();
        output.poison().unwrap();
        let kernels = Kernels::load(&device, gpu_kernels::SM_70).unwrap();
        Self {
            device,
            kernels,
            input,
            output,
            _alone: alone,
        }
    }

    fn stream(&self, name: &str) -> Stream {
        Stream::non_blocking(&self.device, name).unwrap()
    }
}

/// What `affine(2, 1)` makes of the input.
fn affine(index: usize) -> f32 {
    Seed::new(7).f32(index).mul_add(2.0, 1.0)
}

#[test]
fn handing_a_buffer_on_orders_three_streams() {
    let mut bench = Bench::new();
    let [h, k, d] = ["copy in", "compute", "copy out"].map(|name| bench.stream(name));
    let mut data = DeviceBuffer::new(&h, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    data.hand_to(&k).unwrap();
    bench.kernels.affine(GRID, &mut data, 2.0, 1.0).unwrap();
    data.hand_to(&d).unwrap();
    data.copy_to(&mut bench.output).unwrap();
    check::equal("output", 0, bench.output.read().unwrap(), affine).unwrap();
}

#[test]
fn the_missing_event_computes_with_stale_data_and_does_so_every_time() {
    let run = || {
        let mut bench = Bench::new();
        let [h, k] = ["copy in", "compute"].map(|name| bench.stream(name));
        let mut data = DeviceBuffer::new(&h, LEN).unwrap();
        data.fill_bytes(0).unwrap();
        h.synchronize().unwrap();
        data.copy_from(&bench.input).unwrap();
        // SAFETY: this is the bug, and stale bytes are numbers too.
        unsafe { data.assume_ordered_on(&k) };
        bench.kernels.affine(GRID, &mut data, 2.0, 1.0).unwrap();
        data.copy_to(&mut bench.output).unwrap();
        bench.output.read().unwrap().to_vec()
    };
    let stale = run();
    assert!(check::equal("output", 0, &stale, affine).is_err());
    // Bits, not values: the same NaNs are the same.
    let bits = |values: &[f32]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    assert!(bits(&run()) == bits(&stale), "another run gives other data");
}

#[test]
fn a_launch_takes_its_stream_from_its_buffers_and_they_must_agree() {
    let bench = Bench::new();
    let [a, b] = ["a", "b"].map(|name| bench.stream(name));
    let mut input = DeviceBuffer::<f32>::new(&a, 1024).unwrap();
    input.fill_bytes(0).unwrap();
    let mut output = DeviceBuffer::<f32>::new(&b, 1024).unwrap();
    let grid = Grid::cover(1024, 256);
    let error = bench
        .kernels
        .fma_chain(grid, &input, &mut output, 1)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel fma_chain: argument 2 belongs to stream b, the arguments before it to stream a: \
         hand it over first (`hand_to`)"
    );
    output.hand_to(&a).unwrap();
    bench
        .kernels
        .fma_chain(grid, &input, &mut output, 1)
        .unwrap();
    let mut host = HostBuffer::page_locked(&bench.device, 1024).unwrap();
    output.copy_to(&mut host).unwrap();
    check::equal("output", 0, host.read().unwrap(), |_| gpu_kernels::SUMMAND).unwrap();
}

#[test]
fn impossible_shapes_are_refused_by_name() {
    let bench = Bench::new();
    let stream = bench.stream("s");
    let mut data = DeviceBuffer::<f32>::new(&stream, 16).unwrap();
    let mut refused = |grid| {
        bench
            .kernels
            .affine(grid, &mut data, 1.0, 0.0)
            .unwrap_err()
            .to_string()
    };
    assert!(refused(Grid::new(0, 256)).starts_with("kernel affine: the grid's extent is 0"));
    assert!(refused(Grid::new(1, 0)).starts_with("kernel affine: the block's extent is 0"));
    assert!(
        refused(Grid::new(1, 1_000_000))
            .starts_with("kernel affine: the block's extent is 1000000")
    );
    assert!(
        refused(Grid::cover(usize::MAX, 1))
            .starts_with("kernel affine: the grid's extent is 4294967295")
    );
}

#[test]
fn a_module_that_does_not_compile_says_why() {
    let bench = Bench::new();
    let error = Kernels::load(&bench.device, "no PTX").err().unwrap();
    assert!(matches!(error, Error::Module { .. }), "{error}");
    let error = Kernels::load(
        &bench.device,
        ".version 6.0\n.target sm_70\n.address_size 64\n",
    )
    .err()
    .unwrap();
    assert_eq!(error.to_string(), "the module has no kernel named affine");
}

#[test]
fn what_is_enqueued_is_counted() {
    use examples_host::tally::{Work, enqueued};
    let mut bench = Bench::new();
    let stream = bench.stream("s");
    let before = enqueued();
    let mut data = DeviceBuffer::new(&stream, LEN).unwrap();
    data.copy_from(&bench.input).unwrap();
    bench.kernels.affine(GRID, &mut data, 2.0, 1.0).unwrap();
    data.copy_to(&mut bench.output).unwrap();
    let bytes = (LEN * size_of::<f32>()) as u64;
    let expected = Work {
        bytes_in: bytes,
        bytes_out: bytes,
        launches: 1,
        threads: LEN.next_multiple_of(256) as u64,
    };
    assert_eq!(enqueued() - before, expected);
    let before = enqueued();
    host_clock::threads(&bench.device, 3, |thread| {
        let stream = Stream::per_thread(&bench.device, format!("thread {thread}"))?;
        let mut data = DeviceBuffer::<f32>::new(&stream, 256)?;
        data.fill_bytes(0)?;
        bench.kernels.affine(Grid::new(1, 256), &mut data, 1.0, 1.0)
    })
    .unwrap();
    assert_eq!(
        enqueued() - before,
        Work {
            launches: 3,
            threads: 768,
            ..Work::default()
        }
    );
}

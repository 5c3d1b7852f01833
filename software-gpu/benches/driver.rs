//! What a call of the driver costs the real host: the overhead of the simulation around a program's own work.

#[path = "../tests/driver_support/mod.rs"]
mod driver_support;

use std::ffi::c_uint;

use divan::Bencher;
use driver_support::*;
use software_gpu::driver::entry_point;

fn main() {
    divan::main();
}

/// A call that submits nothing.
#[divan::bench]
fn query_event(bencher: Bencher) {
    let driver = Driver::new();
    let event = driver.event();
    bencher.bench_local(|| driver.event_query(event));
}

/// Every thread adds to a counter of its own; the first one continues for a while.
const COUNTING: &str = ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry counting(.param .u64 counters, .param .u32 rounds)
{
.reg .b64 %to; .reg .b32 %at, %block, %left; .reg .pred %more, %others;
ld.param.u64 %to, [counters]; ld.param.u32 %left, [rounds];
mov.u32 %block, %ctaid.x; mov.u32 %at, %tid.x; mad.lo.u32 %at, %block, 256, %at;
mad.wide.u32 %to, %at, 4, %to;
red.global.add.u32 [%to], 1;
setp.ne.u32 %others, %at, 0; @%others ret;
AGAIN: sub.u32 %left, %left, 1; setp.ne.u32 %more, %left, 0; @%more bra AGAIN;
ret;
}";

/// Ten short kernels beside a long one that has added to `counters` counters in page-locked memory. The host may look at these between
/// two launches, and must not see what has not ended.
#[divan::bench(args = [256, 4_096, 65_536], sample_count = 20)]
fn launches_beside_counters_of_the_host(bencher: Bencher, counters: usize) {
    let driver = Driver::new();
    let module = driver.module(COUNTING).unwrap();
    let kernel = driver.function(module, "counting").unwrap();
    let (host, own) = (driver.pinned(4 * counters), driver.allocate(1024).unwrap());
    host.fill(0);
    driver.fill(own, 0, 1024);
    let (long, short) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let launch = |blocks: usize, counters: Address, rounds: u32, stream| {
        driver
            .launch(kernel, blocks as u32, 256, stream, &[&counters, &rounds])
            .unwrap();
    };
    let launch_short = || {
        launch(1, own, 1, short);
        driver.stream_synchronize(short).unwrap();
    };
    bencher
        .with_inputs(|| {
            driver.synchronize().unwrap();
            launch(counters / 256, host.pointer() as Address, 1_000_000, long);
            launch_short();
        })
        .bench_local_values(|()| {
            (0..10).for_each(|_| launch_short());
            assert!(
                driver.stream_query(long).is_err(),
                "the long kernel has ended"
            );
        });
}

/// Two small copies in two streams, ordered by an event, and a wait for the second.
#[divan::bench]
fn copy_event_copy(bencher: Bencher) {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(4096).unwrap(), driver.pinned(4096));
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let event = driver.event();
    bencher.bench_local(|| {
        driver.to_device(data, host.pointer(), 4096, a).unwrap();
        driver.record(event, a).unwrap();
        driver.wait(b, event).unwrap();
        driver.to_host(host.pointer(), data, 4096, b).unwrap();
        driver.stream_synchronize(b).unwrap();
    });
}

/// A copy of 16 MiB to the device: the memory's own speed, if nothing is copied twice.
#[divan::bench]
fn copy_16_mib(bencher: Bencher) {
    let driver = Driver::new();
    let bytes = 16 * MIB;
    let (data, host) = (driver.allocate(bytes).unwrap(), driver.pinned(bytes));
    host.fill(1);
    let copy = || {
        driver
            .to_device(data, host.pointer(), bytes, LEGACY)
            .unwrap();
        driver.synchronize().unwrap();
    };
    copy();
    bencher
        .counter(divan::counter::BytesCount::new(bytes))
        .bench_local(copy);
}

/// Streams that are made for one memset each and destroyed at once: the time for each must not depend on their number.
///
/// With `SOFTWARE_GPU_RACES=off` this and the next show what the checker adds.
#[divan::bench(args = [1_000, 10_000, 40_000], sample_count = 3)]
fn a_stream_for_each_operation(bencher: Bencher, streams: usize) {
    let driver = Driver::new();
    let data = driver.allocate(streams).unwrap();
    bencher
        .counter(divan::counter::ItemsCount::new(streams))
        .bench_local(|| {
            for index in 0..streams {
                let stream = driver.stream(NON_BLOCKING);
                driver.set(data + index as u64, 1, 1, stream).unwrap();
                cu!(cuStreamDestroy_v2(stream => Handle)).unwrap();
            }
            driver.synchronize().unwrap();
        });
}

/// Streams that each wait for a value of their own, which one stream then writes.
#[divan::bench(args = [100, 1_000, 4_000, 16_000], sample_count = 3)]
fn a_value_for_each_stream(bencher: Bencher, streams: usize) {
    let driver = Driver::new();
    let flags = driver.allocate(4 * streams).unwrap();
    values_for_streams(bencher, &driver, flags, streams);
}

/// The same with values in page-locked memory, which the host could write at any time.
#[divan::bench(args = [100, 1_000], sample_count = 3)]
fn a_page_locked_value_for_each_stream(bencher: Bencher, streams: usize) {
    let driver = Driver::new();
    let flags = driver.pinned(4 * streams);
    values_for_streams(bencher, &driver, flags.pointer() as Address, streams);
}

fn values_for_streams(bencher: Bencher, driver: &Driver, flags: Address, streams: usize) {
    let writer = driver.stream(NON_BLOCKING);
    let waiting: Vec<_> = (0..streams).map(|_| driver.stream(NON_BLOCKING)).collect();
    bencher
        .counter(divan::counter::ItemsCount::new(streams))
        .bench_local(|| {
            driver.set(flags, 0, 4 * streams, writer).unwrap();
            driver.synchronize().unwrap();
            let flag = |index: usize| flags + 4 * index as Address;
            for (index, stream) in waiting.iter().enumerate() {
                cu!(cuStreamWaitValue32_v2(
                    *stream => Handle, flag(index) => Address, 1 => u32, 1 => c_uint,
                ))
                .unwrap();
            }
            for index in 0..streams {
                cu!(cuStreamWriteValue32_v2(
                    writer => Handle, flag(index) => Address, 1 => u32, 0 => c_uint,
                ))
                .unwrap();
            }
            driver.synchronize().unwrap();
        });
}

/// Memsets of every second word of new memory, so that what was never written is in as many pieces.
#[divan::bench(args = [100, 1_000, 10_000], sample_count = 3)]
fn pieces_never_written(bencher: Bencher, pieces: usize) {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    bencher
        .counter(divan::counter::ItemsCount::new(pieces))
        .bench_local(|| {
            let data = driver.allocate(8 * pieces).unwrap();
            for piece in 0..pieces {
                let word = data + 8 * piece as Address;
                driver.set(word, 1, 4, stream).unwrap();
            }
            driver.stream_synchronize(stream).unwrap();
            cu!(cuMemFree_v2(data => Address)).unwrap();
        });
}

/// Allocations that stay, of a pool and of `cuMemAlloc`.
#[divan::bench(args = [100, 1_000, 10_000], sample_count = 3)]
fn live_allocations(bencher: Bencher, count: usize) {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    bencher
        .counter(divan::counter::ItemsCount::new(2 * count))
        .bench_local(|| {
            let mut live: Vec<[Address; 2]> = Vec::new();
            for _ in 0..count {
                let mut pooled: Address = 0;
                cu!(cuMemAllocAsync(&mut pooled => *mut Address, 256 => usize, stream => Handle))
                    .unwrap();
                live.push([pooled, driver.allocate(256).unwrap()]);
            }
            for [pooled, own] in live {
                cu!(cuMemFreeAsync(pooled => Address, stream => Handle)).unwrap();
                cu!(cuMemFree_v2(own => Address)).unwrap();
            }
        });
}

const SCATTERED: &str = "
.version 6.0
.target sm_70
.address_size 64
.visible .entry scattered(.param .u64 to)
{
    .reg .b64 %to, %offset; .reg .b32 %t, %b;
    ld.param.u64 %to, [to];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; shl.b32 %b, %b, 8; add.u32 %t, %t, %b;
    mul.wide.u32 %offset, %t, 64; add.s64 %to, %to, %offset;
    st.global.u32 [%to], %t;
    ret;
}";

/// A kernel of 4096 threads, each of which stores 4 bytes into a line of its own.
#[divan::bench]
fn scattered_stores(bencher: Bencher) {
    let driver = Driver::new();
    let module = driver.module(SCATTERED).unwrap();
    let kernel = driver.function(module, "scattered").unwrap();
    let (data, stream) = (
        driver.allocate(4096 * 64).unwrap(),
        driver.stream(NON_BLOCKING),
    );
    bencher.bench_local(|| {
        driver.launch(kernel, 16, 256, stream, &[&data]).unwrap();
        driver.stream_synchronize(stream).unwrap();
    });
}

/// What an allocator's example does most: an allocation and a free in stream order, and a launch between them.
#[divan::bench]
fn allocate_launch_free(bencher: Bencher) {
    let driver = Driver::new();
    let module = driver
        .module(include_str!("../tests/driver_support/kernels.ptx"))
        .unwrap();
    let kernel = driver.function(module, "store_after").unwrap();
    let stream = driver.stream(NON_BLOCKING);
    bencher.bench_local(|| {
        let mut memory: Address = 0;
        cu!(cuMemAllocAsync(&mut memory => *mut Address, 4096 => usize, stream => Handle)).unwrap();
        driver
            .launch(kernel, 1, 32, stream, &[&memory, &1_u32, &1_u32])
            .unwrap();
        cu!(cuMemFreeAsync(memory => Address, stream => Handle)).unwrap();
        driver.stream_synchronize(stream).unwrap();
    });
}

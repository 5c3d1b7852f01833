//! The cost of calls by the driver's work for them, and the time at which the host observes a completion.

use std::time::Duration;

use crate::driver_support::*;
use crate::pool_support::{Pool, Properties, RELEASE_THRESHOLD, create};
use software_gpu::driver::entry_point;
use software_gpu::host;
use software_gpu::timeline::Profile;
use software_gpu::timeline::profile::Host;

fn figures() -> Host {
    Profile::h200().host
}

/// The host's time that `body` takes, in µs.
fn micros(body: impl FnOnce()) -> f64 {
    let start = host::now();
    body();
    (host::now() - start).as_secs_f64() * 1e6
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 0.15 + 0.01 * expected
}

fn free(address: Address) {
    cu!(cuMemFree_v2(address => Address)).expect("cuMemFree");
}

/// The additional time of `cuMemFree`, in µs.
const OTHER: f64 = 0.1;

fn pair(driver: &Driver, bytes: usize) -> f64 {
    micros(|| free(driver.allocate(bytes).expect("fits")))
}

#[test]
fn a_small_allocation_alone_costs_a_chunk_and_beside_another_little() {
    let driver = Driver::new();
    let host = figures();
    let chunk = host.allocation_us.value + 2.0 * host.allocation_us_per_mib.value;
    for bytes in [4096, MIB] {
        let alone = pair(&driver, bytes);
        assert!(near(alone, chunk + OTHER), "{alone}");
    }
    let kept = driver.allocate(4096).expect("fits");
    let beside = pair(&driver, 64 << 10);
    assert!(
        near(beside, host.allocation_cached_us.value + OTHER),
        "{beside}"
    );
    let large = pair(&driver, 64 * MIB);
    let expected = host.allocation_us.value + 64.0 * host.allocation_us_per_mib.value;
    assert!(near(large, expected + OTHER), "{large}");
    free(kept);
}

struct CostTest {
    driver: Driver,
    pool: Pool,
}

impl CostTest {
    fn new(threshold: u64) -> Self {
        let driver = Driver::new();
        let pool = create(&Properties::device()).expect("cuMemPoolCreate");
        pool.set(RELEASE_THRESHOLD, threshold)
            .expect("cuMemPoolSetAttribute");
        Self { driver, pool }
    }

    /// An allocation and its free.
    fn pair(&self, bytes: usize, stream: Handle) {
        let address = self.pool.allocate(bytes, stream).expect("fits");
        cu!(cuMemFreeAsync(address => Address, stream => Handle)).expect("cuMemFreeAsync");
    }

    fn synchronize(&self, stream: Handle) {
        cu!(cuStreamSynchronize(stream => Handle)).expect("cuStreamSynchronize");
    }
}

#[test]
fn a_pool_pays_for_growing_and_for_giving_back() {
    let host = figures();
    let growth = |mib: f64| host.pool_growth_us.value + mib * host.pool_growth_us_per_mib.value;
    let calls = host.pool_allocation_us.value + host.synchronize_us.value;
    let scene = CostTest::new(0);
    let stream = scene.driver.stream(NON_BLOCKING);
    for (bytes, mib) in [(4096, 32.0), (64 * MIB, 64.0)] {
        for _ in 0..2 {
            let time = micros(|| {
                scene.pair(bytes, stream);
                scene.synchronize(stream);
            });
            assert!(near(time, growth(mib) + calls), "{time}");
        }
    }
    drop(scene);
    let scene = CostTest::new(u64::MAX);
    let stream = scene.driver.stream(NON_BLOCKING);
    scene.pair(4096, stream);
    scene.synchronize(stream);
    let time = micros(|| {
        scene.pair(4096, stream);
        scene.synchronize(stream);
    });
    assert!(
        near(time, calls),
        "a wait for nothing on the device: {time}"
    );
}

#[test]
fn a_pool_that_streams_share_looks_how_far_they_have_come() {
    let host = figures();
    let scene = CostTest::new(u64::MAX);
    let [one, other] = [NON_BLOCKING; 2].map(|flags| scene.driver.stream(flags));
    scene.pair(4096, one);
    let own = micros(|| scene.pair(4096, one));
    assert!(near(own, host.pool_allocation_us.value), "{own}");
    let searched = host.pool_allocation_us.value + host.pool_search_us.value;
    for stream in [other, one, other] {
        let crossing = micros(|| scene.pair(4096, stream));
        assert!(near(crossing, searched), "{crossing}");
    }
    // The driver knows the operations that the host has waited for.
    scene.driver.synchronize().expect("idle");
    let known = micros(|| scene.pair(4096, one));
    assert!(near(known, host.pool_allocation_us.value), "{known}");
}

#[test]
fn a_query_learns_of_an_end_when_the_news_has_come() {
    let driver = Driver::new();
    let host = figures();
    let stream = driver.stream(NON_BLOCKING);
    let event = driver.event_with(DISABLE_TIMING).expect("cuEventCreate");
    driver.record(event, stream).expect("cuEventRecord");
    let reached = || cu!(cuEventQuery(event => Handle));
    let time = micros(|| while reached() == Err(NOT_READY) {});
    let least = 1.0 + host.notice_us.value;
    assert!(
        time >= least && time < least + 2.0 * host.query_us.value,
        "{time}"
    );
    assert_eq!(cu!(cuStreamQuery(stream => Handle)), Ok(()));
}

#[test]
fn what_a_wait_has_seen_a_query_sees() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    for idle in [0, 500, 1500, 2500, 10_000] {
        let event = driver.event_with(DISABLE_TIMING).expect("cuEventCreate");
        driver.record(event, stream).expect("cuEventRecord");
        host::work(Duration::from_nanos(idle));
        cu!(cuStreamSynchronize(stream => Handle)).expect("cuStreamSynchronize");
        assert_eq!(
            cu!(cuEventQuery(event => Handle)),
            Ok(()),
            "after {idle} ns"
        );
        assert_eq!(
            cu!(cuStreamQuery(stream => Handle)),
            Ok(()),
            "after {idle} ns"
        );
    }
}

const SUM: &str = ".version 6.0
.target sm_70
.address_size 64
.visible .entry sum(.param .u64 data) {
  .reg .b32 %i, %n, %r, %s; .reg .b64 %a, %o; .reg .pred %p;
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;
  ld.param.u64 %a, [data]; add.s64 %a, %a, %o;
  mov.u32 %n, 0; mov.u32 %s, 0;
more:
  ld.global.u32 %r, [%a]; add.u32 %s, %s, %r;
  add.s64 %a, %a, 128; add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 64; @%p bra more;
  ld.param.u64 %a, [data]; st.global.u32 [%a], %s;
  ret;
}
";

/// All blocks of 1024 threads go once round the same bytes, 16 KiB at a time; block i begins at byte `i * apart`.
const ROUND: &str = ".version 6.0
.target sm_70
.address_size 64
.visible .entry round(.param .u64 data, .param .u32 bytes, .param .u32 apart) {
  .reg .b32 %at, %n, %b, %i, %s; .reg .b32 %w<4>; .reg .b64 %a, %d, %o; .reg .pred %p;
  ld.param.u64 %d, [data]; ld.param.u32 %b, [bytes];
  ld.param.u32 %at, [apart]; mov.u32 %i, %ctaid.x; mul.lo.u32 %at, %at, %i;
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 16; add.s64 %d, %d, %o;
  mov.u32 %n, 0; mov.u32 %s, 0;
more:
  cvt.u64.u32 %o, %at; add.s64 %a, %d, %o;
  ld.global.cg.v4.u32 {%w0, %w1, %w2, %w3}, [%a];
  add.u32 %s, %s, %w0; add.u32 %s, %s, %w1; add.u32 %s, %s, %w2; add.u32 %s, %s, %w3;
  add.u32 %at, %at, 16384; setp.ge.u32 %p, %at, %b; @%p mov.u32 %at, 0;
  add.u32 %n, %n, 16384; setp.lt.u32 %p, %n, %b; @%p bra more;
  setp.eq.u32 %p, %s, 1; @%p st.global.u32 [%d], %s;
  ret;
}
";

/// The device's time of one launch of one warp, in µs.
fn launch(driver: &Driver, function: Handle, data: Address) -> f64 {
    device_micros(driver, || {
        driver
            .launch(function, 1, 32, 0, &[&data])
            .expect("cuLaunchKernel");
    })
}

/// The device's time of what is enqueued in the legacy stream, in µs.
fn device_micros(driver: &Driver, enqueue: impl FnOnce()) -> f64 {
    let [start, end] = [driver.event(), driver.event()];
    driver.record(start, LEGACY).expect("cuEventRecord");
    enqueue();
    driver.record(end, LEGACY).expect("cuEventRecord");
    driver.synchronize().expect("runs");
    let mut milliseconds = 0.0_f32;
    cu!(cuEventElapsedTime(&mut milliseconds => *mut f32, start => Handle, end => Handle))
        .expect("both reached");
    f64::from(milliseconds) * 1e3
}

#[test]
fn what_a_kernel_has_loaded_the_next_one_finds_in_the_l2_cache() {
    let driver = Driver::new();
    let function = driver.kernel(SUM, "sum");
    let [data, other] = [64 << 10, 64 * MIB].map(|bytes| driver.allocate(bytes).expect("fits"));
    let fill = |address: Address, bytes: usize| {
        cu!(cuMemsetD8_v2(address => Address, 1 => u8, bytes => usize)).expect("cuMemsetD8");
        driver.synchronize().expect("runs");
    };
    fill(data, 64 << 10);
    fill(other, 64 * MIB);
    let [missing, hitting] = [(); 2].map(|()| launch(&driver, function, data));
    // 64 loads, each waited for: 850 cycles, or 268.
    let saved = 64.0 * (850.0 - 268.0) / 1980.0;
    assert!(
        (missing - hitting - saved).abs() < 0.1 * saved,
        "{missing} {hitting}"
    );
    // A memset of more than the cache holds displaces all of it; one of the data itself brings it back.
    fill(other, 64 * MIB);
    assert!((launch(&driver, function, data) - missing).abs() < 0.5);
    fill(other, 64 * MIB);
    fill(data, 64 << 10);
    assert!((launch(&driver, function, data) - hitting).abs() < 0.5);
    free(data);
    free(other);
}

/// Together they load 40 MiB, more than the cache holds. Blocks in step find what another block has just loaded. Blocks that start at even distances
/// reach each line after 40 MiB of other loads.
#[test]
fn blocks_in_step_find_in_the_l2_cache_what_others_load() {
    const BLOCKS: u32 = 20;
    let driver = Driver::new();
    let function = driver.kernel(ROUND, "round");
    let bytes = 40 * MIB as u32;
    let data = driver.allocate(bytes as usize).expect("fits");
    cu!(cuMemsetD8_v2(data => Address, 0 => u8, bytes as usize => usize)).expect("cuMemsetD8");
    let time = |apart: u32| {
        device_micros(&driver, || {
            let parameters: [&dyn LaunchArgument; 3] = [&data, &bytes, &apart];
            driver
                .launch(function, BLOCKS, 1024, 0, &parameters)
                .expect("cuLaunchKernel");
        })
    };
    let [in_step, apart] = [0, bytes / BLOCKS].map(time);
    // 2560 loads, each waited for: one in twenty misses, or all.
    let saved = 0.95 * 2560.0 * (850.0 - 268.0) / 1980.0;
    assert!(
        (apart - in_step - saved).abs() < 0.1 * saved,
        "{in_step} {apart} {saved}"
    );
    free(data);
}

#[test]
fn the_checkers_do_not_change_the_time() {
    let times = [
        software_gpu::reports::ReportMode::Off,
        software_gpu::reports::ReportMode::Report,
    ]
    .map(|mode| {
        software_gpu::reports::set_mode(mode);
        let driver = Driver::new();
        let function = driver.kernel(SUM, "sum");
        let data = driver.allocate(MIB).expect("fits");
        cu!(cuMemsetD8_v2(data => Address, 1 => u8, MIB => usize)).expect("cuMemsetD8");
        driver.synchronize().expect("runs");
        let time = launch(&driver, function, data).to_bits();
        free(data);
        time
    });
    assert_eq!(times[0], times[1]);
}

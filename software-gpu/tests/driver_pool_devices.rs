//! Pools of several devices: whose memory serves, and who may use it.

mod driver_support;
mod pool_support;

use std::ffi::{c_int, c_uint};

use driver_support::copies::{Copy2D, DEVICE, Side2D, copy_2d, copy_2d_async};
use driver_support::*;
use pool_support::*;
use software_gpu::driver::{entry_point, last_fault};

const ILLEGAL_ADDRESS: Error = 700;

/// Stores 7 at an address.
const STORE: &str = "
.version 6.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 to)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [to];
    mov.u32 %v, 7;
    st.global.u32 [%a], %v;
    ret;
}
";

/// A context and a stream on each of two devices; that of the first one is current.
struct Pair {
    driver: Driver,
    contexts: [Handle; 2],
    streams: [Handle; 2],
}

impl Pair {
    fn new() -> Self {
        let driver = Driver::with_devices(2);
        let first = driver.stream(NON_BLOCKING);
        let contexts = [driver.context, driver.context_on(1)];
        let streams = [first, driver.stream(NON_BLOCKING)];
        driver.set_current(contexts[0]);
        Self {
            driver,
            contexts,
            streams,
        }
    }

    fn on(&self, device: usize) -> &Driver {
        self.driver.set_current(self.contexts[device]);
        &self.driver
    }

    fn synchronize(&self) {
        for device in [1, 0] {
            self.on(device).synchronize().expect("cuCtxSynchronize");
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = cu!(cuCtxDestroy_v2(self.contexts[1] => Handle));
        self.driver.set_current(self.contexts[0]);
    }
}

fn default_of(device: c_int) -> Pool {
    let mut pool = 0;
    cu!(cuDeviceGetDefaultMemPool(&mut pool => *mut Handle, device => c_int))
        .expect("default pool");
    Pool(pool)
}

fn pool_on(device: c_int) -> Pool {
    let location = [1, device];
    create(&Properties {
        location,
        ..Properties::device()
    })
    .expect("cuMemPoolCreate")
}

fn give_access(pool: Pool, device: c_int, flags: c_uint) -> Result<(), Error> {
    let access: [c_int; 3] = [1, device, flags as c_int];
    cu!(cuMemPoolSetAccess(pool.0 => Handle, access.as_ptr() => *const c_int, 1 => usize))
}

/// `cuMemAllocAsync`: the stream's device decides, not the current context.
#[test]
fn the_streams_device_serves() {
    let pair = Pair::new();
    assert_ne!(default_of(0), default_of(1));
    let before = [0, 1].map(|device| (pair.on(device), free_memory()).1);
    pair.on(0);
    let memory = allocate(1, pair.streams[1]).unwrap();
    assert_eq!(default_of(1).get(USED_CURRENT), Ok(512));
    assert_eq!(default_of(0).get(USED_CURRENT), Ok(0));
    let after = [0, 1].map(|device| (pair.on(device), free_memory()).1);
    assert_eq!([before[0] - after[0], before[1] - after[1]], [0, CHUNK]);
    free(memory, pair.streams[1]).unwrap();
    pair.synchronize();
}

/// `cuDeviceSetMemPool`: the pool is one of the device's own.
#[test]
fn a_device_takes_its_own_pools_only() {
    let _pair = Pair::new();
    let pool = pool_on(1);
    assert_eq!(set_current(pool), Err(INVALID_VALUE));
    assert_eq!(
        cu!(cuDeviceSetMemPool(1 => c_int, pool.0 => Handle)),
        Ok(())
    );
    assert_eq!(current_pool(), default_of(0));
    pool.destroy().unwrap();
    let mut current = 0;
    cu!(cuDeviceGetMemPool(&mut current => *mut Handle, 1 => c_int)).unwrap();
    assert_eq!(Pool(current), default_of(1));
}

/// `cuMemPoolSetAccess` decides who reaches a pool's memory, not `cuCtxEnablePeerAccess`.
#[test]
fn a_pool_is_reached_by_those_that_were_given_access() {
    for given in [false, true] {
        let pair = Pair::new();
        let pool = pool_on(1);
        if given {
            give_access(pool, 0, 3).unwrap();
        } else {
            let peer = pair.contexts[1];
            cu!(cuCtxEnablePeerAccess(peer => Handle, 0 => c_uint)).unwrap();
        }
        let memory = pool.allocate(512, pair.streams[0]).unwrap();
        let module = pair.on(0).module(STORE).unwrap();
        let store = pair.driver.function(module, "store").unwrap();
        pair.driver
            .launch(store, 1, 1, pair.streams[0], &[&memory])
            .unwrap();
        let outcome = pair.driver.stream_synchronize(pair.streams[0]);
        assert_eq!(outcome, if given { Ok(()) } else { Err(ILLEGAL_ADDRESS) });
        pair.on(1);
        free(memory, pair.streams[1]).unwrap();
        pair.on(1).synchronize().unwrap();
        pool.destroy().unwrap();
    }
}

/// A kernel's fault names the memory and the call that gives access to it: `cuMemPoolSetAccess` for a pool's memory,
/// `cuCtxEnablePeerAccess` for other memory.
#[test]
fn a_fault_in_memory_of_another_device_names_the_call_that_gives_access() {
    for of_pool in [true, false] {
        let pair = Pair::new();
        let pool = pool_on(1);
        if of_pool {
            let peer = pair.contexts[1];
            cu!(cuCtxEnablePeerAccess(peer => Handle, 0 => c_uint)).unwrap();
        }
        let memory = match of_pool {
            true => pool.allocate(512, pair.streams[1]).unwrap(),
            false => pair.on(1).allocate(512).unwrap(),
        };
        let module = pair.on(0).module(STORE).unwrap();
        let store = pair.driver.function(module, "store").unwrap();
        let address = memory + 8;
        pair.driver
            .launch(store, 1, 1, pair.streams[0], &[&address])
            .unwrap();
        let outcome = pair.driver.stream_synchronize(pair.streams[0]);
        assert_eq!(outcome, Err(ILLEGAL_ADDRESS));
        let expected = match of_pool {
            true => {
                "in memory of another device, to which the kernel's device has no access\n  \
                 it lies at offset 8 of an allocation of 512 bytes of a memory pool of device 1: cuMemPoolSetAccess gives \
                 device 0 access to the pool, cuCtxEnablePeerAccess does not"
            }
            false => {
                "in memory of another device, to which the kernel's device has no access\n  \
                 it lies in memory of device 1: cuCtxEnablePeerAccess gives a context of device 0 access to it"
            }
        };
        let text = last_fault().unwrap();
        assert!(text.ends_with(expected), "{text}");
        pair.on(1);
        if of_pool {
            free(memory, pair.streams[1]).unwrap();
            pair.on(1).synchronize().unwrap();
        }
        pool.destroy().unwrap();
    }
}

/// Copies and memsets of a stream reach a pool of another device once the pool grants access, and `cuMemcpyPeer` always.
#[test]
fn copies_and_memsets_need_the_access_that_a_pool_grants() {
    let pair = Pair::new();
    let pool = pool_on(1);
    let [own_stream, other_stream] = pair.streams;
    let memory = pool.allocate(512, other_stream).unwrap();
    pair.on(1).stream_synchronize(other_stream).unwrap();
    let own = pair.on(0).allocate(512).unwrap();
    let mut host = [0_u8; 512];
    let at_host = host.as_mut_ptr();
    let row = |device| Side2D {
        memory_type: DEVICE,
        device,
        pitch: 512,
        ..Side2D::default()
    };
    let rectangle = Copy2D {
        from: row(memory),
        to: row(own),
        width: 512,
        height: 1,
    };
    type Call<'a> = &'a dyn Fn() -> Result<(), Error>;
    let calls: [Call<'_>; 12] = [
        &|| cu!(cuMemsetD8_v2(memory => Address, 1 => u8, 512 => usize)),
        &|| cu!(cuMemsetD8Async(memory => Address, 1 => u8, 512 => usize, own_stream => Handle)),
        &|| cu!(cuMemcpy(own => Address, memory => Address, 512 => usize)),
        &|| cu!(cuMemcpy(memory => Address, own => Address, 512 => usize)),
        &|| cu!(cuMemcpyAsync(own => Address, memory => Address, 512 => usize, own_stream => Handle)),
        &|| cu!(cuMemcpyDtoD_v2(own => Address, memory => Address, 512 => usize)),
        &|| cu!(cuMemcpyDtoDAsync_v2(own => Address, memory => Address, 512 => usize, own_stream => Handle)),
        &|| cu!(cuMemcpyDtoH_v2(at_host => *mut u8, memory => Address, 512 => usize)),
        &|| cu!(cuMemcpyDtoHAsync_v2(at_host => *mut u8, memory => Address, 512 => usize, own_stream => Handle)),
        &|| cu!(cuMemcpyHtoD_v2(memory => Address, at_host => *const u8, 512 => usize)),
        &|| copy_2d(&rectangle),
        &|| copy_2d_async(&rectangle, own_stream),
    ];
    let [own_context, other_context] = pair.contexts;
    let always: [Call<'_>; 3] = [
        &|| cu!(cuMemsetD8Async(memory => Address, 1 => u8, 512 => usize, other_stream => Handle)),
        &|| cu!(cuMemcpyDtoHAsync_v2(at_host => *mut u8, memory => Address, 512 => usize, other_stream => Handle)),
        &|| cu!(cuMemcpyPeer(own => Address, own_context => Handle, memory => Address, other_context => Handle, 512 => usize)),
    ];
    for (granted, expected) in [(false, Err(INVALID_VALUE)), (true, Ok(()))] {
        if granted {
            give_access(pool, 0, 3).unwrap();
        }
        let always = always.iter().map(|call| (call, Ok(())));
        let all = always.chain(calls.iter().map(|call| (call, expected)));
        for (number, (call, expected)) in all.enumerate() {
            assert_eq!(call(), expected, "access granted: {granted}, call {number}");
            pair.synchronize();
        }
    }
    free(memory, other_stream).unwrap();
    pair.synchronize();
    pool.destroy().unwrap();
}

/// Access can be taken away again, but not from the pool's own device.
#[test]
fn access_can_be_taken_away() {
    let _pair = Pair::new();
    let pool = pool_on(1);
    let access = |device| {
        let (mut flags, location) = (u32::MAX, [1, device]);
        cu!(cuMemPoolGetAccess(&mut flags => *mut c_uint, pool.0 => Handle, &location => *const [c_int; 2])).map(|()| flags)
    };
    assert_eq!((access(0), access(1)), (Ok(0), Ok(3)));
    give_access(pool, 0, 3).unwrap();
    assert_eq!(access(0), Ok(3));
    give_access(pool, 0, 0).unwrap();
    assert_eq!(access(0), Ok(0));
    assert!(give_access(pool, 1, 0).is_err());
    pool.destroy().unwrap();
}

/// An event orders streams of two devices, and so the reuse of memory between them.
#[test]
fn dependencies_cross_devices() {
    let pair = Pair::new();
    let pool = pool_on(1).only(&[FOLLOW_EVENT_DEPENDENCIES]);
    let [a, b] = pair.streams;
    let (host, sink) = (
        pair.driver.pinned(LONG),
        pair.driver.allocate(LONG).unwrap(),
    );
    let event = pair.driver.event();
    let first = pool.allocate(CHUNK, a).unwrap();
    keep_busy(&pair.driver, sink, &host, a);
    free(first, a).unwrap();
    let unordered = pool.allocate(CHUNK, b).unwrap();
    assert_ne!(unordered, first);
    pair.driver.record(event, a).unwrap();
    pair.driver.wait(b, event).unwrap();
    let second = pool.allocate(CHUNK, b).unwrap();
    assert_eq!(second, first);
    for memory in [unordered, second] {
        free(memory, b).unwrap();
    }
    pair.synchronize();
    assert_eq!(pool.figures()[0], 0);
    pool.destroy().unwrap();
}

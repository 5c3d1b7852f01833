//! Devices that reach each other's memory.

use std::ffi::{c_int, c_uint};

use crate::driver_support::{
    Address, Driver, Error, Handle, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, MIB,
    NON_BLOCKING, cu,
};
use software_gpu::driver::entry_point;
use software_gpu::reports;

const PEER_ACCESS_UNSUPPORTED: Error = 217;
const ILLEGAL_ADDRESS: Error = 700;
const PEER_ACCESS_ALREADY_ENABLED: Error = 704;
const PEER_ACCESS_NOT_ENABLED: Error = 705;

/// Adds one to each 32-bit word of an array, of which every thread has one.
const INCREMENT: &str = r#"
.version 6.0
.target sm_70
.address_size 64
.visible .entry increment(.param .u64 data)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}
"#;

/// A context on each of two devices; that of the first one is current.
struct Pair {
    driver: Driver,
    contexts: [Handle; 2],
}

impl Pair {
    fn new() -> Self {
        let driver = Driver::with_devices(2);
        let second = driver.context_on(1);
        driver.set_current(driver.context);
        let contexts = [driver.context, second];
        Self { driver, contexts }
    }

    /// Memory of that device, filled with a byte.
    fn memory(&self, device: usize, bytes: usize, value: u8) -> Address {
        self.driver.set_current(self.contexts[device]);
        let address = self.driver.allocate(bytes).expect("fits");
        self.driver.fill(address, value, bytes);
        self.driver.set_current(self.contexts[0]);
        address
    }

    fn enable(&self, from: usize, peer: usize) -> Result<(), Error> {
        self.driver.set_current(self.contexts[from]);
        let enabled = enable(self.contexts[peer], 0);
        self.driver.set_current(self.contexts[0]);
        enabled
    }

    fn peer_copy(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        let [to_context, from_context] = [self.contexts[1], self.contexts[0]];
        cu!(cuMemcpyPeerAsync(
            to => Address, to_context => Handle, from => Address, from_context => Handle,
            bytes => usize, stream => Handle,
        ))
    }

    /// How long a copy from the first device to the second one takes, in milliseconds.
    fn time(&self, to: Address, from: Address, bytes: usize) -> f32 {
        let driver = &self.driver;
        let stream = driver.stream(NON_BLOCKING);
        let [start, end] = [driver.event(), driver.event()];
        driver.record(start, stream).expect("cuEventRecord");
        self.peer_copy(to, from, bytes, stream)
            .expect("cuMemcpyPeerAsync");
        driver.record(end, stream).expect("cuEventRecord");
        driver.event_synchronize(end).expect("ends");
        driver.elapsed(start, end).expect("recorded")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = cu!(cuCtxDestroy_v2(self.contexts[1] => Handle));
        self.driver.set_current(self.contexts[0]);
    }
}

fn enable(peer: Handle, flags: c_uint) -> Result<(), Error> {
    cu!(cuCtxEnablePeerAccess(peer => Handle, flags => c_uint))
}

fn disable(peer: Handle) -> Result<(), Error> {
    cu!(cuCtxDisablePeerAccess(peer => Handle))
}

#[test]
fn other_devices_can_be_accessed_and_the_own_one_is_no_peer() {
    let _pair = Pair::new();
    let can = |device: c_int, peer: c_int| {
        let mut can = -1;
        cu!(cuDeviceCanAccessPeer(&mut can => *mut c_int, device => c_int, peer => c_int))
            .map(|()| can)
    };
    assert_eq!([can(0, 1), can(1, 0), can(0, 0)], [Ok(1), Ok(1), Ok(0)]);
    assert_eq!(can(0, 2), Err(INVALID_DEVICE));
    let attribute = |attribute: c_uint, from: c_int, to: c_int| {
        let mut value = -1;
        cu!(cuDeviceGetP2PAttribute(
            &mut value => *mut c_int, attribute => c_uint, from => c_int, to => c_int,
        ))
        .map(|()| value)
    };
    assert_eq!([2, 3, 4].map(|number| attribute(number, 0, 1)), [Ok(1); 3]);
    assert_eq!(attribute(2, 1, 1), Err(INVALID_DEVICE));
    assert_eq!(attribute(2, 0, 5), Err(INVALID_DEVICE));
    assert_eq!(attribute(9, 0, 1), Err(INVALID_VALUE));
}

#[test]
fn access_is_enabled_once_and_one_way() {
    let pair = Pair::new();
    let [first, second] = pair.contexts;
    assert_eq!(enable(second, 1), Err(INVALID_VALUE));
    assert_eq!(enable(first, 0), Err(PEER_ACCESS_UNSUPPORTED));
    assert_eq!(enable(12345, 0), Err(INVALID_CONTEXT));
    assert_eq!(disable(second), Err(PEER_ACCESS_NOT_ENABLED));
    assert_eq!(enable(second, 0), Ok(()));
    assert_eq!(enable(second, 0), Err(PEER_ACCESS_ALREADY_ENABLED));
    pair.driver.set_current(second);
    assert_eq!(disable(first), Err(PEER_ACCESS_NOT_ENABLED));
    pair.driver.set_current(first);
    assert_eq!(disable(second), Ok(()));
    assert_eq!(disable(second), Err(PEER_ACCESS_NOT_ENABLED));
    assert_eq!(disable(12345), Err(INVALID_CONTEXT));
}

#[test]
fn contexts_of_one_device_are_no_peers() {
    let pair = Pair::new();
    let twin = pair.driver.context_on(0);
    pair.driver.set_current(pair.contexts[0]);
    assert_eq!(enable(twin, 0), Err(PEER_ACCESS_UNSUPPORTED));
    cu!(cuCtxDestroy_v2(twin => Handle)).expect("cuCtxDestroy");
}

#[test]
fn a_copy_between_devices_takes_the_link_once_access_is_enabled() {
    const BYTES: usize = 256 * MIB;
    let pair = Pair::new();
    let (from, to) = (pair.memory(0, BYTES, 7), pair.memory(1, BYTES, 0));
    let staged = pair.time(to, from, BYTES);
    assert_eq!(pair.enable(0, 1), Ok(()));
    let direct = pair.time(to, from, BYTES);
    let rate = |milliseconds: f32| BYTES as f32 / milliseconds / 1e6;
    assert!(
        (370.0..378.0).contains(&rate(direct)),
        "{} GB/s",
        rate(direct)
    );
    assert!(
        (54.0..55.3).contains(&rate(staged)),
        "{} GB/s",
        rate(staged)
    );
    pair.driver.set_current(pair.contexts[1]);
    assert!(pair.driver.read(to, BYTES).iter().all(|byte| *byte == 7));
}

#[test]
fn unified_copies_find_the_device_of_each_side() {
    let pair = Pair::new();
    let (from, to) = (pair.memory(0, 64, 5), pair.memory(1, 64, 0));
    cu!(cuMemcpy(to => Address, from => Address, 32 => usize)).expect("cuMemcpy");
    cu!(cuMemcpyDtoD_v2(to + 32 => Address, from => Address, 16 => usize)).expect("cuMemcpyDtoD");
    let mut host = vec![0_u8; 64];
    cu!(cuMemcpyDtoH_v2(host.as_mut_ptr() => *mut u8, to => Address, 64 => usize))
        .expect("cuMemcpyDtoH");
    assert_eq!(host[..48], [5; 48]);
    assert_eq!(host[48..], [0; 16]);
}

#[test]
fn contexts_and_addresses_of_peer_copies_are_checked() {
    let pair = Pair::new();
    let (from, to) = (pair.memory(0, 64, 5), pair.memory(1, 64, 0));
    let copy = |to: Address,
                to_context: Handle,
                from: Address,
                from_context: Handle,
                bytes: usize| {
        cu!(cuMemcpyPeer(
            to => Address, to_context => Handle, from => Address, from_context => Handle, bytes => usize,
        ))
    };
    let [first, second] = pair.contexts;
    assert_eq!(copy(to, 0, from, first, 64), Err(INVALID_CONTEXT));
    assert_eq!(copy(to, second, from, 4711, 64), Err(INVALID_CONTEXT));
    assert_eq!(copy(to, second, from, first, 65), Err(INVALID_VALUE));
    assert_eq!(copy(0, second, from, first, 1), Err(INVALID_VALUE));
    assert_eq!(copy(to, second, from, first, 0), Ok(()));
    assert_eq!(copy(to, second, from, first, 64), Ok(()));
    pair.driver.set_current(second);
    assert_eq!(pair.driver.read(to, 64), [5; 64]);
}

#[test]
fn a_synchronous_peer_copy_takes_its_turn_among_all_work_of_both_contexts() {
    let (ends, found) = reports::collect(copy_among_other_work);
    assert_eq!(ends, [3, 3]);
    assert_eq!(found, [], "the checker knows the order");
}

/// What arrives on the second device, first and last byte.
fn copy_among_other_work() -> [u8; 2] {
    const BYTES: usize = 16 * MIB;
    let pair = Pair::new();
    let driver = &pair.driver;
    let (from, to) = (pair.memory(0, BYTES, 0), pair.memory(1, BYTES, 0));
    let host = driver.pinned(BYTES);
    host.fill(3);
    let stream = driver.stream(NON_BLOCKING);
    driver
        .to_device(from, host.pointer(), BYTES, stream)
        .expect("cuMemcpyHtoDAsync");
    driver.set_current(pair.contexts[1]);
    let far = driver.stream(NON_BLOCKING);
    driver.set_current(pair.contexts[0]);
    let [first, second] = pair.contexts;
    cu!(cuMemcpyPeer(
        to => Address, second => Handle, from => Address, first => Handle, BYTES => usize,
    ))
    .expect("cuMemcpyPeer");
    assert!(
        driver.stream_query(stream).is_err(),
        "the host does not wait"
    );
    // What the first stream overwrites and what the other device reads come after the copy.
    driver.set(from, 9, BYTES, stream).expect("cuMemsetD8Async");
    let result = driver.pinned(BYTES);
    driver
        .to_host(result.pointer(), to, BYTES, far)
        .expect("cuMemcpyDtoHAsync");
    driver.stream_synchronize(far).expect("ends");
    driver.synchronize().expect("cuCtxSynchronize");
    [result.byte(0), result.byte(BYTES - 1)]
}

/// One side of `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Side {
    origin: [usize; 4],
    memory_type: c_uint,
    host: usize,
    device: Address,
    array: usize,
    context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Copy3D {
    from: Side,
    to: Side,
    extent: [usize; 3],
}

#[test]
fn boxes_are_copied_between_devices() {
    let pair = Pair::new();
    let (from, to) = (pair.memory(0, 64, 5), pair.memory(1, 64, 0));
    let side = |device: Address, context: Handle| Side {
        memory_type: 2,
        device,
        context,
        pitch: 8,
        height: 4,
        ..Side::default()
    };
    let copy = Copy3D {
        from: side(from, pair.contexts[0]),
        to: side(to, pair.contexts[1]),
        extent: [3, 2, 2],
    };
    cu!(cuMemcpy3DPeer(&copy => *const Copy3D)).expect("cuMemcpy3DPeer");
    let mut lost = copy;
    lost.to.context = 0;
    let refused = cu!(cuMemcpy3DPeerAsync(&lost => *const Copy3D, 0 => Handle));
    assert_eq!(refused, Err(INVALID_CONTEXT));
    pair.driver.set_current(pair.contexts[1]);
    let inside = |index: usize| index % 8 < 3 && (index / 8) % 4 < 2;
    let expected: Vec<u8> = (0..64)
        .map(|index| if inside(index) { 5 } else { 0 })
        .collect();
    assert_eq!(pair.driver.read(to, 64), expected);
}

#[test]
fn a_kernel_reaches_memory_of_a_peer_with_access_alone() {
    let pair = Pair::new();
    let driver = &pair.driver;
    let data = pair.memory(1, 128, 0);
    let run = || {
        let module = driver.module(INCREMENT).expect("loads");
        let function = driver.function(module, "increment").expect("is there");
        driver
            .launch(function, 1, 32, 0, &[&data])
            .expect("launches");
        driver.synchronize()
    };
    assert_eq!(pair.enable(0, 1), Ok(()));
    assert_eq!(run(), Ok(()));
    // The other way round was not enabled, and is not needed for the owner.
    driver.set_current(pair.contexts[1]);
    assert_eq!(driver.read(data, 8), [1, 0, 0, 0, 1, 0, 0, 0]);
    driver.set_current(pair.contexts[0]);
    assert_eq!(disable(pair.contexts[1]), Ok(()));
    assert_eq!(run(), Err(ILLEGAL_ADDRESS));
    // The fault is the first context's alone.
    driver.set_current(pair.contexts[1]);
    assert_eq!(driver.read(data, 4), [1, 0, 0, 0]);
}

#[test]
fn access_ends_with_the_peers_context() {
    let pair = Pair::new();
    let extra = pair.driver.context_on(1);
    pair.driver.set_current(pair.contexts[0]);
    assert_eq!(enable(extra, 0), Ok(()));
    cu!(cuCtxDestroy_v2(extra => Handle)).expect("cuCtxDestroy");
    pair.driver.set_current(pair.contexts[0]);
    assert_eq!(disable(extra), Err(INVALID_CONTEXT));
}

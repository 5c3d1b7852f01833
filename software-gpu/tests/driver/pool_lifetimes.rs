//! How long pools and their memory live, and what the driver says of them.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

const INVALID_DEVICE: Error = 101;
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

/// `CUmemLocation`.
#[repr(C)]
struct Location(c_uint, c_int);

/// `CUmemAccessDesc`.
#[repr(C)]
struct Access(Location, c_uint);

impl Pool {
    fn set_access(self, location: c_uint, id: c_int, flags: c_uint) -> Result<(), Error> {
        let access = Access(Location(location, id), flags);
        cu!(cuMemPoolSetAccess(self.0 => Handle, &access => *const Access, 1 => usize))
    }

    fn access(self, location: c_uint, id: c_int) -> Result<c_uint, Error> {
        let (mut flags, location) = (u32::MAX, Location(location, id));
        cu!(cuMemPoolGetAccess(&mut flags => *mut c_uint, self.0 => Handle, &location => *const Location))
            .map(|()| flags)
    }
}

fn attribute(attribute: c_uint, address: Address) -> Result<u64, Error> {
    let mut value = 0_u64;
    cu!(cuPointerGetAttribute(&mut value => *mut u64, attribute => c_uint, address => Address))
        .map(|()| value)
}

fn range(address: Address) -> Result<(Address, usize), Error> {
    let (mut base, mut bytes) = (0, 0);
    cu!(cuMemGetAddressRange_v2(&mut base => *mut Address, &mut bytes => *mut usize, address => Address))
        .map(|()| (base, bytes))
}

/// As on a GPU, freed memory is read and written like any other until the pool gives it back.
#[test]
fn freed_memory_stays_until_its_chunk_goes() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let (memory, seen) = (pool.allocate(1024, stream).unwrap(), driver.pinned(1024));
    driver.set(memory, 3, 1024, stream).unwrap();
    free(memory, stream).unwrap();
    driver
        .to_host(seen.pointer(), memory, 1024, stream)
        .unwrap();
    let store = driver
        .function(driver.module(STORE).unwrap(), "store")
        .unwrap();
    driver.launch(store, 1, 1, stream, &[&memory]).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 3));
    assert_eq!(pool.figures()[0], 0);
    assert_eq!(driver.set(memory, 3, 1, stream), Err(INVALID_VALUE));
    driver.launch(store, 1, 1, stream, &[&memory]).unwrap();
    assert_eq!(driver.stream_synchronize(stream), Err(ILLEGAL_ADDRESS));
    pool.destroy().unwrap();
}

/// The next owner of memory that was never written reads what the last one left.
#[test]
fn reused_memory_holds_the_old_bytes() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let seen = driver.pinned(512);
    let first = pool.allocate(512, stream).unwrap();
    driver.set(first, 9, 512, stream).unwrap();
    free(first, stream).unwrap();
    assert_eq!(pool.allocate(512, stream), Ok(first));
    driver.to_host(seen.pointer(), first, 512, stream).unwrap();
    free(first, stream).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(seen.byte(511), 9);
    pool.destroy().unwrap();
}

/// A fault beside a pool's allocation is told with that allocation, not with the pool's chunk.
#[test]
fn a_fault_names_the_nearest_allocation_of_the_pool() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let first = pool.allocate(CHUNK - 512, stream).unwrap();
    let last = pool.allocate(500, stream).unwrap();
    let store = driver
        .function(driver.module(STORE).unwrap(), "store")
        .unwrap();
    let behind = first + CHUNK as u64;
    driver.launch(store, 1, 1, stream, &[&behind]).unwrap();
    assert_eq!(driver.stream_synchronize(stream), Err(ILLEGAL_ADDRESS));
    let fault = software_gpu::last_fault().unwrap();
    assert!(fault.contains("500"), "{fault}");
    assert!(fault.contains(&format!("{last:x}")), "{fault}");
    drop(driver);
    let driver = Driver::new();
    for memory in [first, last] {
        free_now(memory).unwrap();
    }
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

/// `cuCtxDestroy`: pool memory belongs to no context.
#[test]
fn pool_memory_outlives_the_context() {
    let driver = Driver::new();
    let before = free_memory();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let memory = pool.allocate(1024, stream).unwrap();
    let pending = pool.allocate(1024, stream).unwrap();
    driver.set(memory, 5, 1024, stream).unwrap();
    free(pending, stream).unwrap();
    drop(driver);
    let driver = Driver::new();
    assert_eq!(before - free_memory(), CHUNK);
    assert_eq!(driver.read(memory, 1), [5]);
    let stream = driver.stream(NON_BLOCKING);
    assert_eq!(pool.only(&[]).allocate(1024, stream), Ok(pending));
    for memory in [memory, pending] {
        free(memory, stream).unwrap();
    }
    driver.synchronize().unwrap();
    assert_eq!(free_memory(), before);
    pool.destroy().unwrap();
}

/// `cuMemPoolDestroy`: returns at once; the memory goes with the last allocation.
#[test]
fn a_destroyed_pool_lasts_as_long_as_its_allocations() {
    let driver = Driver::new();
    let before = free_memory();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    pool.set(RELEASE_THRESHOLD, u64::MAX).unwrap();
    let (memory, host) = (pool.allocate(LONG, stream).unwrap(), driver.pinned(LONG));
    keep_busy(&driver, memory, &host, stream);
    pool.destroy().unwrap();
    assert_eq!(pool.get(USED_CURRENT), Err(INVALID_VALUE));
    assert_eq!(pool.allocate(1, stream), Err(INVALID_VALUE));
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(driver.set(memory, 1, LONG, stream), Ok(()));
    assert_eq!(before - free_memory(), CHUNK);
    free(memory, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(free_memory(), before);
}

/// An unused pool's memory goes with it.
#[test]
fn destroying_a_pool_gives_its_memory_back() {
    let driver = Driver::new();
    let before = free_memory();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    pool.set(RELEASE_THRESHOLD, u64::MAX).unwrap();
    free(pool.allocate(1, stream).unwrap(), stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(before - free_memory(), CHUNK);
    pool.destroy().unwrap();
    assert_eq!(free_memory(), before);
}

#[test]
fn the_current_pool_serves_and_its_end_brings_the_default_back() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    set_current(pool).unwrap();
    assert_eq!(current_pool(), pool);
    let memory = allocate(100, stream).unwrap();
    assert_eq!(pool.get(USED_CURRENT), Ok(512));
    assert_eq!(attribute(17, memory), Ok(pool.0 as u64));
    free(memory, stream).unwrap();
    pool.destroy().unwrap();
    assert_eq!(current_pool(), default_pool());
    assert_eq!(set_current(pool), Err(INVALID_VALUE));
    let memory = allocate(100, stream).unwrap();
    assert_eq!(default_pool().get(USED_CURRENT), Ok(512));
    free(memory, stream).unwrap();
    driver.synchronize().unwrap();
}

/// `CU_POINTER_ATTRIBUTE_*` and `cuMemGetAddressRange` know the allocation, not the chunk around it.
#[test]
fn addresses_of_a_pool_are_known() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let [first, second] = [(); 2].map(|()| pool.allocate(1000, stream).unwrap());
    let other = driver.allocate(1000).unwrap();
    assert_eq!(range(second + 999), Ok((second, 1000)));
    const RANGE_START: c_uint = 11;
    const RANGE_SIZE: c_uint = 12;
    const ACCESS_FLAGS: c_uint = 16;
    const POOL: c_uint = 17;
    for (address, base, owner) in [
        (first + 10, first, pool.0),
        (second, second, pool.0),
        (other + 1, other, 0),
    ] {
        assert_eq!(attribute(RANGE_START, address), Ok(base));
        assert_eq!(attribute(RANGE_SIZE, address), Ok(1000));
        assert_eq!(attribute(ACCESS_FLAGS, address), Ok(3));
        assert_eq!(attribute(POOL, address), Ok(owner as u64));
    }
    for memory in [first, second] {
        free(memory, stream).unwrap();
    }
    driver.synchronize().unwrap();
    assert_eq!(attribute(POOL, first), Err(INVALID_VALUE));
    pool.destroy().unwrap();
}

/// `cuMemPoolSetAccess`: a device always has its own pools.
#[test]
fn access_is_given_to_devices() {
    let _driver = Driver::new();
    let pool = Pool::new();
    assert_eq!(pool.access(1, 0), Ok(3));
    assert_eq!(pool.set_access(1, 0, 3), Ok(()));
    assert_eq!(pool.set_access(1, 0, 0), Err(INVALID_DEVICE));
    assert_eq!(pool.set_access(1, 0, 2), Err(INVALID_VALUE));
    assert_eq!(pool.set_access(1, 99, 3), Err(INVALID_DEVICE));
    assert_eq!(pool.set_access(2, 0, 3), Err(INVALID_VALUE));
    assert_eq!(pool.access(1, 99), Err(INVALID_DEVICE));
    assert_eq!(pool.access(2, 0), Ok(0));
    assert_eq!(pool.access(7, 0), Err(INVALID_VALUE));
    let nothing = std::ptr::null::<Access>();
    assert_eq!(
        cu!(cuMemPoolSetAccess(pool.0 => Handle, nothing => *const Access, 1 => usize)),
        Err(INVALID_VALUE)
    );
    pool.destroy().unwrap();
}

#[test]
fn what_a_pool_cannot_be_is_refused() {
    let _driver = Driver::new();
    let wrong = |change: fn(&mut Properties)| {
        let mut properties = Properties::device();
        change(&mut properties);
        create(&properties).map(|pool| pool.destroy().unwrap())
    };
    assert_eq!(
        wrong(|properties| properties.allocation_type = 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.allocation_type = 2),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(wrong(|properties| properties.handle_types = 1), Ok(()));
    assert_eq!(
        wrong(|properties| properties.handle_types = 2),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.location = [0, 0]),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.location = [1, 99]),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.location = [2, 0]),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        wrong(|properties| properties.location = [4, 0]),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.security_attributes = 8),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        wrong(|properties| properties.reserved[53] = 1),
        Err(INVALID_VALUE)
    );
    let mut pool = 0;
    let nothing = std::ptr::null::<Properties>();
    assert_eq!(
        cu!(cuMemPoolCreate(&mut pool => *mut Handle, nothing => *const Properties)),
        Err(INVALID_VALUE)
    );
}

/// A pool whose memory may be given to other processes keeps it.
#[test]
fn a_shareable_pool_releases_nothing() {
    let driver = Driver::new();
    let before = free_memory();
    let handle_types = 1;
    let pool = create(&Properties {
        handle_types,
        ..Properties::device()
    })
    .unwrap();
    let stream = driver.stream(NON_BLOCKING);
    free(pool.allocate(1, stream).unwrap(), stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    pool.trim(0).unwrap();
    assert_eq!(pool.figures()[0], CHUNK);
    pool.destroy().unwrap();
    assert_eq!(free_memory(), before);
}

/// The calls of CUDA 13 that name a location instead of a device.
#[test]
fn pools_are_found_by_location() {
    let _driver = Driver::new();
    let found = |name: &str, location: Location, kind: c_uint| {
        let mut pool = 0;
        let result = match name {
            "default" => cu!(cuMemGetDefaultMemPool(
                &mut pool => *mut Handle, &location => *const Location, kind => c_uint,
            )),
            _ => {
                cu!(cuMemGetMemPool(&mut pool => *mut Handle, &location => *const Location, kind => c_uint))
            }
        };
        result.map(|()| Pool(pool))
    };
    let own = Pool::new();
    cu!(cuMemSetMemPool(&Location(1, 0) => *const Location, 1 => c_uint, own.0 => Handle)).unwrap();
    assert_eq!(found("default", Location(1, 0), 1), Ok(default_pool()));
    assert_eq!(found("current", Location(1, 0), 1), Ok(own));
    assert_eq!(found("current", Location(1, 99), 1), Err(INVALID_DEVICE));
    assert_eq!(found("current", Location(1, 0), 0), Err(INVALID_VALUE));
    assert_eq!(found("current", Location(2, 0), 1), Err(NOT_SUPPORTED));
    assert_eq!(found("default", Location(1, 0), 2), Err(NOT_SUPPORTED));
    own.destroy().unwrap();
}

#[test]
fn sharing_between_processes_is_refused() {
    let _driver = Driver::new();
    let (pool, data) = (Pool::new(), [0_u64; 8]);
    let data = data.as_ptr().cast_mut().cast::<c_void>();
    assert_eq!(
        cu!(cuMemPoolExportToShareableHandle(data => *mut c_void, pool.0 => Handle, 1 => c_uint, 0 => u64)),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        cu!(cuMemPoolImportFromShareableHandle(data => *mut c_void, data => *mut c_void, 1 => c_uint, 0 => u64)),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        cu!(cuMemPoolExportPointer(data => *mut c_void, 0 => Address)),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(
        cu!(cuMemPoolImportPointer(data => *mut c_void, pool.0 => Handle, data => *mut c_void)),
        Err(NOT_SUPPORTED)
    );
    pool.destroy().unwrap();
}

/// `_ptsz`: null means the thread's own stream, in which the other default stream's order does not hold.
#[test]
fn the_per_thread_stream_is_another_one() {
    let driver = Driver::new();
    let other = driver.stream(NON_BLOCKING);
    let host = driver.pinned(LONG);
    let mut memory = 0;
    cu!(cuMemAllocAsync_ptsz(&mut memory => *mut Address, LONG => usize, 0 => Handle)).unwrap();
    keep_busy(&driver, memory, &host, PER_THREAD);
    cu!(cuMemFreeAsync_ptsz(memory => Address, 0 => Handle)).unwrap();
    assert_eq!(allocate(LONG, PER_THREAD), Ok(memory));
    free(memory, PER_THREAD).unwrap();
    let elsewhere = allocate(LONG, other).unwrap();
    assert_ne!(elsewhere, memory);
    free(elsewhere, other).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(default_pool().get(RESERVED_CURRENT), Ok(0));
}

/// A program of this kind costs the host little, and memory from the device more.
#[test]
fn the_pool_makes_allocation_cheap() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let time = |body: &dyn Fn()| {
        let before = software_gpu::host::now();
        body();
        software_gpu::host::now() - before
    };
    let through_the_pool = || free(pool.allocate(LONG, stream).unwrap(), stream).unwrap();
    let grows = time(&through_the_pool);
    let reuses = time(&through_the_pool);
    let plain = time(&|| free_now(driver.allocate(LONG).unwrap()).unwrap());
    assert!(reuses * 20 < plain, "{reuses:?} {plain:?}");
    assert!(reuses * 20 < grows, "{reuses:?} {grows:?}");
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

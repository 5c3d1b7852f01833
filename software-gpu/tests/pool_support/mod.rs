//! The calls on memory pools, each by its name.
#![allow(dead_code, reason = "each test uses its part")]

use std::ffi::{c_int, c_uint};

use software_gpu::driver::entry_point;

use crate::driver_support::*;

pub const ILLEGAL_ADDRESS: Error = 700;

/// Stores 7 at an address.
pub const STORE: &str = "
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

pub const FOLLOW_EVENT_DEPENDENCIES: c_uint = 1;
pub const ALLOW_OPPORTUNISTIC: c_uint = 2;
pub const ALLOW_INTERNAL_DEPENDENCIES: c_uint = 3;
pub const RELEASE_THRESHOLD: c_uint = 4;
pub const RESERVED_CURRENT: c_uint = 5;
pub const RESERVED_HIGH: c_uint = 6;
pub const USED_CURRENT: c_uint = 7;
pub const USED_HIGH: c_uint = 8;

/// What pools reserve at least.
pub const CHUNK: usize = 32 * MIB;

/// `CUmemPoolProps`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Properties {
    pub allocation_type: c_uint,
    pub handle_types: c_uint,
    pub location: [c_int; 2],
    pub security_attributes: usize,
    pub max_size: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

impl Properties {
    /// Device memory of device 0.
    pub fn device() -> Self {
        Self {
            allocation_type: 1,
            handle_types: 0,
            location: [1, 0],
            security_attributes: 0,
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        }
    }
}

pub fn create(properties: &Properties) -> Result<Pool, Error> {
    let mut pool = 0;
    cu!(cuMemPoolCreate(&mut pool => *mut Handle, properties => *const Properties))
        .map(|()| Pool(pool))
}

/// `cuMemFreeAsync`.
pub fn free(address: Address, stream: Handle) -> Result<(), Error> {
    cu!(cuMemFreeAsync(address => Address, stream => Handle))
}

/// `cuMemFree`.
pub fn free_now(address: Address) -> Result<(), Error> {
    cu!(cuMemFree_v2(address => Address))
}

/// Free bytes of the device.
pub fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    cu!(cuMemGetInfo_v2(&mut free => *mut usize, &mut total => *mut usize)).expect("cuMemGetInfo");
    free
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool(pub Handle);

impl Pool {
    /// A pool of device memory, with the defaults.
    pub fn new() -> Self {
        create(&Properties::device()).expect("cuMemPoolCreate")
    }

    /// A pool that cannot have more than one chunk.
    pub fn of_one_chunk() -> Self {
        let max_size = CHUNK;
        create(&Properties {
            max_size,
            ..Properties::device()
        })
        .expect("cuMemPoolCreate")
    }

    pub fn destroy(self) -> Result<(), Error> {
        cu!(cuMemPoolDestroy(self.0 => Handle))
    }

    pub fn allocate(self, bytes: usize, stream: Handle) -> Result<Address, Error> {
        let mut address = 0;
        cu!(cuMemAllocFromPoolAsync(
            &mut address => *mut Address, bytes => usize, self.0 => Handle, stream => Handle,
        ))
        .map(|()| address)
    }

    pub fn trim(self, keep: usize) -> Result<(), Error> {
        cu!(cuMemPoolTrimTo(self.0 => Handle, keep => usize))
    }

    /// An attribute of 8 bytes.
    pub fn get(self, attribute: c_uint) -> Result<u64, Error> {
        let mut value = u64::MAX;
        cu!(cuMemPoolGetAttribute(self.0 => Handle, attribute => c_uint, &mut value => *mut u64))
            .map(|()| value)
    }

    /// As [`get`](Self::get).
    pub fn set(self, attribute: c_uint, value: u64) -> Result<(), Error> {
        cu!(cuMemPoolSetAttribute(self.0 => Handle, attribute => c_uint, &value => *const u64))
    }

    /// Leaves on, of the three policies of reuse, those alone.
    pub fn only(self, policies: &[c_uint]) -> Self {
        for policy in [
            FOLLOW_EVENT_DEPENDENCIES,
            ALLOW_OPPORTUNISTIC,
            ALLOW_INTERNAL_DEPENDENCIES,
        ] {
            let on = c_int::from(policies.contains(&policy));
            cu!(cuMemPoolSetAttribute(self.0 => Handle, policy => c_uint, &on => *const c_int))
                .expect("cuMemPoolSetAttribute");
        }
        self
    }

    /// Bytes reserved and used, now and at most.
    pub fn figures(self) -> [usize; 4] {
        [RESERVED_CURRENT, RESERVED_HIGH, USED_CURRENT, USED_HIGH]
            .map(|attribute| self.get(attribute).expect("cuMemPoolGetAttribute") as usize)
    }
}

/// Long enough for its copy to be under way when the next calls return.
pub const LONG: usize = 16 * MIB;

/// Puts a copy into the stream that ends long after the next calls.
pub fn keep_busy(driver: &Driver, memory: Address, host: &Pinned, stream: Handle) {
    driver
        .to_device(memory, host.pointer(), LONG, stream)
        .unwrap();
}

/// Waits for the stream without a synchronising call.
pub fn poll(driver: &Driver, stream: Handle) {
    while driver.stream_query(stream) == Err(NOT_READY) {}
}

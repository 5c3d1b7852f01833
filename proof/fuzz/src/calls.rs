//! A program of `cu*` calls: each [`RECORD`] of bytes is one call, the first byte or two of which say which one.

use std::ffi::{CStr, c_void};
use std::sync::LazyLock;

use software_gpu::driver::{self, entry_point};
use software_gpu::reports;

use crate::arguments::Argument;
use crate::table::CALLS;
use crate::world::{
    ADDRESS, CONTEXT, EVENT, FUNCTION, GRAPH, KERNEL, LIBRARY, MODULE, PINNED, POOL, RECORD,
    STREAM, World,
};

/// Calls of one program; more only make each run slower.
const MAX_CALLS: usize = 64;
/// The module that every program has.
pub const IMAGE: &CStr =
    match CStr::from_bytes_with_nul(concat!(include_str!("kernels.ptx"), "\0").as_bytes()) {
        Ok(image) => image,
        Err(_) => panic!("a zero byte in the kernels"),
    };
/// The names of its kernels.
const KERNELS: &[&CStr] = &[
    c"add",
    c"store",
    c"copy",
    c"counted",
    c"meet",
    c"clustered",
    c"failing",
];

/// An entry point as the table has it: finds the arguments and calls.
pub type Caller = fn(&mut World, usize) -> u32;

/// The addresses of each call: for the legacy default stream and for that of the thread.
static ADDRESSES: LazyLock<Vec<[usize; 2]>> = LazyLock::new(|| {
    let address = |name: &str| entry_point(name).map(|address| address as usize);
    let both = |(name, _): &(&str, Caller)| {
        let usual = address(name).unwrap_or_else(|| panic!("{name} is not an entry point"));
        let suffixed = ["_ptsz", "_ptds"].map(|suffix| address(&format!("{name}{suffix}")));
        [
            usual,
            suffixed.into_iter().flatten().next().unwrap_or(usual),
        ]
    };
    CALLS.iter().map(both).collect()
});

/// Runs the program that `data` says, on devices on which nothing has happened before.
pub fn run(data: &[u8]) {
    driver::reset();
    let mut world = World::new();
    let (_, _reports) = reports::collect(|| {
        begin(&mut world);
        for record in data.chunks(RECORD).take(MAX_CALLS) {
            step(&mut world, record);
        }
        end(&mut world);
    });
    driver::reset();
}

fn step(world: &mut World, record: &[u8]) {
    world.begin(record);
    let which = usize::from(world.byte()) | usize::from(world.byte()) << 8;
    let (index, per_thread) = (which % CALLS.len(), (which / CALLS.len()) & 7 == 1);
    let address = ADDRESSES[index][usize::from(per_thread)];
    let code = CALLS[index].1(world, address);
    world.end(code == 0);
}

/// Calls an entry point that does not depend on the program.
macro_rules! call {
    ($name:ident($($argument:expr => $kind:ty),*)) => {{
        static ADDRESS: LazyLock<usize> = LazyLock::new(|| entry_point(stringify!($name)).map_or(0, |at| at as usize));
        // SAFETY: the types are those of cuda.h; every argument is valid for the call, or invalid only as a value.
        let code: u32 = unsafe {
            let function: unsafe extern "C" fn($($kind),*) -> u32 = std::mem::transmute(*ADDRESS);
            function($($argument),*)
        };
        code
    }};
}

/// What most programs begin with.
fn begin(world: &mut World) {
    let mut made = |kind: usize, make: &dyn Fn(*mut u64) -> u32| {
        let mut handle = 0;
        if make(&mut handle) == 0 && handle != 0 {
            world.handles[kind].live.push(handle);
        }
        handle
    };
    let mut mode = 0;
    call!(cuInit(0 => u32));
    call!(cuThreadExchangeStreamCaptureMode(&mut mode => *mut u32));
    for device in [1, 0] {
        let context = made(
            CONTEXT,
            &|to| call!(cuDevicePrimaryCtxRetain(to => *mut u64, device => i32)),
        );
        call!(cuCtxSetCurrent(context => u64));
        made(
            ADDRESS,
            &|to| call!(cuMemAlloc_v2(to => *mut u64, 4096 => usize)),
        );
        made(
            STREAM,
            &|to| call!(cuStreamCreate(to => *mut u64, 1 - device as u32 => u32)),
        );
        made(EVENT, &|to| call!(cuEventCreate(to => *mut u64, 0 => u32)));
        made(
            POOL,
            &|to| call!(cuDeviceGetDefaultMemPool(to => *mut u64, device => i32)),
        );
    }
    made(
        STREAM,
        &|to| call!(cuStreamCreate(to => *mut u64, 1 => u32)),
    );
    made(
        PINNED,
        &|to| call!(cuMemAllocHost_v2(to => *mut u64, 8192 => usize)),
    );
    made(GRAPH, &|to| call!(cuGraphCreate(to => *mut u64, 0 => u32)));
    let module = made(
        MODULE,
        &|to| call!(cuModuleLoadData(to => *mut u64, IMAGE.as_ptr() => *const i8)),
    );
    for name in KERNELS {
        made(
            FUNCTION,
            &|to| call!(cuModuleGetFunction(to => *mut u64, module => u64, name.as_ptr() => *const i8)),
        );
    }
    world.handles[STREAM].live.extend([0, 1, 2]);
    let objects = &world.handles;
    debug_assert!(
        [FUNCTION, GRAPH, MODULE, POOL, EVENT, PINNED]
            .iter()
            .all(|kind| !objects[*kind].live.is_empty())
    );
    debug_assert!(objects[LIBRARY].live.is_empty() && objects[KERNEL].live.is_empty());
}

/// Waits for everything, on every device and in every context that is left.
fn end(world: &mut World) {
    call!(cuCtxSynchronize());
    for context in std::mem::take(&mut world.handles[CONTEXT].live) {
        call!(cuCtxSetCurrent(context => u64));
        call!(cuCtxSynchronize());
    }
}

/// What the driver calls as a host function: a call, which it must refuse.
pub extern "C" fn on_host(_data: *mut c_void) {
    refused();
}

/// What the driver calls as a stream's callback.
pub extern "C" fn on_callback(_stream: u64, _status: u32, _data: *mut c_void) {
    refused();
}

fn refused() {
    const NOT_PERMITTED: u32 = 800;
    assert_eq!(call!(cuCtxSynchronize()), NOT_PERMITTED);
}

/// Calls `address` with arguments of these types, in this order.
pub fn typed<A: Arguments>(world: &mut World, address: usize) -> u32 {
    A::call(world, address)
}

/// A list of [`Argument`]s.
pub trait Arguments {
    /// Makes the arguments and calls.
    fn call(world: &mut World, address: usize) -> u32;
}

macro_rules! lists {
    ($(($($argument:ident)*))*) => {$(
        impl<$($argument: Argument),*> Arguments for ($($argument,)*) {
            #[allow(non_snake_case, unused_variables, reason = "a list of any length")]
            fn call(world: &mut World, address: usize) -> u32 {
                $(let $argument = $argument::make(world);)*
                // SAFETY: the table has the types of cuda.h; pointers address memory that the world keeps.
                unsafe {
                    let function: unsafe extern "C" fn($($argument::C),*) -> u32 = std::mem::transmute(address);
                    function($($argument),*)
                }
            }
        }
    )*};
}

lists! {
    ()
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
    (A B C D E F G H I)
    (A B C D E F G H I J)
    (A B C D E F G H I J K)
}

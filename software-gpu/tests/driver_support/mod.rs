//! A thin, safe-to-read harness over the C entry points: each method is one `cu*` call, found by name.
#![allow(dead_code, reason = "each test uses its part")]

pub mod attributes;
pub mod child;
pub mod copies;

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use software_gpu::driver::entry_point;

/// `CUresult` of a call that failed.
pub type Error = u32;
pub type Address = u64;
pub type Handle = usize;

pub const INVALID_VALUE: Error = 1;
pub const OUT_OF_MEMORY: Error = 2;
pub const INVALID_DEVICE: Error = 101;
pub const INVALID_CONTEXT: Error = 201;
pub const INVALID_HANDLE: Error = 400;
pub const NOT_READY: Error = 600;
pub const NOT_SUPPORTED: Error = 801;

pub const LEGACY: Handle = 1;
pub const PER_THREAD: Handle = 2;
pub const NON_BLOCKING: c_uint = 1;
pub const DISABLE_TIMING: c_uint = 2;

pub const MIB: usize = 1 << 20;

/// Calls an entry point: `cu!(cuMemFree_v2(address => u64))`.
macro_rules! cu {
    ($name:ident($($argument:expr => $kind:ty),* $(,)?)) => {{
        let address = entry_point(stringify!($name)).unwrap_or_else(|| panic!("no {}", stringify!($name)));
        // SAFETY: the types are those of cuda.h, and tests pass what the call asks for.
        let code: u32 = unsafe {
            let function: unsafe extern "C" fn($($kind),*) -> u32 = std::mem::transmute(address);
            function($($argument),*)
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }};
}
#[allow(unused_imports, reason = "each test uses its part")]
pub(crate) use cu;

/// The driver with a fresh context that is current to this thread. Tests of one process take turns.
pub struct Driver {
    pub context: Handle,
    _turn: MutexGuard<'static, ()>,
}

impl Driver {
    /// As [`new`](Self::new), on the first of this many devices. All tests of a process ask for the same number.
    pub fn with_devices(count: usize) -> Self {
        static ONCE: Once = Once::new();
        // SAFETY: this happens once, before the driver reads its environment; the tests have no other readers in C.
        ONCE.call_once(|| unsafe { std::env::set_var("SOFTWARE_GPU_COUNT", count.to_string()) });
        Self::new()
    }

    /// A further context, on that device, which is now current to this thread.
    pub fn context_on(&self, device: c_int) -> Handle {
        let mut context = 0;
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => c_uint, device => c_int))
            .expect("cuCtxCreate");
        context
    }

    pub fn set_current(&self, context: Handle) {
        cu!(cuCtxSetCurrent(context => Handle)).expect("cuCtxSetCurrent");
    }

    pub fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        cu!(cuInit(0 => c_uint)).expect("cuInit");
        let mut context = 0;
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => c_uint, 0 => c_int))
            .expect("cuCtxCreate");
        Self {
            context,
            _turn: turn,
        }
    }

    pub fn allocate(&self, bytes: usize) -> Result<Address, Error> {
        let mut address = 0;
        cu!(cuMemAlloc_v2(&mut address => *mut Address, bytes => usize)).map(|()| address)
    }

    /// Page-locked memory, zeroed.
    pub fn pinned(&self, bytes: usize) -> Pinned {
        let mut start = std::ptr::null_mut();
        cu!(cuMemAllocHost_v2(&mut start => *mut *mut u8, bytes => usize)).expect("cuMemAllocHost");
        Pinned { start, bytes }
    }

    pub fn stream(&self, flags: c_uint) -> Handle {
        let mut stream = 0;
        cu!(cuStreamCreate(&mut stream => *mut Handle, flags => c_uint)).expect("cuStreamCreate");
        stream
    }

    pub fn synchronize(&self) -> Result<(), Error> {
        cu!(cuCtxSynchronize())
    }

    pub fn event(&self) -> Handle {
        self.event_with(0).expect("cuEventCreate")
    }

    pub fn event_with(&self, flags: c_uint) -> Result<Handle, Error> {
        let mut event = 0;
        cu!(cuEventCreate(&mut event => *mut Handle, flags => c_uint)).map(|()| event)
    }

    pub fn record(&self, event: Handle, stream: Handle) -> Result<(), Error> {
        cu!(cuEventRecord(event => Handle, stream => Handle))
    }

    pub fn wait(&self, stream: Handle, event: Handle) -> Result<(), Error> {
        cu!(cuStreamWaitEvent(stream => Handle, event => Handle, 0 => c_uint))
    }

    pub fn elapsed(&self, start: Handle, end: Handle) -> Result<f32, Error> {
        let mut milliseconds = f32::NAN;
        cu!(cuEventElapsedTime(&mut milliseconds => *mut f32, start => Handle, end => Handle))
            .map(|()| milliseconds)
    }

    pub fn event_synchronize(&self, event: Handle) -> Result<(), Error> {
        cu!(cuEventSynchronize(event => Handle))
    }

    pub fn event_query(&self, event: Handle) -> Result<(), Error> {
        cu!(cuEventQuery(event => Handle))
    }

    pub fn stream_synchronize(&self, stream: Handle) -> Result<(), Error> {
        cu!(cuStreamSynchronize(stream => Handle))
    }

    pub fn stream_query(&self, stream: Handle) -> Result<(), Error> {
        cu!(cuStreamQuery(stream => Handle))
    }

    pub fn to_device(
        &self,
        to: Address,
        from: *const u8,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        cu!(cuMemcpyHtoDAsync_v2(to => Address, from => *const u8, bytes => usize, stream => Handle))
    }

    pub fn to_host(
        &self,
        to: *mut u8,
        from: Address,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        cu!(cuMemcpyDtoHAsync_v2(to => *mut u8, from => Address, bytes => usize, stream => Handle))
    }

    pub fn within_device(
        &self,
        to: Address,
        from: Address,
        bytes: usize,
        stream: Handle,
    ) -> Result<(), Error> {
        cu!(cuMemcpyDtoDAsync_v2(to => Address, from => Address, bytes => usize, stream => Handle))
    }

    pub fn set(&self, to: Address, value: u8, bytes: usize, stream: Handle) -> Result<(), Error> {
        cu!(cuMemsetD8Async(to => Address, value => u8, bytes => usize, stream => Handle))
    }

    /// Fills device memory before a test begins.
    pub fn fill(&self, to: Address, value: u8, bytes: usize) {
        self.set(to, value, bytes, LEGACY).expect("cuMemsetD8Async");
        self.synchronize().expect("cuCtxSynchronize");
    }

    /// Reads device memory after everything has ended.
    pub fn read(&self, from: Address, bytes: usize) -> Vec<u8> {
        self.synchronize().expect("cuCtxSynchronize");
        let mut host = vec![0; bytes];
        cu!(cuMemcpyDtoH_v2(host.as_mut_ptr() => *mut u8, from => Address, bytes => usize))
            .expect("cuMemcpyDtoH");
        host
    }

    pub fn host_function(
        &self,
        stream: Handle,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<(), Error> {
        cu!(cuLaunchHostFunc(
            stream => Handle,
            function => unsafe extern "C" fn(*mut c_void),
            data => *mut c_void,
        ))
    }

    pub fn module(&self, ptx: &str) -> Result<Handle, Error> {
        let text = CString::new(ptx).expect("no zero inside");
        let mut module = 0;
        cu!(cuModuleLoadData(&mut module => *mut Handle, text.as_ptr() => *const c_char))
            .map(|()| module)
    }

    pub fn function(&self, module: Handle, name: &str) -> Result<Handle, Error> {
        let name = CString::new(name).expect("no zero inside");
        let mut function = 0;
        cu!(cuModuleGetFunction(
            &mut function => *mut Handle,
            module => Handle,
            name.as_ptr() => *const c_char,
        ))
        .map(|()| function)
    }

    /// A kernel of PTX text that is known to be right.
    #[track_caller]
    pub fn kernel(&self, ptx: &str, name: &str) -> Handle {
        let module = self.module(ptx).expect("loads");
        self.function(module, name).expect("exists")
    }

    pub fn launch(
        &self,
        function: Handle,
        grid: u32,
        block: u32,
        stream: Handle,
        arguments: &[&dyn LaunchArgument],
    ) -> Result<(), Error> {
        self.launch_shaped(function, [grid, 1, 1], [block, 1, 1], 0, stream, arguments)
    }

    pub fn launch_shaped(
        &self,
        function: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        stream: Handle,
        arguments: &[&dyn LaunchArgument],
    ) -> Result<(), Error> {
        let pointers: Vec<_> = arguments
            .iter()
            .map(|argument| (**argument).pointer())
            .collect();
        cu!(cuLaunchKernel(
            function => Handle,
            grid[0] => c_uint, grid[1] => c_uint, grid[2] => c_uint,
            block[0] => c_uint, block[1] => c_uint, block[2] => c_uint,
            shared_bytes => c_uint,
            stream => Handle,
            pointers.as_ptr() => *const *const c_void,
            std::ptr::null() => *const *const c_void,
        ))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = cu!(cuCtxDestroy_v2(self.context => Handle));
    }
}

/// Something that a kernel takes.
pub trait LaunchArgument {
    fn pointer(&self) -> *const c_void;
}

impl<T: Copy> LaunchArgument for T {
    fn pointer(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

/// Page-locked host memory, reached as the program would: by its pointer, at any time.
pub struct Pinned {
    start: *mut u8,
    bytes: usize,
}

impl Pinned {
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.bytes);
        self.start.wrapping_add(offset)
    }

    pub fn pointer(&self) -> *mut u8 {
        self.start
    }

    pub fn fill(&self, value: u8) {
        // SAFETY: the memory is as long as that; the harness's tests run the driver on this thread.
        unsafe { self.start.write_bytes(value, self.bytes) };
    }

    pub fn byte(&self, offset: usize) -> u8 {
        // SAFETY: `at` checks the offset.
        unsafe { self.at(offset).read_volatile() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        (0..self.bytes).map(|offset| self.byte(offset)).collect()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = cu!(cuMemFreeHost(self.start => *mut u8));
    }
}

//! The base of the rules: a context, and short functions for objects that a rule needs but does not test.

use std::ffi::{CString, c_void};
use std::ptr::{self, null_mut};
use std::time::Duration;

use crate::api::{self, Address, Code, Handle, NOT_READY, SUCCESS};
use crate::rule::{Failure, Outcome, Reason, out, same};
use crate::{cu, ok};

/// The kernels of the scene: `spin`, `slow_store`, `store`, `move_word`, `count`, and those that single rules need.
pub const PTX: &str = include_str!("../ptx/scene.ptx");

/// How long [`Scene::busy`] keeps a stream busy: thousands of times the length of a call.
pub const BUSY: Duration = Duration::from_millis(60);

/// A device, a context that is current to the rule's thread, and the modules loaded so far.
pub struct Scene {
    /// The device's number.
    pub device: i32,
    /// The context that was made for the rule.
    pub context: Handle,
    module: Handle,
}

/// A kernel argument: passed by the address of its bytes.
pub trait Argument {
    /// Where the bytes are.
    fn pointer(&self) -> *mut c_void;
}

impl<T: Copy> Argument for T {
    fn pointer(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }
}

impl Scene {
    /// Initialises the driver and makes a context current.
    pub fn open() -> Outcome<Self> {
        ok!(cuInit(0));
        let device = out(|device| cu!(cuDeviceGet(device, 0)))?;
        let context = out(|context| cu!(cuCtxCreate_v2(context, 0, device)))?;
        Ok(Self {
            device,
            context,
            module: 0,
        })
    }

    /// Destroys the context, which ends and releases everything in it.
    pub fn close(self) {
        if self.context != 0 {
            // It may be that the rule destroyed it.
            let _ = cu!(cuCtxDestroy_v2(self.context));
        }
    }

    /// A new stream.
    pub fn stream(&self) -> Outcome<Handle> {
        self.stream_with(0)
    }

    /// A new stream that does not synchronise with the legacy stream.
    pub fn non_blocking(&self) -> Outcome<Handle> {
        self.stream_with(api::NON_BLOCKING)
    }

    /// A new stream with flags.
    pub fn stream_with(&self, flags: u32) -> Outcome<Handle> {
        out(|stream| cu!(cuStreamCreate(stream, flags)))
    }

    /// A new event that keeps the time.
    pub fn event(&self) -> Outcome<Handle> {
        self.event_with(0)
    }

    /// A new event with flags.
    pub fn event_with(&self, flags: u32) -> Outcome<Handle> {
        out(|event| cu!(cuEventCreate(event, flags)))
    }

    /// A new event, recorded in `stream`.
    pub fn recorded(&self, stream: Handle) -> Outcome<Handle> {
        let event = self.event()?;
        ok!(cuEventRecord(event, stream));
        Ok(event)
    }

    /// Device memory, all bytes zero.
    pub fn device(&self, bytes: usize) -> Outcome<Address> {
        let address = out(|address| cu!(cuMemAlloc_v2(address, bytes)))?;
        ok!(cuMemsetD8_v2(address, 0, bytes));
        ok!(cuCtxSynchronize());
        Ok(address)
    }

    /// Page-locked memory, all bytes zero. It ends with the context.
    pub fn pinned(&self, bytes: usize) -> Outcome<Pinned> {
        let mut start = null_mut();
        ok!(cuMemAllocHost_v2(&mut start, bytes));
        let pinned = Pinned {
            start: start.cast(),
            bytes,
        };
        pinned.fill(0);
        Ok(pinned)
    }

    /// The module with the scene's kernels.
    pub fn module(&mut self) -> Outcome<Handle> {
        if self.module == 0 {
            self.module = self.load(PTX)?;
        }
        Ok(self.module)
    }

    /// Loads the scene's kernels once more, into the context that is current now.
    pub fn reload(&mut self) -> Outcome {
        self.module = self.load(PTX)?;
        Ok(())
    }

    /// A new module from PTX text.
    pub fn load(&self, ptx: &str) -> Outcome<Handle> {
        let text = c_string(ptx);
        let mut module = 0;
        ok!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
        Ok(module)
    }

    /// A kernel of the scene's module.
    pub fn kernel(&mut self, name: &str) -> Outcome<Handle> {
        let module = self.module()?;
        self.kernel_of(module, name)
    }

    /// A kernel of a module.
    pub fn kernel_of(&self, module: Handle, name: &str) -> Outcome<Handle> {
        let name = c_string(name);
        let mut function = 0;
        ok!(cuModuleGetFunction(&mut function, module, name.as_ptr()));
        Ok(function)
    }

    /// The code of a launch of one block of one thread.
    pub fn try_launch(
        &self,
        function: Handle,
        stream: Handle,
        arguments: &[&dyn Argument],
    ) -> Code {
        self.try_shaped(function, [1; 3], [1; 3], 0, stream, arguments)
    }

    /// The code of a launch.
    pub fn try_shaped(
        &self,
        function: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        stream: Handle,
        arguments: &[&dyn Argument],
    ) -> Code {
        let mut pointers: Vec<_> = arguments
            .iter()
            .map(|argument| (**argument).pointer())
            .collect();
        let [grid_x, grid_y, grid_z] = grid;
        let [block_x, block_y, block_z] = block;
        cu!(cuLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            pointers.as_mut_ptr(),
            null_mut(),
        ))
    }

    /// Launches one thread of a kernel of the scene.
    #[track_caller]
    pub fn launch(&mut self, name: &str, stream: Handle, arguments: &[&dyn Argument]) -> Outcome {
        let function = self.kernel(name)?;
        same(
            &self.try_launch(function, stream, arguments),
            &SUCCESS,
            &format!("cuLaunchKernel({name})"),
        )
    }

    /// Keeps `stream` busy for [`BUSY`].
    #[track_caller]
    pub fn busy(&mut self, stream: Handle) -> Outcome {
        self.launch("spin", stream, &[&nanoseconds()])
    }

    /// After [`BUSY`], stores a word.
    #[track_caller]
    pub fn slow_store(&mut self, to: Address, value: u32, stream: Handle) -> Outcome {
        self.launch("slow_store", stream, &[&to, &value, &nanoseconds()])
    }

    /// Stores a word.
    #[track_caller]
    pub fn store(&mut self, to: Address, value: u32, stream: Handle) -> Outcome {
        self.launch("store", stream, &[&to, &value])
    }

    /// Copies a word by a kernel.
    #[track_caller]
    pub fn move_word(&mut self, to: Address, from: Address, stream: Handle) -> Outcome {
        self.launch("move_word", stream, &[&to, &from])
    }

    /// The word at `from`, once the context is idle.
    pub fn word(&self, from: Address) -> Outcome<u32> {
        ok!(cuCtxSynchronize());
        let mut word = 0_u32;
        ok!(cuMemcpyDtoH_v2((&raw mut word).cast(), from, 4));
        Ok(word)
    }

    /// The bytes at `from`, once the context is idle.
    pub fn bytes(&self, from: Address, count: usize) -> Outcome<Vec<u8>> {
        ok!(cuCtxSynchronize());
        let mut bytes = vec![0_u8; count];
        ok!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from, count));
        Ok(bytes)
    }

    /// A `CUdevice_attribute` of the device.
    pub fn attribute(&self, attribute: u32) -> Outcome<i32> {
        out(|value| cu!(cuDeviceGetAttribute(value, attribute, self.device)))
    }

    /// The number of another device.
    ///
    /// # Errors
    /// The rule is skipped when there is one device only.
    pub fn other_device(&self) -> Outcome<i32> {
        let count: i32 = out(|count| cu!(cuDeviceGetCount(count)))?;
        if count < 2 {
            return Err(Failure::Skipped(Reason::OneDevice));
        }
        out(|device| cu!(cuDeviceGet(device, 1)))
    }
}

/// Whether `stream` still has work.
#[track_caller]
pub fn is_busy(stream: Handle) -> Outcome<bool> {
    running(cu!(cuStreamQuery(stream)))
}

/// Whether the last record of `event` is still to come.
#[track_caller]
pub fn is_pending(event: Handle) -> Outcome<bool> {
    running(cu!(cuEventQuery(event)))
}

#[track_caller]
fn running(code: Code) -> Outcome<bool> {
    if code != NOT_READY {
        same(&code, &SUCCESS, "a query")?;
    }
    Ok(code == NOT_READY)
}

/// A text with a zero behind it; what follows a zero inside is cut off.
pub fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

fn nanoseconds() -> u64 {
    u64::try_from(BUSY.as_nanos()).unwrap_or(u64::MAX)
}

/// Page-locked host memory, read and written at any time, as the device does too.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    start: *mut u8,
    bytes: usize,
}

impl Pinned {
    /// Where it starts.
    pub fn pointer(self) -> *mut c_void {
        self.start.cast()
    }

    /// Its address on the device under unified addressing.
    pub fn address(self) -> Address {
        self.start as Address
    }

    /// Sets all bytes.
    pub fn fill(self, value: u8) {
        for offset in 0..self.bytes {
            // SAFETY: within the memory, which lives as long as the rule's context.
            unsafe { self.start.add(offset).write_volatile(value) };
        }
    }

    /// The byte at `offset`; zero beyond the end.
    pub fn byte(self, offset: usize) -> u8 {
        if offset >= self.bytes {
            return 0;
        }
        // SAFETY: within the memory, which lives as long as the rule's context.
        unsafe { self.start.add(offset).read_volatile() }
    }

    /// The first four bytes.
    pub fn word(self) -> u32 {
        u32::from_ne_bytes([0, 1, 2, 3].map(|offset| self.byte(offset)))
    }

    /// All bytes.
    pub fn bytes(self) -> Vec<u8> {
        (0..self.bytes).map(|offset| self.byte(offset)).collect()
    }
}

//! requests: what is lost when a request cannot be met?
//!
//! Nothing, if the program looks at the answer. A request for more memory than there is, or for a launch that the device
//! cannot make, is refused by the call itself, and the context works on:
//!
//! ```text
//! request  error        kernel   right
//! request  error        kernel   right
//! ```
//!
//! That tells these errors apart from faults of kernels, which end the context. A request that is met, or a kernel that does
//! not work behind one, would prove this wrong.

use cuda_host::{kernels, launch, prelude::*};
use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::answer::answer;
use examples_host::prelude::*;

kernels! { use gpu_kernels::iota; }

const NUMBERS: usize = 64;

/// A kernel, room for its numbers, and a number of bytes that the device does not have.
struct Scene {
    kernels: Kernels,
    stream: Stream,
    numbers: DeviceBuffer<u32>,
    too_much: usize,
    /// More shared memory than a block may have.
    too_much_shared: u32,
}

/// A request, and how the driver refuses it.
struct Request {
    id: &'static str,
    make: fn(&Scene) -> CudaResult<()>,
    error: &'static str,
}

const NO_MEMORY: &str = "CUDA_ERROR_OUT_OF_MEMORY";
const INVALID: &str = "CUDA_ERROR_INVALID_VALUE";
/// Whatever the operating system makes of it.
const ANY: &str = "an error";

const REQUESTS: [Request; 6] = [
    Request { id: "device-memory", make: device_memory, error: NO_MEMORY },
    Request { id: "memory-of-the-pool", make: memory_of_the_pool, error: NO_MEMORY },
    Request { id: "page-locked-memory", make: page_locked_memory, error: ANY },
    Request { id: "threads-of-a-block", make: threads_of_a_block, error: INVALID },
    Request { id: "blocks-of-a-grid", make: blocks_of_a_grid, error: INVALID },
    Request { id: "shared-memory", make: shared_memory, error: INVALID },
];

/// More than the device has (`cuMemAlloc`).
fn device_memory(scene: &Scene) -> CudaResult<()> {
    // SAFETY: nothing is allocated.
    unsafe { DeviceBuffer::<u8>::uninitialized(scene.too_much) }.map(drop)
}

/// The same in stream order (`cuMemAllocAsync`).
fn memory_of_the_pool(scene: &Scene) -> CudaResult<()> {
    // SAFETY: nothing is allocated.
    unsafe { DeviceBuffer::<u8>::uninitialized_async(scene.too_much, &scene.stream) }.map(drop)
}

/// A pebibyte of the host's memory (`cuMemAllocHost`).
fn page_locked_memory(_: &Scene) -> CudaResult<()> {
    // SAFETY: nothing is allocated.
    unsafe { LockedBuffer::<u8>::uninitialized(1 << 50) }.map(drop)
}

/// 2048 threads, of which a block may have 1024.
fn threads_of_a_block(Scene { kernels, stream, numbers, .. }: &Scene) -> CudaResult<()> {
    let mut numbers = numbers.index(..);
    // SAFETY: nothing is launched.
    unsafe { launch!(kernels.iota<<<1, 2048, 0, stream>>>(&mut numbers, 0)) }
}

/// 65,536 blocks in y, of which a grid may have one less.
fn blocks_of_a_grid(Scene { kernels, stream, numbers, .. }: &Scene) -> CudaResult<()> {
    let mut numbers = numbers.index(..);
    // SAFETY: nothing is launched.
    unsafe { launch!(kernels.iota<<<(1, 65536), 32, 0, stream>>>(&mut numbers, 0)) }
}

/// More than 48 KiB without having asked for it (`cuFuncSetAttribute`).
fn shared_memory(scene: &Scene) -> CudaResult<()> {
    let (Scene { kernels, stream, .. }, bytes) = (scene, scene.too_much_shared);
    let mut numbers = scene.numbers.index(..);
    // SAFETY: nothing is launched.
    unsafe { launch!(kernels.iota<<<1, 32, bytes, stream>>>(&mut numbers, 0)) }
}

impl Scene {
    fn new(device: &Device) -> anyhow::Result<Self> {
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            stream: stream::non_blocking()?.named("stream"),
            numbers: DeviceBuffer::zeroed(NUMBERS)?,
            too_much: device.memory_bytes()? + (1 << 30),
            too_much_shared: 48 * 1024 + 1024,
        })
    }

    /// Whether a kernel still gives the right numbers.
    fn works(&mut self, first: u32) -> anyhow::Result<bool> {
        self.numbers.set_8(0xFF)?;
        cust::context::CurrentContext::synchronize()?;
        let (Self { kernels, stream, .. }, mut numbers) = (&*self, self.numbers.index(..));
        // SAFETY: the buffer has an element for each thread.
        unsafe { launch!(kernels.iota<<<1, NUMBERS as u32, 0, stream>>>(&mut numbers, first))? };
        stream.synchronize()?;
        Ok(self.numbers.as_host_vec()?.iter().copied().eq((first..).take(NUMBERS)))
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let mut scene = Scene::new(part.device())?;
    part.predict("Each request is refused by its own call. A kernel launched behind it is right.");

    let mut table = Table::new(["too much", "error", "then"]);
    let mut claims = Vec::new();
    for (Request { id, make, error }, first) in REQUESTS.into_iter().zip(100..) {
        let said = answer(make(&scene));
        let works = scene.works(first)?;
        let then = if works { "kernels work" } else { "kernels do not work" };
        table.row([id.replace('-', " "), said.clone(), then.to_owned()]);
        claims.push((id, said, error, works, then));
    }
    part.say(table);
    for (id, said, error, works, then) in claims {
        let name = id.replace('-', " ");
        let refused = truth(said == error || error == ANY && said != "no error", &said, error);
        let works = truth(works, then, "every number right");
        expect! { part;
            "refused/{id}", "too much {name}: refused" => refused;
            "works/{id}", "too much {name}: a kernel behind it" => works;
        }
    }
    part.take_away("A refused request costs nothing but itself: look at every answer, and go on.");
    Ok(())
}

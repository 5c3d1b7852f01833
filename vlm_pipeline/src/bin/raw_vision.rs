//! How do an image's patches become tokens, and what do images gain that overlap? Every operation in sight, on cust and cuda-host.
//!
//! An image comes in and its texture is extracted; the relevance of each patch decides how many tokens it gets, from 64 to 400; the
//! tokens are allocated, written and copied out. A stream for each of the three, and events between them:
//!
//! ```text
//! texture    |IItIItIIt       |      I: an image comes in        t: its texture features
//! relevance  |   r  r  r      |      r: relevance of each patch
//! tokens     |    aeOOaeOOaeOO|      a: allocate   e: emit       O: the tokens go out
//! ```
//!
//! cargo run -p vlm_pipeline --bin raw_vision       (CUDA_DRIVER=nvidia or software chooses the device)

use anyhow::{Result, ensure};
use cuda_host::{kernels, launch}; // cust's `launch!` does not check the arguments
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use gpu_kernels::{
    IMAGE_PATCHES as PATCHES, PATCH_FEATURES, PATCH_PIXELS, PATCH_TOKENS, VISION_THREADS as THREADS,
};

kernels! { use gpu_kernels::{allocate_tokens, emit_tokens, patch_relevance, texture_features}; }

const IMAGES: usize = 6; // all of them have room on the device
const PIXELS: usize = (PATCHES * PATCH_PIXELS) as usize; // of an image: 1 MiB
const FEATURES: usize = (PATCHES * PATCH_FEATURES) as usize;
const ROOM: usize = (PATCHES * PATCH_TOKENS[1]) as usize; // for the tokens of an image
const WARPS: u32 = PATCHES * 32 / THREADS; // blocks of a launch with a warp for each patch

/// The grey of a patch's even columns. That of the odd ones is 1 more.
fn grey(image: usize, patch: u32) -> u32 {
    (7 * image as u32 + patch) % 15
}

/// An image's tokens: evenly spaced pixels of each patch, each multiplied by the number of the patch's tokens.
fn tokens(image: usize) -> impl Iterator<Item = f32> {
    (0..PATCHES).map(move |patch| grey(image, patch)).flat_map(|grey| {
        let (brightness, energy) = (256 * grey + 128, 128 * (grey.pow(2) + (grey + 1).pow(2)));
        let count = PATCH_TOKENS[0] + (8 * brightness + energy + 8 * 240) / 512; // 240: of neighbours in a row
        (0..count).map(move |token| ((grey + token * PATCH_PIXELS / count % 2) * count) as f32)
    })
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?; //                              cuInit, cuDevicePrimaryCtxRetain
    let kernels = Kernels::load(gpu_kernels::SM_70)?; //                cuModuleLoadDataEx, cuModuleGetFunction
    let mut images = LockedBuffer::new(&0f32, IMAGES * PIXELS)?; //     cuMemAllocHost
    let mut output = LockedBuffer::new(&0f32, IMAGES * ROOM)?;
    for (index, x) in images.iter_mut().enumerate() {
        let patch = index % PIXELS / PATCH_PIXELS as usize;
        *x = grey(index / PIXELS, patch as u32) as f32 + (index % 2) as f32;
    }
    let weights = DeviceBuffer::from_slice(&[1.0 / 64.0, 1.0 / 512.0, 1.0 / 64.0, 1.0 / 64.0])?; // cuMemAlloc, cuMemcpyHtoD
    let pixels = DeviceBuffer::<f32>::zeroed(IMAGES * PIXELS)?; //      cuMemAlloc, cuMemsetD8
    let features = DeviceBuffer::<f32>::zeroed(IMAGES * FEATURES)?;
    let counts = DeviceBuffer::<u32>::zeroed(IMAGES * PATCHES as usize)?;
    let offsets = DeviceBuffer::<u32>::zeroed(IMAGES * PATCHES as usize)?;
    let made = DeviceBuffer::<f32>::zeroed(IMAGES * ROOM)?;
    let texture = Stream::new(StreamFlags::DEFAULT, None)?; //          cuStreamCreateWithPriority
    let relevance = Stream::new(StreamFlags::DEFAULT, None)?;
    let allocation = Stream::new(StreamFlags::DEFAULT, None)?;

    for (name, [texture, relevance, allocation]) in [
        ("warm-up", [&texture, &relevance, &allocation]),
        ("one stream", [&texture, &texture, &texture]),
        ("three streams", [&texture, &relevance, &allocation]),
    ] {
        output.fill(f32::NAN);
        let start = Event::new(EventFlags::DEFAULT)?; //                cuEventCreate
        let end = Event::new(EventFlags::DEFAULT)?;
        start.record(texture)?; //                                      cuEventRecord
        for image in 0..IMAGES {
            let of = |len: usize| image * len..(image + 1) * len;
            let (mut pixels, mut features) =
                (pixels.index(of(PIXELS)), features.index(of(FEATURES)));
            let [mut counts, mut offsets] =
                [&counts, &offsets].map(|all| all.index(of(PATCHES as usize)));
            let mut made = made.index(of(ROOM));
            // SAFETY: all memory lives until `end`, each image has its own, and events order all its uses.
            unsafe {
                pixels.async_copy_from(&images[of(PIXELS)], texture)?; // cuMemcpyHtoDAsync
                launch!(kernels.texture_features<<<WARPS, THREADS, 0, texture>>>(&pixels, PATCHES, &mut features))?;
                hand_over(texture, relevance)?;

                launch!(kernels.patch_relevance<<<4, THREADS, 0, relevance>>>(&features, &weights, PATCHES, &mut counts))?;
                hand_over(relevance, allocation)?;

                launch!(kernels.allocate_tokens<<<1, PATCHES, 0, allocation>>>(&counts, &mut offsets))?;
                launch!(kernels.emit_tokens<<<PATCHES, THREADS, 0, allocation>>>(&pixels, &counts, &offsets, &mut made))?;
                made.async_copy_to(&mut output[of(ROOM)], allocation)?; // cuMemcpyDtoHAsync
            }
        }
        end.record(allocation)?;
        end.synchronize()?; //                                          cuEventSynchronize

        for (image, output) in output.chunks(ROOM).enumerate() {
            for (index, (x, expected)) in output.iter().zip(tokens(image)).enumerate() {
                ensure!(
                    *x == expected,
                    "{name}: image {image}, token {index} is {x}, not {expected}"
                );
            }
        }
        println!("{name:13}  {:6.3} ms", end.elapsed_time_f32(&start)?); // cuEventElapsedTime
    }
    Ok(())
}

/// What is enqueued in `to` from now on waits for everything enqueued in `from` so far.
fn hand_over(from: &Stream, to: &Stream) -> Result<()> {
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    event.record(from)?; //                                             cuEventRecord
    Ok(to.wait_event(event, StreamWaitEventFlags::DEFAULT)?) //         cuStreamWaitEvent
}

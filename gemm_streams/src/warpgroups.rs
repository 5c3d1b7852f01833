//! warpgroups: what do Hopper's instructions gain?
//!
//! `mma.sync` multiplies what is in a warp's registers: every operand is copied into shared memory, from there into registers, and only then
//! multiplied, and the same warps do all of it. `wgmma` multiplies what lies in shared memory, for four warps at once, and while it does
//! they need not wait. One thread of another warp has the tiles brought by copies with tensor maps, which compute addresses and
//! swizzle. Blocks of both are persistent, so that the tiles of the next part of C come while this one is stored. In clusters of two,
//! blocks share what they need both:
//!
//! ```text
//! mma.sync   warps    |cLLMMcLLMMcLLMM|    c: issue copies   L: load fragments   M: multiply
//! wgmma      copies   |CCCCCCCCCCCCCCC|    C: copies with tensor maps
//!            warps    | MMMMMMMMMMMMMM|    M: multiply from shared memory
//! ```
//!
//! A wrong element, `wgmma` that is not faster, or a rate above the data sheet's would prove this wrong.

use crate::products::{self, Products, Shape};
use anyhow::Result;
use cuda_host::kernels;
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;
use cuda_host::tensor_map::{Element, Swizzle, TensorMap, encode_tiled};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{
    GEMM_MMA_WIDE_SHARED_BYTES, GEMM_MMA_WIDE_THREADS, GEMM_WGMMA_BOX, GEMM_WGMMA_OUTPUT_BOX,
    GEMM_WGMMA_SHARED_BYTES, GEMM_WGMMA_THREADS,
};

kernels! { use gpu_kernels::gemm_wgmma; }
kernels! { struct Ampere; use gpu_kernels::gemm_mma_sync_wide; }

/// The products without their copies, and what the second kernel needs.
struct Work {
    products: Products,
    kernels: Kernels,
    ampere: Ampere,
    /// Of A, B and C.
    maps: DeviceBuffer<TensorMap>,
    multiprocessors: u32,
}

impl Work {
    fn new(shape: Shape, device: &Device) -> Result<Self> {
        let mut products = Products::new(shape)?;
        let Shape { products: count, m, n, k } = shape;
        let [a, b, c] = products.on_device();
        let map = |tensor: &DeviceBuffer<u16>, dimensions, [x, y]: [u32; 2]| {
            encode_tiled(tensor, Element::Bf16, dimensions, [x, y, 1], Swizzle::Bytes128)
        };
        let maps = [
            map(a, [k, m, count], GEMM_WGMMA_BOX)?,
            map(b, [k, n, count], GEMM_WGMMA_BOX)?,
            map(c, [n, m, count], GEMM_WGMMA_OUTPUT_BOX)?,
        ];
        let kernels = Kernels::load(gpu_kernels::SM_90A)?;
        kernels.gemm_wgmma.allow_dynamic_shared_bytes(GEMM_WGMMA_SHARED_BYTES)?;
        let ampere = Ampere::load(gpu_kernels::SM_80)?;
        ampere.gemm_mma_sync_wide.allow_dynamic_shared_bytes(GEMM_MMA_WIDE_SHARED_BYTES)?;
        let (maps, multiprocessors) = (DeviceBuffer::from_slice(&maps)?, device.multiprocessors()?);
        Ok(Self { products, kernels, ampere, maps, multiprocessors })
    }

    /// All products by `mma.sync`, by persistent blocks with large tiles.
    fn mma_sync(&mut self, stream: &Stream) -> Result<()> {
        let Shape { products, m, n, k } = self.products.shape;
        let [m, n, k, products] = [m, n, k, products].map(|len| len as u32);
        let grid = (self.multiprocessors, products);
        let gemm = &self.ampere.gemm_mma_sync_wide;
        let (threads, shared) = (GEMM_MMA_WIDE_THREADS, GEMM_MMA_WIDE_SHARED_BYTES);
        let [a, b, c] = self.products.on_device();
        // SAFETY: the operands are of this shape and outlive the pass.
        unsafe {
            launch!(gemm<<<grid, threads, shared, stream>>>(&*a, &*b, c, m, n, k))?;
        }
        Ok(())
    }

    /// All products by persistent blocks, in clusters of so many (`cuLaunchKernelEx`).
    fn wgmma(&mut self, cluster: u32, stream: &Stream) -> Result<()> {
        let Shape { products, m, n, k } = self.products.shape;
        let [m, n, k, products] = [m, n, k, products].map(|len| len as u32);
        let clusters = [Attribute::cluster([cluster, 1, 1])];
        let grid = self.multiprocessors / cluster * cluster;
        let (threads, shared) = (GEMM_WGMMA_THREADS, GEMM_WGMMA_SHARED_BYTES);
        let all = (&self.maps, m, n, k, products);
        // SAFETY: the maps are those of the operands, which outlive the pass.
        unsafe {
            self.kernels.gemm_wgmma.launch_with(&clusters, grid, threads, shared, stream, all)?
        };
        Ok(())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        self.products.poison()
    }

    fn check(&mut self) -> Result<Checked> {
        self.products.check_device()
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["product"])?;
    let shape = part.by_times(
        Shape { products: 1, m: 8192, n: 8192, k: 8192 },
        Shape { products: 1, m: 512, n: 1024, k: 512 },
    );
    let mut work = Work::new(shape, part.device())?;
    let peak = products::peak(part.device())?;
    let least = peak.map(|peak| std::time::Duration::from_secs_f64(shape.operations() / peak));
    part.predict(format!(
        "A product of {} x {} x {} takes {} at the data sheet's rate, which counts wgmma. With mma.sync Hopper reaches\n\
         about two thirds of it.",
        shape.m,
        shape.n,
        shape.k,
        least.map_or("an unknown time".to_owned(), units::time),
    ));

    let plan = Plan::new().launches(1, shape.m * shape.n).threads_differ();
    let variants = variants! { work: Work;
        ("mma-sync", "mma.sync"), [stream] => work.mma_sync(stream);
        "wgmma", [stream] => work.wgmma(1, stream);
        ("wgmma-clusters", "wgmma, clusters of 2"), [stream] => work.wgmma(2, stream);
    };
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.say(products::rates(&outcomes, &shape, peak));
    part.not_claimed_of_the_model("variants", &["mma-sync"]);
    for outcome in &outcomes {
        part.keep(&outcome.name, &outcome.recording);
    }

    let [mma, wgmma, clusters] = &outcomes;
    for outcome in [wgmma, clusters] {
        let (name, gain) = (&outcome.name, outcome.speedup_over(mma));
        expect! { part; outcome.id("faster"), "{name} is faster than mma.sync" => gain.at_least(1.2); }
    }
    for (outcome, least) in outcomes.iter().zip([least; 3].into_iter().flatten()) {
        let (name, reached) = (&outcome.name, share(least.div_duration_f64(outcome.times.min())));
        expect! { part; outcome.id("not-above-peak"), "{name} is not faster than the data sheet" => reached.at_most(1.0); }
    }
    part.take_away("Bring by tensor maps, multiply from shared memory, and let no warp do both.");
    Ok(())
}

//! A device memory and a way to launch kernels on it, without driver and time.
#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::result_large_err, reason = "a test ends with its first fault")]

use bytemuck::{AnyBitPattern, NoUninit};
use software_gpu::exec::{
    Executable, ExecutableKernel, Fault, Grid, GridCost, Latencies, Observed, execute_checked,
};
use software_gpu::memory::{AddressSpace, AllocationKind, WriteHold};
use software_gpu::ptx::{self, PtxError};
use software_gpu::timeline::Profile;

/// The kernels of the examples.
pub const EXAMPLES: &str = include_str!("../../../gpu-kernels/ptx/sm_70.ptx");

/// Warp instructions that no kernel of these tests needs per block, unless it is endless.
const BUDGET: u64 = 1 << 22;

/// A module with one kernel `test(.u64 out, .u64 in, .u32 n)`: `body` runs with `%tid.x` in `%t`, the linear thread index
/// in `%i`, `out + 4 i` in `%out`, `in + 4 i` in `%in`, `n` in `%n`, and registers `%r0…`, `%rd0…`, `%f0…`, `%p0…`.
pub fn kernel(declarations: &str, body: &str) -> String {
    format!(
        ".version 6.0\n.target sm_70\n.address_size 64\n{declarations}
.visible .entry test(.param .u64 out, .param .u64 in, .param .u32 n)
{{
.reg .b32 %t, %i, %n, %r<32>; .reg .b64 %out, %in, %rd<32>; .reg .f32 %f<16>; .reg .f64 %fd<8>; .reg .pred %p<16>;
mov.u32 %t, %tid.x; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mad.lo.s32 %i, %r0, %r1, %t;
ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; ld.param.u32 %n, [n];
mul.wide.u32 %rd0, %i, 4; add.s64 %out, %out, %rd0; add.s64 %in, %in, %rd0;
{body}
ret;
}}\n"
    )
}

/// The default device's.
pub fn latencies() -> Latencies {
    Latencies::of(&Profile::h200())
}

/// Loads a module without global variables. All its kernels can be executed.
pub fn load(source: &str) -> Result<Executable, PtxError> {
    let executable = Executable::new(&ptx::parse(source)?, latencies(), &|_| None)?;
    let refusal = executable
        .kernels()
        .iter()
        .find_map(ExecutableKernel::refusal);
    match refusal {
        Some(refusal) => Err(refusal.clone()),
        None => Ok(executable),
    }
}

/// Bytes of a kernel's parameters.
#[derive(Default)]
pub struct ParameterBytes(Vec<u8>);

impl ParameterBytes {
    /// Appends a value at its alignment.
    pub fn with<T: NoUninit>(mut self, value: T) -> Self {
        self.0
            .resize(self.0.len().next_multiple_of(align_of::<T>()), 0);
        self.0.extend_from_slice(bytemuck::bytes_of(&value));
        self
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy)]
pub struct TestLaunch {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: Option<[u32; 3]>,
    pub cooperative: bool,
    pub dynamic_shared_bytes: u32,
    pub compute_capability: (u32, u32),
    pub threads: usize,
    pub budget: u64,
}

/// A one-dimensional launch.
pub fn launch(blocks: u32, threads: u32) -> TestLaunch {
    TestLaunch {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        cooperative: false,
        dynamic_shared_bytes: 0,
        compute_capability: (9, 0),
        threads: 2,
        budget: BUDGET,
    }
}

/// A device.
pub struct TestDevice(pub AddressSpace);

impl TestDevice {
    pub fn new() -> Self {
        Self(AddressSpace::new(&[1 << 32], 1 << 20))
    }

    /// New memory with these contents.
    pub fn upload<T: NoUninit>(&mut self, values: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let base = self
            .0
            .allocate(0, bytes.len(), AllocationKind::Device)
            .expect("fits");
        let to = self.0.storage(base, bytes.len()).expect("is mapped");
        // SAFETY: `storage` checked the range, and no other code uses the memory.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        base
    }

    /// The contents of memory.
    pub fn download<T: AnyBitPattern + NoUninit>(&self, address: u64, count: usize) -> Vec<T> {
        let mut values: Vec<T> = vec![T::zeroed(); count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        let from = self.0.storage(address, bytes.len()).expect("is mapped");
        // SAFETY: `storage` checked the range, and no kernel runs.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        values
    }

    /// Runs a kernel; its stores are visible afterwards.
    pub fn run(
        &self,
        module: &Executable,
        name: &str,
        l: TestLaunch,
        parameters: &ParameterBytes,
    ) -> Result<GridCost, Fault> {
        self.run_checked(module, name, l, parameters).0
    }

    /// The same, and what the checkers have seen.
    pub fn run_checked(
        &self,
        module: &Executable,
        name: &str,
        l: TestLaunch,
        parameters: &ParameterBytes,
    ) -> (Result<GridCost, Fault>, Observed) {
        let grid = Grid {
            kernel: module.kernel(name).expect("the module has this kernel"),
            grid: l.grid,
            block: l.block,
            cluster: l.cluster,
            cooperative: l.cooperative,
            dynamic_shared_bytes: l.dynamic_shared_bytes,
            parameters: &parameters.0,
            start_ns: 1_000_000,
            clock_mhz: 1980.0,
            compute_capability: l.compute_capability,
            multiprocessors: 132,
            instruction_budget: l.budget,
            stack_limit: 1024,
            threads: l.threads,
        };
        let hold = WriteHold::new(&self.0);
        let (cost, observed) = execute_checked(&grid, &hold);
        if cost.is_ok() {
            hold.finish().land(&self.0);
        }
        (cost, observed)
    }
}

/// Runs the body of a [`kernel`] for one thread per element of `input`; returns what the threads stored.
pub fn run(declarations: &str, body: &str, block: u32, input: &[u32]) -> Result<Vec<u32>, Fault> {
    let blocks = (input.len() as u32).div_ceil(block);
    run_as(declarations, body, launch(blocks, block), input)
}

/// The same with a launch of its own.
pub fn run_as(
    declarations: &str,
    body: &str,
    launch: TestLaunch,
    input: &[u32],
) -> Result<Vec<u32>, Fault> {
    let module = load(&kernel(declarations, body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let (from, to) = (
        device.upload(input),
        device.upload(&vec![0_u32; input.len()]),
    );
    let parameters = ParameterBytes::default()
        .with(to)
        .with(from)
        .with(input.len() as u32);
    device.run(&module, "test", launch, &parameters)?;
    Ok(device.download(to, input.len()))
}

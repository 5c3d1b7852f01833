//! Launching kernels: what a launch may ask for, and what happens when its time comes.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;
use std::thread;

use super::attributes::LaunchAttributes;
use super::cluster;
use super::host_link::{HostShares, migration_cycles};
use super::parameters;
use super::readable;
use crate::activity;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUfunction, CUlaunchConfig, CUstream};
use crate::driver::checkers::source_lines;
use crate::driver::devices::cache::Misses;
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::modules::function::{LoadedFunction, max_threads};
use crate::driver::reasons::Limit;
use crate::driver::simulation::instruction_budget::instruction_budget;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::driver::streams::stream::NullStream;
use crate::exec::{self, BlockCost, Executable, ExecutableKernel, Fault, Grid, GridCost, Observed};
use crate::memory::WriteHold;
use crate::ptx::SourceLines;
use crate::ptx::ir::Space;
use crate::reports;
use crate::timeline::{BlockTime, Coupling, KernelCost, OpId, OperationStage, Time};

/// A kernel on its way through a stream, or in a node of a graph.
#[derive(Clone)]
pub(in crate::driver) struct Launch {
    pub(in crate::driver) function: CUfunction,
    executable: Arc<Executable>,
    index: usize,
    pub(in crate::driver) shape: LaunchExtents,
    /// The arguments, in the layout that the kernel declares.
    pub(in crate::driver) parameters: Vec<u8>,
    /// Instead of its stream's.
    pub(in crate::driver) priority: Option<c_int>,
    /// It may begin before the kernel before it in its stream has ended.
    pub(in crate::driver) programmatic: bool,
    /// Set when the kernel was executed and failed; the context fails at the kernel's end.
    pub(in crate::driver) fault: Option<CudaError>,
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct LaunchExtents {
    pub(in crate::driver) grid: [c_uint; 3],
    pub(in crate::driver) block: [c_uint; 3],
    pub(in crate::driver) dynamic_shared_bytes: c_uint,
    /// Blocks of a cluster, if the launch has clusters.
    pub(in crate::driver) cluster: Option<[c_uint; 3]>,
    pub(in crate::driver) cooperative: bool,
}

entry_points! {
    fn cuLaunchKernel | cuLaunchKernel_ptsz as null (
        function: CUfunction,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: CUstream,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = LaunchExtents::new(grid, block, dynamic_shared_bytes);
        launch(null, function, shape, LaunchAttributes::default(), stream, LaunchArguments { parameters, extra })
    }

    fn cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz as null (
        function: CUfunction,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: CUstream,
        parameters: *const *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = LaunchExtents { cooperative: true, ..LaunchExtents::new(grid, block, dynamic_shared_bytes) };
        let arguments = LaunchArguments { parameters, extra: std::ptr::null() };
        launch(null, function, shape, LaunchAttributes::default(), stream, arguments)
    }

    fn cuLaunchKernelEx | cuLaunchKernelEx_ptsz as null (
        config: *const CUlaunchConfig,
        function: CUfunction,
        parameters: *const *const c_void,
        extra: *const *const c_void,
    ) {
        // SAFETY: the caller passes null or a configuration.
        unsafe { launch_configured(null, config, function, LaunchArguments { parameters, extra }) }
    }
}

/// The two forms in which a launch passes arguments.
#[derive(Clone, Copy)]
pub(in crate::driver) struct LaunchArguments {
    pub(in crate::driver) parameters: *const *const c_void,
    pub(in crate::driver) extra: *const *const c_void,
}

pub(super) fn launch(
    null: NullStream,
    function: CUfunction,
    shape: LaunchExtents,
    attributes: LaunchAttributes,
    stream: CUstream,
    arguments: LaunchArguments,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let target = call.stream(stream, null)?;
        call.spend_in(target, Cost::Launch);
        let function = call.launched(function)?;
        let context = call.functions.get(function)?.context;
        if context != call.streams.get(target)?.context {
            return Err(call.because_function_elsewhere(function, target));
        }
        attributes.check(call, target, context)?;
        if !call.is_capturing(target) {
            call.load_code(function)?;
        }
        // SAFETY: the caller passes arguments as the kernel declares them.
        let mut launch = unsafe { Launch::prepare(call, function, shape, arguments) }?;
        launch.priority = attributes.priority_on(&call.profile_of(context)?.device);
        launch.programmatic = attributes.programmatic;
        let clock = call.clock();
        if let Some(event) = attributes.completion_event {
            call.record_with_launch(event, target, clock)?;
        }
        call.submit(target, clock, Effect::Kernel(Box::new(launch)))?;
        match attributes.programmatic_event {
            Some(event) => call.record_with_launch(event, target, clock),
            None => Ok(()),
        }
    })
}

/// # Safety
/// `config` is null or a configuration with as many attributes as it says.
unsafe fn launch_configured(
    null: NullStream,
    config: *const CUlaunchConfig,
    function: CUfunction,
    arguments: LaunchArguments,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    let config = unsafe { config.as_ref() }.ok_or(CudaError::InvalidValue)?;
    // SAFETY: as above.
    let attributes = unsafe { LaunchAttributes::read(config.attributes, config.attribute_count) }?;
    let shape = LaunchExtents {
        cluster: attributes.cluster,
        cooperative: attributes.cooperative,
        ..LaunchExtents::new(config.grid, config.block, config.shared_bytes)
    };
    launch(null, function, shape, attributes, config.stream, arguments)
}

impl LaunchExtents {
    /// Without clusters, and not cooperative.
    pub(in crate::driver) fn new(
        grid: [c_uint; 3],
        block: [c_uint; 3],
        dynamic_shared_bytes: c_uint,
    ) -> Self {
        Self {
            grid,
            block,
            dynamic_shared_bytes,
            cluster: None,
            cooperative: false,
        }
    }

    /// With the clusters that launch and kernel agree on; refuses a cooperative grid that does not fit at once.
    fn with_cluster(mut self, function: &LoadedFunction, call: &Call) -> Result<Self, CudaError> {
        let device = &call.profile_of(function.context)?.device;
        self.cluster = function.cluster(self.cluster, self.grid, device)?;
        if self.cooperative {
            let shared_bytes = self.dynamic_shared_bytes;
            cluster::check_cooperative(
                function,
                device,
                self.grid,
                self.block,
                shared_bytes,
                self.cluster,
            )?;
        }
        Ok(self)
    }

    /// Refuses what the device or the kernel cannot do.
    fn check(self, function: &LoadedFunction, call: &Call) -> Result<(), CudaError> {
        let device = &call.profile_of(function.context)?.device;
        let within = |extents: [u32; 3], limits: [u32; 3]| {
            extents
                .iter()
                .zip(limits)
                .all(|(extent, limit)| (1..=limit).contains(extent))
        };
        let kernel = function.kernel();
        let refuse = |limit: Limit| Err(limit.refuse(kernel.name()));
        if !within(self.grid, device.max_grid_dim) {
            return refuse(Limit::Grid(self.grid, device.max_grid_dim));
        }
        if !within(self.block, device.max_block_dim) {
            let (most, threads) = (device.max_block_dim, device.max_threads_per_block);
            return refuse(Limit::Block(self.block, most, threads));
        }
        let threads = self.threads();
        let bounds = u64::from(
            kernel
                .max_threads_per_block()
                .min(device.max_threads_per_block),
        );
        if let Some(required) = kernel.required_threads().filter(|r| *r != self.block) {
            return refuse(Limit::Required(self.block, required));
        }
        if threads > bounds {
            return refuse(Limit::Threads(threads, bounds));
        }
        let fit = max_threads(kernel, device);
        if threads > u64::from(fit) {
            let registers = kernel.registers_per_thread();
            return refuse(Limit::Registers(threads, registers, fit));
        }
        let most = function.max_dynamic_shared(device);
        if self.dynamic_shared_bytes > most {
            let of_device = device.max_shared_memory_per_block_optin;
            let of_device = of_device.saturating_sub(kernel.static_shared_bytes());
            return refuse(Limit::Shared(self.dynamic_shared_bytes, most, of_device));
        }
        Ok(())
    }

    fn threads(self) -> u64 {
        self.block.iter().map(|extent| u64::from(*extent)).product()
    }

    fn blocks(self) -> u64 {
        self.grid.iter().map(|extent| u64::from(*extent)).product()
    }
}

impl Launch {
    /// Checks a launch and takes its arguments.
    ///
    /// # Errors
    /// As `cuLaunchKernel`.
    ///
    /// # Safety
    /// The arguments are null or as the kernel declares them.
    pub(in crate::driver) unsafe fn prepare(
        call: &mut Call,
        handle: CUfunction,
        shape: LaunchExtents,
        arguments: LaunchArguments,
    ) -> Result<Self, CudaError> {
        call.check_executable(handle)?;
        let function = call.functions.get(handle)?;
        shape.check(function, call)?;
        let shape = shape.with_cluster(function, call)?;
        // SAFETY: the caller's promise.
        let parameters = unsafe {
            parameters::collect(function.kernel(), arguments.parameters, arguments.extra)
        }?;
        let (executable, index) = function.code();
        Ok(Self {
            function: handle,
            executable,
            index,
            shape,
            parameters,
            priority: None,
            programmatic: false,
            fault: None,
        })
    }

    pub(in crate::driver) fn kernel(&self) -> &ExecutableKernel {
        &self.executable.kernels()[self.index]
    }

    pub(in crate::driver) fn name(&self) -> &str {
        self.kernel().name()
    }

    /// The source code of the kernel's instructions.
    pub(in crate::driver) fn source_lines(&self) -> &SourceLines {
        self.executable.source_lines()
    }

    pub(in crate::driver) fn work(&self) -> OperationStage {
        OperationStage::Kernel {
            blocks: self.shape.blocks(),
            threads_per_block: self.shape.threads() as u32,
            registers_per_thread: self.kernel().registers_per_thread(),
            shared_bytes_per_block: self.kernel().static_shared_bytes()
                + self.shape.dynamic_shared_bytes,
        }
    }
}

impl Simulator {
    /// Executes the kernel at its modelled start, and gives the timeline its cost.
    pub(in crate::driver) fn execute(&mut self, op: OpId, at: Time) {
        let Some(operation) = self.operations.get(&op) else {
            return;
        };
        self.effects.before_kernel(&self.memory);
        let (Effect::Kernel(launch), Ok(profile)) =
            (&operation.effect, self.profile_of(operation.context))
        else {
            return;
        };
        let context = self.contexts.get(operation.context);
        let stack_limit = context.map_or(0, |context| context.stack_limit());
        let device = context.map_or(0, |context| context.device);
        let grid = Grid {
            kernel: launch.kernel(),
            grid: launch.shape.grid,
            block: launch.shape.block,
            cluster: launch.shape.cluster,
            cooperative: launch.shape.cooperative,
            dynamic_shared_bytes: launch.shape.dynamic_shared_bytes,
            parameters: &launch.parameters,
            start_ns: at.as_nanos(),
            clock_mhz: f64::from(profile.device.clock_mhz),
            compute_capability: (
                profile.device.compute_capability_major,
                profile.device.compute_capability_minor,
            ),
            multiprocessors: profile.device.multiprocessor_count,
            instruction_budget: instruction_budget(),
            stack_limit,
            threads: rayon::current_num_threads(),
        };
        let hold = WriteHold::new(&self.memory).without(self.out_of_reach(operation.context));
        let (result, observed) = run(&grid, &hold);
        match result {
            Ok(cost) => {
                self.effects
                    .kernel_started(op, hold.suspend(), &self.memory);
                let cost = self.cached(device, cost);
                self.timeline.set_kernel_cost(op, cost);
            }
            Err(fault) => {
                drop(hold.finish());
                self.timeline.set_kernel_cost(op, KernelCost::default());
                self.kernel_failed(op, &fault);
            }
        }
        self.kernel_observed(op, observed);
    }

    /// What the kernel costs with what the device's L2 cache holds.
    fn cached(&mut self, device: usize, cost: GridCost) -> KernelCost {
        let blocks = cost.runs.iter().map(|(count, _)| count).sum();
        let migrated = self.managed.touched(device, &cost.touched);
        let managed = &mut self.managed;
        let host = HostShares::of(&cost.touched, |granule| managed.is_on(device, granule));
        let device = &mut self.devices[device];
        let misses = device.cache.run(&cost);
        let migration = migration_cycles(migrated, blocks, &device.profile);
        let runs = cost.runs.iter().map(|(count, block)| {
            let link_cycles = migration + host.cycles(block, blocks, &device.profile);
            (*count, block_time(block, misses, link_cycles))
        });
        KernelCost {
            runs: runs.collect(),
        }
    }

    fn kernel_failed(&mut self, op: OpId, fault: &Fault) {
        let mut explanation = fault.to_string();
        if let (Fault::OutOfReach { address, .. }, Some(operation)) =
            (fault, self.operations.get(&op))
        {
            explanation += &self.way_to_reach(operation.context, *address);
        }
        if let Fault::IllegalAddress {
            address,
            space: Space::Global | Space::Generic,
            ..
        } = fault
            && readable::is_readable(*address)
        {
            explanation += OF_HOST;
        }
        if let Some(Effect::Kernel(launch)) = self.operations.get(&op).map(|op| &op.effect) {
            explanation = source_lines::add_to(&explanation, launch.source_lines());
        }
        // At exit there is no caller left to report a fault to.
        if !self.finishing {
            crate::say!("software GPU: {explanation}");
        }
        activity::log::failed(&explanation);
        self.last_fault = Some(explanation);
        if let Some(Effect::Kernel(launch)) = self
            .operations
            .get_mut(&op)
            .map(|operation| &mut operation.effect)
        {
            launch.fault = Some(fault.into());
        }
    }
}

/// For an address that the program can read, and the kernel cannot.
const OF_HOST: &str = "\n  it lies in the program's own memory: copy the data to a buffer of the device and pass that buffer's pointer, \
                       or allocate it with cuMemAllocHost";

/// Executes a grid. One of rayon's own threads would take up other work of the program while it waits, which may call
/// the driver; so it lets a thread of its own do it.
fn run(grid: &Grid<'_>, hold: &WriteHold<'_>) -> (Result<GridCost, Fault>, Option<Observed>) {
    let checked = reports::mode() != reports::ReportMode::Off;
    let execute = || {
        if checked {
            let (result, observed) = exec::execute_checked(grid, hold);
            (result, Some(observed))
        } else {
            (exec::execute(grid, hold), None)
        }
    };
    // Without threads, rayon executes on the program's only one.
    if cfg!(target_family = "wasm") || rayon::current_thread_index().is_none() {
        return execute();
    }
    thread::scope(|scope| {
        let executed = scope.spawn(execute).join();
        executed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A block's demand on the units, when these shares of its traffic miss the L2 cache.
fn block_time(cost: &BlockCost, misses: Misses, link_cycles: f64) -> BlockTime {
    let missed = cost.global_read_bytes as f64 * misses.reads
        + cost.global_write_bytes as f64 * misses.writes;
    let moved = cost.global_read_bytes + cost.global_write_bytes;
    BlockTime {
        latency_cycles: cost.latency_cycles - (1.0 - misses.reads) * cost.cached_saving_cycles,
        issue: cost.issue,
        dram_bytes: missed as u64,
        cache_bytes: moved,
        bulk_bytes: cost.bulk_bytes,
        merged_bytes: cost.merged_bytes,
        exposed_bytes: cost.exposed_bytes.min(missed as u64),
        shared_bytes: cost.shared_bytes,
        cluster_bytes: cost.cluster_bytes,
        atomics: cost.atomics,
        link_cycles,
        coupling: match cost.coupling {
            exec::Coupling::Free => Coupling::Free,
            exec::Coupling::Handed => Coupling::Handed,
            exec::Coupling::Phased => Coupling::Phased,
        },
    }
}

impl From<&Fault> for CudaError {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::IllegalAddress { .. }
            | Fault::OutOfReach { .. }
            | Fault::ExitedBlock { .. }
            | Fault::OutsideSurface { .. }
            | Fault::StackLimit { .. } => Self::IllegalAddress,
            Fault::Misaligned { .. } => Self::MisalignedAddress,
            Fault::Trap { .. } => Self::LaunchFailed,
            Fault::Assert { .. } | Fault::Panic { .. } => Self::Assert,
            Fault::IllegalInstruction { .. } => Self::IllegalInstruction,
            Fault::InstructionBudget { .. } | Fault::BarrierDeadlock { .. } => Self::LaunchTimeout,
            Fault::StackOverflow { .. } => Self::HardwareStackError,
            Fault::InvalidLaunch { .. } => Self::LaunchOutOfResources,
        }
    }
}

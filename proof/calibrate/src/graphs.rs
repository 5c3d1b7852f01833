//! What graphs cost: the host's time to capture, change and launch them, and the hand-over between their kernels.

use crate::findings::Findings;
use crate::gpu::{self, Stream, cu};
use crate::kernels::LoadedKernels;
use crate::stopwatch::{Stopwatch, least, on_host, per_call, repeat};
use anyhow::Result;
use cust::sys::{self, CUgraph, CUgraphExec, CUgraphNode};
use std::ptr;
use std::time::Duration;

/// Nodes of the smaller and of the larger graph of a difference.
const FEW: usize = 8;
const MANY: usize = 48;
/// Launches in a row: fewer than the driver's queue takes.
const LAUNCHES: usize = 20;
const SMALL: usize = 4 << 10;

pub fn measure(findings: &mut Findings, kernels: &LoadedKernels, watch: &Stopwatch) -> Result<()> {
    let (host, device) = (gpu::pinned(SMALL)?, gpu::allocate(SMALL)?);
    let kernel = |stream| gpu::launch(kernels.null, (1, 32), stream, (0, 0));
    let copy = |stream| gpu::to_device(device, host, SMALL, stream);
    let capture = repeat(|| Ok(chain(MANY, kernel)?.captured / MANY as f64))?;
    let [few, many] = [chain(FEW, kernel)?, chain(MANY, kernel)?];
    let copies = chain(FEW, copy)?;
    let difference = (MANY - FEW) as f64;

    let each = (many.on_device(watch)? - few.on_device(watch)?) / difference;
    findings.fitted(
        "handover",
        "kernel_to_kernel_in_graph_us",
        each - kernels.null_us,
    );
    let launch = few.launch_call(watch)?;
    let per_node = (many.launch_call(watch)? - launch) / difference;
    let per_copy = (copies.launch_call(watch)? - launch) / FEW as f64;
    // A program launches what it has changed, and then a change takes longer than in a row of its like.
    let changing = |chain: &CapturedChain, change: &dyn Fn() -> Result<()>| -> Result<f64> {
        let both = per_call(LAUNCHES, || {
            change()?;
            chain.launch(watch.stream)
        })?;
        Ok(both - chain.launch_call(watch)?)
    };
    let update = |chain: &CapturedChain| {
        changing(chain, &|| {
            let (mut node, mut result) = (
                ptr::null_mut(),
                sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
            );
            cu!(cuGraphExecUpdate(
                chain.exec,
                chain.graph,
                &mut node,
                &mut result
            ))
        })
    };
    let update = (update(&many)? - update(&few)?) / difference;
    let (node, parameters) = few.first_kernel()?;
    let set = || cu!(cuGraphExecKernelNodeSetParams(few.exec, node, &parameters));
    let set_node = changing(&few, &set)?;
    let plain = few.launches_on_device(watch, || Ok(()))?;
    let changed = few.launches_on_device(watch, set)?;
    let mut note = |name, value: f64| findings.measured("host", name, value.max(0.0));
    note("capture_us", capture);
    note("graph_launch_us", launch - per_node * FEW as f64);
    note("graph_launch_us_per_node", per_node);
    note("graph_launch_us_per_copy", per_copy);
    note("graph_update_us_per_node", update);
    note("graph_set_node_us", set_node);
    findings.measured("handover", "graph_upload_us", (changed - plain).max(0.0));
    // The additional time of an instantiation over the base, which is not measured.
    let destroy =
        throwaway(watch, kernel)? - launch - capture * FEW as f64 - instantiation(findings)?;
    findings.fitted("host", "graph_destroy_us", destroy);
    gpu::free_pinned(host)?;
    gpu::free(device)
}

/// A chain of equal nodes that was captured, and an instance of it.
struct CapturedChain {
    graph: CUgraph,
    exec: CUgraphExec,
    /// What the captured calls took the host, in µs.
    captured: f64,
}

/// One that has been launched once.
fn chain(nodes: usize, node: impl Fn(Stream) -> Result<()>) -> Result<CapturedChain> {
    let stream = gpu::stream()?;
    let chain = CapturedChain::captured(stream, nodes, node)?;
    chain.launch(stream)?;
    gpu::synchronize()?;
    cu!(cuStreamDestroy_v2(stream))?;
    Ok(chain)
}

impl CapturedChain {
    fn captured(stream: Stream, nodes: usize, node: impl Fn(Stream) -> Result<()>) -> Result<Self> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
        cu!(cuStreamBeginCapture_v2(stream, mode))?;
        let captured = on_host(|| (0..nodes).try_for_each(|_| node(stream)))?;
        cu!(cuStreamEndCapture(stream, &mut graph))?;
        cu!(cuGraphInstantiate_v2(
            &mut exec,
            graph,
            ptr::null_mut(),
            ptr::null_mut(),
            0
        ))?;
        Ok(Self {
            graph,
            exec,
            captured,
        })
    }

    fn launch(&self, stream: Stream) -> Result<()> {
        cu!(cuGraphLaunch(self.exec, stream))
    }

    /// The device's time for a launch, in µs.
    fn on_device(&self, watch: &Stopwatch) -> Result<f64> {
        least(|| {
            let ahead = Duration::from_micros(300);
            watch.device(ahead, |stream| self.launch(stream))
        })
    }

    /// The host's time for `cuGraphLaunch`, in µs.
    fn launch_call(&self, watch: &Stopwatch) -> Result<f64> {
        per_call(LAUNCHES, || self.launch(watch.stream))
    }

    /// The device's time from one of many launches in a row to the next, each after a call, in µs.
    fn launches_on_device(
        &self,
        watch: &Stopwatch,
        before: impl Fn() -> Result<()>,
    ) -> Result<f64> {
        watch.each(5, LAUNCHES, |stream| {
            before()?;
            self.launch(stream)
        })
    }

    /// The first node and its parameters.
    fn first_kernel(&self) -> Result<(CUgraphNode, sys::CUDA_KERNEL_NODE_PARAMS)> {
        let (mut node, mut count) = (ptr::null_mut(), 1);
        cu!(cuGraphGetRootNodes(self.graph, &mut node, &mut count))?;
        // SAFETY: the driver fills it in.
        let mut parameters = unsafe { std::mem::zeroed() };
        cu!(cuGraphKernelNodeGetParams(node, &mut parameters))?;
        Ok((node, parameters))
    }
}

/// What a graph takes the host that is captured, launched once, and destroyed while it runs, in µs.
fn throwaway(watch: &Stopwatch, node: impl Fn(Stream) -> Result<()>) -> Result<f64> {
    per_call(LAUNCHES, || {
        let chain = CapturedChain::captured(watch.stream, FEW, &node)?;
        chain.launch(watch.stream)?;
        cu!(cuGraphExecDestroy(chain.exec))?;
        cu!(cuGraphDestroy(chain.graph))
    })
}

/// What the base says that making an instance of it takes, in µs.
fn instantiation(findings: &Findings) -> Result<f64> {
    let each = findings.of_base("host", "graph_instantiate_us_per_node")?;
    Ok(findings.of_base("host", "graph_instantiate_us")? + each * FEW as f64)
}

//! What capturing, changing, launching and destroying graphs costs the host, and how long the device takes.

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;
use software_gpu::host;
use software_gpu::timeline::Profile;

const BYTES: usize = 4096;
/// Bytes whose copy takes longer than the launch of a graph.
const LONG: usize = 4 * MIB;
/// Operations of a graph.
const MANY: usize = 20;

/// The host's time that `body` takes, in µs.
fn micros(body: impl FnOnce()) -> f64 {
    let start = host::now();
    body();
    (host::now() - start).as_secs_f64() * 1e6
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 0.01 * expected + 0.01,
        "{found} is not {expected}"
    );
}

struct GraphCostTest {
    driver: Driver,
    stream: Handle,
    host: Pinned,
    memory: Address,
}

impl GraphCostTest {
    fn new() -> Self {
        let driver = Driver::new();
        Self {
            stream: driver.stream(NON_BLOCKING),
            host: driver.pinned(BYTES),
            memory: driver.allocate(2 * LONG).expect("fits"),
            driver,
        }
    }

    fn copies(&self) {
        for _ in 0..MANY {
            let to = self
                .driver
                .to_device(self.memory, self.host.at(0), BYTES, self.stream);
            to.expect("cuMemcpyHtoDAsync");
        }
    }

    fn sets(&self) {
        for _ in 0..MANY {
            self.driver
                .set(self.memory, 1, BYTES, self.stream)
                .expect("cuMemsetD8Async");
        }
    }

    fn captured(&self, work: impl Fn(&Self)) -> Handle {
        begin(self.stream, GLOBAL).expect("cuStreamBeginCapture");
        work(self);
        end(self.stream).expect("cuStreamEndCapture")
    }

    fn launch(&self, exec: Handle) {
        launch_graph(exec, self.stream).expect("cuGraphLaunch");
    }

    /// The device's time for what `body` enqueues, in µs.
    fn elapsed(&self, body: impl FnOnce()) -> f64 {
        let [start, end] = [self.driver.event(), self.driver.event()];
        self.driver
            .record(start, self.stream)
            .expect("cuEventRecord");
        body();
        self.driver.record(end, self.stream).expect("cuEventRecord");
        self.driver.synchronize().expect("cuCtxSynchronize");
        1e3 * f64::from(self.driver.elapsed(start, end).expect("cuEventElapsedTime"))
    }
}

#[test]
fn every_captured_call_costs_the_same() {
    let scene = GraphCostTest::new();
    let figures = Profile::h200().host;
    let expected = MANY as f64 * figures.capture_us.value;
    begin(scene.stream, GLOBAL).expect("cuStreamBeginCapture");
    near(micros(|| scene.copies()), expected);
    near(micros(|| scene.sets()), expected);
    end(scene.stream).expect("cuStreamEndCapture");
    near(
        micros(|| scene.copies()),
        MANY as f64 * figures.copy_us.value,
    );
}

#[test]
fn a_launch_pays_for_each_copy_while_the_first_ones_run() {
    let scene = GraphCostTest::new();
    let figures = Profile::h200().host;
    let [copies, sets] =
        [GraphCostTest::copies, GraphCostTest::sets].map(|work| scene.captured(work));
    let [copies, sets] = [copies, sets].map(|graph| instantiate(graph).expect("an instance"));
    let many = MANY as f64;
    let chain = figures.graph_launch_us.value + many * figures.graph_launch_us_per_node.value;
    near(micros(|| scene.launch(sets)), chain);
    let all = chain + many * figures.graph_launch_us_per_copy.value;
    near(micros(|| scene.launch(copies)), all);
    scene.driver.synchronize().expect("cuCtxSynchronize");
    let elapsed = scene.elapsed(|| scene.launch(copies));
    // The copies take 2.6 µs each. Were they to begin behind the call, all of that would come on top.
    assert!(elapsed > 0.95 * all && elapsed < all + 20.0, "{elapsed}");
}

#[test]
fn a_launch_pays_for_ends_and_branches() {
    let figures = Profile::h200().host;
    let scene = GraphCostTest::new();
    let graph = graph();
    let node = |at: Address, after: &[Handle]| {
        let params = SetParams::bytes(scene.memory + 64 * at, 1, 64);
        set_node(graph, after, &params).expect("a node")
    };
    let root = node(0, &[]);
    let middle = [1, 2, 3].map(|at| node(at, &[root]));
    let forked = instantiate(graph).expect("an instance");
    node(0, &middle);
    let joined = instantiate(graph).expect("an instance");
    let each = |of: Handle| micros(|| scene.launch(of));
    let branches = 2.0 * figures.graph_launch_us_per_branch.value;
    let base = figures.graph_launch_us.value + branches;
    let per_node = figures.graph_launch_us_per_node.value;
    near(each(joined), base + 5.0 * per_node);
    near(
        each(forked),
        base + 4.0 * per_node + 2.0 * figures.graph_launch_us_per_end.value,
    );
}

#[test]
fn a_graph_that_was_changed_begins_later_once() {
    let scene = GraphCostTest::new();
    let graph = scene.captured(GraphCostTest::sets);
    let exec = instantiate(graph).expect("an instance");
    let figures = Profile::h200();
    let launch = || scene.elapsed(|| scene.launch(exec));
    let plain = launch();
    near(launch(), plain);
    let time = micros(|| {
        cu!(cuGraphExecUpdate_v2(exec => Handle, graph => Handle, std::ptr::null_mut() => *mut u8))
            .expect("cuGraphExecUpdate");
    });
    near(
        time,
        MANY as f64 * figures.host.graph_update_us_per_node.value,
    );
    near(launch(), plain + figures.handover.graph_upload_us.value);
    near(launch(), plain);
    let time = micros(|| {
        cu!(cuGraphExecDestroy(exec => Handle)).expect("cuGraphExecDestroy");
    });
    near(time, figures.host.graph_destroy_us.value);
}

/// Branches run side by side: an up and a down copy take the time of the longer one.
#[test]
fn independent_branches_overlap() {
    let scene = GraphCostTest::new();
    let copies = [scene.memory, scene.memory + LONG as Address].map(CopySide::device);
    let page_locked = [(); 2].map(|()| scene.driver.pinned(LONG));
    let [from, to] = [0, 1].map(|side| CopySide::host(page_locked[side].pointer()));
    let time = |chained: bool| {
        let graph = graph();
        let up = CopyParams::row(copies[0], from, LONG);
        let first = copy_node(graph, &[], &up).expect("a node");
        let after = &[first][..usize::from(chained)];
        copy_node(graph, after, &CopyParams::row(to, copies[1], LONG)).expect("a node");
        let exec = instantiate(graph).expect("an instance");
        scene.elapsed(|| scene.launch(exec))
    };
    let (chain, branches) = (time(true), time(false));
    assert!(chain > 1.6 * branches, "{chain} {branches}");
}

//! What the ordering checker sees in graphs: their edges, their events, and where a launch begins and ends.

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::reports::{self, Kind, Report};

const BYTES: usize = 64;

/// A device buffer, and two streams that have no order of their own.
struct TwoStreams {
    driver: Driver,
    data: Address,
    a: Handle,
    b: Handle,
}

impl TwoStreams {
    fn new() -> Self {
        let driver = Driver::new();
        let data = driver.allocate(BYTES).unwrap();
        let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
        Self { driver, data, a, b }
    }

    /// A node that writes the buffer.
    fn node(&self, graph: Handle, after: &[Handle], value: u8) -> Handle {
        set_node(graph, after, &SetParams::bytes(self.data, value, BYTES)).unwrap()
    }

    /// An executable graph that writes the buffer.
    fn writer(&self) -> Handle {
        let graph = graph();
        self.node(graph, &[], 1);
        instantiate(graph).unwrap()
    }

    /// A stream's operation that writes the buffer.
    fn set(&self, stream: Handle) {
        self.driver.set(self.data, 9, BYTES, stream).unwrap();
    }

    /// The findings while `program` runs and until all work is complete.
    fn found(&self, program: impl FnOnce()) -> Vec<Report> {
        let ((), found) = reports::collect(|| {
            program();
            self.driver.synchronize().unwrap();
        });
        found
    }

    /// As [`found`](Self::found), for a program in which two things race.
    fn race(&self, program: impl FnOnce()) -> String {
        let found = self.found(program);
        let [report] = &found[..] else {
            panic!("one race: {found:?}");
        };
        assert_eq!(report.kind, Kind::Race);
        report.text.clone()
    }
}

/// Nodes without a path between them race, and the report names both; an edge, or a path, orders them.
#[test]
fn edges_order_nodes() {
    let world = TwoStreams::new();
    for path in [0, 1, 2] {
        let graph = graph();
        let first = world.node(graph, &[], 1);
        let between = empty_node(graph, &[first]).unwrap();
        let after = [vec![], vec![first], vec![between]];
        let shorter = SetParams::bytes(world.data, 2, BYTES / 2);
        set_node(graph, &after[path], &shorter).unwrap();
        let exec = instantiate(graph).unwrap();
        let launch = || launch_graph(exec, world.a).unwrap();
        if path == 0 {
            let text = world.race(launch);
            for bytes in [64, 32] {
                let party = format!("memset of {bytes} bytes, node of a graph launched in");
                assert!(text.contains(&party), "{text}");
            }
        } else {
            assert_eq!(world.found(launch), []);
        }
    }
}

/// The stream's work before and after the launch is ordered with every node; that of another stream is not.
#[test]
fn a_launch_is_a_piece_of_its_stream() {
    let world = TwoStreams::new();
    let exec = world.writer();
    let around = world.found(|| {
        world.set(world.a);
        launch_graph(exec, world.a).unwrap();
        world.set(world.a);
    });
    assert_eq!(around, []);
    let before = world.race(|| {
        world.set(world.b);
        launch_graph(exec, world.a).unwrap();
    });
    assert!(before.contains("node of a graph"), "{before}");
    let after = world.race(|| {
        launch_graph(exec, world.a).unwrap();
        world.set(world.b);
    });
    assert!(after.contains("node of a graph"), "{after}");
}

/// An event recorded behind the launch stands for all nodes, one recorded before it for none.
#[test]
fn events_around_a_launch() {
    let world = TwoStreams::new();
    let exec = world.writer();
    let event = world.driver.event();
    let behind = world.found(|| {
        launch_graph(exec, world.a).unwrap();
        world.driver.record(event, world.a).unwrap();
        world.driver.wait(world.b, event).unwrap();
        world.set(world.b);
    });
    assert_eq!(behind, []);
    world.race(|| {
        world.driver.record(event, world.a).unwrap();
        launch_graph(exec, world.a).unwrap();
        world.driver.wait(world.b, event).unwrap();
        world.set(world.b);
    });
}

/// Launches of one executable graph are ordered in all streams, even if the first is already complete; launches of two graphs are
/// not.
#[test]
fn launches_of_one_graph_are_ordered() {
    let world = TwoStreams::new();
    let (exec, other) = (world.writer(), world.writer());
    for wait_between in [false, true] {
        let same = world.found(|| {
            launch_graph(exec, world.a).unwrap();
            if wait_between {
                let_time_pass(&world.driver);
            }
            launch_graph(exec, world.b).unwrap();
        });
        assert_eq!(same, [], "{wait_between}");
    }
    let different = world.race(|| {
        launch_graph(exec, world.a).unwrap();
        launch_graph(other, world.b).unwrap();
    });
    assert_eq!(different.matches("node of a graph").count(), 2);
}

/// Lets more time pass than a small graph takes, without waiting for anything that was launched.
fn let_time_pass(driver: &Driver) {
    let idle = driver.stream(NON_BLOCKING);
    for _ in 0..200 {
        driver.stream_query(idle).unwrap();
    }
}

/// The driver itself orders two launches of a graph: reports do not mention the event that it uses.
#[test]
fn reports_do_not_name_the_drivers_events() {
    let world = TwoStreams::new();
    let exec = world.writer();
    let text = world.race(|| {
        launch_graph(exec, world.a).unwrap();
        world.set(world.b);
    });
    assert!(!text.contains("was recorded"), "{text}");
    let text = world.race(|| {
        launch_graph(exec, world.a).unwrap();
        launch_graph(exec, world.b).unwrap();
        world.set(world.a);
    });
    assert!(!text.contains("waited for event"), "{text}");
}

/// Successors of a wait node happen after the event's record at the launch, whether or not that is complete; siblings of
/// the node do not.
#[test]
fn a_wait_node_orders_what_comes_after_it() {
    let world = TwoStreams::new();
    let event = world.driver.event();
    for (waits, over) in [(true, false), (true, true), (false, true)] {
        let graph = graph();
        let wait = event_wait_node(graph, &[], event).unwrap();
        world.node(graph, &[wait][..usize::from(waits)], 3);
        let exec = instantiate(graph).unwrap();
        let program = || {
            world.set(world.a);
            world.driver.record(event, world.a).unwrap();
            if over {
                let_time_pass(&world.driver);
            }
            launch_graph(exec, world.b).unwrap();
        };
        match waits {
            true => assert_eq!(world.found(program), []),
            false => drop(world.race(program)),
        }
    }
}

/// What waits for an event that a graph recorded comes after the nodes before the record node, and no others.
#[test]
fn a_record_node_stands_for_what_comes_before_it() {
    let world = TwoStreams::new();
    let event = world.driver.event();
    for before in [true, false] {
        let graph = graph();
        let set = world.node(graph, &[], 4);
        event_record_node(graph, &[set][..usize::from(before)], event).unwrap();
        let exec = instantiate(graph).unwrap();
        let program = || {
            launch_graph(exec, world.a).unwrap();
            world.driver.wait(world.b, event).unwrap();
            world.set(world.b);
        };
        match before {
            true => assert_eq!(world.found(program), []),
            false => drop(world.race(program)),
        }
    }
}

/// Nodes of an embedded graph happen after the predecessors of their node, and before its successors.
#[test]
fn an_embedded_graph_has_a_begin_and_an_end() {
    let world = TwoStreams::new();
    let inner = graph();
    world.node(inner, &[], 5);
    for ordered in [true, false] {
        let graph = graph();
        let first = world.node(graph, &[], 6);
        let child = child_node(graph, &[first], inner).unwrap();
        world.node(graph, &[if ordered { child } else { first }], 7);
        let exec = instantiate(graph).unwrap();
        let program = || launch_graph(exec, world.a).unwrap();
        match ordered {
            true => assert_eq!(world.found(program), []),
            false => drop(world.race(program)),
        }
    }
}

/// A captured fork is as unordered as the program that was captured; a join orders it.
#[test]
fn a_captured_fork_keeps_its_order() {
    let world = TwoStreams::new();
    let TwoStreams { driver, a, b, .. } = &world;
    let (fork, join) = (driver.event(), driver.event());
    for joined_early in [true, false] {
        begin(*a, RELAXED).unwrap();
        driver.record(fork, *a).unwrap();
        driver.wait(*b, fork).unwrap();
        world.set(*b);
        driver.record(join, *b).unwrap();
        if joined_early {
            driver.wait(*a, join).unwrap();
        }
        world.set(*a);
        driver.wait(*a, join).unwrap();
        let exec = instantiate(end(*a).unwrap()).unwrap();
        let program = || launch_graph(exec, *a).unwrap();
        match joined_early {
            true => assert_eq!(world.found(program), []),
            false => drop(world.race(program)),
        }
    }
}

//! Graphs: explicit dependencies between a launch's beginning and its end.

use super::program::*;
use software_gpu::memory::Accesses;
use software_gpu::order::{EventId, OperationId};

/// Begins the launch of a graph.
fn launch(program: &mut TestProgram) -> OperationId {
    program.submit(A, "graph")
}

/// Ends the launch of a graph with those nodes.
fn end(program: &mut TestProgram, nodes: &[OperationId]) {
    let end = OperationId(1000 + nodes.first().map_or(0, |node| node.0));
    program
        .checker
        .submitted(HOST, A, end, nodes, "end of the graph".into());
    nodes
        .iter()
        .chain([&end])
        .for_each(|node| program.checker.ended(*node));
}

#[test]
fn dependencies_order_nodes() {
    let mut program = TestProgram::new();
    program.run(A, "copy", &writes(BYTES));
    let graph = launch(&mut program);
    let first = program.node(graph, &[], "first", &writes(BYTES));
    let left = program.node(graph, &[first], "left", &reads(BYTES));
    let right = program.node(graph, &[first], "right", &reads(BYTES));
    let last = program.node(graph, &[left, right], "last", &writes(BYTES));
    end(&mut program, &[last]);
    program.run(A, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_missing_dependency_is_named() {
    let mut program = TestProgram::new();
    let graph = launch(&mut program);
    let left = program.node(graph, &[], "left", &writes(BYTES));
    let right = program.node(graph, &[], "right", &reads(BYTES));
    end(&mut program, &[left, right]);
    let found = program.only_finding();
    assert_eq!(
        found.missing,
        "make the right depend on the left in the graph"
    );
    let text = found.to_string();
    assert!(
        text.contains("left, node of a graph launched in stream 13, writes"),
        "{text}"
    );
}

#[test]
fn an_event_behind_the_launch_covers_all_nodes() {
    let mut program = TestProgram::new();
    let graph = launch(&mut program);
    let left = program.node(graph, &[], "left", &writes(0x1000..0x1080));
    let right = program.node(graph, &[], "right", &writes(0x1080..0x1100));
    end(&mut program, &[left, right]);
    program.record(A, EVENT);
    program.wait(B, EVENT);
    program.run(B, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn other_streams_have_to_wait_for_the_launch() {
    let mut program = TestProgram::new();
    let graph = launch(&mut program);
    let node = program.node(graph, &[], "kernel", &writes(BYTES));
    end(&mut program, &[node]);
    program.run(B, "copy", &reads(BYTES));
    assert_eq!(
        program.only_finding().missing,
        "record an event on stream 13 after the launch of the graph with the kernel (cuEventRecord); make stream 14 wait for it before the copy (cuStreamWaitEvent)"
    );
}

#[test]
fn launches_in_one_stream_are_ordered() {
    let mut program = TestProgram::new();
    for _ in 0..3 {
        let graph = launch(&mut program);
        let left = program.node(graph, &[], "left", &writes(0x1000..0x1080));
        let right = program.node(graph, &[], "right", &writes(0x1080..0x1100));
        let both = program.node(graph, &[left, right], "both", &reads(BYTES));
        end(&mut program, &[both]);
    }
    program.assert_silent();
}

#[test]
fn an_event_wait_node_orders_what_depends_on_it() {
    let mut program = TestProgram::new();
    program.run(B, "kernel", &writes(BYTES));
    program.record(B, EVENT);
    let graph = launch(&mut program);
    let wait = program.node(graph, &[], "wait", &Accesses::default());
    program.checker.node_waited(wait, EVENT);
    let read = program.node(graph, &[wait], "read", &reads(BYTES));
    program.assert_silent();
    let other = program.node(graph, &[], "other", &reads(BYTES));
    program.only_finding();
    program.checker.node_waited(other, EventId(77));
    end(&mut program, &[read, other]);
}

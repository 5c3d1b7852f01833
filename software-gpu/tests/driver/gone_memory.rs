//! Graphs whose nodes copy from or to memory that is gone: the launch fails with `CUDA_ERROR_ILLEGAL_ADDRESS`, and a report
//! names the free.

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Kind, Report};

const ILLEGAL_ADDRESS: Error = 700;
/// More than the C library ever keeps for itself.
const BYTES: usize = 40 * MIB;

/// Host memory of one kind.
struct Host {
    start: *mut u8,
    free: Box<dyn Fn()>,
}

fn page_locked() -> Host {
    let mut start: *mut u8 = std::ptr::null_mut();
    cu!(cuMemAllocHost_v2(&mut start => *mut *mut u8, BYTES => usize)).expect("fits");
    let free = move || cu!(cuMemFreeHost(start => *mut u8)).expect("is allocated");
    Host {
        start,
        free: Box::new(free),
    }
}

fn registered() -> Host {
    let start = vec![1_u8; BYTES].leak().as_mut_ptr();
    cu!(cuMemHostRegister_v2(start => *mut u8, BYTES => usize, 0 => u32)).expect("registers");
    let free = move || cu!(cuMemHostUnregister(start => *mut u8)).expect("is registered");
    Host {
        start,
        free: Box::new(free),
    }
}

#[cfg(unix)]
fn ordinary() -> Host {
    let layout = std::alloc::Layout::from_size_align(BYTES, 4096).expect("a layout");
    // SAFETY: the layout is not empty.
    let start = unsafe { std::alloc::alloc(layout) };
    // SAFETY: it has that many bytes.
    unsafe { start.write_bytes(1, BYTES) };
    // SAFETY: it was allocated with that layout, and is freed once.
    let free = move || unsafe { std::alloc::dealloc(start, layout) };
    Host {
        start,
        free: Box::new(free),
    }
}

/// Launches a graph with one copy, then frees the host's memory and launches it again.
fn copied(host: fn() -> Host, to_device: bool) -> (Result<(), Error>, Vec<Report>) {
    let driver = Driver::new();
    let host = host();
    let stream = driver.stream(NON_BLOCKING);
    let device = driver.allocate(BYTES).expect("fits");
    driver.fill(device, 3, BYTES);
    begin(stream, RELAXED).expect("begins");
    match to_device {
        true => driver.to_device(device, host.start, BYTES, stream),
        false => driver.to_host(host.start, device, BYTES, stream),
    }
    .expect("captured");
    let exec = instantiate(end(stream).expect("ends")).expect("instantiates");
    reports::collect(|| {
        launch_graph(exec, stream).expect("launches");
        driver
            .stream_synchronize(stream)
            .expect("the memory is there");
        (host.free)();
        launch_graph(exec, stream).expect("launches");
        driver.stream_synchronize(stream)
    })
}

#[track_caller]
fn both_directions_fail(host: fn() -> Host, words: [&str; 2]) {
    for (to_device, what) in [(true, "a copy reads"), (false, "a copy writes")] {
        let (ended, found) = copied(host, to_device);
        assert_eq!(ended, Err(ILLEGAL_ADDRESS));
        let [report] = found.as_slice() else {
            panic!("one report is expected: {found:?}");
        };
        assert_eq!(report.kind, Kind::Lifetime);
        for word in words.into_iter().chain([what, "node of a graph"]) {
            assert!(report.text.contains(word), "`{word}`: {}", report.text);
        }
        let fault = software_gpu::driver::last_fault();
        assert_eq!(fault.as_ref(), Some(&report.text));
    }
}

#[test]
fn a_node_with_freed_page_locked_memory_fails() {
    let words = ["page-locked host memory that was freed", "cuMemFreeHost of"];
    both_directions_fail(page_locked, words);
}

#[test]
fn a_node_with_unregistered_memory_fails() {
    let words = [
        "host memory that was unregistered",
        "cuMemHostUnregister of",
    ];
    both_directions_fail(registered, words);
}

/// In a process of its own: no other thread may get the addresses.
#[test]
#[cfg(unix)]
fn a_node_with_memory_that_the_program_has_given_back_fails() {
    if child::is_this() {
        both_directions_fail(ordinary, ["has given back", "not by the driver"]);
        return;
    }
    let test = "a_node_with_memory_that_the_program_has_given_back_fails";
    child::passes(module_path!(), test, &[]);
}

/// The node, the launch and the free are named. Their lines follow where the program has line numbers, which this one has not.
#[test]
fn a_report_names_the_node_and_the_free() {
    let (_, found) = copied(page_locked, true);
    let rows = [
        "used by: node of a graph, launched",
        "freed:   cuMemFreeHost of",
    ];
    for row in rows {
        assert!(found[0].text.contains(row), "{found:?}");
    }
}

#[test]
fn a_memset_node_of_freed_device_memory_fails() {
    let driver = Driver::new();
    let (stream, memory) = (
        driver.stream(NON_BLOCKING),
        driver.allocate(64).expect("fits"),
    );
    let graph = graph();
    set_node(graph, &[], &SetParams::bytes(memory, 1, 64)).expect("is a node");
    let exec = instantiate(graph).expect("instantiates");
    cu!(cuMemFree_v2(memory => Address)).expect("is allocated");
    let (ended, found) = reports::collect(|| {
        launch_graph(exec, stream).expect("launches");
        driver.stream_synchronize(stream)
    });
    assert_eq!(ended, Err(ILLEGAL_ADDRESS));
    assert!(
        found[0].text.contains("device memory that was freed"),
        "{found:?}"
    );
}

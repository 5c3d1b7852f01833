//! Captured graphs on the software GPU.

use cuda_host::{capture, kernels, launch};
use cust::error::CudaError;
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use libcuda::Choice;
use std::sync::{Mutex, PoisonError};

/// Held by the test that captures. The tests share the primary context, and what one does to it (a copy in the legacy stream, a
/// free that waits for the context) spoils a capture of the other, as on a GPU.
static CAPTURING: Mutex<()> = Mutex::new(());

kernels! { use gpu_kernels::{iota, saxpy}; }

#[test]
fn an_instance_gets_other_arguments_by_node_or_from_another_graph() {
    let _alone = CAPTURING.lock().unwrap_or_else(PoisonError::into_inner);
    libcuda::select(Choice::Software).unwrap();
    let _context = cust::quick_init().unwrap();
    let kernels = Kernels::load(gpu_kernels::SM_70).unwrap();
    let stream = Stream::new(StreamFlags::DEFAULT, None).unwrap();
    let mut out = DeviceBuffer::from_slice(&[0u32; 4]).unwrap();
    assert_eq!(capture::latest_node(&stream), Err(CudaError::InvalidValue));

    let mut captured = |first: u32| {
        capture::begin(&stream).unwrap();
        // SAFETY: the buffer outlives the graphs.
        unsafe { launch!(kernels.iota<<<1, 4, 0, stream>>>(&mut out, first)).unwrap() };
        let node = capture::latest_node(&stream).unwrap();
        (capture::end(&stream).unwrap(), node)
    };
    let ((graph, node), (other, _)) = (captured(10), captured(30));
    assert_eq!(graph.nodes(), Ok(1));
    let exec = graph.instantiate().unwrap();
    let launched = |out: &DeviceBuffer<u32>| {
        // SAFETY: the buffer outlives the launch.
        unsafe { exec.launch(&stream).unwrap() };
        stream.synchronize().unwrap();
        out.as_host_vec().unwrap()[3]
    };
    let first = launched(&out);
    let arguments = (&mut out, 20u32);
    // SAFETY: the buffer outlives the launches.
    unsafe { exec.set_kernel(node, &kernels.iota, 1, 4, 0, arguments) }.unwrap();
    let second = launched(&out);
    exec.update(&other).unwrap();
    assert_eq!([first, second, launched(&out)], [13, 23, 33]);
}

#[test]
fn a_graph_of_another_shape_is_refused() {
    let _alone = CAPTURING.lock().unwrap_or_else(PoisonError::into_inner);
    libcuda::select(Choice::Software).unwrap();
    let _context = cust::quick_init().unwrap();
    let kernels = Kernels::load(gpu_kernels::SM_70).unwrap();
    let stream = Stream::new(StreamFlags::DEFAULT, None).unwrap();
    let (x, mut y) = (
        DeviceBuffer::from_slice(&[1f32; 4]).unwrap(),
        DeviceBuffer::from_slice(&[1f32; 4]).unwrap(),
    );
    let mut captured = |launches| {
        capture::begin(&stream).unwrap();
        for _ in 0..launches {
            // SAFETY: the buffers outlive the graphs, which are not launched.
            unsafe { launch!(kernels.saxpy<<<1, 4, 0, stream>>>(1.0, &x, &mut y)).unwrap() };
        }
        capture::end(&stream).unwrap()
    };
    let exec = captured(1).instantiate().unwrap();
    assert!(exec.update(&captured(1)).is_ok());
    assert!(exec.update(&captured(2)).is_err());
}

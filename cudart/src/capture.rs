//! Capture of streams into graphs.

use std::ffi::c_void;
use std::ptr::null;

use crate::call::{exports, set, stream_exports};
use crate::driver::{self, Handle};
use crate::error::Result;

stream_exports! {
    fn cudaStreamBeginCapture | cudaStreamBeginCapture_ptsz(stream: Handle, mode: u32) for stream {
        driver::cuStreamBeginCapture_v2(stream, mode)
    }
    fn cudaStreamBeginCaptureToGraph | cudaStreamBeginCaptureToGraph_ptsz(
        stream: Handle, graph: Handle, dependencies: *const Handle, edges: *const c_void, count: usize, mode: u32
    ) for stream {
        driver::cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode)
    }
    fn cudaStreamEndCapture | cudaStreamEndCapture_ptsz(stream: Handle, graph: *mut Handle) for stream {
        driver::cuStreamEndCapture(stream, graph)
    }
    fn cudaStreamIsCapturing | cudaStreamIsCapturing_ptsz(stream: Handle, status: *mut u32) for stream {
        driver::cuStreamIsCapturing(stream, status)
    }
}

exports! {
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut u32) { driver::cuThreadExchangeStreamCaptureMode(mode) }
}

/// The state of a capture, with edges of the default type.
///
/// # Safety
/// The pointers are null or have room for their values.
unsafe fn capture_info(
    stream: Handle,
    status: *mut u32,
    id: *mut u64,
    graph: *mut Handle,
    dependencies: *mut *const Handle,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Result {
    // SAFETY: as the caller's.
    unsafe {
        driver::cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count)?;
        if edges.is_null() {
            Ok(())
        } else {
            set(edges, null())
        }
    }
}

macro_rules! capture_info {
    ($name:ident | $per_thread:ident) => {
        stream_exports! {
            fn $name | $per_thread(
                stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle,
                edges: *mut *const c_void, count: *mut usize
            ) for stream {
                capture_info(stream, status, id, graph, dependencies, edges, count)
            }
        }
    };
}

macro_rules! update_dependencies {
    ($name:ident | $per_thread:ident) => {
        stream_exports! {
            fn $name | $per_thread(
                stream: Handle, dependencies: *const Handle, edges: *const c_void, count: usize, flags: u32
            ) for stream {
                driver::cuStreamUpdateCaptureDependencies_v2(stream, dependencies, edges, count, flags)
            }
        }
    };
}

#[cfg(not(feature = "cuda-12"))]
capture_info!(cudaStreamGetCaptureInfo | cudaStreamGetCaptureInfo_ptsz);
#[cfg(not(feature = "cuda-12"))]
update_dependencies!(
    cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz
);

#[cfg(feature = "cuda-12")]
capture_info!(cudaStreamGetCaptureInfo_v3 | cudaStreamGetCaptureInfo_v3_ptsz);
#[cfg(feature = "cuda-12")]
update_dependencies!(
    cudaStreamUpdateCaptureDependencies_v2 | cudaStreamUpdateCaptureDependencies_v2_ptsz
);

#[cfg(feature = "cuda-12")]
stream_exports! {
    fn cudaStreamGetCaptureInfo_v2 | cudaStreamGetCaptureInfo_v2_ptsz(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, dependencies: *mut *const Handle,
        count: *mut usize
    ) for stream {
        driver::cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count)
    }
    fn cudaStreamUpdateCaptureDependencies | cudaStreamUpdateCaptureDependencies_ptsz(
        stream: Handle, dependencies: *const Handle, count: usize, flags: u32
    ) for stream {
        driver::cuStreamUpdateCaptureDependencies_v2(stream, dependencies, null(), count, flags)
    }
}

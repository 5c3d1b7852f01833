//! Names of streams, for the reports of the checkers.

use crate::driver;

/// Calls a stream `name` in reports from now on, as `nvtxNameCuStreamA` does for profilers: "stream `copy in`" instead
/// of "stream 3".
///
/// `handle` is a `CUstream`; `CU_STREAM_PER_THREAD` is the calling thread's default stream once it has been used. The
/// name lasts as long as the stream. An empty name takes it away. The legacy default stream keeps its own name, and a
/// handle of no stream is ignored.
pub fn set_name(handle: usize, name: &str) {
    driver::name_stream(handle, name);
}

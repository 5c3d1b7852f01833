//! Names of threads and streams, for profilers and recordings.

use std::cell::RefCell;
use std::thread;

thread_local! {
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Names the calling thread for profilers and recordings.
pub fn name_thread(name: &str) {
    #[cfg(feature = "nvtx")]
    nvtx::name_current_thread(nvtx::Str::from_str_lossy(name));
    NAME.set(Some(name.to_owned()));
}

/// What the calling thread is called.
pub(crate) fn thread_name() -> String {
    let named = NAME.with_borrow(Clone::clone);
    named.unwrap_or_else(|| thread::current().name().unwrap_or("host thread").to_owned())
}

/// Names a stream for profilers.
#[inline]
#[cfg_attr(
    not(feature = "nvtx"),
    expect(unused_variables, reason = "for profilers only")
)]
pub(crate) fn name_stream(raw: cust::sys::CUstream, name: &str) {
    #[cfg(feature = "nvtx")]
    nvtx::name_cuda_resource(
        nvtx::CudaResource::Stream(raw.cast()),
        nvtx::Str::from_str_lossy(name),
    );
}

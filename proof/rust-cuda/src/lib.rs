//! Programs as users of Rust-CUDA write them: see `kernels/` and the tests.

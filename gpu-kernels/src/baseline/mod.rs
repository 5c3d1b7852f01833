//! The kernels that are in the baseline module only, one file per topic.

// A macro, because its modules are expanded after those of `tiles`: shared arrays are numbered in the order of expansion.
macro_rules! topics {
    ($($topic:ident)*) => { $(pub(crate) mod $topic;)* };
}

topics! { affine chain columns elementwise gelu kv_cache matmul reduce softmax spin stencil vision }

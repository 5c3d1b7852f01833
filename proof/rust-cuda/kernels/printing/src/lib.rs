use cuda_std::prelude::*;
#[kernel]
pub unsafe fn todo() {}

use cuda_std::prelude::*;

/// `sum[i] = left[i] + right[i]`
#[kernel]
pub unsafe fn vecadd(left: &[f32], right: &[f32], sum: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < left.len() {
        unsafe { *sum.add(i) = left[i] + right[i] };
    }
}

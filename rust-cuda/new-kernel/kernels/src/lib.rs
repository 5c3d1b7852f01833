use cuda_std::prelude::*;

#[kernel]
pub unsafe fn scale(data: &mut [f32], factor: f32) {
    let i = thread::index_1d() as usize;
    if i < data.len() {
        data[i] *= factor;
    }
}

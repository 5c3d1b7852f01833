//! The labs' data.

use std::time::{Duration, Instant};

/// Element `index` of a batch: few values, all of them exact, and different in every batch.
pub fn given(batch: usize, index: usize) -> f32 {
    ((index * 7 + batch * 389) % 1021) as f32 / 32.0
}

/// A batch of data arrives in host memory. The host writes it there now, which takes it some time.
#[track_caller]
pub fn fill(memory: &mut [f32], batch: usize) {
    let bytes = size_of_val(memory);
    libcuda::host::writes(memory.as_ptr().cast(), bytes);
    libcuda::host::memory_work(bytes as u64, || {
        for (index, element) in memory.iter_mut().enumerate() {
            *element = given(batch, index);
        }
    });
}

/// The CPU works for so long on something else. On the software GPU the time is modelled.
pub fn cpu_work(time: Duration) {
    let modelled =
        libcuda::selected().is_some_and(|selected| selected.driver == libcuda::Driver::Software);
    libcuda::host::work(time, || {
        let start = Instant::now();
        while !modelled && start.elapsed() < time {
            std::hint::spin_loop();
        }
    });
}

//! Reproducible data, different for every stream, batch and element.
//!
//! A value is a function of a seed and an index, so the reference can be computed for any element
//! alone and nothing has to be kept. Wrong order, wrong chunk and wrong stream all show as wrong
//! values.

use crate::uncached;
use bytemuck::Pod;
use libcuda::{Driver, host};
use rayon::prelude::*;

/// Scrambles 64 bits (the finalizer of splitmix64): each input has its own output.
#[inline]
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A family of values, such as those of one stream or batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// The family with this number.
    pub const fn new(number: u64) -> Self {
        Self(mix(number))
    }

    /// Element `index`, in [-1, 1) with 24 significant bits.
    #[inline]
    pub fn f32(self, index: usize) -> f32 {
        // 24 bits become an integer in [-2²³, 2²³), which a float holds exactly.
        let bits = (mix(self.0 ^ index as u64) >> 40) as i32;
        (bits - (1 << 23)) as f32 / (1 << 23) as f32
    }

    /// Element `index`.
    #[inline]
    pub fn u32(self, index: usize) -> u32 {
        (mix(self.0 ^ index as u64) >> 32) as u32
    }

    /// Fills `values` with the elements from `offset` on. The write is reported to the software GPU's checker; on a GPU's
    /// host the caches keep no line of it, as if it had arrived from elsewhere.
    #[track_caller]
    pub fn fill_f32(self, offset: usize, values: &mut [f32]) {
        self.fill(offset, values, Self::f32);
    }

    /// Fills `values` with the elements from `offset` on. The write is reported to the software GPU's checker; on a GPU's host
    /// the caches keep none of it, as if it had arrived from elsewhere.
    #[track_caller]
    pub fn fill_u32(self, offset: usize, values: &mut [u32]) {
        self.fill(offset, values, Self::u32);
    }

    #[track_caller]
    fn fill<T: Pod + Send>(
        self,
        offset: usize,
        values: &mut [T],
        element: impl Fn(Self, usize) -> T + Sync,
    ) {
        const TASK: usize = 64 * 1024;
        let on_a_gpu = libcuda::selected().is_some_and(|s| s.driver == Driver::Nvidia);
        host::writes(values.as_ptr().cast(), size_of_val(values));
        values
            .par_chunks_mut(TASK)
            .enumerate()
            .for_each(|(task, values)| {
                let first = offset + task * TASK;
                for (place, value) in values.iter_mut().enumerate() {
                    *value = element(self, first + place);
                }
                if on_a_gpu {
                    uncached::evict(bytemuck::cast_slice(values));
                }
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_fixed_for_all_time() {
        // References and recorded results depend on them.
        assert_eq!(Seed::new(0).u32(0), 0xa706_dd2f);
        assert_eq!(Seed::new(1).f32(7), -583_974.0 / 8_388_608.0);
    }

    #[test]
    fn streams_differ_and_so_do_elements() {
        let mut seen: Vec<u32> = (0..8)
            .flat_map(|s| (0..1000).map(move |i| Seed::new(s).u32(i)))
            .collect();
        seen.sort_unstable();
        seen.dedup();
        // 8000 values of 32 bits: a few of them coincide by chance, no family repeats another.
        assert!(seen.len() > 7980, "{}", seen.len());
    }

    #[test]
    fn floats_stay_in_range_and_use_it() {
        let values: Vec<f32> = (0..10_000).map(|index| Seed::new(3).f32(index)).collect();
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(
            values.iter().any(|&value| value < -0.99) && values.iter().any(|&value| value > 0.99)
        );
    }

    #[test]
    fn filling_in_pieces_gives_the_same_as_filling_at_once() {
        let mut whole = vec![0.0; 200_000];
        Seed::new(5).fill_f32(0, &mut whole);
        let mut tail = vec![0.0; 100];
        Seed::new(5).fill_f32(150_000, &mut tail);
        assert_eq!(whole[150_000..150_100], tail);
        assert_eq!(whole[77], Seed::new(5).f32(77));
    }
}

//! The findings at several sizes.

use crate::options::UsageError;
use crate::part::Part;
use crate::size::ByteSize;
use crate::units;

/// Something for each of several sizes in bytes.
#[derive(Clone, Debug)]
pub struct BySize<T>(Vec<(usize, T)>);

impl<T> BySize<T> {
    pub(crate) fn new(found: Vec<(usize, T)>) -> Self {
        Self(found)
    }

    /// The finding at this size, if it is one of them.
    pub fn at(&self, bytes: usize) -> Option<&T> {
        let (_, found) = self.0.iter().find(|(size, _)| *size == bytes)?;
        Some(found)
    }

    /// The sizes of which `holds` is true, as a list to be read: `64 KiB, 1 MiB`; `no size` if it holds for no size.
    pub fn sizes_where(&self, holds: impl Fn(&T) -> bool) -> String {
        let holding = self.0.iter().filter(|(_, found)| holds(found));
        let sizes: Vec<String> = holding
            .map(|(size, _)| units::bytes(*size as u64))
            .collect();
        match sizes.as_slice() {
            [] => "no size".to_owned(),
            sizes => sizes.join(", "),
        }
    }
}

impl Part<'_> {
    /// Bytes of each of `count` allocations of `T` that live together: `--size`, or the part's default.
    ///
    /// # Errors
    /// They take more than half of the device's memory, or have no room for an element.
    pub fn bytes_of_each<T>(&self, count: usize, default: ByteSize) -> anyhow::Result<usize> {
        let bytes = self.elements::<T>(default)? * size_of::<T>();
        let room = self.device().memory_bytes()? / 2;
        if bytes > room / count {
            let size = self.size(default);
            return Err(UsageError(format!(
                "--size {size}: {count} such allocations are more than half of the device's memory"
            ))
            .into());
        }
        Ok(bytes)
    }

    /// Sizes in bytes, each `factor` times the one before, from `smallest` up to `largest`, which is the last whether or
    /// not it is one of them.
    pub fn sizes(&self, smallest: ByteSize, factor: usize, largest: usize) -> Vec<usize> {
        let steps = std::iter::successors(Some(smallest.bytes()), |size| size.checked_mul(factor));
        let smaller = steps.take_while(|&bytes| bytes < largest);
        smaller.chain([largest]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_and_listed() {
        let found = BySize::new(vec![(1 << 10, 1), (1 << 20, 2), (1 << 30, 3)]);
        assert_eq!((found.at(1 << 20), found.at(7)), (Some(&2), None));
        assert_eq!(found.sizes_where(|&n| n > 1), "1 MiB, 1 GiB");
        assert_eq!(found.sizes_where(|&n| n > 3), "no size");
    }
}

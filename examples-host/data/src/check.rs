//! Checking every element against a reference that the CPU computes independently.

use crate::uncached;
use bytemuck::Pod;
use libcuda::host;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// What a verdict says of elements that were compared.
pub const REFERENCE: &str = "checked against the CPU";

/// What a successful check has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Elements compared.
    pub elements: usize,
    /// A digest of their bits and positions: equal results have equal digests.
    pub digest: u64,
}

impl Checked {
    /// The two checks as one, over both their elements.
    pub fn and(self, other: Self) -> Self {
        Self {
            elements: self.elements + other.elements,
            digest: self.digest.wrapping_add(other.digest),
        }
    }
}

/// Some elements are not what they must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "{wrong} of {elements} elements of {what} are wrong, first [{index}]: expected {expected}, got {got}"
)]
pub struct Mismatch {
    /// What was checked.
    pub what: String,
    /// How many elements are wrong.
    pub wrong: usize,
    /// How many there are.
    pub elements: usize,
    /// Index of the first wrong one.
    pub index: usize,
    /// The expected value.
    pub expected: String,
    /// What it is.
    pub got: String,
}

/// Adds what one more check has found to what was found before. The first mismatch stays; any other
/// error is returned.
pub fn add(
    found: &mut Result<Checked, Mismatch>,
    more: anyhow::Result<Checked>,
) -> anyhow::Result<()> {
    match (&found, more) {
        (Ok(before), Ok(more)) => *found = Ok(before.and(more)),
        (Err(_), Ok(_)) => {}
        (_, Err(error)) => {
            let mismatch = error.downcast::<Mismatch>()?;
            if found.is_ok() {
                *found = Err(mismatch);
            }
        }
    }
    Ok(())
}

/// Elements that one task compares.
const TASK: usize = 64 * 1024;

/// Fills host memory with bytes that no computation of the examples leaves behind (0xFF: a NaN as a float), so that a
/// result of an earlier run cannot pass for one of the next. Leaves none of it in the CPU's caches, where it would slow
/// down the copy that overwrites it.
#[track_caller]
pub fn poison<T: Pod + Send>(memory: &mut [T]) {
    host::writes(memory.as_ptr().cast(), size_of_val(memory));
    bytemuck::cast_slice_mut(memory)
        .par_chunks_mut(1 << 20)
        .for_each(|chunk| uncached::fill(chunk, 0xFF));
}

/// Checks that each element of `got` has exactly the bits of `expected(offset + index)`, where
/// `offset` is the position of the first in the whole. This is where the program reads the memory: the software GPU's
/// checker compares it with what the device writes.
#[track_caller]
pub fn equal<T>(
    what: &str,
    offset: usize,
    got: &[T],
    expected: impl Fn(usize) -> T + Sync,
) -> Result<Checked, Mismatch>
where
    T: Pod + Debug + Sync,
{
    matching(what, offset, got, expected, same_bits)
}

/// Whether both are the same bytes. Where they fit into one number they are compared as one: without optimisation, the other way
/// takes most of the time of a check.
#[inline]
fn same_bits<T: Pod>(a: &T, b: &T) -> bool {
    match size_of::<T>() {
        4 => bytemuck::cast::<T, u32>(*a) == bytemuck::cast::<T, u32>(*b),
        8 => bytemuck::cast::<T, u64>(*a) == bytemuck::cast::<T, u64>(*b),
        _ => bytemuck::bytes_of(a) == bytemuck::bytes_of(b),
    }
}

/// As [`equal`], with `close(got, expected)` for what counts as right.
#[track_caller]
pub fn matching<T>(
    what: &str,
    offset: usize,
    got: &[T],
    expected: impl Fn(usize) -> T + Sync,
    close: impl Fn(&T, &T) -> bool + Sync,
) -> Result<Checked, Mismatch>
where
    T: Pod + Debug + Sync,
{
    host::reads(got.as_ptr().cast(), size_of_val(got));
    let task = |(task, values): (usize, &[T])| {
        let first = offset + task * TASK;
        let mut found = Difference {
            wrong: 0,
            first: None,
            digest: 0,
        };
        for (place, value) in values.iter().enumerate() {
            let index = first + place;
            if !close(value, &expected(index)) {
                found.wrong += 1;
                found.first = found.first.or(Some(index));
            }
            found.digest = found.digest.wrapping_add(digest(index, value));
        }
        found
    };
    let found = got
        .par_chunks(TASK)
        .enumerate()
        .map(task)
        .reduce(Difference::none, Difference::and);
    match found.first {
        None => Ok(Checked {
            elements: got.len(),
            digest: found.digest,
        }),
        Some(index) => Err(Mismatch {
            what: what.to_owned(),
            wrong: found.wrong,
            elements: got.len(),
            index,
            expected: format!("{:?}", expected(index)),
            got: format!("{:?}", got[index - offset]),
        }),
    }
}

struct Difference {
    wrong: usize,
    first: Option<usize>,
    digest: u64,
}

impl Difference {
    fn none() -> Self {
        Self {
            wrong: 0,
            first: None,
            digest: 0,
        }
    }

    fn and(self, other: Self) -> Self {
        let first = match (self.first, other.first) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            wrong: self.wrong + other.wrong,
            first,
            digest: self.digest.wrapping_add(other.digest),
        }
    }
}

/// A number for an element at a place. The sum over elements depends on each element's place, but not on the order of
/// summation.
#[inline]
fn digest<T: Pod>(index: usize, value: &T) -> u64 {
    let bits = match size_of::<T>() {
        4 => u64::from(bytemuck::cast::<T, u32>(*value)),
        8 => bytemuck::cast::<T, u64>(*value),
        _ => bytemuck::bytes_of(value).iter().fold(0u64, |bits, &byte| {
            bits.wrapping_mul(257).wrapping_add(u64::from(byte))
        }),
    };
    crate::data::mix(bits ^ crate::data::mix(index as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_wrong_element_is_named_with_its_place_in_the_whole() {
        let mut got: Vec<u32> = (1000..1000 + 200_000).collect();
        got[150_000] = 7;
        got[199_999] = 8;
        let error = equal("output", 1000, &got, |index| index as u32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2 of 200000 elements of output are wrong, first [151000]: expected 151000, got 7"
        );
    }

    #[test]
    fn the_first_mismatch_of_several_checks_stays_and_other_errors_are_returned() {
        let compare = |got: u32| Ok(equal("numbers", 0, &[got], |_| 1)?);
        let mut found = Ok(Checked::default());
        add(&mut found, compare(1)).unwrap();
        add(&mut found, compare(1)).unwrap();
        assert_eq!(found.as_ref().map(|checked| checked.elements), Ok(2));
        add(&mut found, compare(7)).unwrap();
        add(&mut found, compare(8)).unwrap();
        add(&mut found, compare(1)).unwrap();
        assert_eq!(found.as_ref().unwrap_err().got, "7");
        assert!(add(&mut found, Err(anyhow::anyhow!("no memory"))).is_err());
    }

    #[test]
    fn bits_decide_not_values() {
        assert!(equal("zeros", 0, &[-0.0f32], |_| 0.0).is_err());
        assert!(equal("NaNs", 0, &[f32::NAN], |_| f32::NAN).is_ok());
        assert!(matching("zeros", 0, &[-0.0f32], |_| 0.0, |a, b| a == b).is_ok());
    }

    #[test]
    fn pieces_make_the_digest_of_the_whole() {
        let values: Vec<u64> = (0..1000).map(|i| i * i).collect();
        let expected = |index: usize| (index * index) as u64;
        let whole = equal("whole", 0, &values, expected).unwrap();
        let left = equal("left", 0, &values[..300], expected).unwrap();
        let right = equal("right", 300, &values[300..], expected).unwrap();
        assert_eq!(left.and(right), whole);
    }

    proptest! {
        #[test]
        fn exchanging_two_different_elements_changes_the_digest(
            values in prop::collection::vec(any::<u32>(), 2..100),
            a in any::<prop::sample::Index>(),
            b in any::<prop::sample::Index>(),
        ) {
            let (a, b) = (a.index(values.len()), b.index(values.len()));
            prop_assume!(values[a] != values[b]);
            let mut exchanged = values.clone();
            exchanged.swap(a, b);
            let digest = |values: &[u32]| equal("values", 0, values, |index| values[index]).unwrap().digest;
            prop_assert_ne!(digest(&values), digest(&exchanged));
        }
    }
}

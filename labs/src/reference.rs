//! What the labs must hand in, computed on the CPU.

use crate::data::given;
use chapter_results::lab::HandedIn;

/// Elements and their values.
pub(crate) struct Reference {
    len: usize,
    expected: Box<dyn Fn(usize) -> f32>,
    /// By how much an element may differ.
    tolerance: f32,
}

impl Reference {
    fn exact(len: usize, expected: impl Fn(usize) -> f32 + 'static) -> Self {
        Self { len, expected: Box::new(expected), tolerance: 0.0 }
    }

    pub(crate) fn compare(&self, result: &[f32]) -> HandedIn {
        let right = |index: usize| {
            let (got, expected) = (result[index], (self.expected)(index));
            got == expected || (got - expected).abs() <= self.tolerance
        };
        let wrong: Vec<usize> = (0..self.len.min(result.len())).filter(|&i| !right(i)).collect();
        let first = |&index: &usize| {
            let (expected, got) = ((self.expected)(index), result[index]);
            (index as u64, expected.to_string(), got.to_string())
        };
        HandedIn {
            expected: self.len as u64,
            elements: result.len() as u64,
            wrong: wrong.len() as u64,
            first: wrong.first().map(first),
        }
    }
}

/// The reference of a lab.
pub(crate) fn of(lab: &str) -> Option<Reference> {
    Some(match lab {
        "01_first_stream" => Reference::exact(1 << 20, |i| 2.0 * given(0, i) + 1.0),
        _ => return None,
    })
}

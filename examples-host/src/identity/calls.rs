//! Programs that must make certain calls in a certain order.

use crate::part::Part;
use crate::recording::traced;

/// Runs `body` and returns, in order, the functions of the driver that it called. They are known only while something is recorded.
pub fn calls_of<R>(body: impl FnOnce() -> R) -> (R, Vec<&'static str>) {
    let (done, trace) = traced(body);
    let steps = trace.map(|trace| trace.steps).unwrap_or_default();
    (done, steps.into_iter().map(|step| step.call).collect())
}

impl Part<'_> {
    /// Claims that a program made these calls of the functions named there, in this order, if it did not. `id` names the program
    /// and `sentence` what the calls mean.
    pub fn expect_calls(&mut self, id: &str, sentence: &str, made: &[&str], expected: &[&str]) {
        let named: Vec<&str> = made
            .iter()
            .copied()
            .filter(|call| expected.contains(call))
            .collect();
        if let Some((found, limit)) = first_difference(&named, expected) {
            self.claim(
                format!("identity/calls/{id}"),
                sentence,
                false,
                found,
                limit,
            );
        }
    }
}

/// Where calls are others than expected: what was found there, and what was expected.
fn first_difference(made: &[&str], expected: &[&str]) -> Option<(String, String)> {
    let place = (0..made.len().max(expected.len())).find(|&at| made.get(at) != expected.get(at))?;
    let named = |calls: &[&str]| {
        let call = calls.get(place).copied().unwrap_or("nothing");
        format!("{call} as call {} of {}", place + 1, calls.len())
    };
    Some((named(made), named(expected)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_that_differs_is_named() {
        let expected = ["cuEventRecord", "cuLaunchKernel"];
        assert_eq!(first_difference(&expected, &expected), None);
        let turned = ["cuLaunchKernel", "cuEventRecord"];
        let found = "cuLaunchKernel as call 1 of 2".to_owned();
        let limit = "cuEventRecord as call 1 of 2".to_owned();
        assert_eq!(first_difference(&turned, &expected), Some((found, limit)));
        let found = "nothing as call 2 of 1".to_owned();
        let limit = "cuLaunchKernel as call 2 of 2".to_owned();
        assert_eq!(
            first_difference(&expected[..1], &expected),
            Some((found, limit))
        );
    }
}

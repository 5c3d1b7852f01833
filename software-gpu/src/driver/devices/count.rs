//! How many software GPUs there are: the environment variable `SOFTWARE_GPU_COUNT`.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::driver::environment::Misconfigured;

/// The variable's name.
const VARIABLE: &str = "SOFTWARE_GPU_COUNT";
/// As many as one NVLink switch of a server joins.
const MOST: usize = 8;

/// How many there are where the environment does not say it.
static DEFAULT: AtomicUsize = AtomicUsize::new(1);

/// Makes the software GPU present `count` devices, 1 to 8, unless the environment variable `SOFTWARE_GPU_COUNT` says how
/// many. It comes too late behind the first CUDA call.
pub fn use_count(count: usize) {
    DEFAULT.store(count.clamp(1, MOST), Ordering::Relaxed);
}

/// The number that the environment asks for; where it asks for none, that of [`use_count`], else 1.
///
/// # Errors
/// When the variable is not a number of devices.
pub(in crate::driver) fn device_count() -> Result<usize, Misconfigured> {
    match std::env::var_os(VARIABLE) {
        None => Ok(DEFAULT.load(Ordering::Relaxed)),
        Some(value) => parse(&value.to_string_lossy()),
    }
}

fn parse(value: &str) -> Result<usize, Misconfigured> {
    let count = value.trim().parse().ok();
    count
        .filter(|count| (1..=MOST).contains(count))
        .ok_or_else(|| {
            Misconfigured(format!(
                "{VARIABLE} is `{value}`: a number from 1 to {MOST} is expected"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_within_the_limits_counts() {
        assert_eq!(parse("1"), Ok(1));
        assert_eq!(parse(" 8 "), Ok(8));
    }

    #[test]
    fn anything_else_is_named() {
        for value in ["0", "9", "", "two", "-1"] {
            let Misconfigured(refusal) = parse(value).expect_err("no number of devices");
            assert!(refusal.contains(&format!("`{value}`")), "{refusal}");
        }
    }
}

//! Whether the host has room for what a part asks for: page-locked memory that it lacks ends in a killed process, not in an
//! error.

use crate::size::ByteSize;
use crate::units;
use chapter_terminal::UsageError;
use std::fs;

/// A part keeps its data twice, in and out, and software GPUs have their memory on the host as well.
const COPIES: u64 = 4;

/// Refuses a size that the host's available memory has no room for. Where the system does not say what is available,
/// every size passes.
///
/// # Errors
/// There is too little memory.
pub(crate) fn check(size: ByteSize) -> Result<(), UsageError> {
    match available() {
        Some(available) => fits(size, available),
        None => Ok(()),
    }
}

fn fits(size: ByteSize, available: u64) -> Result<(), UsageError> {
    let needed = (size.bytes() as u64).saturating_mul(COPIES);
    if needed <= available {
        return Ok(());
    }
    Err(UsageError(format!(
        "--size {size} needs about {} of host memory, and {} are available: ask for less",
        units::bytes(needed),
        units::bytes(available >> 20 << 20),
    )))
}

/// Bytes that a process can have before the system has to take pages from others: Linux's `MemAvailable`.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_must_fit_with_its_copies() {
        let available = 8 << 30;
        assert_eq!(fits(ByteSize::gib(2), available), Ok(()));
        let UsageError(text) = fits(ByteSize::gib(3), available).unwrap_err();
        assert_eq!(
            text,
            "--size 3 GiB needs about 12 GiB of host memory, and 8 GiB are available: ask for less"
        );
        assert!(fits(ByteSize::gib(usize::MAX >> 30), available).is_err());
    }
}

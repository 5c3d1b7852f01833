//! How long a kernel may run before it counts as endless.

use std::env;
use std::sync::LazyLock;

use crate::driver::environment::Misconfigured;

/// The environment variable that sets the budget.
const VARIABLE: &str = "SOFTWARE_GPU_INSTRUCTION_BUDGET";

/// Without it: about five seconds of a loop that polls memory, on the computers of today.
const DEFAULT: u64 = 1 << 27;

static BUDGET: LazyLock<Result<u64, Misconfigured>> = LazyLock::new(|| {
    let word = env::var_os(VARIABLE).unwrap_or_default();
    parse(&word.to_string_lossy())
        .map_err(|message| Misconfigured(format!("{VARIABLE}: {message}")))
});

/// Warp instructions that one block may execute. Atomic operations count once for each thread.
pub(in crate::driver) fn instruction_budget() -> u64 {
    *BUDGET.as_ref().unwrap_or(&DEFAULT)
}

/// Refuses an environment variable that sets no budget.
pub(in crate::driver) fn configure() -> Result<(), Misconfigured> {
    BUDGET.as_ref().map(|_| ()).map_err(Misconfigured::clone)
}

/// The budget that `word` sets; the default when it is empty.
fn parse(word: &str) -> Result<u64, String> {
    match word.trim() {
        "" => Ok(DEFAULT),
        number => match number.parse() {
            Ok(0) | Err(_) => Err(format!("`{number}` is not a number of warp instructions")),
            Ok(budget) => Ok(budget),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_all_else_is_refused() {
        assert_eq!(parse(""), Ok(DEFAULT));
        assert_eq!(parse(" 1000 "), Ok(1000));
        for bad in ["0", "-1", "many", "1e9", "99999999999999999999"] {
            assert!(
                parse(bad).is_err_and(|message| message.contains(bad)),
                "{bad}"
            );
        }
    }
}

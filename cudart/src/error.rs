//! Errors of the runtime: `cudaError_t`, whose numbers are the driver's `CUresult` where both have the error.

/// One error of `cudaError_t`, never `cudaSuccess`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub(crate) u32);

pub(crate) type Result<T = ()> = std::result::Result<T, Error>;

/// `cudaSuccess`.
pub(crate) const SUCCESS: u32 = 0;

impl Error {
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const INVALID_CONFIGURATION: Self = Self(9);
    pub(crate) const INVALID_SYMBOL: Self = Self(13);
    pub(crate) const INVALID_COPY_DIRECTION: Self = Self(21);
    pub(crate) const INSUFFICIENT_DRIVER: Self = Self(35);
    pub(crate) const MISSING_CONFIGURATION: Self = Self(52);
    pub(crate) const INVALID_DEVICE_FUNCTION: Self = Self(98);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const INVALID_DEVICE: Self = Self(101);
    pub(crate) const SYMBOL_NOT_FOUND: Self = Self(500);
    pub(crate) const NOT_SUPPORTED: Self = Self(801);

    /// Whether the error destroyed the context: every later call in the process returns it as well, and
    /// `cudaGetLastError` does not clear it.
    pub(crate) fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 700 | 702 | 710 | 714..=719 | 721)
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn an_illegal_address_is_sticky_and_an_invalid_argument_is_not() {
        assert!(Error(700).is_sticky());
        assert!(!Error::INVALID_VALUE.is_sticky());
        assert!(!Error::INVALID_CONFIGURATION.is_sticky());
    }
}

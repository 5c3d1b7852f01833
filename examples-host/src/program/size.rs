//! Sizes in bytes as people write them: `64MiB`, `1GiB`, `64M`, `4096`.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// A size in bytes that is not zero.
///
/// Units are binary in every spelling: `64M`, `64MB` and `64MiB` are all 64 · 2²⁰ bytes,
/// because buffers and copies come in powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(NonZeroUsize);

impl ByteSize {
    /// `n` KiB.
    ///
    /// # Panics
    /// When `n` is zero or the size exceeds the address space: in a constant, a compile-time error.
    pub const fn kib(n: usize) -> Self {
        Self::shifted(n, 10)
    }

    /// `n` MiB. Panics as [`ByteSize::kib`] does.
    pub const fn mib(n: usize) -> Self {
        Self::shifted(n, 20)
    }

    /// `n` GiB. Panics as [`ByteSize::kib`] does.
    pub const fn gib(n: usize) -> Self {
        Self::shifted(n, 30)
    }

    const fn shifted(n: usize, shift: u32) -> Self {
        assert!(
            n <= usize::MAX >> shift,
            "the size exceeds the address space"
        );
        match NonZeroUsize::new(n << shift) {
            Some(bytes) => Self(bytes),
            None => panic!("a size is never zero"),
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        self.0.get()
    }

    /// How many whole `T` fit.
    pub const fn elements<T>(self) -> usize {
        self.0.get() / size_of::<T>()
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSizeError {
    /// The number is missing or not an integer.
    #[error("`{0}` is not a size: write a whole number and a unit, such as 64MiB, 512K or 1G")]
    Number(String),
    /// The letters after the number name no unit.
    #[error("`{unit}` is not a unit of size: use B, K, M or G (also KB, KiB, …; all binary)")]
    Unit {
        /// The letters found.
        unit: String,
    },
    /// The size is zero.
    #[error("a size of zero leaves nothing to do")]
    Zero,
    /// The size does not fit into the address space.
    #[error("`{0}` exceeds the address space")]
    TooLarge(String),
}

impl FromStr for ByteSize {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        if number.is_empty() || unit.starts_with('.') {
            return Err(ParseSizeError::Number(text.to_owned()));
        }
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            _ => {
                return Err(ParseSizeError::Unit {
                    unit: unit.trim().to_owned(),
                });
            }
        };
        let too_large = || ParseSizeError::TooLarge(text.to_owned());
        let number: usize = number.parse().map_err(|_| too_large())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(too_large)?;
        // Allocators and slices stop at isize::MAX bytes.
        if isize::try_from(bytes).is_err() {
            return Err(too_large());
        }
        NonZeroUsize::new(bytes)
            .map(Self)
            .ok_or(ParseSizeError::Zero)
    }
}

impl fmt::Display for ByteSize {
    /// The largest unit that divides the size: `64 MiB`, `1 GiB`, `1000 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&crate::units::bytes(self.bytes() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_binary_in_every_spelling() {
        for text in [
            "64MiB",
            "64M",
            "64mb",
            " 64 MiB ",
            "65536K",
            "67108864",
            "67108864B",
        ] {
            assert_eq!(text.parse(), Ok(ByteSize::mib(64)), "{text}");
        }
        assert_eq!("1GiB".parse(), Ok(ByteSize::gib(1)));
    }

    #[test]
    fn what_is_not_a_size_is_refused_with_its_reason() {
        let parse = |text: &str| text.parse::<ByteSize>();
        assert_eq!(parse("0"), Err(ParseSizeError::Zero));
        assert_eq!(parse("0MiB"), Err(ParseSizeError::Zero));
        assert_eq!(parse("MiB"), Err(ParseSizeError::Number("MiB".into())));
        assert_eq!(parse("-1M"), Err(ParseSizeError::Number("-1M".into())));
        assert_eq!(parse("1.5M"), Err(ParseSizeError::Number("1.5M".into())));
        assert_eq!(
            parse("5 parsecs"),
            Err(ParseSizeError::Unit {
                unit: "parsecs".into()
            })
        );
        assert_eq!(
            parse("99999999999G"),
            Err(ParseSizeError::TooLarge("99999999999G".into()))
        );
        assert_eq!(
            parse("18446744073709551615"),
            Err(ParseSizeError::TooLarge("18446744073709551615".into()))
        );
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(bytes in 1..=isize::MAX as usize) {
            let size = ByteSize(NonZeroUsize::new(bytes).unwrap());
            prop_assert_eq!(size.to_string().parse::<ByteSize>(), Ok(size));
        }

        #[test]
        fn parsing_never_panics(text in ".*") {
            let _ = text.parse::<ByteSize>();
        }
    }
}

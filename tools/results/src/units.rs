//! Figures as people read them: three significant digits and a unit.

use std::fmt::Display;
use std::time::Duration;

/// A duration in the unit that leaves one to three digits before the point: `850 ns`, `12.3 µs`,
/// `1.34 ms`.
pub fn time(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos() as f64;
    scaled(
        nanoseconds,
        &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")],
    )
}

/// Bytes moved within a time, in GB/s (10⁹ bytes per second).
pub fn bandwidth(bytes: u64, duration: Duration) -> String {
    format!("{} GB/s", digits(gigabytes_per_second(bytes, duration)))
}

/// Bytes moved within a time, as a number of GB/s. Infinite for no time.
pub fn gigabytes_per_second(bytes: u64, duration: Duration) -> f64 {
    bytes as f64 / duration.as_nanos() as f64
}

/// An amount of memory in the largest binary unit that divides it: `64 MiB`, `1000 B`.
pub fn bytes(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0 B".to_owned(),
        30.. => format!("{} GiB", bytes >> 30),
        20.. => format!("{} MiB", bytes >> 20),
        10.. => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// An amount of memory as a part of an id: `64mib`.
pub fn bytes_id(amount: u64) -> String {
    bytes(amount).to_lowercase().replace(' ', "")
}

/// A number of things: `1 gap`, `2 gaps`. The noun's plural ends with `s`.
pub fn counted(number: impl Copy + Display + PartialEq + From<u8>, noun: &str) -> String {
    let plural = if number == 1.into() { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// A share as a percentage: `97.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A ratio: `1.83x`.
pub fn ratio(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// A number with three significant digits, without an exponent: `5.32`, `55.0`, `1830`.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // A value that rounds to 1000 belongs to the next unit.
    let fits = |&&(unit, _): &&(f64, &str)| value / unit < 999.5;
    let &(unit, name) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    let decimals_matter = unit > 1.0;
    if decimals_matter {
        format!("{} {name}", digits(value / unit))
    } else {
        format!("{value:.0} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thing_is_singular() {
        let texts = [0_usize, 1, 2].map(|number| counted(number, "gap"));
        assert_eq!(texts, ["0 gaps", "1 gap", "2 gaps"]);
        assert_eq!(counted(1_u64, "copy engine"), "1 copy engine");
    }

    #[test]
    fn three_digits_and_the_unit_that_fits() {
        let text = |nanoseconds| time(Duration::from_nanos(nanoseconds));
        assert_eq!(text(0), "0 ns");
        assert_eq!(text(850), "850 ns");
        assert_eq!(text(999), "999 ns");
        assert_eq!(text(12_345), "12.3 µs");
        assert_eq!(text(99_960), "100 µs");
        assert_eq!(text(999_400), "999 µs");
        assert_eq!(text(999_600), "1.00 ms");
        assert_eq!(text(1_336_000), "1.34 ms");
        assert_eq!(text(21_690_000_000), "21.7 s");
        assert_eq!(text(4_000_000_000_000), "4000 s");
    }

    #[test]
    fn bandwidth_counts_in_powers_of_ten() {
        assert_eq!(
            bandwidth(256 << 20, Duration::from_micros(4880)),
            "55.0 GB/s"
        );
        assert_eq!(percent(0.9731), "97.3 %");
        assert_eq!(ratio(1.834), "1.83x");
        assert_eq!(
            [0, 1000, 4096, 3 << 20, 1 << 30].map(bytes),
            ["0 B", "1000 B", "4 KiB", "3 MiB", "1 GiB"]
        );
        assert_eq!(bytes_id(64 << 20), "64mib");
    }
}

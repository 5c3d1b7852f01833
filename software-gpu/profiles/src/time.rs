//! The virtual clock's unit: whole picoseconds, so that adding durations is exact and never depends on the machine.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point on the virtual clock, or a distance between two points, in picoseconds.
///
/// Sixty-four bits last for 213 days. Arithmetic saturates: [`Time::MAX`] stands for "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the clock.
    pub const ZERO: Self = Self(0);
    /// Later than everything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// `picoseconds` after the start.
    #[inline]
    pub const fn from_picos(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// `nanoseconds` after the start.
    #[inline]
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds.saturating_mul(1_000))
    }

    /// A number of microseconds, rounded to the nearest picosecond; negative numbers and NaN become zero.
    #[inline]
    pub fn from_micros(microseconds: f64) -> Self {
        Self((microseconds * 1e6).round() as u64)
    }

    /// A number of picoseconds that a rate has produced, rounded up: nothing ends before it is done.
    #[inline]
    pub fn from_picos_up(picoseconds: f64) -> Self {
        Self(picoseconds.ceil() as u64)
    }

    /// Picoseconds since the start.
    #[inline]
    pub const fn as_picos(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start, rounded down.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds since the start.
    #[inline]
    pub fn as_micros(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Milliseconds since the start: the unit of `cuEventElapsedTime`.
    #[inline]
    pub fn as_millis(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The time from `earlier` to `self`; zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.since(other)
    }
}

impl From<Duration> for Time {
    #[inline]
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX))
    }
}

impl From<Time> for Duration {
    #[inline]
    fn from(time: Time) -> Self {
        Duration::from_nanos(time.as_nanos())
    }
}

impl fmt::Display for Time {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} µs", self.as_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time::MAX + Time::from_nanos(1), Time::MAX);
        assert_eq!(Time::ZERO - Time::from_nanos(1), Time::ZERO);
        assert_eq!(Time::from_micros(-1.0), Time::ZERO);
    }

    #[test]
    fn units_agree() {
        let time = Time::from_micros(2.5);
        assert_eq!(time.as_picos(), 2_500_000);
        assert_eq!(time, Time::from(Duration::from_nanos(2_500)));
        assert_eq!(time.as_millis(), 0.0025);
    }
}

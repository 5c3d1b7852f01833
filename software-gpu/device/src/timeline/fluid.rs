//! An amount that shrinks at a rate which changes now and then: bytes of a copy, waves of a cohort.
//!
//! Only a change of rate touches the amount, so that looking at the clock in between leaves no trace: a simulation in
//! many small steps and one in a single step do the same arithmetic.

use super::Time;

#[derive(Clone, Debug)]
pub(super) struct Fluid {
    /// The amount left at `since`.
    left: f64,
    /// Per picosecond.
    rate: f64,
    since: Time,
    end: Time,
}

impl Fluid {
    /// An `amount` without a rate: it stays constant until one is set.
    pub fn new(amount: f64, now: Time) -> Self {
        let end = if amount > 0.0 { Time::MAX } else { now };
        Self {
            left: amount,
            rate: 0.0,
            since: now,
            end,
        }
    }

    /// When nothing is left, should the rate stay.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The amount left at `now`.
    pub fn left(&self, now: Time) -> f64 {
        let gone = self.rate * now.since(self.since).as_picos() as f64;
        (self.left - gone).max(0.0)
    }

    /// Goes on at `rate` per picosecond.
    pub fn set_rate(&mut self, rate: f64, now: Time) {
        if rate != self.rate {
            self.restart(self.left(now), rate, now);
        }
    }

    /// Adds `amount`, or takes it away unprocessed if it is negative.
    pub fn lengthen(&mut self, amount: f64, now: Time) {
        self.restart((self.left(now) + amount).max(0.0), self.rate, now);
    }

    fn restart(&mut self, left: f64, rate: f64, now: Time) {
        self.left = left;
        self.rate = rate;
        self.since = now;
        self.end = match (left > 0.0, rate > 0.0) {
            (false, _) => now,
            (true, true) => now + Time::from_picos_up(left / rate),
            (true, false) => Time::MAX,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_when_the_areas_under_its_rates_add_up() {
        let mut fluid = Fluid::new(100.0, Time::ZERO);
        assert_eq!(fluid.end(), Time::MAX);
        fluid.set_rate(1.0, Time::ZERO);
        assert_eq!(fluid.end(), Time::from_picos(100));
        fluid.set_rate(0.5, Time::from_picos(40));
        assert_eq!(fluid.end(), Time::from_picos(160));
        fluid.lengthen(-30.0, Time::from_picos(60));
        assert_eq!(fluid.end(), Time::from_picos(100));
    }

    #[test]
    fn an_empty_amount_ends_at_its_start() {
        assert_eq!(
            Fluid::new(0.0, Time::from_picos(7)).end(),
            Time::from_picos(7)
        );
    }
}

//! Marks on the axis of time.

/// A mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Nanoseconds since the origin.
    pub time: u64,
    /// The text there.
    pub label: String,
}

/// The marks from 0 to `total` nanoseconds: at most `most` steps of 1, 2 or 5 times a power of ten, all in the unit that suits
/// the whole.
pub fn ticks(total: u64, most: u64) -> Vec<Tick> {
    let step = step(total, most.max(1));
    let (unit, name) = match total {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let mut decimals = 0;
    while step * 10u64.pow(decimals) < unit {
        decimals += 1;
    }
    let label = |time: u64| match time {
        0 => "0".to_owned(),
        _ => format!("{:.*} {name}", decimals as usize, time as f64 / unit as f64),
    };
    let times = (0..=total / step).map(|n| n * step);
    times
        .map(|time| Tick {
            time,
            label: label(time),
        })
        .collect()
}

/// The smallest of 1, 2, 5, 10, 20 … that goes into `total` at most `most` times.
fn step(total: u64, most: u64) -> u64 {
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if total / step <= most {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(total: u64, most: u64) -> Vec<String> {
        ticks(total, most)
            .into_iter()
            .map(|tick| tick.label)
            .collect()
    }

    #[test]
    fn round_steps_in_one_unit() {
        assert_eq!(labels(0, 8), ["0"]);
        assert_eq!(labels(5, 8), ["0", "1 ns", "2 ns", "3 ns", "4 ns", "5 ns"]);
        assert_eq!(labels(71_000, 4), ["0", "20 µs", "40 µs", "60 µs"]);
        assert_eq!(labels(1_500, 4), ["0", "0.5 µs", "1.0 µs", "1.5 µs"]);
        assert_eq!(labels(5_860_000, 3), ["0", "2 ms", "4 ms"]);
        assert_eq!(labels(2_000_000_000, 2), ["0", "1 s", "2 s"]);
    }

    #[test]
    fn no_time_is_too_long() {
        assert!(labels(u64::MAX, 10).len() <= 11);
    }
}

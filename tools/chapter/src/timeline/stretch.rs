//! The stretch of a long timeline that is shown.

use chapter_results::intervals::{Recording, Span};
use chapter_timeline::window;
use std::fmt;

/// A stretch of the timeline.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Stretch {
    /// Leave out what is over before this time, such as 12ms or 350us
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    from: Option<u64>,
    /// Leave out what begins after this time
    #[arg(long, value_name = "TIME", value_parser = nanoseconds)]
    to: Option<u64>,
    /// Show what runs around the longest operation whose name contains NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "to"])]
    around: Option<String>,
}

impl Stretch {
    /// Whether nothing is left out.
    pub fn is_whole(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.around.is_none()
    }

    /// The stretch of a recording; none when no operation has the name.
    pub fn of(&self, recording: &Recording) -> Option<Span> {
        if let Some(name) = &self.around {
            return window::around(recording, name);
        }
        let (start, end) = (self.from.unwrap_or(0), self.to.unwrap_or(u64::MAX));
        (start < end).then_some(Span { start, end })
    }
}

impl fmt::Display for Stretch {
    /// As the command line has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |option: &str, time: Option<u64>| Some(format!("{option} {}ns", time?));
        let name = self.around.as_ref().map(|name| format!("--around {name}"));
        let options = [time("--from", self.from), time("--to", self.to), name];
        let options: Vec<String> = options.into_iter().flatten().collect();
        f.write_str(&options.join(" "))
    }
}

/// A time with its unit, in nanoseconds.
fn nanoseconds(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no time; write a number and ns, us, ms or s, such as 1.5ms");
    let unit = text.find(|c: char| c.is_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit);
    let factor = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    match number.is_finite() && number >= 0.0 {
        true => Ok((number * factor).round() as u64),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let read = |text| nanoseconds(text).ok();
        let times = ["12ms", "350us", "1.5 s", "7ns", "2µs"].map(read);
        let expected = [12_000_000, 350_000, 1_500_000_000, 7, 2000].map(Some);
        assert_eq!(times, expected);
        for wrong in ["", "12", "ms", "-1ms", "1h", "nans", "1e999s"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

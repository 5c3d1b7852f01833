//! Variants under several settings, beside what was predicted of the first of them.

use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// A setting: what it is called, the time predicted of the first variant, and the times of all.
pub struct Setting<const N: usize> {
    /// The group that the variants are timed as.
    pub label: Label,
    /// What the first variant should take.
    pub predicted: Duration,
    /// What each took.
    pub times: [Durations; N],
}

impl Setting<2> {
    /// The median of the first variant as a multiple of the second's.
    pub fn ratio(&self) -> f64 {
        let [first, second] = self.times.each_ref().map(Durations::median);
        first.div_duration_f64(second)
    }
}

/// Prints the settings, a row each, and notes their times.
pub fn show<const N: usize>(part: &mut Part, variants: [&'static str; N], settings: &[Setting<N>]) {
    let mut table = Table::of(["setting", "predicted"].into_iter().chain(variants));
    for setting in settings {
        let medians = setting.times.each_ref().map(|times| times.median());
        let cells = [setting.label.to_string(), units::time(setting.predicted)];
        table.row(cells.into_iter().chain(medians.map(units::time)));
        for (variant, times) in variants.into_iter().zip(&setting.times) {
            part.timed(&setting.label, Label::new(variant, variant), Kind::Makespan, times);
        }
    }
    part.say(table);
}

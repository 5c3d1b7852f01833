//! Variants under several settings, beside what was predicted of the first of them.

use crate::label::Label;
use crate::part::Part;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
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

impl Part<'_> {
    /// Prints the settings, a row each, and notes their times.
    pub fn show_settings<const N: usize>(
        &mut self,
        variants: [&'static str; N],
        settings: &[Setting<N>],
    ) {
        let mut table = Table::of(["setting", "predicted"].into_iter().chain(variants));
        for setting in settings {
            let medians = setting.times.each_ref().map(|times| times.median());
            let cells = [setting.label.to_string(), units::time(setting.predicted)];
            table.row(cells.into_iter().chain(medians.map(units::time)));
            for (variant, times) in variants.into_iter().zip(&setting.times) {
                self.timed(
                    &setting.label,
                    Label::new(variant, variant),
                    Kind::Makespan,
                    times,
                );
            }
        }
        self.say(table);
    }
}

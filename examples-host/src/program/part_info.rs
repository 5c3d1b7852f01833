//! What an example says of a part before it runs.

use crate::need::Need;
use crate::part_option::PartOption;

/// A part as the command line shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// The name for `--part`.
    pub name: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// What it uses of the options that not every part uses.
    pub uses: &'static [PartOption],
    /// Its requirements on the device.
    pub needs: &'static [Need],
}

impl PartInfo {
    /// Whether the part has declared that it uses the option.
    pub(crate) fn uses(&self, option: PartOption) -> bool {
        self.uses.contains(&option)
    }
}

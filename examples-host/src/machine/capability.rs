//! Alternatives that not every device has.

use crate::part::Part;
use std::fmt::Display;

impl Part<'_> {
    /// The errors of `alternatives` whose compute capability, which `needs` gives, the device has. Prints which are left out.
    ///
    /// # Errors
    /// The driver does not say what the device is capable of.
    pub fn capable<A: Copy + Display>(
        &mut self,
        alternatives: &[A],
        needs: impl Fn(A) -> (u32, u32),
    ) -> anyhow::Result<Vec<A>> {
        let has = self.device().compute_capability()?;
        let (capable, others): (Vec<A>, Vec<A>) =
            alternatives.iter().partition(|&&which| needs(which) <= has);
        for other in others {
            let ((major, minor), (own_major, own_minor)) = (needs(other), has);
            self.say(format!(
                "Left out: {other}: it needs compute capability {major}.{minor}, and this device has {own_major}.{own_minor}."
            ));
        }
        Ok(capable)
    }
}

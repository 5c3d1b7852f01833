//! What programs and readers know the forms by, and what they need.

use crate::forms::Form::{self, Bulk, CpAsync, NamedBarriers, Unspecialised};
use examples_host::prelude::*;
use std::fmt;

/// All forms, the one without producers first.
pub const ALL: [Form; 4] = [Unspecialised, NamedBarriers, CpAsync, Bulk];

/// What programs and readers know a form by.
pub fn label(form: Form) -> Label {
    let (id, text) = match form {
        Unspecialised => ("unspecialised", "unspecialised"),
        NamedBarriers => ("named-barriers", "specialised: plain loads, named barriers"),
        CpAsync => ("cp-async", "specialised: cp.async, mbarriers"),
        Bulk => ("bulk-copies", "specialised: bulk copies, mbarriers"),
    };
    Label::new(id, text)
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        label(*self).fmt(f)
    }
}

/// The compute capability that a form needs.
pub fn needs(form: Form) -> (u32, u32) {
    match form {
        Unspecialised | NamedBarriers => (7, 0),
        CpAsync => (8, 0),
        Bulk => (9, 0),
    }
}

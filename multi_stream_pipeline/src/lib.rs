//! What the parts of this example share with programs outside of it: [`owned`], device buffers whose order the compiler checks.

pub mod owned;

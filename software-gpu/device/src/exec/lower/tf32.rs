//! `cvt` to `tf32`.

use crate::ptx::ir::{Instruction, Type};

use super::super::arithmetic::float::Modes;
use super::super::arithmetic::tf32::{Tf32Rounding, narrowed};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::rare1;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// Whether a conversion gives a number of that format.
pub(super) fn is_tf32(i: &Instruction) -> bool {
    i.modifiers.iter().any(|name| name == "tf32")
}

impl Lowering<'_> {
    pub(super) fn convert_tf32(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        m.take("tf32");
        let from = m.kind()?;
        let rounding = m.pick(|name| match name {
            "rna" => Some(Tf32Rounding::NearestAway),
            "rn" => Some(Tf32Rounding::NearestEven),
            "rz" => Some(Tf32Rounding::Zero),
            _ => None,
        });
        // This conversion has only one rounding mode.
        let modes = Modes {
            saturate: m.take("satfinite"),
            ..Modes::default()
        };
        let relu = m.take("relu");
        m.end()?;
        let run = rounding.and_then(|rounding| handler(rounding, relu));
        let run = run.filter(|_| from == Type::F32).ok_or_else(|| {
            let message = "`.rna`, `.rn` or `.rz` of a number of 32 bits is needed, without `.relu` in the first";
            self.malformed(i, message)
        })?;
        self.apply_modes(i, run, modes, Type::B32, &[from])?;
        Ok(Weight::new(Class::Convert, 1, latency::CONVERT))
    }
}

fn handler(rounding: Tf32Rounding, relu: bool) -> Option<Handler> {
    /// Converts with a constant rounding.
    macro_rules! converts {
        ($rounding:ident, $relu:literal) => {
            rare1(|modes: Modes, a: f32| -> u32 {
                narrowed(a, Tf32Rounding::$rounding, modes.saturate, $relu)
            })
        };
    }
    Some(match (rounding, relu) {
        (Tf32Rounding::NearestAway, false) => converts!(NearestAway, false),
        (Tf32Rounding::NearestAway, true) => return None,
        (Tf32Rounding::NearestEven, false) => converts!(NearestEven, false),
        (Tf32Rounding::NearestEven, true) => converts!(NearestEven, true),
        (Tf32Rounding::Zero, false) => converts!(Zero, false),
        (Tf32Rounding::Zero, true) => converts!(Zero, true),
    })
}

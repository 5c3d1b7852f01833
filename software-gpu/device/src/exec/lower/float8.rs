//! `cvt` from and to pairs of 8-bit floating-point numbers: `e4m3x2`, `e5m2x2`.

use half::f16;

use crate::ptx::ir::{Instruction, Operand, Type};

use super::super::arithmetic::float::Modes;
use super::super::arithmetic::float8::{E4M3, E5M2, Float8};
use super::super::cost::{Class, Weight, latency};
use super::super::op::Handler;
use super::super::warp_handlers::{rare1, rare2};
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// Whether a conversion has a pair of 8-bit numbers on one side.
pub(super) fn is_float8(i: &Instruction) -> bool {
    i.modifiers.iter().any(|name| named(name).is_some())
}

fn named(name: &str) -> Option<bool> {
    match name {
        "e4m3x2" => Some(true),
        "e5m2x2" => Some(false),
        _ => None,
    }
}

impl Lowering<'_> {
    pub(super) fn convert_float8(&mut self, i: &Instruction) -> Result<Weight> {
        let narrows = i.modifiers.last().is_some_and(|name| named(name).is_none());
        let mut m = Modifiers::of(i);
        let e4m3 = m.pick(named).unwrap_or_default();
        let other = m.kind()?;
        let (nearest, saturates) = (m.take("rn"), m.take("satfinite"));
        // No conversion has `.relu` and `.sat`, so one stands for the other.
        let modes = Modes {
            saturate: m.take("relu"),
            ..Modes::default()
        };
        m.end()?;
        if !nearest || saturates != narrows {
            let message = "`.rn` is needed, and `.satfinite` where the result has 8 bits";
            return Err(self.malformed(i, message));
        }
        self.check_pair(i, if narrows { 0 } else { 1 })?;
        let (run, to, from): (_, _, &[Type]) = match (narrows, other) {
            (true, Type::F32) => (of_singles(e4m3), Type::B16, &[other; 2]),
            (true, Type::F16x2) => (of_halves(e4m3), Type::B16, &[other]),
            (false, Type::F16x2) => (to_halves(e4m3), other, &[Type::B16]),
            _ => return Err(self.malformed(i, format!("there is no conversion with {other}"))),
        };
        self.apply_modes(i, run, modes, to, from)?;
        Ok(Weight::new(Class::Convert, 1, latency::CONVERT))
    }

    /// Two numbers of 8 bits lie in a register of 16.
    fn check_pair(&self, i: &Instruction, index: usize) -> Result<()> {
        match self.operand(i, index)? {
            Operand::Register(register)
                if self.source.body.registers[*register as usize].bytes() != 2 =>
            {
                Err(self.malformed(i, "a register of 16 bits is needed"))
            }
            _ => Ok(()),
        }
    }
}

fn of_singles(e4m3: bool) -> Handler {
    match e4m3 {
        true => rare2(|modes, high: f32, low: f32| narrowed(E4M3, modes, high, low)),
        false => rare2(|modes, high: f32, low: f32| narrowed(E5M2, modes, high, low)),
    }
}

fn of_halves(e4m3: bool) -> Handler {
    match e4m3 {
        true => rare1(|modes, pair: u32| narrowed_halves(E4M3, modes, pair)),
        false => rare1(|modes, pair: u32| narrowed_halves(E5M2, modes, pair)),
    }
}

fn to_halves(e4m3: bool) -> Handler {
    match e4m3 {
        true => rare1(|modes, pair: u16| widened(E4M3, modes, pair)),
        false => rare1(|modes, pair: u16| widened(E5M2, modes, pair)),
    }
}

fn narrowed(format: Float8, modes: Modes, high: f32, low: f32) -> u16 {
    let narrow = |value| format.narrowed(value, modes.saturate);
    u16::from_le_bytes([narrow(low), narrow(high)])
}

fn narrowed_halves(format: Float8, modes: Modes, pair: u32) -> u16 {
    let half = |bits| f16::from_bits(bits).to_f32();
    narrowed(format, modes, half((pair >> 16) as u16), half(pair as u16))
}

fn widened(format: Float8, modes: Modes, pair: u16) -> u32 {
    let [low, high] = pair.to_le_bytes();
    let wide = |code| u32::from(format.widened(code, modes.saturate));
    wide(high) << 16 | wide(low)
}

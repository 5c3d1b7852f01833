//! The hardware's approximations.
//!
//! PTX ISA, *Floating Point Instructions*.

use crate::float::Sealed;

/// What the GPU computes approximately in one or two instructions, as CUDA C++'s `__sinf` and the like do. On the host
/// these are std's functions, whose last bits differ.
pub trait FastFloat: Copy + Sealed {
    /// The sine (PTX `sin.approx.f32`): absolute error 2^-20.5 within ±π, growing with the angle beyond.
    fn fast_sin(self) -> Self;
    /// The cosine (PTX `cos.approx.f32`): absolute error 2^-20.5 within ±π, growing with the angle beyond.
    fn fast_cos(self) -> Self;
    /// 2 to the power `self` (PTX `ex2.approx.f32`): 2 ulp.
    fn fast_exp2(self) -> Self;
    /// e to the power `self` (PTX `mul`, `ex2.approx.f32`): 2 ulp and what rounding `self · log2 e` adds, about
    /// `|self|` · 2^-24 relative.
    fn fast_exp(self) -> Self;
    /// The logarithm to base 2 (PTX `lg2.approx.f32`): absolute error 2^-22 between 0.5 and 2, else 2 ulp.
    fn fast_log2(self) -> Self;
    /// The natural logarithm (PTX `lg2.approx.f32`, `mul`): that error and one rounding.
    fn fast_ln(self) -> Self;
    /// `self / divisor` (PTX `div.approx.f32`): 2 ulp for divisors of magnitude 2^-126 to 2^126, 0 beyond.
    fn fast_div(self, divisor: Self) -> Self;
    /// `1 / self` (PTX `rcp.approx.f32`): 1 ulp.
    fn fast_recip(self) -> Self;
    /// The square root (PTX `sqrt.approx.f32`): relative error 2^-23.
    fn fast_sqrt(self) -> Self;
    /// `1 / self.sqrt()` (PTX `rsqrt.approx.f32`): relative error 2^-22.9.
    fn rsqrt(self) -> Self;
}

/// `approximate!("sin", x)` is PTX `sin.approx.f32`.
#[cfg(target_os = "cuda")]
macro_rules! approximate {
    ($instruction:literal, $($operand:expr),+) => {{
        let result: f32;
        // SAFETY: arithmetic on registers.
        unsafe {
            core::arch::asm!(
                approximate!(@template $instruction $(, $operand)+),
                out(reg32) result,
                $(in(reg32) $operand,)+
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        result
    }};
    (@template $instruction:literal, $a:expr) => { concat!($instruction, ".approx.f32 {}, {};") };
    (@template $instruction:literal, $a:expr, $b:expr) => { concat!($instruction, ".approx.f32 {}, {}, {};") };
}

#[cfg(not(target_os = "cuda"))]
macro_rules! approximate {
    ("sin", $x:expr) => {
        f32::sin($x)
    };
    ("cos", $x:expr) => {
        f32::cos($x)
    };
    ("ex2", $x:expr) => {
        f32::exp2($x)
    };
    ("lg2", $x:expr) => {
        f32::log2($x)
    };
    ("rcp", $x:expr) => {
        1.0 / $x
    };
    ("sqrt", $x:expr) => {
        f32::sqrt($x)
    };
    ("rsqrt", $x:expr) => {
        1.0 / f32::sqrt($x)
    };
    ("div", $x:expr, $y:expr) => {
        $x / $y
    };
}

impl FastFloat for f32 {
    #[inline(always)]
    fn fast_sin(self) -> Self {
        approximate!("sin", self)
    }

    #[inline(always)]
    fn fast_cos(self) -> Self {
        approximate!("cos", self)
    }

    #[inline(always)]
    fn fast_exp2(self) -> Self {
        approximate!("ex2", self)
    }

    #[inline(always)]
    fn fast_exp(self) -> Self {
        (self * core::f32::consts::LOG2_E).fast_exp2()
    }

    #[inline(always)]
    fn fast_log2(self) -> Self {
        approximate!("lg2", self)
    }

    #[inline(always)]
    fn fast_ln(self) -> Self {
        self.fast_log2() * core::f32::consts::LN_2
    }

    #[inline(always)]
    fn fast_div(self, divisor: Self) -> Self {
        approximate!("div", self, divisor)
    }

    #[inline(always)]
    fn fast_recip(self) -> Self {
        approximate!("rcp", self)
    }

    #[inline(always)]
    fn fast_sqrt(self) -> Self {
        approximate!("sqrt", self)
    }

    #[inline(always)]
    fn rsqrt(self) -> Self {
        approximate!("rsqrt", self)
    }
}

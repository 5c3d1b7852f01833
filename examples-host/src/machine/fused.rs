//! `f32::mul_add` and `f64::mul_add` with one rounding, on Windows with MinGW.
//!
//! Where the compiler may not assume a processor with such an instruction, they call the C library. MinGW's functions
//! round twice, and a reference that uses them differs from the kernels in the last bits.

/// The C library's function of this name.
// SAFETY: this is its signature and its meaning.
#[unsafe(no_mangle)]
extern "C" fn fmaf(a: f32, b: f32, c: f32) -> f32 {
    libm::fmaf(a, b, c)
}

/// The same of twice the width.
// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn fma(a: f64, b: f64, c: f64) -> f64 {
    libm::fma(a, b, c)
}

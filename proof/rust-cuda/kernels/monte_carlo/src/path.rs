// The host compiles this file, too.

use cuda_std::GpuFloat as _;

/// What is priced.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Contract {
    pub spot: f64,
    pub strike: f64,
    pub rate: f64,
    pub volatility: f64,
    pub years: f64,
    pub steps: u32,
    pub is_put: bool,
}

/// A generator of random numbers: xorshift64*.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11;
        (bits + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Normally distributed, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (sin, _) = (core::f64::consts::TAU * self.next()).sin_cos();
        (-2.0 * self.next().ln()).sqrt() * sin
    }
}

/// The discounted payoff at the end of a path.
pub fn payoff(contract: &Contract, path: u64) -> f64 {
    let mut random = Random((path + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let step = contract.years / contract.steps as f64;
    let drift = (contract.rate - 0.5 * contract.volatility.powi(2)) * step;
    let diffusion = contract.volatility * step.sqrt();
    let mut log = contract.spot.ln();
    for _ in 0..contract.steps {
        log += drift + diffusion * random.normal();
    }
    let gain = if contract.is_put {
        contract.strike - log.exp()
    } else {
        log.exp() - contract.strike
    };
    (-contract.rate * contract.years).exp() * gain.max(0.0)
}

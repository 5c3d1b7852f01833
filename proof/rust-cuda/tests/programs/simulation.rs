//! A simulation in `f64`, by the functions of `GpuFloat`.

use super::*;

/// The kernel's own computation: on the host with the functions of `std`.
#[path = "../../kernels/monte_carlo/src/path.rs"]
#[allow(unused_imports, reason = "`f64` has the trait's functions on the host")]
mod path;

// SAFETY: numbers alone.
unsafe impl DeviceCopy for path::Contract {}

#[test]
fn payoffs_of_paths() -> Result<()> {
    const PATHS: usize = 300;
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/monte_carlo.ptx"))?;
    let kernel = module.get_function("payoffs")?;
    let mut prices = Vec::new();
    for is_put in [false, true] {
        let contract = path::Contract {
            spot: 100.0,
            strike: 105.0,
            rate: 0.05,
            volatility: 0.3,
            years: 2.0,
            steps: 12,
            is_put,
        };
        let out = DeviceBuffer::from_slice(&[f64::NAN; PATHS])?;
        // SAFETY: the parameters are the kernel's; there is room for every path.
        unsafe {
            launch!(kernel<<<3, 128, 0, stream>>>(out.as_device_ptr(), PATHS, contract))?;
        }
        stream.synchronize()?;
        let found = download(&out, 0.0)?;
        for (path, &found) in found.iter().enumerate() {
            let expected = path::payoff(&contract, path as u64);
            ensure!(
                (found - expected).abs() < 1e-9,
                "path {path}: {found}, expected {expected}"
            );
        }
        prices.push(found.iter().sum::<f64>() / PATHS as f64);
    }
    // Puts and calls of one strike differ by what the share is worth beyond the discounted strike, up to the simulation's error.
    let parity = 100.0 - 105.0 * (-0.05_f64 * 2.0).exp();
    ensure!((prices[0] - prices[1] - parity).abs() < 10.0, "{prices:?}");
    Ok(())
}

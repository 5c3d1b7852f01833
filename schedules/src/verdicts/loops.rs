//! Measurements and claims of the part `loops`.

use crate::loops::{Matrix, ROWS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

const DATA: Seed = Seed::new(33);
/// Two warps for each multiprocessor of an H200: so few that none hides the loads of another.
const COLUMNS: usize = 132 * 64;

/// nvcc's PTX has the unrolled loop's loads and additions in turn; it is ptxas that moves the loads in front.
const NO_PTXAS: &str = "it executes PTX in its order, without the schedule that ptxas makes of it";

/// The matrix, and the sums of its columns.
struct Known {
    matrix: Matrix,
    sums: Vec<f32>,
}

impl Known {
    fn new() -> Result<Self> {
        let x: Vec<f32> = (0..ROWS * COLUMNS).map(|i| DATA.f32(i)).collect();
        let sum = |column| (0..ROWS).fold(0.0, |sum: f32, row| sum + x[row * COLUMNS + column]);
        let sums = (0..COLUMNS).map(sum).collect();
        Ok(Self { matrix: Matrix::new(&x)?, sums })
    }
}

impl Workload for Known {
    fn poison(&mut self) -> Result<()> {
        Ok(self.matrix.sums.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let found = self.matrix.sums.as_host_vec()?;
        Ok(check::equal("the sums", 0, &found, |i| self.sums[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["sums"])?;
    let mut known = Known::new()?;
    part.predict(
        "Each thread waits for a load per row in the rolled loop, and for one per eight rows in the unrolled one, whose\n\
         loads ptxas moves in front of the additions. In the PTX of the loop by hand they are in front already.",
    );
    // The Rust kernel has been found when its module was loaded, with its parameters checked.
    let plan = Plan::new().launches(1, ROWS * COLUMNS);
    let variants = variants! { known: Known, differ in Kernels, Launches;
        ("rolled", "nvcc, rolled"), [stream] => Ok(known.matrix.compiled("column_sums_rolled", stream)?);
        ("unrolled", "nvcc, unrolled"), [stream] => Ok(known.matrix.compiled("column_sums_unrolled", stream)?);
        ("by-hand", "Rust, by hand"), [stream] => Ok(known.matrix.by_hand(stream)?), also Calls;
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [rolled, unrolled, by_hand] = &outcomes;
    expect! { part;
        "faster/unrolled", "nvcc's unrolled loop is faster than its rolled one" => unrolled.speedup_over(rolled).at_least(1.5).not_of_the_model(NO_PTXAS);
        "faster/by-hand", "so is the loop by hand" => by_hand.speedup_over(rolled).at_least(1.5);
        "as-fast/unrolled", "the compiler's loop is about as fast as the one by hand" => unrolled.speedup_over(by_hand).at_least(0.5).not_of_the_model(NO_PTXAS);
    }
    part.take_away("Loads that wait for nothing belong in front: a compiler does that where the loop is unrolled.");
    Ok(())
}

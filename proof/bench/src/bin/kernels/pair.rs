//! A Rust kernel and its C++ twin: one name, one launch.

use super::memory::Array;
use anyhow::{Context as _, Result, ensure};
use bench::{argument, device_time, launch, median};
use cust::{function::Function, prelude::*};
use std::ffi::c_void;
use std::rc::Rc;

const LAUNCHES: u32 = 20;
const ROUNDS: usize = 15;

/// What the times are.
pub fn how() -> String {
    format!("{LAUNCHES} launches each, {ROUNDS} alternating rounds, medians per launch")
}

/// The modules of either side.
pub struct Modules {
    pub rust: Vec<Module>,
    pub cpp: Vec<Module>,
}

impl Modules {
    /// Whether both sides have a kernel. The C++ side may lack it only where the Rust side does: see [`Modules::find`].
    pub fn has(&self, name: &str) -> bool {
        find(&self.rust, name).is_ok()
    }

    /// The Rust kernel and its twin.
    fn find(&self, name: &str) -> Result<[Function<'_>; 2]> {
        Ok([
            find(&self.rust, name).context("in gpu-kernels")?,
            find(&self.cpp, name).context("among the twins")?,
        ])
    }
}

fn find<'m>(modules: &'m [Module], name: &str) -> Result<Function<'m>> {
    let mut found = modules
        .iter()
        .filter_map(|module| module.get_function(name).ok());
    found
        .next()
        .with_context(|| format!("no module has the kernel {name}"))
}

/// The required accuracy of the results.
#[derive(Clone, Copy)]
pub enum Agreement {
    /// The algorithm fixes every rounding.
    Bits,
    /// Blocks add in any order, or a compiler may fuse a product and a sum: a share of the twin's number.
    Share(f32),
}

/// A launch of both.
pub struct KernelPair {
    pub name: &'static str,
    /// The name, and the size where there are several.
    pub label: String,
    pub grid: [u32; 3],
    pub threads: u32,
    /// Each in the low bytes of a word.
    arguments: Vec<u64>,
    /// The kernel's output.
    outputs: Vec<(Rc<Array>, Agreement)>,
    /// What it reads, kept alive.
    inputs: Vec<Rc<Array>>,
}

impl KernelPair {
    pub fn new(name: &'static str, grid: [u32; 3], threads: u32) -> Self {
        Self {
            name,
            label: name.to_owned(),
            grid,
            threads,
            arguments: Vec::new(),
            outputs: Vec::new(),
            inputs: Vec::new(),
        }
    }

    pub fn labelled(mut self, what: impl std::fmt::Display) -> Self {
        self.label = format!("{}, {what}", self.name);
        self
    }

    /// A pointer that is only read.
    pub fn reads(mut self, array: &Rc<Array>) -> Self {
        self.arguments.push(array.address());
        self.inputs.push(Rc::clone(array));
        self
    }

    /// A pointer that is written.
    pub fn writes(mut self, array: &Rc<Array>, agreement: Agreement) -> Self {
        self.arguments.push(array.address());
        self.outputs.push((Rc::clone(array), agreement));
        self
    }

    /// Stores through addresses that are in another array.
    pub fn leaves(mut self, array: &Rc<Array>, agreement: Agreement) -> Self {
        self.outputs.push((Rc::clone(array), agreement));
        self
    }

    /// Loads through addresses that are in another array.
    pub fn leaning_on(mut self, array: &Rc<Array>) -> Self {
        self.inputs.push(Rc::clone(array));
        self
    }

    pub fn length(mut self, n: usize) -> Self {
        self.arguments.push(n as u64);
        self
    }

    pub fn number(mut self, n: u32) -> Self {
        self.arguments.push(u64::from(n));
        self
    }

    pub fn float(mut self, x: f32) -> Self {
        self.arguments.push(u64::from(x.to_bits()));
        self
    }

    /// Fails unless one launch of each changes the outputs, and to the same numbers.
    pub fn compare_results(&self, modules: &Modules, stream: &Stream) -> Result<()> {
        let mut results = Vec::new();
        for function in modules.find(self.name)? {
            self.reset()?;
            self.launch(&function, 1, stream)?;
            stream.synchronize()?;
            let contents = self.outputs.iter().map(|(array, _)| array.contents());
            results.push(contents.collect::<Result<Vec<_>>>()?);
        }
        for (index, (array, agreement)) in self.outputs.iter().enumerate() {
            let [rust, cpp] = [&results[0][index], &results[1][index]];
            ensure!(rust != &array.original, "the kernel changes nothing");
            if let Some(at) = difference(rust, cpp, *agreement) {
                let [rust, cpp] = [rust[at], cpp[at]].map(f32::from_bits);
                anyhow::bail!("element {at}: Rust gives {rust}, the twin {cpp}");
            }
        }
        Ok(())
    }

    /// Median µs per launch of the Rust kernel and of its twin, in alternating order.
    pub fn time(&self, modules: &Modules, stream: &Stream) -> Result<[f64; 2]> {
        let functions = modules.find(self.name)?;
        self.reset()?;
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for turn in [round % 2, 1 - round % 2] {
                let time = device_time(stream, || self.launch(&functions[turn], LAUNCHES, stream))?;
                if round > 0 {
                    times[turn].push(time / f64::from(LAUNCHES));
                }
            }
        }
        Ok(times.map(median))
    }

    /// Gives every array its first contents: another pair may have been timed with it, which leaves zeros or infinities.
    fn reset(&self) -> Result<()> {
        let outputs = self.outputs.iter().map(|(array, _)| array);
        self.inputs
            .iter()
            .chain(outputs)
            .try_for_each(|array| array.reset())
    }

    fn launch(&self, function: &Function, launches: u32, stream: &Stream) -> Result<()> {
        let arguments: Vec<*mut c_void> = self.arguments.iter().map(argument).collect();
        for _ in 0..launches {
            // SAFETY: both kernels declare parameters of these types, and the arrays are as long as what is passed.
            unsafe { launch(function, self.grid, self.threads, &arguments, stream) }?;
        }
        Ok(())
    }
}

/// The first place where the results differ by more than they may.
fn difference(rust: &[u32], cpp: &[u32], agreement: Agreement) -> Option<usize> {
    let differ = |(rust, cpp): (&u32, &u32)| match agreement {
        Agreement::Bits => rust != cpp,
        Agreement::Share(share) => {
            let [rust, cpp] = [*rust, *cpp].map(f32::from_bits);
            let apart = (rust - cpp).abs();
            apart.is_nan() || apart > share * cpp.abs()
        }
    };
    rust.iter().zip(cpp).position(differ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_or_more_than_the_share_is_a_difference() {
        let bits = |numbers: [f32; 2]| numbers.map(f32::to_bits);
        let (a, b) = (bits([1.0, 2.0]), bits([1.0, 2.0001]));
        assert_eq!(difference(&a, &a, Agreement::Bits), None);
        assert_eq!(difference(&a, &b, Agreement::Bits), Some(1));
        assert_eq!(difference(&a, &b, Agreement::Share(1e-3)), None);
        assert_eq!(difference(&a, &b, Agreement::Share(1e-5)), Some(1));
        let nan = bits([f32::NAN, 2.0]);
        assert_eq!(difference(&nan, &a, Agreement::Share(1e-3)), Some(0));
    }
}

//! The operands, and what their products must be.

use crate::shape::GemmShape;
use anyhow::Result;
use examples_host::periodic;
use examples_host::prelude::*;
use half::bf16;

/// 16 products of 1024 x 1024 x 1024 on a GPU; on a model, whose tensor cores a CPU imitates, 8 of this shape.
pub fn shape(part: &Part, modelled: [u32; 3]) -> GemmShape {
    let (products, [m, n, k]) = part.by_times((16, [1024; 3]), (8, modelled));
    GemmShape { products, m, n, k }
}

/// A and B of all products, one behind the other, and what C must be.
pub struct Operands {
    shape: GemmShape,
    pub a: Vec<u16>,
    pub b: Vec<u16>,
    expected: Vec<periodic::PeriodicProducts>,
}

impl Operands {
    pub fn new(shape: GemmShape) -> Self {
        let [m, n, k] = [shape.m, shape.n, shape.k].map(|len| len as usize);
        let of_product = |i| periodic::PeriodicProducts::new(100 + i as u64, 200 + i as u64, k);
        let expected: Vec<_> = (0..shape.products).map(of_product).collect();
        let a = expected.iter().flat_map(|matrices| bits(matrices.left(m))).collect();
        let b = expected.iter().flat_map(|matrices| bits(matrices.right_by_columns(n))).collect();
        Self { shape, a, b, expected }
    }

    /// Compares all elements of C. They are whole numbers, so that their sums are exact and there is one right rounding.
    pub fn check(&self, found: &[u16]) -> Result<Checked> {
        let (n, [_, _, len]) = (self.shape.n as usize, self.shape.elements());
        let expected = |index: usize| {
            let (product, index) = (index / len, index % len);
            bf16::from_f32(self.expected[product].at(index / n, index % n)).to_bits()
        };
        Ok(check::equal("the products", 0, found, expected)?)
    }
}

fn bits(values: Vec<f32>) -> impl Iterator<Item = u16> {
    values.into_iter().map(|value| bf16::from_f32(value).to_bits())
}

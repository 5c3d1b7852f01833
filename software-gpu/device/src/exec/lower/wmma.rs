//! "Warp Level Matrix Multiply-Accumulate Operation using `wmma`": factors of `f16` and `bf16` with sums of `f32`, in the three
//! shapes of 16 factors per sum.

use half::{bf16, f16};

use crate::ptx::ir::{Instruction, Operand, Space, Type};

use super::super::cost::{Class, Weight};
use super::super::matrix::{self, Multiplication};
use super::super::memory::{self, Fragment, Matrix, REGISTERS};
use super::super::op::Slot;
use super::load_store::{MemoryInstruction, space};
use super::matrix::MULTIPLICATION;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

/// Rows and columns of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WmmaProduct {
    rows: u32,
    columns: u32,
}

impl WmmaProduct {
    fn named(name: &str) -> Option<Self> {
        let (rows, columns) = match name {
            "m16n16k16" => (16, 16),
            "m32n8k16" => (32, 8),
            "m8n32k16" => (8, 32),
            _ => return None,
        };
        Some(Self { rows, columns })
    }

    /// Registers that have elements of a matrix: 16 x 16 take four.
    fn used(self, matrix: Matrix) -> usize {
        match matrix {
            Matrix::A => self.rows as usize / 4,
            Matrix::B => self.columns as usize / 4,
            Matrix::Sum => REGISTERS,
        }
    }

    /// Registers that the instruction names. Threads of a GPU have the factors of `f16` twice.
    fn count(self, matrix: Matrix, kind: Type) -> usize {
        match kind {
            Type::F16 => REGISTERS,
            _ => self.used(matrix),
        }
    }
}

impl Lowering<'_> {
    /// `wmma.load`, `wmma.store` and `wmma.mma`.
    pub(super) fn wmma(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        let operation = m.pick(|name| match name {
            "load" | "store" | "mma" => Some(name.to_owned()),
            _ => None,
        });
        if !m.take("sync") || !m.take("aligned") {
            return Err(self.malformed(i, "`.sync.aligned` is needed"));
        }
        let product = m.pick(WmmaProduct::named);
        let product = product
            .ok_or_else(|| self.unsupported(i, "this shape of matrices is not implemented"))?;
        match operation.as_deref() {
            Some("mma") => self.wmma_multiplication(i, m, product),
            Some(name) => self.fragment(i, m, product, name == "load"),
            None => Err(self.malformed(i, "`.load`, `.store` or `.mma` is needed")),
        }
    }

    fn fragment(
        &mut self,
        i: &Instruction,
        mut m: Modifiers<'_>,
        product: WmmaProduct,
        loads: bool,
    ) -> Result<Weight> {
        let matrix = m.pick(|name| match name {
            "a" => Some(Matrix::A),
            "b" => Some(Matrix::B),
            "c" | "d" => Some(Matrix::Sum),
            _ => None,
        });
        let by_rows = m.take("row");
        if !by_rows && !m.take("col") {
            return Err(self.malformed(i, "`.row` or `.col` is needed"));
        }
        let space = m.pick(space).unwrap_or(Space::Generic);
        let kind = m.kind()?;
        m.end()?;
        let element = match (matrix, kind) {
            (Some(Matrix::A | Matrix::B), Type::F16 | Type::Bf16) => Type::B16,
            (Some(Matrix::Sum), Type::F32) => Type::B32,
            _ => return Err(self.unsupported(i, "this type of matrices is not implemented")),
        };
        let matrix = matrix.unwrap_or(Matrix::Sum);
        let (registers, address, stride) = match (loads, i.operands.as_slice()) {
            (true, [registers, address, stride @ ..])
            | (false, [address, registers, stride @ ..]) => (registers, address, stride),
            _ => return Err(self.malformed(i, "registers and an address are needed")),
        };
        let count = product.count(matrix, kind);
        let mut rows = [0; REGISTERS];
        let operands = self.vector(i, registers, count)?;
        for (row, operand) in rows.iter_mut().zip(operands) {
            *row = match loads {
                true => self.target(i, operand, Type::B32)?,
                false => self.source(i, operand, Type::B32)?,
            };
        }
        let stride = match stride {
            [stride] => self.source(i, stride, Type::U32)?,
            [] => self.literal(product.leading(matrix, by_rows).into(), Type::U32)?,
            _ => return Err(self.malformed(i, "one stride is needed")),
        };
        let access = MemoryInstruction::plain(space, element, 1);
        let (address, site, _) = self.site(i, address, access)?;
        self.fragments.push(Fragment {
            matrix,
            rows: product.rows,
            by_rows,
            stride,
            registers: rows,
            used: product.used(matrix),
            count,
        });
        let index = self.fragments.len() as u32 - 1;
        let run = match loads {
            true => memory::load_fragment(),
            false => memory::store_fragment(),
        };
        self.emit_with(run, 0, [address, 0, index], site);
        Ok(match loads {
            true => Weight::global_load(self.latencies.global),
            false => Weight::new(Class::Memory, 1, 0),
        })
    }

    fn wmma_multiplication(
        &mut self,
        i: &Instruction,
        mut m: Modifiers<'_>,
        product: WmmaProduct,
    ) -> Result<Weight> {
        // Fragments have one arrangement for all layouts in memory.
        m.ignore(&["row", "col"]);
        let types = i.modifiers.iter().filter_map(|name| Type::named(name));
        let types: Vec<Type> = types.collect();
        let (run, kind) = match types.as_slice() {
            [Type::F32, Type::F32] | [Type::F32, Type::F16, Type::F16, Type::F32] => {
                (matrix::multiply::<f16>(), Type::F16)
            }
            [Type::F32, Type::Bf16, Type::Bf16, Type::F32] => {
                (matrix::multiply::<bf16>(), Type::Bf16)
            }
            _ => return Err(self.unsupported(i, "this type of matrices is not implemented")),
        };
        m.ignore(&["f32", "f16", "bf16"]);
        m.end()?;
        let [d, a, b, c] = i.operands.as_slice() else {
            return Err(self.malformed(i, "4 operands are needed"));
        };
        let [a_count, b_count] = [Matrix::A, Matrix::B].map(|matrix| product.count(matrix, kind));
        let a = self.registers_of(i, a, a_count)?;
        let b = self.registers_of(i, b, b_count)?;
        let c = self.registers_of(i, c, REGISTERS)?;
        let mut targets = [0; REGISTERS];
        for (row, operand) in targets.iter_mut().zip(self.vector(i, d, REGISTERS)?) {
            *row = self.target(i, operand, Type::F32)?;
        }
        if targets.iter().any(|row| a.contains(row) || b.contains(row)) {
            let message = "results in registers of the factors are not implemented";
            return Err(self.unsupported(i, message));
        }
        for block in 0..product.blocks() {
            let multiplication = self.block_of(product, block, [&a, &b, &c], &targets)?;
            self.multiplications.push(multiplication);
            let index = self.multiplications.len() as u32 - 1;
            self.emit_with(run, i.line, [0; 3], index);
        }
        Ok(MULTIPLICATION)
    }

    /// One of the multiplications of 16 x 8 sums.
    fn block_of(
        &mut self,
        product: WmmaProduct,
        block: usize,
        [a, b, c]: [&[Slot]; 3],
        d: &[Slot],
    ) -> Result<Multiplication> {
        let four = |rows: &[Slot], first: usize| std::array::from_fn(|at| rows[first + at]);
        let two = |first: usize| [b[first], b[first + 1]];
        Ok(match product.rows {
            16 => Multiplication {
                a: four(a, 0),
                b: two(2 * block),
                c: four(c, 4 * block),
                d: four(d, 4 * block),
            },
            32 => Multiplication {
                a: four(a, 4 * block),
                b: two(0),
                c: four(c, 4 * block),
                d: four(d, 4 * block),
            },
            // The lower eight rows are zero, and their sums go nowhere.
            _ => {
                let zero = self.literal(0, Type::U32)?;
                let nowhere = [self.temporary(false)?, self.temporary(false)?];
                Multiplication {
                    a: [a[0], zero, a[1], zero],
                    b: two(2 * block),
                    c: [c[2 * block], c[2 * block + 1], zero, zero],
                    d: [d[2 * block], d[2 * block + 1], nowhere[0], nowhere[1]],
                }
            }
        })
    }

    fn registers_of(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        count: usize,
    ) -> Result<Vec<Slot>> {
        let operands = self.vector(i, operand, count)?;
        operands
            .iter()
            .map(|operand| self.source(i, operand, Type::B32))
            .collect()
    }
}

impl WmmaProduct {
    /// Multiplications of 16 x 8 sums, or of 8 x 8.
    fn blocks(self) -> usize {
        match self.rows {
            8 => 4,
            _ => 2,
        }
    }

    /// Elements of a row or column of a matrix without gaps.
    fn leading(self, matrix: Matrix, by_rows: bool) -> u32 {
        /// Products of a sum.
        const DEPTH: u32 = 16;
        match (matrix, by_rows) {
            (Matrix::A, true) | (Matrix::B, false) => DEPTH,
            (Matrix::A | Matrix::Sum, false) => self.rows,
            (Matrix::B | Matrix::Sum, true) => self.columns,
        }
    }
}

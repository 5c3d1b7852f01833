//! Products of matrices whose elements are few and whole: every element of a product is looked up, and sums of products have the
//! same bits in any order.

use crate::data::mix;

/// Periods of the rows and columns: primes, so that no tile and no chunk is a multiple of them.
const ROWS: usize = 61;
const COLUMNS: usize = 67;

/// The product of a matrix A of `terms` columns with a matrix B of as many rows, both of whole numbers from -3 to 3: each
/// element is a whole number that a float holds exactly, and so are sums of a thousand such products.
#[derive(Clone, Debug)]
pub struct PeriodicProducts {
    /// The periods of A and of B.
    seeds: [u64; 2],
    terms: usize,
    /// The product's elements of the first period, row by row.
    table: Vec<f32>,
}

impl PeriodicProducts {
    /// The product of the matrices of these seeds.
    pub fn new(a: u64, b: u64, terms: usize) -> Self {
        let mut new = Self {
            seeds: [a, b],
            terms,
            table: Vec::new(),
        };
        let rows = (0..ROWS).map(|row| (0..terms).map(|term| new.a(row, term)).collect());
        let rows: Vec<Vec<i32>> = rows.collect();
        let columns =
            (0..COLUMNS).map(|column| (0..terms).map(|term| new.b(term, column)).collect());
        let columns: Vec<Vec<i32>> = columns.collect();
        for row in &rows {
            for column in &columns {
                let product: i32 = row.iter().zip(column).map(|(a, b)| a * b).sum();
                new.table.push(product as f32);
            }
        }
        new
    }

    /// The sum of several products of one shape; its matrices are those of the first.
    ///
    /// # Panics
    /// Without products.
    pub fn sum(products: impl IntoIterator<Item = Self>) -> Self {
        let add = |mut sum: Self, other: Self| {
            for (sum, other) in sum.table.iter_mut().zip(other.table) {
                *sum += other;
            }
            sum
        };
        products.into_iter().reduce(add).expect("a product")
    }

    /// The matrix A with this many rows, row by row.
    pub fn left(&self, rows: usize) -> Vec<f32> {
        let row = |row| (0..self.terms).map(move |term| self.a(row, term) as f32);
        (0..rows).flat_map(row).collect()
    }

    /// The matrix B with this many columns, row by row.
    pub fn right(&self, columns: usize) -> Vec<f32> {
        let row = |term| (0..columns).map(move |column| self.b(term, column) as f32);
        (0..self.terms).flat_map(row).collect()
    }

    /// The matrix B with this many columns, column by column.
    pub fn right_by_columns(&self, columns: usize) -> Vec<f32> {
        let column = |column| (0..self.terms).map(move |term| self.b(term, column) as f32);
        (0..columns).flat_map(column).collect()
    }

    /// An element of the product.
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.table[row % ROWS * COLUMNS + column % COLUMNS]
    }

    fn a(&self, row: usize, term: usize) -> i32 {
        number(self.seeds[0] << 1, row % ROWS, term)
    }

    fn b(&self, term: usize, column: usize) -> i32 {
        number(self.seeds[1] << 1 | 1, column % COLUMNS, term)
    }
}

fn number(matrix: u64, place: usize, term: usize) -> i32 {
    let place = (place as u64) << 32 | term as u64;
    (mix(matrix ^ mix(place)) % 7) as i32 - 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_the_sum_of_its_terms() {
        let (one, other) = (
            PeriodicProducts::new(1, 1, 37),
            PeriodicProducts::new(2, 1, 37),
        );
        let (a, b) = (one.left(80), one.right(90));
        let product = |row: usize, column: usize| -> f32 {
            (0..37)
                .map(|term| a[row * 37 + term] * b[term * 90 + column])
                .sum()
        };
        for (row, column) in [(0, 0), (3, 70), (79, 89), (61, 67)] {
            assert_eq!(one.at(row, column), product(row, column));
        }
        let by_columns = one.right_by_columns(90);
        let transposed = |i: usize| b[i % 37 * 90 + i / 37];
        assert!((0..37 * 90).all(|i| by_columns[i] == transposed(i)));
        let sum = PeriodicProducts::sum([one.clone(), other.clone()]);
        assert_eq!(sum.at(5, 7), one.at(5, 7) + other.at(5, 7));
        let differs = |place: usize| one.at(place, place) != other.at(place, place);
        assert!((0..61).filter(|&place| differs(place)).count() > 50);
    }
}

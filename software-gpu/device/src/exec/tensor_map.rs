//! Tensor maps: what `cuTensorMapEncodeTiled` writes and `cp.async.bulk.tensor` reads (PTX ISA, "Tensors").
//!
//! The 128 bytes are opaque to programs; these are not those of a GPU.

/// Bytes of a tensor map.
pub const BYTES: usize = 128;
/// The alignment of its address.
pub const ALIGNMENT: u64 = 64;
/// The most dimensions.
pub const MAX_RANK: usize = 5;

const MAGIC: u32 = 0x7e45_0a90;

/// A tensor in global memory, and boxes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// The address of the first element.
    pub address: u64,
    /// Dimensions, the innermost first.
    pub rank: usize,
    /// Bytes of an element.
    pub element: u32,
    /// Elements in each dimension: up to 2^32.
    pub extents: [u64; MAX_RANK],
    /// Bytes from one element to the next in each dimension.
    pub strides: [u64; MAX_RANK],
    /// Extents of a box.
    pub boxes: [u32; MAX_RANK],
    /// Only every n-th element of a box is copied; of the innermost dimension all are.
    pub steps: [u32; MAX_RANK],
    /// Bytes of a line whose pieces of 16 bytes the copy permutes in shared memory; 0: none.
    pub swizzle: u32,
    /// Elements outside of the tensor are not zero but NaN.
    pub fills_nan: bool,
    /// `CUtensorMapInterleave`.
    pub interleave: u32,
}

/// A row of a box: elements side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxRow {
    /// Address of the first element that lies in the tensor.
    pub address: u64,
    /// Bytes before it that lie outside.
    pub before: u32,
    /// Bytes inside of the tensor; the rest is outside.
    pub inside: u32,
}

impl TensorMap {
    /// Its bytes.
    pub fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&[self.rank as u8, self.element as u8]);
        put(&[self.interleave as u8, self.swizzle as u8]);
        put(&[self.fills_nan.into()]);
        put(&self.address.to_le_bytes());
        for dimension in 0..MAX_RANK {
            put(&(self.extents[dimension].wrapping_sub(1) as u32).to_le_bytes());
            put(&self.strides[dimension].to_le_bytes());
            put(&(self.boxes[dimension] as u16).to_le_bytes());
            put(&[self.steps[dimension] as u8]);
        }
        bytes
    }

    /// The tensor map in these bytes, if there is one.
    pub fn of_bytes(bytes: &[u8; BYTES]) -> Option<Self> {
        let mut at = 0;
        let mut take = |count: usize| {
            let mut field = [0; 8];
            field[..count].copy_from_slice(&bytes[at..at + count]);
            at += count;
            u64::from_le_bytes(field)
        };
        if take(4) != u64::from(MAGIC) {
            return None;
        }
        let (rank, element) = (take(1) as usize, take(1) as u32);
        let (interleave, swizzle) = (take(1) as u32, take(1) as u32);
        let fills_nan = take(1) != 0;
        let address = take(8);
        let mut map = Self {
            address,
            rank,
            element,
            extents: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            boxes: [1; MAX_RANK],
            steps: [1; MAX_RANK],
            swizzle,
            fills_nan,
            interleave,
        };
        for dimension in 0..MAX_RANK {
            map.extents[dimension] = take(4) + 1;
            map.strides[dimension] = take(8);
            map.boxes[dimension] = take(2) as u32;
            map.steps[dimension] = take(1) as u32;
        }
        // Bytes that a program wrote itself, or damaged.
        let is_sound = (1..=MAX_RANK).contains(&rank)
            && matches!(element, 1 | 2 | 4 | 8)
            && matches!(swizzle, 0 | 32 | 64 | 128)
            && map.boxes.iter().all(|extent| (1..=256).contains(extent))
            && map.steps.iter().all(|step| (1..=8).contains(step));
        is_sound.then_some(map)
    }

    /// Bytes of a row of a box.
    pub fn row_bytes(&self) -> u32 {
        self.boxes[0] * self.element
    }

    /// Elements of a box that are copied, in each dimension.
    fn copied(&self) -> [u32; MAX_RANK] {
        let mut copied = self.boxes;
        for (extent, step) in copied.iter_mut().zip(self.steps).skip(1) {
            *extent = extent.div_ceil(step);
        }
        copied
    }

    /// Bytes from one row of a box to the next in shared memory: swizzles have lines of their own length.
    pub fn pitch(&self) -> u32 {
        self.row_bytes().max(self.swizzle)
    }

    fn box_rows(&self) -> u64 {
        let rows = self.copied();
        rows.into_iter().skip(1).map(u64::from).product()
    }

    /// Bytes of a box: its elements, and the room that it takes in shared memory.
    pub fn box_bytes(&self) -> [u64; 2] {
        let rows = self.box_rows();
        [self.row_bytes(), self.pitch()].map(|bytes| rows.saturating_mul(bytes.into()))
    }

    /// The rows of the box whose first element has these coordinates, in the order in which they lie in shared memory.
    pub fn rows(self, at: [i32; MAX_RANK]) -> impl Iterator<Item = BoxRow> {
        let copied = self.copied();
        let first = i64::from(at[0]);
        let width = i64::from(self.boxes[0]);
        let extent = self.extents[0].cast_signed();
        let before = (-first).clamp(0, width);
        let end = (extent - first).clamp(before, width);
        let rows = self.box_rows();
        (0..rows).map(move |mut number| {
            let mut address = self.address;
            let mut is_inside = end > before;
            for dimension in 1..MAX_RANK {
                let index = number % u64::from(copied[dimension]);
                number /= u64::from(copied[dimension]);
                let index = index as u32 * self.steps[dimension];
                let coordinate = i64::from(at[dimension]) + i64::from(index);
                is_inside &= (0..self.extents[dimension].cast_signed()).contains(&coordinate);
                let bytes = coordinate.wrapping_mul(self.strides[dimension].cast_signed());
                address = address.wrapping_add_signed(bytes);
            }
            let element = i64::from(self.element);
            let (before, end) = if is_inside { (before, end) } else { (0, 0) };
            BoxRow {
                address: address.wrapping_add_signed((first + before) * element),
                before: (before * element) as u32,
                inside: ((end - before) * element) as u32,
            }
        })
    }

    /// Where the byte of an unswizzled box goes whose address in shared memory is this.
    pub fn swizzled(&self, address: u32) -> u32 {
        match self.swizzle {
            0 => address,
            line => address ^ (((address >> 7) % (line / 16)) << 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            address: 1 << 20,
            rank: 2,
            element: 2,
            extents: [96, 1 << 32, 1, 1, 1],
            strides: [2, 192, 0, 0, 0],
            boxes: [16, 4, 1, 1, 1],
            steps: [1, 2, 1, 1, 1],
            swizzle: 32,
            fills_nan: true,
            interleave: 0,
        }
    }

    #[test]
    fn a_map_survives_its_bytes() {
        assert_eq!(TensorMap::of_bytes(&map().to_bytes()), Some(map()));
        assert_eq!(TensorMap::of_bytes(&[0; BYTES]), None);
        let mut damaged = map().to_bytes();
        damaged[5] = 3;
        assert_eq!(TensorMap::of_bytes(&damaged), None);
    }

    #[test]
    fn rows_end_where_the_tensor_does() {
        let rows: Vec<BoxRow> = map().rows([-3, 2, 0, 0, 0]).collect();
        let row = |y: u64| BoxRow {
            address: (1 << 20) + 192 * y,
            before: 6,
            inside: 26,
        };
        assert_eq!(rows, [row(2), row(4)]);
        assert_eq!(map().box_bytes(), [64, 64]);
        let wide = TensorMap {
            swizzle: 128,
            ..map()
        };
        assert_eq!(wide.box_bytes(), [64, 256]);
        let inside = |at: [i32; 2]| -> Vec<u32> {
            let rows = map().rows([at[0], at[1], 0, 0, 0]);
            rows.map(|row| row.inside).collect()
        };
        assert_eq!(inside([90, -2]), [0, 12]);
        assert_eq!(inside([96, 0]), [0, 0]);
        assert_eq!(inside([-16, 0]), [0, 0]);
    }
}

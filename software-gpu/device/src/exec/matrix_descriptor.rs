//! Where the elements of a matrix lie that `wgmma` reads from shared memory (PTX ISA, "Asynchronous Warpgroup Level Matrix
//! Instructions": "Matrix Descriptor Format" and "Strides").
//!
//! Both operands are seen by *rows*, which are those of A and the columns of B, of 16 elements of 16 bits along K. Memory is
//! made of pieces of 16 bytes: eight elements along K (*K-major*), or of eight rows (*MN-major*). Swizzling permutes the pieces of
//! eight lines of 128, 64 or 32 bytes by the address bits above them. All of it was compared with what an H200 reads.

/// Elements of a piece.
pub(super) const PIECE: usize = 8;

/// A descriptor's fields in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatrixDescriptor {
    start: u32,
    leading: u32,
    stride: u32,
    /// Where the pattern of a swizzle begins that is not aligned to its size.
    base: u32,
    /// Bytes of a line of the swizzle; 0: none.
    line: u32,
}

impl MatrixDescriptor {
    /// The descriptor in these bits.
    pub fn of_bits(bits: u64) -> Self {
        let field = |shift: u32| ((bits >> shift) as u32 & 0x3fff) << 4;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: (bits >> 49) as u32 & 7,
            line: [0, 128, 64, 32][(bits >> 62) as usize],
        }
    }

    /// Address in shared memory of the piece with the element `k` of `row`. The piece is K-major: eight elements of that row;
    /// or MN-major, for `transposed` operands: that element of eight rows.
    pub fn piece(&self, transposed: bool, row: u32, k: u32) -> u32 {
        let at = match (transposed, self.line) {
            (false, 0) => row % 8 * 16 + row / 8 * self.stride + k / 8 * self.leading,
            (false, line) => row % 8 * line + row / 8 * self.stride + k / 8 * 16,
            (true, 0) => k % 8 * 16 + k / 8 * self.leading + row / 8 * self.stride,
            (true, line) => {
                let rows = line / 2;
                let within = k % 8 * line + row % rows / 8 * 16;
                within + k / 8 * self.stride + row / rows * self.leading
            }
        };
        self.swizzled(self.start + at)
    }

    fn swizzled(&self, address: u32) -> u32 {
        match self.line {
            0 => address,
            line => {
                let number = (address >> 7).wrapping_sub(self.base);
                address ^ ((number % (line / 16)) << 4)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(mode: u64, leading: u64, stride: u64, start: u64) -> MatrixDescriptor {
        let bits = start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
        MatrixDescriptor::of_bits(bits)
    }

    #[test]
    fn without_swizzle_core_matrices_lie_where_the_offsets_say() {
        let k_major = descriptor(0, 1024, 256, 64);
        assert_eq!(k_major.piece(false, 0, 0), 64);
        assert_eq!(k_major.piece(false, 3, 8), 64 + 3 * 16 + 1024);
        assert_eq!(k_major.piece(false, 17, 0), 64 + 2 * 256 + 16);
        assert_eq!(k_major.piece(true, 8, 1), 64 + 256 + 16);
        assert_eq!(k_major.piece(true, 16, 9), 64 + 512 + 1024 + 16);
    }

    #[test]
    fn a_swizzle_permutes_the_pieces_of_a_line() {
        for (mode, line, pieces) in [(1, 128, 8), (2, 64, 4), (3, 32, 2)] {
            let k_major = descriptor(mode, 16, 1024, 0);
            for row in 0..8 {
                let address = row * line;
                let expected = address + ((address / 128) % pieces) * 16;
                assert_eq!(
                    k_major.piece(false, row, 0),
                    expected,
                    "mode {mode}, row {row}"
                );
            }
            assert_eq!(k_major.piece(false, 8, 0), 1024);
        }
    }

    #[test]
    fn a_start_within_a_line_advances_along_k() {
        let second = descriptor(1, 16, 1024, 32);
        // Row 1 of line 1: pieces 2 and 3 change places.
        assert_eq!(second.piece(false, 1, 0), 128 + 3 * 16);
        assert_eq!(second.piece(false, 1, 8), 128 + 2 * 16);
    }
}

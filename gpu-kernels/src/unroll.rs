//! Loops that are written out.

/// The block once for each number, which it sees as a constant. Where an array is indexed by nothing but constants, LLVM keeps its elements
/// in registers; it decides that before it unrolls loops.
macro_rules! unroll {
    (for $i:ident in [$($number:literal)*] $body:block) => {
        $({
            const $i: usize = $number;
            $body
        })*
    };
}

pub(crate) use unroll;

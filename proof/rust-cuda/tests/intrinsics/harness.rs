// How a function of `cuda_std::intrinsics` is called with numbers of any type, on the host and, as part of a kernel crate, on the GPU.

/// The numbers of one call, and room for what is stored through pointers.
pub struct Numbers {
    pub floats: [f64; 4],
    pub integers: [i64; 3],
    pub stored: [u64; 2],
    pub taken: [usize; 3],
}

impl Numbers {
    pub fn new(floats: [f64; 4], integers: [i64; 3]) -> Self {
        Self {
            floats,
            integers,
            stored: [0; 2],
            taken: [0; 3],
        }
    }

    fn next(&mut self, kind: usize) -> usize {
        self.taken[kind] += 1;
        self.taken[kind] - 1
    }
}

pub trait IntrinsicArgument {
    fn take(from: &mut Numbers) -> Self;
}

impl IntrinsicArgument for f64 {
    fn take(from: &mut Numbers) -> Self {
        from.floats[from.next(0)]
    }
}

impl IntrinsicArgument for f32 {
    fn take(from: &mut Numbers) -> Self {
        from.floats[from.next(0)] as f32
    }
}

impl IntrinsicArgument for i64 {
    fn take(from: &mut Numbers) -> Self {
        from.integers[from.next(1)]
    }
}

impl IntrinsicArgument for i32 {
    fn take(from: &mut Numbers) -> Self {
        from.integers[from.next(1)] as i32
    }
}

impl IntrinsicArgument for i16 {
    fn take(from: &mut Numbers) -> Self {
        from.integers[from.next(1)] as i16
    }
}

impl<T> IntrinsicArgument for *mut T {
    fn take(from: &mut Numbers) -> Self {
        let at = from.next(2);
        (&raw mut from.stored[at]).cast()
    }
}

pub trait Bits {
    fn bits(self) -> u64;
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl Bits for f32 {
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Bits for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}

impl Bits for i32 {
    fn bits(self) -> u64 {
        self as u32 as u64
    }
}

impl Bits for i16 {
    fn bits(self) -> u64 {
        self as u16 as u64
    }
}

impl Bits for () {
    fn bits(self) -> u64 {
        0
    }
}

//! Four neighbouring elements in one 16-byte access.

/// A group of four elements (`ld.global.v4`, `st.global.v4`).
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Float4(pub(crate) [f32; 4]);

impl Float4 {
    /// Loads the group that begins at `data[first]`; what lies beyond `n` elements is 0.
    ///
    /// # Safety
    /// `data` points to `n` elements, aligned to 16 bytes, and `first` is a multiple of four.
    #[inline(always)]
    pub(crate) unsafe fn load(data: *const f32, first: usize, n: usize) -> Self {
        if first + 4 <= n {
            // SAFETY: four elements from a multiple of four.
            return unsafe { *data.add(first).cast() };
        }
        let mut group = Self([0.0; 4]);
        for (i, element) in (first..).zip(&mut group.0) {
            if i < n {
                // SAFETY: i < n.
                *element = unsafe { *data.add(i) };
            }
        }
        group
    }

    /// Stores the group from `data[first]` on, up to `n` elements.
    ///
    /// # Safety
    /// As for [`load`](Self::load), and no other thread accesses the group.
    #[inline(always)]
    pub(crate) unsafe fn store(self, data: *mut f32, first: usize, n: usize) {
        if first + 4 <= n {
            // SAFETY: four elements from a multiple of four.
            unsafe { *data.add(first).cast() = self };
            return;
        }
        for (i, element) in (first..).zip(self.0) {
            if i < n {
                // SAFETY: i < n.
                unsafe { *data.add(i) = element };
            }
        }
    }
}

//! Page-locked memory that is mapped twice: the program uses one mapping, the software GPU the other. The driver can then
//! protect the program's mapping while the device accesses the bytes.

use std::ptr::{NonNull, null_mut};

/// Two mappings of the same pages, readable and writable, zeroed.
#[derive(Debug)]
pub(super) struct DoubleMapping {
    program: NonNull<u8>,
    device: NonNull<u8>,
    /// Bytes of each mapping: whole pages.
    bytes: usize,
}

impl DoubleMapping {
    /// At least `len` bytes. `None` if the machine refuses either mapping.
    pub(super) fn zeroed(len: usize) -> Option<Self> {
        let bytes = len.checked_next_multiple_of(page_bytes())?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let program = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        if program == libc::MAP_FAILED {
            return None;
        }
        // An old size of 0 makes a second mapping of the same shared pages: mremap(2).
        // SAFETY: as above; the first mapping stays as it is.
        let device = unsafe { libc::mremap(program, 0, bytes, libc::MREMAP_MAYMOVE) };
        if device == libc::MAP_FAILED {
            // SAFETY: this function has made the mapping, and no other code knows it.
            unsafe { libc::munmap(program, bytes) };
            return None;
        }
        Some(Self {
            program: NonNull::new(program.cast())?,
            device: NonNull::new(device.cast())?,
            bytes,
        })
    }

    /// Where the program finds the bytes. The pages may be protected.
    pub(super) fn program(&self) -> NonNull<u8> {
        self.program
    }

    /// Where the software GPU finds the bytes. The pages are never protected.
    pub(super) fn device(&self) -> NonNull<u8> {
        self.device
    }
}

impl Drop for DoubleMapping {
    fn drop(&mut self) {
        for mapping in [self.program, self.device] {
            // SAFETY: `zeroed` has made both mappings with this size, and they end once.
            unsafe { libc::munmap(mapping.as_ptr().cast(), self.bytes) };
        }
    }
}

/// Gives this process pages of its own under two mappings that share them with another process, with the same contents. Returns
/// whether the machine has memory for them.
///
/// # Safety
/// Both addresses are the two of a `DoubleMapping` of `bytes` bytes, which can be read, and no other thread uses them.
pub unsafe fn separate(program: u64, device: u64, bytes: usize) -> bool {
    let Some(own) = DoubleMapping::zeroed(bytes) else {
        return false;
    };
    let moves = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: the new mappings have that many bytes. They take the place of the old ones, and so are not `own`'s any more.
    unsafe {
        let from = device as *const u8;
        from.copy_to_nonoverlapping(own.device.as_ptr(), bytes);
        for (new, old) in [(own.program, program), (own.device, device)] {
            let old = old as *mut libc::c_void;
            libc::mremap(new.as_ptr().cast(), bytes, bytes, moves, old);
        }
    }
    std::mem::forget(own);
    true
}

/// Bytes of a page of the machine.
fn page_bytes() -> usize {
    // SAFETY: the call has no conditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(super::PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_mappings_hold_the_same_bytes() {
        let memory = DoubleMapping::zeroed(5000).expect("two mappings");
        let (program, device) = (memory.program().as_ptr(), memory.device().as_ptr());
        assert_ne!(program, device);
        // SAFETY: the mappings have more than 5000 bytes, and the test has one thread.
        unsafe {
            assert_eq!(device.add(4999).read(), 0);
            program.add(4999).write(7);
            assert_eq!(device.add(4999).read(), 7);
        }
    }
}

//! Reads the program's own memory through the kernel, so that an invalid address does not end the program.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) use linux::read_into;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux {
    use std::ffi::{c_int, c_ulong, c_void};

    /// `struct iovec`.
    #[repr(C)]
    struct IoVec {
        base: *mut c_void,
        length: usize,
    }

    unsafe extern "C" {
        fn getpid() -> c_int;
        fn process_vm_readv(
            process: c_int,
            to: *const IoVec,
            to_count: c_ulong,
            from: *const IoVec,
            from_count: c_ulong,
            flags: c_ulong,
        ) -> isize;
    }

    /// Fills `bytes` with what is at the address.
    pub(crate) fn read_into(address: usize, bytes: &mut [u8]) -> Option<()> {
        let length = bytes.len();
        let range = |base: *mut c_void| IoVec { base, length };
        let (to, from) = (
            range(bytes.as_mut_ptr().cast()),
            range(address as *mut c_void),
        );
        // SAFETY: the call writes into `bytes` and nowhere else; if it cannot read the address it fails.
        let read = unsafe { process_vm_readv(getpid(), &raw const to, 1, &raw const from, 1, 0) };
        (read == length.cast_signed()).then_some(())
    }
}

/// Where the system has no such call.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn read_into(_: usize, _: &mut [u8]) -> Option<()> {
    None
}

/// Eight bytes at the address.
pub(crate) fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; size_of::<usize>()];
    read_into(address, &mut bytes)?;
    Some(usize::from_ne_bytes(bytes))
}

/// As many bytes from the address on.
pub(crate) fn read(address: usize, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    read_into(address, &mut bytes)?;
    Some(bytes)
}

/// Whether there is no memory at the address. `false` where the system cannot say.
pub(crate) fn is_unmapped(address: usize) -> bool {
    let here = 0_u8;
    read(address, 1).is_none() && read((&raw const here) as usize, 1).is_some()
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_is_not_read() {
        let here = 0x1234_5678_9abc_def0_usize;
        let address = (&raw const here) as usize;
        assert_eq!(word(address), Some(here));
        assert_eq!(word(8), None);
        assert_eq!(read(usize::MAX - 3, 8), None);
        assert_eq!(read(8, 0), Some(Vec::new()));
        assert!(is_unmapped(8) && !is_unmapped(address));
    }
}

//! Copies from addresses of the program that may be wrong.
//!
//! A launch whose array of arguments is too short makes the driver read what stands behind the array and take it for pointers. On
//! Linux, `process_vm_readv(2)` copies from such addresses and returns an error where a load would end the process. It is a
//! system call, so [`copy`] loads what is certainly readable itself: the stack between the driver's frame and the array.

use std::ops::Range;

/// Bytes to copy: from this address of the program to that range of the buffer.
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: Range<usize>,
}

/// Copies the pieces into `buffer`, whose ranges they lie in. `array` is the end of the array of pointers, which is readable itself.
///
/// # Errors
/// The index of the first piece that cannot be read. Where the system has no way to find out, none is.
///
/// # Safety
/// The pieces that the system cannot check can be read.
pub(super) unsafe fn copy(
    pieces: &[Piece],
    buffer: &mut [u8],
    array: *const u8,
) -> Result<(), usize> {
    let frame = std::ptr::from_ref(&pieces).addr();
    // The array may lie elsewhere than on this thread's stack.
    let is_near = array
        .addr()
        .checked_sub(frame)
        .is_some_and(|gap| gap < STACK);
    let stack = if is_near { frame..array.addr() } else { 0..0 };
    let is_readable = |piece: &Piece| {
        let end = piece.from.checked_add(piece.to.len());
        stack.contains(&piece.from) && end.is_some_and(|end| end <= stack.end)
    };
    let mut unchecked = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        if is_readable(piece) {
            // SAFETY: the stack is contiguous between the two addresses.
            unsafe { load(piece, buffer) };
        } else {
            unchecked.push((index, piece));
        }
    }
    // SAFETY: the caller's promise.
    unsafe { checked(&unchecked, buffer) }
}

/// Whether the program can read the byte at an address; `false` where the system has no way to find out.
pub(super) fn is_readable(address: u64) -> bool {
    let Ok(from) = usize::try_from(address) else {
        return false;
    };
    let piece = Piece { from, to: 0..1 };
    copied(&[(0, &piece)], &mut [0]) == Some(1)
}

/// Two addresses of one thread's stack are not further apart than this many bytes.
const STACK: usize = 64 << 10;

/// # Safety
/// The piece can be read.
unsafe fn load(piece: &Piece, buffer: &mut [u8]) {
    let from = std::ptr::with_exposed_provenance::<u8>(piece.from);
    if let Some(to) = buffer.get_mut(piece.to.clone()) {
        // SAFETY: the caller's promise; the buffer is the driver's own.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
    }
}

/// # Safety
/// As for [`copy`].
unsafe fn checked(pieces: &[(usize, &Piece)], buffer: &mut [u8]) -> Result<(), usize> {
    // The system takes at most 1,024 (`IOV_MAX`) at a time.
    for pieces in pieces.chunks(1024) {
        let Some(mut left) = copied(pieces, buffer) else {
            for (_, piece) in pieces {
                // SAFETY: the caller's promise.
                unsafe { load(piece, buffer) };
            }
            continue;
        };
        for (index, piece) in pieces {
            left = left.checked_sub(piece.to.len()).ok_or(*index)?;
        }
    }
    Ok(())
}

/// Lets the system copy the pieces, up to the first that cannot be read. Returns the bytes copied; `None` if it does not copy at
/// all, as in a sandbox that forbids the call.
#[cfg(target_os = "linux")]
fn copied(pieces: &[(usize, &Piece)], buffer: &mut [u8]) -> Option<usize> {
    let (mut local, mut remote) = (Vec::new(), Vec::new());
    for (_, piece) in pieces {
        let to = buffer.get_mut(piece.to.clone())?;
        local.push(libc::iovec {
            iov_base: to.as_mut_ptr().cast(),
            iov_len: to.len(),
        });
        remote.push(libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(piece.from),
            iov_len: piece.to.len(),
        });
    }
    // SAFETY: the local ranges are the buffer's, and do not overlap; the system checks the others.
    let copied = unsafe {
        libc::process_vm_readv(
            libc::getpid(),
            local.as_ptr(),
            local.len() as libc::c_ulong,
            remote.as_ptr(),
            remote.len() as libc::c_ulong,
            0,
        )
    };
    match usize::try_from(copied) {
        Ok(copied) => Some(copied),
        Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => Some(0),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn copied(_: &[(usize, &Piece)], _: &mut [u8]) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn copy_from(addresses: &[usize]) -> Result<Vec<u8>, usize> {
        let mut buffer = vec![0; 4 * addresses.len()];
        let pieces = addresses.iter().enumerate().map(|(index, from)| Piece {
            from: *from,
            to: 4 * index..4 * index + 4,
        });
        let pieces: Vec<Piece> = pieces.collect();
        let array = addresses.as_ptr_range().end.cast();
        // SAFETY: the system checks the pieces on Linux.
        unsafe { copy(&pieces, &mut buffer, array) }.map(|()| buffer)
    }

    #[test]
    fn readable_addresses_are_copied_wherever_they_lie() {
        let on_stack = [1_u8, 2, 3, 4];
        let on_heap = Box::new([5_u8, 6, 7, 8]);
        static FIXED: [u8; 4] = [9, 10, 11, 12];
        let from = [
            on_heap.as_ptr().addr(),
            on_stack.as_ptr().addr(),
            FIXED.as_ptr().addr(),
        ];
        let copied = copy_from(&from);
        assert_eq!(copied, Ok(vec![5, 6, 7, 8, 1, 2, 3, 4, 9, 10, 11, 12]));
    }

    #[test]
    fn memory_of_the_program_is_recognised() {
        let on_heap = Box::new([0_u8; 4]);
        assert!(is_readable(on_heap.as_ptr().addr() as u64));
        assert!(!is_readable(0x10));
        assert!(!is_readable(1 << 48), "as addresses of the device");
    }

    #[test]
    fn the_first_unreadable_address_is_named() {
        let good = Box::new([0_u8; 4]);
        let good = good.as_ptr().addr();
        for bad in [0x10, 1000, usize::MAX - 1] {
            assert_eq!(copy_from(&[good, bad, bad]), Err(1), "{bad:#x}");
            assert_eq!(copy_from(&[bad, good]), Err(0), "{bad:#x}");
        }
    }
}

use cuda_std::prelude::*;
use sha2::{Digest, Sha256, Sha512};

/// The SHA-256 of each message of `length` bytes.
#[kernel]
pub unsafe fn sha256(messages: &[u8], length: usize, digests: *mut [u8; 32]) {
    let i = thread::index_1d() as usize;
    if let Some(message) = messages.chunks_exact(length).nth(i) {
        let mut hasher = Sha256::new();
        hasher.update(message);
        unsafe { *digests.add(i) = hasher.finalize().into() };
    }
}

/// The SHA-512 of each message of `length` bytes.
#[kernel]
pub unsafe fn sha512(messages: &[u8], length: usize, digests: *mut [u8; 64]) {
    let i = thread::index_1d() as usize;
    if let Some(message) = messages.chunks_exact(length).nth(i) {
        unsafe { *digests.add(i) = Sha512::digest(message).into() };
    }
}

//! Images of modules: PTX as text, in a fat binary, or compressed in one. Machine code is refused with a sentence.
//!
//! A fat binary is a header and entries behind it, each with a header of its own; the contents were determined with `nvcc` and `fatbinary` of CUDA
//! 13.0. Numbers are little-endian.
//!
//! | header | | entry's header | |
//! |---|---|---|---|
//! | 0 | magic, 4 bytes | 0 | kind, 2 bytes: 1 for PTX, 2 for machine code |
//! | 6 | bytes of this header, 2 bytes | 4 | bytes of this header, 4 bytes |
//! | 8 | bytes of all entries, 8 bytes | 8 | bytes of the content, 8 bytes |
//! | | | 16 | bytes of the content without padding if it is compressed, 4 bytes |
//! | | | 28 | architecture, 4 bytes |
//! | | | 40 | flags, 8 bytes: 0x2000 for LZ4, 0x8000 for Zstandard |
//! | | | 56 | bytes of the content when it is not compressed any more, 8 bytes |

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::io::Read;

use super::module::Refusal;
use crate::driver::c_abi::errors::CudaError;
use crate::timeline::profile::DeviceProfile;

const ELF: &[u8] = b"\x7fELF";
const FAT_BINARY: &[u8] = &0xba55_ed50_u32.to_le_bytes();
/// Leads to a fat binary: magic, version, and 8 bytes of address.
const WRAPPER: &[u8] = &0x4662_43b1_u32.to_le_bytes();
const FAT_HEADER_BYTES: usize = 16;

/// Kinds of entries.
const PTX: u64 = 1;
const MACHINE_CODE: u64 = 2;

/// Flags of entries.
const LZ4: u64 = 0x2000;
const ZSTANDARD: u64 = 0x8000;

/// Bytes of PTX above which an image is rejected, so that a hostile image cannot exhaust memory.
const MAX_TEXT: u64 = 1 << 30;

/// The advice for machine code.
const ADVICE: &str = "the software GPU executes PTX: build with `nvcc -ptx`, or add PTX to the image with \
                      `-gencode arch=compute_90,code=compute_90`";

/// An image that a program passes by its address: text up to its zero, a fat binary in full, and of other machine code the
/// first bytes, which distinguish it from text.
///
/// # Safety
/// `image` is null or a module image.
pub(in crate::driver) unsafe fn image_bytes<'a>(
    image: *const c_void,
) -> Result<&'a [u8], CudaError> {
    if image.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: text ends with a zero; machine code has one in its header.
    let start = unsafe { CStr::from_ptr(image.cast()) }.to_bytes();
    if start.starts_with(WRAPPER) {
        // SAFETY: a wrapper has an address at this place, of a fat binary.
        let inner = unsafe { image.byte_add(8).cast::<*const c_void>().read_unaligned() };
        // SAFETY: a fat binary is an image, and no wrapper.
        return unsafe { fat_binary_bytes(inner) };
    }
    if start.starts_with(FAT_BINARY) {
        // SAFETY: it is a fat binary by its first bytes.
        return unsafe { fat_binary_bytes(image) };
    }
    Ok(start)
}

/// # Safety
/// `image` is null or a fat binary.
unsafe fn fat_binary_bytes<'a>(image: *const c_void) -> Result<&'a [u8], CudaError> {
    if image.is_null() {
        return Err(CudaError::InvalidImage);
    }
    // SAFETY: the header has this many bytes.
    let header = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), FAT_HEADER_BYTES) };
    let bytes = fat_binary_length(header).ok_or(CudaError::InvalidImage)?;
    // SAFETY: the header gives this length.
    Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) })
}

/// Bytes of header and entries.
fn fat_binary_length(image: &[u8]) -> Option<usize> {
    let bytes = number(image, 6, 2)?.checked_add(number(image, 8, 8)?)?;
    let bytes = usize::try_from(bytes).ok()?;
    (image.starts_with(FAT_BINARY) && isize::try_from(bytes).is_ok()).then_some(bytes)
}

/// The PTX in an image.
///
/// # Errors
/// `CUDA_ERROR_NO_BINARY_FOR_GPU` for machine code, or for PTX of newer devices alone; `CUDA_ERROR_INVALID_IMAGE` for
/// any other bytes.
pub(in crate::driver) fn ptx_of<'i>(
    image: &'i [u8],
    device: &DeviceProfile,
) -> Result<Cow<'i, str>, Refusal> {
    if image.starts_with(ELF) {
        let explanation = format!("the image is machine code (a cubin, SASS); {ADVICE}");
        return Err(Refusal::new(CudaError::NoBinaryForGpu, explanation));
    }
    if image.starts_with(FAT_BINARY) {
        return ptx_of_fat_binary(image, device);
    }
    let text = image.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| CudaError::InvalidImage)?;
    match text.contains(".version") {
        true => Ok(Cow::Borrowed(text)),
        false => Err(CudaError::InvalidImage.into()),
    }
}

/// The PTX of a fat binary that suits the device best: the newest that is not too new.
fn ptx_of_fat_binary<'i>(image: &'i [u8], device: &DeviceProfile) -> Result<Cow<'i, str>, Refusal> {
    let damaged = || {
        let explanation = "the fat binary is damaged".to_owned();
        Refusal::new(CudaError::InvalidImage, explanation)
    };
    let entries = entries(image).ok_or_else(damaged)?;
    let capability = device.compute_capability_major * 10 + device.compute_capability_minor;
    let ptx = entries.iter().filter(|entry| entry.kind == PTX);
    let best = ptx
        .filter(|entry| entry.architecture <= u64::from(capability))
        .max_by_key(|entry| entry.architecture);
    match best {
        Some(entry) => entry.text().ok_or_else(damaged),
        None => Err(no_ptx(&entries, capability)),
    }
}

fn no_ptx(entries: &[Entry<'_>], capability: u32) -> Refusal {
    let architectures = |kind| {
        let found = entries.iter().filter(|entry| entry.kind == kind);
        let names: Vec<_> = found
            .map(|entry| format!("sm_{}", entry.architecture))
            .collect();
        names.join(", ")
    };
    let (ptx, code) = (architectures(PTX), architectures(MACHINE_CODE));
    let explanation = match (ptx.is_empty(), code.is_empty()) {
        (false, _) => format!("the fat binary has PTX for {ptx}, the device is sm_{capability}"),
        (true, false) => {
            format!("the fat binary has machine code for {code} and no PTX; {ADVICE}")
        }
        (true, true) => format!("the fat binary has no PTX; {ADVICE}"),
    };
    Refusal::new(CudaError::NoBinaryForGpu, explanation)
}

/// One entry of a fat binary.
struct Entry<'i> {
    kind: u64,
    architecture: u64,
    flags: u64,
    content: &'i [u8],
    /// Bytes of the content without compression.
    full_bytes: u64,
}

fn entries(image: &[u8]) -> Option<Vec<Entry<'_>>> {
    let bytes = fat_binary_length(image)?;
    let mut rest = image.get(usize::try_from(number(image, 6, 2)?).ok()?..bytes)?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let header = usize::try_from(number(rest, 4, 4)?).ok()?;
        let length = usize::try_from(number(rest, 8, 8)?).ok()?;
        let content = rest.get(header..header.checked_add(length)?)?;
        let flags = number(rest, 40, 8)?;
        let is_compressed = flags & (LZ4 | ZSTANDARD) != 0;
        let packed = usize::try_from(number(rest, 16, 4)?).ok()?;
        entries.push(Entry {
            kind: number(rest, 0, 2)?,
            architecture: number(rest, 28, 4)?,
            flags,
            content: content.get(..if is_compressed { packed } else { length })?,
            full_bytes: if is_compressed {
                number(rest, 56, 8)?
            } else {
                0
            },
        });
        // Without a header of its own an entry would never end.
        rest = rest.get(header.max(1) + length..)?;
    }
    Some(entries)
}

impl<'i> Entry<'i> {
    /// The content as PTX, which ends where its padding begins.
    fn text(&self) -> Option<Cow<'i, str>> {
        let bytes = match self.flags & (LZ4 | ZSTANDARD) {
            0 => Cow::Borrowed(self.content),
            _ if self.full_bytes > MAX_TEXT => return None,
            LZ4 => lz4_flex::block::decompress(self.content, self.full_bytes as usize)
                .ok()?
                .into(),
            ZSTANDARD => self.zstandard()?.into(),
            _ => return None,
        };
        let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == 0);
        Some(match bytes {
            Cow::Borrowed(bytes) => {
                let bytes = &bytes[..end(bytes).unwrap_or(bytes.len())];
                Cow::Borrowed(std::str::from_utf8(bytes).ok()?)
            }
            Cow::Owned(mut bytes) => {
                bytes.truncate(end(&bytes).unwrap_or(bytes.len()));
                Cow::Owned(String::from_utf8(bytes).ok()?)
            }
        })
    }

    fn zstandard(&self) -> Option<Vec<u8>> {
        let decoder = ruzstd::decoding::StreamingDecoder::new(self.content).ok()?;
        let mut bytes = Vec::new();
        decoder.take(self.full_bytes).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// The number of `count` bytes at `at`.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + count)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

//! Numbers onto the device and back.

use examples_host::prelude::*;

/// Numbers on the device in `pieces` pieces of `len`, given by piece and index.
pub fn cut(
    stream: &Stream,
    pieces: usize,
    len: usize,
    number: impl Fn(usize, usize) -> f32,
) -> Result<Vec<DeviceBuffer<f32>>> {
    let mut numbers = HostBuffer::page_locked(stream.device(), pieces * len)?;
    for (index, value) in numbers.write()?.iter_mut().enumerate() {
        *value = number(index / len, index % len);
    }
    let mut whole = DeviceBuffer::new(stream, pieces * len)?;
    whole.copy_from(&numbers)?;
    whole.split(pieces)
}

/// What a device buffer holds.
pub fn download(buffer: &DeviceBuffer<f32>) -> Result<Vec<f32>> {
    let mut copy = HostBuffer::page_locked(buffer.stream().device(), buffer.len())?;
    buffer.copy_to(&mut copy)?;
    Ok(copy.read()?.to_vec())
}

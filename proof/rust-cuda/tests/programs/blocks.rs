//! What the threads of a block do together: counts by atomics, reductions and scans.

use super::*;

const BINS: usize = 64;

/// Bytes, and how many of them fall into each bin.
fn bytes_and_counts() -> (Vec<u8>, Vec<u32>) {
    let bytes: Vec<u8> = (0..5000_u32).map(|i| (i * i / 3) as u8).collect();
    let mut counts = vec![0; BINS];
    for byte in &bytes {
        counts[usize::from(*byte) % BINS] += 1;
    }
    (bytes, counts)
}

#[test]
fn histograms() -> Result<()> {
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/histogram.ptx"))?;
    let (bytes, expected) = bytes_and_counts();
    let data = DeviceBuffer::from_slice(&bytes)?;
    let zeros = [0_u32; BINS];
    let (strided, direct) = (
        DeviceBuffer::from_slice(&zeros)?,
        DeviceBuffer::from_slice(&zeros)?,
    );
    let sum = DeviceBuffer::from_slice(&[0.0_f64])?;
    let (counts, counts_and_sum) = (
        module.get_function("counts")?,
        module.get_function("counts_and_sum")?,
    );
    // SAFETY: the parameters are the kernels'; the second has a thread for each byte.
    unsafe {
        launch!(counts<<<4, 48, 0, stream>>>(data.as_device_ptr(), data.len(), strided.as_device_ptr()))?;
        launch!(counts_and_sum<<<20, 256, 0, stream>>>(
            data.as_device_ptr(), data.len(), direct.as_device_ptr(), sum.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    ensure!(download(&strided, 0)? == expected);
    ensure!(download(&direct, 0)? == expected);
    let total: f64 = bytes.iter().map(|&byte| f64::from(byte)).sum();
    ensure!(download(&sum, 0.0)? == [total], "whole numbers add exactly");
    Ok(())
}

/// Counts in shared memory are atomics of shared memory, and nothing goes by a generic address.
#[test]
fn shared_counts_are_atomics_of_shared_memory() {
    let histogram = include_str!("../../ptx/histogram.ptx");
    for kernel in ["counts", "counts_and_sum"] {
        let start = histogram
            .find(&format!(".visible .entry {kernel}("))
            .unwrap();
        let (body, _) = histogram[start..].split_once("\n}").unwrap();
        let atomics: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("atom."))
            .collect();
        let shared = atomics.iter().filter(|line| line.contains(".shared."));
        let global = atomics.iter().filter(|line| line.contains(".global."));
        assert!(shared.clone().count() > 0, "{kernel}: {atomics:?}");
        assert_eq!(
            shared.count() + global.count(),
            atomics.len(),
            "{kernel}: {atomics:?}"
        );
        assert_eq!(generic_accesses(body), [""; 0], "{kernel}");
    }
}

#[test]
fn reductions_through_the_launchs_shared_memory() -> Result<()> {
    const THREADS: u32 = 128;
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/reduce.ptx"))?;
    let floats = numbers(6, 3000);
    let (bytes, _) = bytes_and_counts();
    let (values, data) = (
        DeviceBuffer::from_slice(&floats)?,
        DeviceBuffer::from_slice(&bytes)?,
    );
    let ranges = DeviceBuffer::from_slice(&[f32::NAN; 6])?;
    let sums = DeviceBuffer::from_slice(&[0_u64; 3])?;
    let (range, checksum) = (
        module.get_function("range")?,
        module.get_function("checksum")?,
    );
    // SAFETY: the parameters are the kernels'; there is a result for each of three blocks, and 8 bytes for each thread.
    unsafe {
        launch!(range<<<3, THREADS, 8 * THREADS, stream>>>(values.as_device_ptr(), values.len(), ranges.as_device_ptr()))?;
        launch!(checksum<<<3, THREADS, 8 * THREADS, stream>>>(data.as_device_ptr(), data.len(), sums.as_device_ptr()))?;
    }
    stream.synchronize()?;
    for (block, found) in download(&ranges, 0.0)?.chunks(2).enumerate() {
        let own = |i: &usize| i / THREADS as usize % 3 == block;
        let own = || (0..floats.len()).filter(own).map(|i| floats[i]);
        let (least, greatest) = (own().reduce(f32::min), own().reduce(f32::max));
        ensure!([least, greatest] == [Some(found[0]), Some(found[1])]);
    }
    let sum: u64 = download(&sums, 0)?.iter().sum();
    ensure!(sum == bytes.iter().map(|&byte| 31 * u64::from(byte)).sum::<u64>());
    Ok(())
}

#[test]
fn scans_by_shuffles() -> Result<()> {
    const THREADS: usize = 256;
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/reduce.ptx"))?;
    let values: Vec<i64> = (0..500).map(|i| (i * 37 % 101) - 50 + (1 << 40)).collect();
    let data = DeviceBuffer::from_slice(&values)?;
    let out = DeviceBuffer::from_slice(&vec![0_i64; values.len()])?;
    let kernel = module.get_function("scan")?;
    // SAFETY: the parameters are the kernel's; `out` is as long as the values.
    unsafe {
        launch!(kernel<<<2, THREADS as u32, 0, stream>>>(data.as_device_ptr(), data.len(), out.as_device_ptr()))?;
    }
    stream.synchronize()?;
    let expected: Vec<i64> = values
        .chunks(THREADS)
        .flat_map(|block| {
            block.iter().scan(0, |sum, value| {
                *sum += value;
                Some(*sum)
            })
        })
        .collect();
    ensure!(download(&out, 0)? == expected);
    Ok(())
}

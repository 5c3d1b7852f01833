//! The kernels of many small steps, compared with the CPU's bit for bit.

mod support;

use anyhow::{Result, ensure};
use gpu_kernels::{
    SM_70, SM_90, Signature as _, relax, relax_dependent, relax_persistent, serve_queue,
};
use support::{
    LaunchArgument::U32, LaunchArgument::Usize, TestDevice, blocks, download, numbers, pointer,
    upload,
};

const THREADS: u32 = 64;

/// A step on the CPU.
fn relaxed(x: &[f32]) -> Vec<f32> {
    let n = x.len();
    let at = |i: usize| (x[(i + n - 1) % n] + x[(i + 1) % n]).mul_add(0.25, 0.5 * x[i]);
    (0..n).map(at).collect()
}

/// Fewer elements than threads, and as many; one block and several.
const LENGTHS: [usize; 4] = [1, 63, 128, 1000];

#[test]
fn a_step_per_launch() -> Result<()> {
    for (ptx, kernel) in [(SM_70, relax::NAME), (SM_90, relax_dependent::NAME)] {
        let device = TestDevice::open(ptx)?;
        for n in LENGTHS {
            let given = numbers(n as u32, n);
            let (x, y) = (upload(&given)?, upload(&vec![0f32; n])?);
            // A slice is pointer and length, with the output behind it; the dependent kernel has the length at the end.
            let arguments = match kernel {
                relax::NAME => [pointer(&x), Usize(n), pointer(&y)],
                _ => [pointer(&x), pointer(&y), Usize(n)],
            };
            let grid = blocks((n as u32).div_ceil(THREADS), THREADS);
            // SAFETY: the parameters are the kernel's, and both buffers have n elements.
            unsafe { device.run(kernel, grid, &arguments)? };
            ensure!(download(&y)? == relaxed(&given), "{kernel} of {n} elements");
        }
    }
    Ok(())
}

#[test]
fn one_launch_executes_all_steps() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    for (n, steps) in LENGTHS.into_iter().zip([1, 2, 7, 12]) {
        let given = numbers(n as u32, n);
        let expected = (0..steps).fold(given.clone(), |before, _| relaxed(&before));
        // One block more than the elements need: it waits with the others.
        let count = (n as u32).div_ceil(THREADS) + 1;
        let (x, y) = (upload(&given)?, upload(&vec![0f32; n])?);
        let arrivals = upload(&[0u32])?;
        let arguments = [
            pointer(&x),
            pointer(&y),
            Usize(n),
            pointer(&arrivals),
            U32(steps),
        ];
        // SAFETY: the parameters are the kernel's; no block has arrived yet.
        unsafe {
            device.run_cooperatively(relax_persistent::NAME, blocks(count, THREADS), &arguments)?
        };
        let found = download(if steps % 2 == 0 { &x } else { &y })?;
        ensure!(found == expected, "{steps} steps of {n} elements");
        let arrivals = download(&arrivals)?;
        ensure!(arrivals == [count * steps], "{arrivals:?}");
    }
    Ok(())
}

/// Requests 6 to 10 of a ring of four slots, of which the host has counted `published`: those are answered, and the others left.
#[test]
fn a_queue_is_served_as_far_as_it_is_filled() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    let threads = THREADS as usize;
    let given = numbers(3, 4 * threads);
    for published in [6u32, 8, 10] {
        let (requests, answers) = (upload(&given)?, upload(&vec![0f32; 4 * threads])?);
        let (counted, answered) = (upload(&[published])?, upload(&[6u32])?);
        let arguments = [
            pointer(&requests),
            pointer(&answers),
            pointer(&counted),
            pointer(&answered),
            U32(4),
            U32(6),
            U32(10),
            U32(3),
        ];
        // SAFETY: the parameters are the kernel's, and each slot has an element for each thread.
        unsafe { device.run(serve_queue::NAME, blocks(1, THREADS), &arguments)? };
        let mut expected = vec![0f32; 4 * threads];
        for slot in (6..published).map(|request| request as usize % 4) {
            for i in slot * threads..(slot + 1) * threads {
                expected[i] = given[i].mul_add(2.0, 1.0);
            }
        }
        ensure!(download(&answers)? == expected, "{published} published");
        ensure!(download(&answered)? == [published], "{published} published");
    }
    Ok(())
}

//! The link to the host: rates and set-up of each direction, both at once, and pageable memory.

use crate::findings::Findings;
use crate::gpu::{self, DeviceAddress, Stream, cu};
use crate::stopwatch::{Stopwatch, least, on_host, repeat_times};
use anyhow::Result;
use examples_host::check;
use std::ffi::c_void;
use std::time::Duration;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// What moves each way while both directions move.
const BOTH_WAYS: usize = 256 * MIB;
/// The bytes of a pageable copy.
const PAGEABLE: usize = 64 * MIB;
const SMALL: usize = 64 * KIB;
const MEDIUM: usize = 4 * MIB;

/// Where copies are from and to.
struct Ends {
    host: *mut c_void,
    other_host: *mut c_void,
    device: DeviceAddress,
    other_device: DeviceAddress,
}

impl Ends {
    fn up(&self, bytes: usize, stream: Stream) -> Result<()> {
        self.part_up(0, bytes, stream)
    }

    /// Copies the `part`th of several pieces, so that streams beside each other write to different places.
    fn part_up(&self, part: usize, bytes: usize, stream: Stream) -> Result<()> {
        let offset = part * bytes;
        let from = self.host.wrapping_byte_add(offset);
        gpu::to_device(self.device + offset as u64, from, bytes, stream)
    }

    fn down(&self, bytes: usize, stream: Stream) -> Result<()> {
        gpu::to_host(self.other_host, self.other_device, bytes, stream)
    }
}

pub fn measure(findings: &mut Findings, watch: &Stopwatch) -> Result<()> {
    let ends = Ends {
        host: gpu::pinned(BOTH_WAYS)?,
        other_host: gpu::pinned(BOTH_WAYS)?,
        device: gpu::allocate(BOTH_WAYS)?,
        other_device: gpu::allocate(BOTH_WAYS)?,
    };
    one_way(findings, watch, &ends)?;
    both_ways(findings, watch, &ends)?;
    switching(findings, watch, &ends)?;
    pageable(findings, &ends)?;
    gpu::free_pinned(ends.host)?;
    gpu::free_pinned(ends.other_host)?;
    gpu::free(ends.device)?;
    gpu::free(ends.other_device)
}

/// A copy takes its set-up and its bytes; two sizes separate them.
fn one_way(findings: &mut Findings, watch: &Stopwatch, ends: &Ends) -> Result<()> {
    let up = |bytes| move |stream| ends.up(bytes, stream);
    let down = |bytes| move |stream| ends.down(bytes, stream);
    let large = 64 * MIB;
    let (small_up, large_up) = (watch.each(8, 40, up(SMALL))?, watch.each(1, 5, up(large))?);
    let (small_down, large_down) = (
        watch.each(8, 40, down(SMALL))?,
        watch.each(1, 5, down(large))?,
    );
    let rate = |small: f64, large_us: f64| (large - SMALL) as f64 / (large_us - small);
    let setup = |small: f64, rate: f64| small - SMALL as f64 / rate;
    let (rate_up, rate_down) = (rate(small_up, large_up), rate(small_down, large_down));
    findings.measured("copies", "host_to_device_gb_per_s", rate_up * 1e-3);
    findings.measured("copies", "device_to_host_gb_per_s", rate_down * 1e-3);
    findings.measured(
        "copies",
        "host_to_device_setup_us",
        setup(small_up, rate_up),
    );
    findings.measured(
        "copies",
        "device_to_host_setup_us",
        setup(small_down, rate_down),
    );
    Ok(())
}

/// What share of its own rate each direction keeps while both move.
fn both_ways(findings: &mut Findings, watch: &Stopwatch, ends: &Ends) -> Result<()> {
    let ahead = Duration::from_micros(150);
    let other = gpu::stream()?;
    // One after the other in each round, and of each the least: another guest of the host that copies only adds to a time.
    let [mut up, mut down, mut both] = [f64::INFINITY; 3];
    for _ in 0..7 {
        up = up.min(watch.device(ahead, |stream| ends.up(BOTH_WAYS, stream))?);
        down = down.min(watch.device(ahead, |stream| ends.down(BOTH_WAYS, stream))?);
        both = both.min(watch.device_with(ahead, &[other], || {
            ends.up(BOTH_WAYS, watch.stream)?;
            ends.down(BOTH_WAYS, other)
        })?);
    }
    // Until the faster direction is done both have the share; then the slower one has the link to itself.
    let (fast, slow) = (up.min(down), up.max(down));
    findings.measured(
        "copies",
        "both_directions_share",
        fast / (both - (slow - fast)),
    );
    Ok(())
}

/// What an engine takes in addition when the copy before was another stream's.
fn switching(findings: &mut Findings, watch: &Stopwatch, ends: &Ends) -> Result<()> {
    let others = gpu::streams(4)?;
    let in_turn = |bytes: usize, few: usize, many: usize| -> Result<f64> {
        let time = |rounds: usize| {
            least(|| {
                let ahead = Duration::from_micros(200 + 60 * rounds as u64);
                watch.device_with(ahead, &others, || {
                    (0..rounds).try_for_each(|_| {
                        let mut parts = others.iter().enumerate();
                        parts.try_for_each(|(part, stream)| ends.part_up(part, bytes, *stream))
                    })
                })
            })
        };
        Ok((time(many)? - time(few)?) / (4 * (many - few)) as f64)
    };
    let alone =
        |bytes: usize, few, many| watch.each(few, many, move |stream| ends.up(bytes, stream));
    let small = in_turn(SMALL, 2, 10)? - alone(SMALL, 8, 40)?;
    let medium = in_turn(MEDIUM, 1, 5)? - alone(MEDIUM, 4, 20)?;
    let per_mib = ((medium - small) / ((MEDIUM - SMALL) as f64 / MIB as f64)).max(0.0);
    findings.measured("copies", "stream_switch_us_per_mib", per_mib);
    findings.measured(
        "copies",
        "stream_switch_us",
        small - per_mib * SMALL as f64 / MIB as f64,
    );
    Ok(())
}

/// Copies that the driver stages, on the host's clock: the host waits for them. The host's memory was last written past
/// its caches, as data is that has just arrived; the staging thread reads data from the caches twice as fast.
fn pageable(findings: &mut Findings, ends: &Ends) -> Result<()> {
    let mut host = vec![0u8; PAGEABLE];
    let rate = |time: f64| PAGEABLE as f64 / time * 1e-3;
    let mut cold = |copy: &dyn Fn(*mut c_void) -> Result<()>| {
        least(|| {
            check::poison(&mut host);
            let start = host.as_mut_ptr().cast::<c_void>();
            on_host(|| copy(start))
        })
    };
    let up = cold(&|start| cu!(cuMemcpyHtoD_v2(ends.device, start, PAGEABLE)))?;
    let down = cold(&|start| cu!(cuMemcpyDtoH_v2(start, ends.device, PAGEABLE)))?;
    findings.measured("copies", "pageable_host_to_device_gb_per_s", rate(up));
    findings.measured("copies", "pageable_device_to_host_gb_per_s", rate(down));
    let (from, to) = (ends.host as DeviceAddress, ends.other_host as DeviceAddress);
    let within = repeat_times(3, || on_host(|| cu!(cuMemcpy(to, from, PAGEABLE))))?;
    findings.measured("copies", "host_to_host_gb_per_s", rate(within));
    Ok(())
}

//! The bound of three-way: what its copies take when nothing but both directions is in their way.

use super::Roles;
use super::work::Work;
use anyhow::Context;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use std::time::Duration;

/// The bound, and how near three streams come to it.
pub struct Bound {
    /// The least time of the copies alone, in the pieces that the data is cut into.
    pub copies: Duration,
    /// Median share of the bound that three streams reach.
    pub reached: f64,
}

impl Bound {
    /// Times the copies alone and the three streams in turn: what disturbs the one disturbs the other,
    /// and the median of the pairs' shares leaves it out.
    pub fn measure(part: &Part, work: &mut Work, roles: Roles) -> anyhow::Result<Self> {
        let [copy_in, _, copy_out] = roles;
        let buffers = |stream, pieces: &[HostBuffer<f32>]| -> Result<Vec<_>> {
            let lengths = pieces.iter().map(HostBuffer::len);
            lengths.map(|len| DeviceBuffer::new(stream, len)).collect()
        };
        let mut arriving = buffers(copy_in, &work.input)?;
        let mut leaving = buffers(copy_out, &work.output)?;
        leaving.iter_mut().try_for_each(DeviceBuffer::poison)?;

        let watch = Stopwatch::new(part.device())?;
        let (mut copies, mut shares) = (Vec::new(), Vec::new());
        for round in 0..=part.iterations(15) {
            let alone = watch.time([copy_in, copy_out], || {
                let inwards = arriving.iter_mut().zip(&work.input);
                let outwards = leaving.iter().zip(&mut work.output);
                inwards.zip(outwards).try_for_each(|(inwards, outwards)| {
                    inwards.0.copy_from(inwards.1)?;
                    outwards.0.copy_to(outwards.1)
                })
            })?;
            let three = watch.time(roles, || work.pass(|_| roles))?;
            if round > 0 {
                copies.push(alone.event);
                shares.push(alone.event.as_secs_f64() / three.event.as_secs_f64());
            }
        }
        shares.sort_by(f64::total_cmp);
        Ok(Self {
            copies: Durations::new(copies).context("no round was timed")?.min(),
            reached: shares[shares.len() / 2],
        })
    }
}

//! Do copies in, kernels and copies out run at the same time?
//!
//! ```text
//! one stream     H K D H K D H K D
//! three streams  H H H
//!                  K K K
//!                    D D D
//! ```

use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;

kernels! {
    /// The kernels of this example.
    unsafe struct Kernels {
        fn affine(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine;
    }
}

fn main() -> std::process::ExitCode {
    Example::new(
        "three_way",
        "Copies in, kernels and copies out at the same time",
    )
    .part(
        "three-way",
        "How near to the bound do three streams come?",
        &[Iterations, Size, Chunks],
        three_way,
    )
    .main()
}

/// What the variants share.
struct Work {
    input: Vec<HostBuffer<f32>>,
    output: Vec<HostBuffer<f32>>,
    buffers: Ring<f32>,
    kernels: Kernels,
}

impl Work {
    /// All chunks through three roles. Where two of them are one stream, `hand_to` does nothing.
    fn pass(&mut self, copy_in: &Stream, compute: &Stream, copy_out: &Stream) -> Result<()> {
        for (input, output) in self.input.iter().zip(&mut self.output) {
            self.buffers.turn(copy_in, |data| {
                data.copy_from(input)?;
                data.hand_to(compute)?;
                self.kernels
                    .affine(Grid::cover(data.len(), 256), data, 2.0, 1.0)?;
                data.hand_to(copy_out)?;
                data.copy_to(output)
            })?;
        }
        Ok(())
    }
}

fn three_way(part: &mut Part) -> anyhow::Result<()> {
    part.predict("One stream takes H + K + D; three streams as long as the longest of them.");
    let device = part.device();
    let elements = part.elements::<f32>(ByteSize::mib(4))?;
    let chunks = part.chunks(8, elements)?;
    let h = Stream::non_blocking(device, "copy in")?;
    let k = Stream::non_blocking(device, "compute")?;
    let d = Stream::non_blocking(device, "copy out")?;

    let data = Seed::new(1);
    let mut input = HostBuffer::page_locked(device, elements)?;
    data.fill_f32(0, input.write()?);
    let input = input.split(chunks)?;
    let longest = input.iter().map(HostBuffer::len).max().unwrap_or(elements);
    let mut work = Work {
        input,
        output: HostBuffer::page_locked(device, elements)?.split(chunks)?,
        buffers: Ring::new(&h, 3, longest)?,
        kernels: Kernels::load(device, gpu_kernels::SM_70)?,
    };

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new()
        .bytes_in(bytes)
        .bytes_out(bytes)
        .launches(chunks, elements);
    let outcomes = Comparison::new(VARIANTS, plan)
        .variant("one-stream", &[&h], |work: &mut Work| {
            Ok(work.pass(&h, &h, &h)?)
        })
        .variant("three-streams", &[&h, &k, &d], |work| {
            Ok(work.pass(&h, &k, &d)?)
        })
        .prepare(|work| Ok(work.output.iter_mut().try_for_each(HostBuffer::poison)?))
        .check(|work| check::pieces("output", &work.output, |i| data.f32(i).mul_add(2.0, 1.0)))
        .run(part, &mut work)?;

    part.say(measure::table(&outcomes, device.times()));
    let [one, three] = &outcomes[..] else {
        unreachable!("two variants, two outcomes");
    };
    part.chart(&three.name, &three.recording, Rows::Engines);
    let copies = (Engine::HostToDevice, Engine::DeviceToHost);
    part.claim(
        "duplex/one-stream",
        "one stream overlaps nothing",
        one.recording.overlap(copies.0, copies.1).is_zero(),
        units::time(one.recording.overlap(copies.0, copies.1)),
        "both copy directions at once, in one stream",
    );
    let both = three.recording.overlap(copies.0, copies.1).as_secs_f64();
    let share = both / three.recording.busy(copies.1).as_secs_f64();
    part.claim_share_at_least(
        "duplex/three-streams",
        "three streams copy out while copying in",
        share,
        0.5,
    );
    Ok(())
}

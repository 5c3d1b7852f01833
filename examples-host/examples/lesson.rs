//! A lesson, as an author writes it: how long do copies in and out take in one stream, and in two?

use cuda_host::prelude::*;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;
use std::process::ExitCode;

const DATA: Seed = Seed::new(1);

fn main() -> ExitCode {
    let options = &[Iterations, Size, Chunks];
    Example::new("lesson", "Two directions of the link")
        .part(
            "two-ways",
            "Do both directions work at once?",
            options,
            two_ways,
        )
        .main()
}

/// Page-locked data that is copied in, and other data that is copied out.
struct Copies {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    arriving: DeviceBuffer<f32>,
    leaving: DeviceBuffer<f32>,
}

impl Copies {
    fn run(&mut self, copy_in: &Stream, copy_out: &Stream) -> anyhow::Result<()> {
        // SAFETY: all memory lives until the host has waited, and no two copies share any.
        unsafe {
            self.arriving.async_copy_from(&self.input, copy_in)?;
            self.leaving.async_copy_to(&mut self.output, copy_out)?;
        }
        Ok(())
    }
}

impl Workload for Copies {
    fn poison(&mut self) -> anyhow::Result<()> {
        check::poison(&mut self.output);
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        Ok(check::equal("the output", 0, &self.output, |index| {
            DATA.f32(index)
        })?)
    }
}

fn two_ways(part: &mut Part) -> anyhow::Result<()> {
    let elements = part.elements::<f32>(ByteSize::mib(4))?;
    part.chunks(1, elements)?;
    let [copy_in, copy_out] = stream::non_blocking_named(["copy in", "copy out"])?;
    let mut input = LockedBuffer::new(&0.0, elements)?;
    DATA.fill_f32(0, &mut input);
    let mut copies = Copies {
        output: LockedBuffer::new(&0.0, elements)?,
        arriving: DeviceBuffer::zeroed(elements)?,
        leaving: DeviceBuffer::from_slice(&input)?,
        input,
    };
    part.predict(
        "One stream takes the sum of both copies, two streams little more than one of them.",
    );

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes).bytes_out(bytes);
    let variants = variants! { work: Copies;
        "one-stream", [&copy_in] => work.run(&copy_in, &copy_in);
        "two-streams", [&copy_in, &copy_out] => work.run(&copy_in, &copy_out);
    };
    let [one, two] = part.compare("variants", plan, &mut copies, variants)?;
    part.say(measure::table(
        &[one.clone(), two.clone()],
        part.device().times(),
    ));
    part.chart(&two.name, &two.recording, Rows::Streams);

    let (copies_in, copies_out) = (Engine::HostToDevice, Engine::DeviceToHost);
    expect! { part;
        "overlap/one-stream", "one stream overlaps nothing" => one.overlap(copies_out, copies_in).at_most(0.01);
        "overlap/two-streams", "two streams copy both ways at once" => two.overlap(copies_out, copies_in).at_least(0.8);
    }
    Ok(())
}

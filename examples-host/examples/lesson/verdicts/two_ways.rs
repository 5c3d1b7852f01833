//! Measurements and claims of the part `two-ways`.

use crate::two_ways::CopiesBothWays;
use cuda_host::prelude::*;
use examples_host::prelude::*;

const DATA: Seed = Seed::new(1);

impl Workload for CopiesBothWays {
    fn poison(&mut self) -> anyhow::Result<()> {
        check::poison(&mut self.output);
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        Ok(check::equal("the output", 0, &self.output, |index| DATA.f32(index))?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let elements = part.elements::<f32>(ByteSize::mib(4))?;
    part.chunks(1, elements)?;
    let [copy_in, copy_out] = stream::non_blocking_named(["copy in", "copy out"])?;
    let mut data = vec![0.0; elements];
    DATA.fill_f32(0, &mut data);
    let mut copies = CopiesBothWays::new(&data)?;
    part.predict(
        "One stream takes the sum of both copies, two streams little more than one of them.",
    );

    let plan = Plan::new().copies(elements * size_of::<f32>());
    let variants = variants! { copies: CopiesBothWays, differ in Streams;
        "one-stream", [&copy_in] => Ok(copies.one_stream(&copy_in)?);
        "two-streams", [&copy_in, &copy_out] => Ok(copies.two_streams(&copy_in, &copy_out)?);
    };
    let [one, two] = &part.compare("variants", plan, &mut copies, variants)?;
    part.say(measure::table(&[one.clone(), two.clone()], part.device().times()));
    part.chart(&two.name, &two.recording, Rows::Streams);

    let (copies_in, copies_out) = (Engine::HostToDevice, Engine::DeviceToHost);
    expect! { part;
        "overlap/one-stream", "one stream overlaps nothing" => one.overlap(copies_out, copies_in).at_most(0.01);
        "overlap/two-streams", "two streams copy both ways at once" => two.overlap(copies_out, copies_in).at_least(0.8);
        "faster/two-streams", "two streams are faster" => two.speedup_over(one).at_least(1.5);
    }
    part.take_away("A stream for each direction keeps both busy.");
    Ok(())
}

//! The lab of append: attention does not wait for the tokens that it reads.

use super::answers::Answers;
use super::decode::Decode;
use super::lengths;
use super::order;
use examples_host::prelude::*;

/// Two streams without the event between append and attention. The first wrong element is shown.
pub fn run(part: &mut Part, append: &Stream, attention: &Stream) -> anyhow::Result<()> {
    let shape = lengths::longest(part)?;
    let mut decode = Decode::new(append, attention, shape)?;
    part.predict(
        "Attention does not wait for the appends: while the prompt is written, it reads what was there before.",
    );
    decode.poison()?;
    let recording = record(part.device(), || decode.events(true))?;
    order::claim_kept(part, &recording, shape.steps)?;
    let mut checked = Ok(Checked::default());
    check::add(&mut checked, decode.check(&mut Answers::new(shape)))?;
    part.claim_right("elements", "every element is right", "elements", &checked);
    Ok(())
}

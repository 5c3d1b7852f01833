//! The bounds that the stages set: what is predicted from them, and what is required of the variants.

use examples_host::device::Device;
use examples_host::expect::Expected;
use examples_host::part_option::PartOption;
use examples_host::prelude::*;

/// Predicts what the pipeline takes, with a short kernel and with a long one. The stages were timed in one piece.
pub fn predict(part: &mut Part, short: &Stages, long: &Stages) {
    let [sum, bound] = [Overlap::None, Overlap::Duplex]
        .map(|overlap| [short, long].map(|stages| units::time(stages.bound(overlap))));
    part.predict(format!(
        "Alone, in one piece: copies in {}, copies out {}, both directions together {};\n\
         a short kernel {}, a long one {}. One stream takes the sum of the stages,\n\
         {} or {}, however many chunks there are. Three streams take the bound,\n\
         {} or {}, plus 1/C of (sum - bound) to fill and drain a pipeline of C chunks,\n\
         plus the start of each copy, which matters more as chunks shrink.",
        units::time(short.copy_in),
        units::time(short.copy_out),
        units::time(short.both_copies),
        units::time(short.kernel),
        units::time(long.kernel),
        sum[0],
        sum[1],
        bound[0],
        bound[1],
    ));
}

/// Each stage in whichever form takes less: in chunks, or whole. Starting many small operations may take the host longer
/// than the device needs for them, where nothing hides it. Both directions together stay as they are: no schedule of these
/// chunks has less to start.
pub fn or_whole(chunks: Stages, whole: Stages) -> Stages {
    Stages {
        copy_in: chunks.copy_in.min(whole.copy_in),
        kernel: chunks.kernel.min(whole.kernel),
        copy_out: chunks.copy_out.min(whole.copy_out),
        both_copies: chunks.both_copies,
    }
}

/// Prints the stages that the bounds of a table are made of: those of this many chunks, or of one piece where
/// [`or_whole`] found that to be shorter.
pub fn name_the_stages(part: &mut Part, stages: &Stages, chunks: usize) {
    let (alone, together) = match chunks {
        1 => ("in one piece".to_owned(), String::new()),
        _ => (
            format!("in one piece or in {chunks} chunks, whichever takes less"),
            format!(", in {chunks} chunks"),
        ),
    };
    part.say(format!(
        "These bounds time each stage {alone}: copies in {}, kernels {}, copies out {}; \
         both directions together{together}: {}.",
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
    ));
}

/// How much of the copies out runs during copies in, and what is required: at least `least`, or nothing where one engine
/// takes both directions in turn.
pub fn duplex(device: &Device, outcome: &MeasuredVariant, least: f64) -> Result<Expected> {
    let overlap = outcome.overlap(Engine::DeviceToHost, Engine::HostToDevice);
    Ok(match device.copy_engines()? {
        ..=1 => overlap.at_most(0.01),
        _ => overlap.at_least(least),
    })
}

/// How much faster the one is than the other, which overlaps nothing: at least half of what the bound allows.
pub fn half_of_the_gain(
    overlapped: &MeasuredVariant,
    in_order: &MeasuredVariant,
    stages: &Stages,
) -> Expected {
    let [none, bound] = [Overlap::None, Overlap::Duplex].map(|of| stages.bound(of).as_secs_f64());
    let least = 1.0 + 0.5 * (none / bound - 1.0);
    overlapped.speedup_over(in_order).at_least(least)
}

/// How near to the bound the variant's best run comes, and what is required for `bytes` in each direction: starting copies,
/// filling and draining cost a smaller share of more data. With less than 16 MiB nothing is required.
pub fn near_bound(outcome: &MeasuredVariant, stages: &Stages, bytes: usize) -> Expected {
    let reached = outcome.reached(stages);
    let (least, follows): (_, &[PartOption]) = match bytes >> 20 {
        1024.. => (0.97, &[PartOption::Size]),
        256.. => (0.95, &[PartOption::Size]),
        64.. => (0.85, &[PartOption::Size]),
        16.. => (0.70, &[PartOption::Size]),
        _ => (0.70, &[]),
    };
    reached.at_least(least).for_any(follows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn stages_that_the_host_holds_up_do_not_lengthen_the_bound() {
        let stages = |[copy_in, kernel, copy_out, both_copies]: [u64; 4]| {
            let [copy_in, kernel, copy_out, both_copies] =
                [copy_in, kernel, copy_out, both_copies].map(Duration::from_millis);
            Stages { copy_in, kernel, copy_out, both_copies }
        };
        let stages = or_whole(stages([9, 30, 12, 13]), stages([10, 4, 9, 11]));
        assert_eq!(stages.bound(Overlap::None), Duration::from_millis(9 + 4 + 9));
        assert_eq!(stages.bound(Overlap::Duplex), Duration::from_millis(13));
    }
}

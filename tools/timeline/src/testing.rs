//! Small recordings and results for tests.

use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::intervals::Recording;
use chapter_results::part::{PartResults, Timeline};
use chapter_results::results::Request;
use chapter_results::{Results, VERSION};

#[path = "../../trace/src/testing.rs"]
#[allow(dead_code)]
mod recordings;
pub use recordings::*;

/// The results of an example with one part, `three-way`.
pub fn results(times: TimeSource, timelines: Vec<(&str, Recording)>) -> Results {
    let timelines = timelines.into_iter().map(|(variant, recording)| Timeline {
        variant: (variant.replace(' ', "-"), variant).into(),
        recording,
    });
    let part = PartResults {
        name: "three-way".into(),
        question: "Do copies and kernels overlap?".into(),
        workload: "0".into(),
        timelines: timelines.collect(),
        holds: true,
        ..PartResults::default()
    };
    Results {
        version: VERSION,
        example: "basic_streams".into(),
        device: Fingerprint {
            name: "NVIDIA H200".into(),
            driver: "580.159".into(),
            cuda: "13.0".into(),
            link: Some("PCIe 5 x16".into()),
            clock_mhz: 1980,
            memory_clock_mhz: 3201,
            multiprocessors: 132,
            profile: None,
        },
        times,
        request: Request::default(),
        parts: vec![part],
        reports: vec![],
        holds: true,
    }
}

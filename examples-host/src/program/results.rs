//! What a run leaves behind, as a file: the same program's results on two devices or days can be compared.

use crate::device::Device;
use crate::options::{Options, UsageError};
use chapter_results::new_file::NewFile;
pub use chapter_results::part::{Bound, Figure, Kind, PartResults, Plan, Timed, Timeline, Unit};
pub use chapter_results::results::{Request, Results};
use chapter_results::{VERSION, workload};
use software_gpu::reports;
use std::path::PathBuf;

/// The file to be.
pub(crate) struct ResultsFile {
    file: NewFile,
    parts: Vec<PartResults>,
}

impl ResultsFile {
    /// Makes sure that it can be written.
    pub(crate) fn create(path: PathBuf) -> Result<Self, UsageError> {
        Ok(Self {
            file: NewFile::create("--json", path)?,
            parts: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, part: PartResults) {
        self.parts.push(part);
    }

    pub(crate) fn write(
        self,
        example: &str,
        device: &Device,
        options: &Options,
        holds: bool,
    ) -> anyhow::Result<PathBuf> {
        let request = request(options);
        let mut parts = self.parts;
        for part in &mut parts {
            part.workload = workload::hash(example, &request, part);
        }
        let results = Results {
            version: VERSION,
            example: example.to_owned(),
            device: device.fingerprint()?,
            times: device.times(),
            request,
            parts,
            reports: reports::all()
                .into_iter()
                .map(|report| report.text)
                .collect(),
            holds,
        };
        self.file.write(|out| {
            serde_json::to_writer_pretty(&mut *out, &results)?;
            Ok(writeln!(out)?)
        })
    }
}

fn request(options: &Options) -> Request {
    Request {
        size: options.size.map(|size| size.bytes() as u64),
        chunks: options.chunks.map(|chunks| chunks.get() as u64),
        iterations: options.iterations,
        streams: options.streams.map(|streams| streams.get() as u64),
        rounds: options.rounds,
        profiled: options.profiled,
        gpu_sizes: options.gpu_sizes,
    }
}

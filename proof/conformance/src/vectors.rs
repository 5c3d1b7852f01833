//! Recorded results: a digest per check in the repository, whole outputs beside it while recording.

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

/// The results of one family of checks, in the order of their names.
pub struct Vectors {
    family: &'static str,
    recorded: BTreeMap<String, String>,
    found: BTreeMap<String, String>,
    differing: Vec<String>,
}

impl Vectors {
    /// A family with the digests that the repository keeps: lines of `name digest` behind one that names the device.
    pub fn new(family: &'static str, recorded: &str) -> Self {
        let recorded = recorded
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
            .collect();
        Self {
            family,
            recorded,
            found: BTreeMap::new(),
            differing: Vec::new(),
        }
    }

    /// Takes the output of check `name`, elements of `width` bytes.
    pub fn add(&mut self, name: &str, output: &[u8], width: usize) -> Result<()> {
        let digest = hex(&Sha256::digest(output)[..16]);
        if let Some(folder) = std::env::var_os("RECORD_VECTORS") {
            let path = self.path(folder.into(), name);
            fs::create_dir_all(path.parent().context("a folder")?)?;
            fs::write(&path, output).with_context(|| format!("write {}", path.display()))?;
        } else if self.recorded.get(name) != Some(&digest) {
            let detail = self.first_differences(name, output, width)?;
            self.differing.push(format!("{name}: {detail}"));
        }
        self.found.insert(name.to_owned(), digest);
        Ok(())
    }

    /// Writes the digests while recording; otherwise fails, naming every check whose bits differ or are missing.
    pub fn finish(self) -> Result<()> {
        if let Some(folder) = std::env::var_os("RECORD_VECTORS") {
            let mut text = format!("# {}\n", recording_device()?);
            for (name, digest) in &self.found {
                writeln!(text, "{name} {digest}")?;
            }
            let path = PathBuf::from(folder).join(format!("{}.digests", self.family));
            return fs::write(&path, text).with_context(|| format!("write {}", path.display()));
        }
        let unseen: Vec<_> = self
            .recorded
            .keys()
            .filter(|name| !self.found.contains_key(*name))
            .collect();
        if !self.differing.is_empty() || !unseen.is_empty() {
            bail!(
                "{} of {} {} differ from the recorded bits:\n{}\nrecorded but not run: {unseen:?}",
                self.differing.len(),
                self.found.len(),
                self.family,
                self.differing.join("\n"),
            );
        }
        Ok(())
    }

    fn path(&self, folder: PathBuf, name: &str) -> PathBuf {
        folder.join(self.family).join(format!("{name}.bin"))
    }

    fn first_differences(&self, name: &str, output: &[u8], width: usize) -> Result<String> {
        let Some(folder) = std::env::var_os("COMPARE_VECTORS") else {
            return Ok("another digest than the recorded one".to_owned());
        };
        let path = self.path(folder.into(), name);
        let expected = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        let differing: Vec<String> = output
            .chunks(width)
            .zip(expected.chunks(width))
            .enumerate()
            .filter(|(_, (found, expected))| found != expected)
            .map(|(i, (found, expected))| {
                format!("[{i}] {} expected {}", value(found), value(expected))
            })
            .collect();
        Ok(format!(
            "{} of {} elements differ: {}",
            differing.len(),
            output.len() / width,
            differing[..differing.len().min(4)].join(", ")
        ))
    }
}

/// The device whose results are being recorded, which must be a real one.
fn recording_device() -> Result<String> {
    let selected = libcuda::selected().context("no driver was selected")?;
    if selected.driver != libcuda::Driver::Nvidia {
        bail!("digests are recorded on an NVIDIA GPU only: set CUDA_DRIVER=nvidia");
    }
    Ok(cust::device::Device::get_device(0)?.name()?)
}

/// A little-endian element as a hexadecimal number.
fn value(bytes: &[u8]) -> String {
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    format!("0x{}", hex(&reversed))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

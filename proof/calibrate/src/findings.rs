//! The figures of a profile: those of the base, and those found on the device.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The source of a figure that is shown beside the profile's and not written.
pub const SHOWN: &str = "shown";

/// A figure that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredFigure {
    pub value: f64,
    pub from: &'static str,
}

/// What is known about the device: figures by section and name, such as `copies` and `host_to_device_setup_us`.
pub struct Findings {
    base: Table,
    found: BTreeMap<(String, String), MeasuredFigure>,
}

impl Findings {
    /// Nothing was found yet; `base` is a complete profile.
    pub fn new(base: Table) -> Self {
        Self {
            base,
            found: BTreeMap::new(),
        }
    }

    pub fn base(&self) -> &Table {
        &self.base
    }

    /// Notes a figure read off the device. A model has no use for negative ones: noise around nothing.
    pub fn measured(&mut self, section: &str, name: &str, value: f64) {
        self.note(section, name, value, "measured");
    }

    /// Notes a figure chosen so that the model gives what was measured.
    pub fn fitted(&mut self, section: &str, name: &str, value: f64) {
        self.note(section, name, value, "fitted");
    }

    /// Notes a figure that is read off the device and means something else in the profile.
    pub fn shown(&mut self, section: &str, name: &str, value: f64) {
        self.note(section, name, value, SHOWN);
    }

    fn note(&mut self, section: &str, name: &str, value: f64, from: &'static str) {
        let value = if value.is_finite() {
            value.max(0.0)
        } else {
            0.0
        };
        let key = (section.to_owned(), name.to_owned());
        self.found.insert(key, MeasuredFigure { value, from });
    }

    /// A figure: found, else the base's.
    pub fn figure(&self, section: &str, name: &str) -> Result<f64> {
        match self.found(section, name) {
            Some(found) => Ok(found.value),
            None => self.of_base(section, name),
        }
    }

    pub fn found(&self, section: &str, name: &str) -> Option<MeasuredFigure> {
        self.found
            .get(&(section.to_owned(), name.to_owned()))
            .copied()
    }

    /// The base's figure.
    pub fn of_base(&self, section: &str, name: &str) -> Result<f64> {
        let section_table = section
            .split('.')
            .try_fold(&self.base, |table, part| table.get(part)?.as_table());
        let value = section_table.and_then(|table| table.get(name)?.as_table()?.get("value"));
        let number = match value {
            Some(Value::Float(value)) => Some(*value),
            Some(Value::Integer(value)) => Some(*value as f64),
            _ => None,
        };
        number.with_context(|| format!("the base profile has no figure {section}.{name}"))
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &str, MeasuredFigure)> {
        self.found
            .iter()
            .map(|((section, name), found)| (section.as_str(), name.as_str(), *found))
    }
}

//! Profiles as files: the built-in ones, those of users, and what one leaves to another.
//!
//! A file may name a built-in profile as its `base` and say only what differs. A figure that it takes from the base is one of another device, so its
//! source becomes `estimated`.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::Path;

use toml::{Table, Value};

use super::Profile;

/// The built-in profiles by name.
const BUILT_IN: [(&str, &str); 7] = [
    ("h200", include_str!("../h200.toml")),
    ("b200", include_str!("../b200.toml")),
    ("h100", include_str!("../h100.toml")),
    ("a100", include_str!("../a100.toml")),
    ("l4", include_str!("../l4.toml")),
    ("rtx4090", include_str!("../rtx4090.toml")),
    ("t4", include_str!("../t4.toml")),
];

/// A chain of bases longer than this is taken for a circle.
const MOST_BASES: usize = 8;

/// Why there is no such profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Neither a built-in profile nor written as a path.
    #[error(
        "unknown profile {name:?}: use {}, or the path of a profile file",
        known()
    )]
    Unknown {
        /// The requested name or path.
        name: String,
    },
    /// The file cannot be read.
    #[error("device profile {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The text is not a profile.
    #[error("device profile {name:?} is not valid: {source}")]
    Invalid {
        /// The profile.
        name: String,
        /// The error and its position.
        source: Box<toml::de::Error>,
    },
    /// The text is a profile that makes no sense.
    #[error("device profile {name:?} is not valid: {reason}")]
    Senseless {
        /// The profile.
        name: String,
        /// Its error.
        reason: String,
    },
}

fn known() -> String {
    Profile::NAMES.join(", ")
}

impl Profile {
    /// Names of the built-in profiles.
    pub const NAMES: &[&str] = &["h200", "b200", "h100", "a100", "l4", "rtx4090", "t4"];

    /// The built-in profile of that name.
    pub fn named(name: &str) -> Option<Result<Self, ProfileError>> {
        built_in(name).map(|text| Self::parse(name, text))
    }

    /// The built-in profile of that name or, when `name_or_path` looks like a path (it has a folder or ends in `.toml`),
    /// that of the file.
    ///
    /// # Errors
    /// When the file is missing or not valid.
    pub fn load(name_or_path: &str) -> Result<Self, ProfileError> {
        Self::parse(name_or_path, &text(name_or_path)?)
    }

    /// The entries of the profile that [`load`](Self::load) gives, those of its base included.
    ///
    /// # Errors
    /// The errors of `load`.
    pub fn table(name_or_path: &str) -> Result<Table, ProfileError> {
        let text = text(name_or_path)?;
        Self::parse(name_or_path, &text)?;
        resolve(name_or_path, &text, MOST_BASES)
    }

    /// Reads a profile from the text of its file; `name` is for the error.
    ///
    /// # Errors
    /// When the text is not a profile, or describes an impossible device.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let table = resolve(name, text, MOST_BASES)?;
        check_figures(&table).map_err(|reason| ProfileError::Senseless {
            name: name.to_owned(),
            reason,
        })?;
        let profile: Self = table.try_into().map_err(|source| invalid(name, source))?;
        profile
            .device
            .check()
            .map_err(|reason| ProfileError::Senseless {
                name: name.to_owned(),
                reason,
            })?;
        Ok(profile)
    }

    /// NVIDIA's H200 SXM, measured.
    ///
    /// # Panics
    /// Never: the crate's tests read the built-in file.
    pub fn h200() -> Self {
        Self::named("h200")
            .expect("h200 is built in")
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The text of a profile.
fn text(name_or_path: &str) -> Result<Cow<'static, str>, ProfileError> {
    if let Some(text) = built_in(name_or_path) {
        return Ok(Cow::Borrowed(text));
    }
    let path = Path::new(name_or_path);
    let is_path = path.components().count() > 1
        || path.is_absolute()
        || name_or_path.starts_with('.')
        || path
            .extension()
            .is_some_and(|extension| extension == "toml");
    if !is_path {
        return Err(ProfileError::Unknown {
            name: name_or_path.to_owned(),
        });
    }
    let read = fs::read_to_string(path).map_err(|source| ProfileError::Unreadable {
        path: name_or_path.to_owned(),
        source,
    })?;
    Ok(Cow::Owned(read))
}

fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN
        .iter()
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, text)| *text)
}

fn invalid(name: &str, source: toml::de::Error) -> ProfileError {
    ProfileError::Invalid {
        name: name.to_owned(),
        source: Box::new(source),
    }
}

/// The whole table of a profile: its own entries over those of its base.
fn resolve(name: &str, text: &str, bases_left: usize) -> Result<Table, ProfileError> {
    let senseless = |reason: String| ProfileError::Senseless {
        name: name.to_owned(),
        reason,
    };
    let mut own: Table = text.parse().map_err(|source| invalid(name, source))?;
    let Some(base) = own.remove("base") else {
        return Ok(own);
    };
    let found = base.as_str().and_then(|base| Some((base, built_in(base)?)));
    let Some((base, text)) = found else {
        let reason = format!("its base is not one of {}", known());
        return Err(senseless(reason));
    };
    if bases_left == 0 {
        return Err(senseless("its bases go round in a circle".to_owned()));
    }
    let mut table = resolve(base, text, bases_left - 1)?;
    table.remove("figures");
    mark_estimated(&mut table);
    overlay(&mut table, own);
    Ok(table)
}

fn is_figure(table: &Table) -> bool {
    table.contains_key("value")
}

/// Makes every figure an estimate: it is another device's.
fn mark_estimated(table: &mut Table) {
    if is_figure(table) {
        table.insert("from".to_owned(), Value::from("estimated"));
        return;
    }
    for (_, value) in table.iter_mut() {
        if let Value::Table(table) = value {
            mark_estimated(table);
        }
    }
}

/// Puts the entries of `over` in the place of those of `table`, figure by figure.
fn overlay(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !is_figure(below) => {
                overlay(below, above)
            }
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Every figure is finite and not negative, and those that the model divides by are not zero.
fn check_figures(table: &Table) -> Result<(), String> {
    for (name, value) in table {
        let Value::Table(table) = value else { continue };
        match number(table) {
            Some(value) if !value.is_finite() || value < 0.0 => {
                return Err(format!("{name} is {value}"));
            }
            Some(value) if value == 0.0 && is_divisor(name) => {
                return Err(format!("{name} is 0, and the model divides by it"));
            }
            Some(_) => {}
            None => check_figures(table)?,
        }
        if name == "latency_cycles" {
            check_latencies(table)?;
        }
    }
    Ok(())
}

/// The number of a figure.
fn number(figure: &Table) -> Option<f64> {
    match figure.get("value")? {
        Value::Integer(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// The executor adds latencies in 16 bits.
fn check_latencies(table: &Table) -> Result<(), String> {
    const MOST: f64 = 10_000.0;
    for (name, figure) in table {
        let value = figure.as_table().and_then(number);
        if let Some(value) = value.filter(|value| *value > MOST) {
            return Err(format!("{name} is {value} cycles, and may be {MOST}"));
        }
    }
    Ok(())
}

fn is_divisor(name: &str) -> bool {
    // The rates of [kernels.issue_per_cycle] are named after their class.
    const CLASSES: [&str; 8] = [
        "alu32",
        "fma32",
        "fma64",
        "multiply32",
        "special",
        "convert",
        "memory",
        "control",
    ];
    let ends = [
        "_per_s",
        "_per_cycle",
        "_share",
        "copy_demand",
        "set_traffic",
        "block_start_cycles",
    ];
    ends.iter().any(|end| name.ends_with(end)) || CLASSES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FigureSource;

    fn refusal(text: &str) -> String {
        Profile::parse("test", text)
            .expect_err("not a profile")
            .to_string()
    }

    #[test]
    fn every_built_in_profile_is_valid() {
        assert_eq!(BUILT_IN.map(|(name, _)| name), Profile::NAMES);
        for name in Profile::NAMES {
            let profile = Profile::named(name).expect("listed").expect("valid");
            assert_eq!(profile.figures.is_none(), *name == "h200", "{name}");
        }
    }

    #[test]
    fn what_is_left_to_the_base_is_an_estimate() {
        let text = "base = \"h200\"\n[copies]\nhost_to_device_gb_per_s = { value = 25.0, from = \"data-sheet\" }\n";
        let profile = Profile::parse("test", text).expect("valid");
        let copies = profile.copies;
        assert_eq!(copies.host_to_device_gb_per_s.value, 25.0);
        assert_eq!(copies.host_to_device_gb_per_s.from, FigureSource::DataSheet);
        assert_eq!(
            copies.device_to_host_gb_per_s.value,
            Profile::h200().copies.device_to_host_gb_per_s.value
        );
        assert_eq!(copies.device_to_host_gb_per_s.from, FigureSource::Estimated);
    }

    #[test]
    fn a_figure_is_replaced_whole() {
        let error =
            refusal("base = \"h200\"\n[copies]\nhost_to_device_gb_per_s = { value = 25.0 }\n");
        assert!(error.contains("from"), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let figure = |name: &str, value: &str| {
            refusal(&format!(
                "base = \"h200\"\n[copies]\n{name} = {{ value = {value}, from = \"measured\" }}\n"
            ))
        };
        assert!(figure("warp_drive", "1.0").contains("warp_drive"));
        assert!(figure("host_to_device_gb_per_s", "0.0").contains("divides"));
        assert!(figure("host_to_device_gb_per_s", "-1").contains("-1"));
        assert!(figure("host_to_device_gb_per_s", "nan").contains("NaN"));
        assert!(refusal("base = \"abacus\"").contains("h200, b200"));
        assert!(refusal("base = 7").contains("h200, b200"));
        assert!(refusal("base = \"h200\"\n[device]\nwarp_size = 0\n").contains("warp_size"));
        let engines = refusal("base = \"h200\"\n[device]\nasync_engine_count = 0\n");
        assert!(engines.contains("async_engine_count is 0: copies that keep kernels waiting"));
        assert!(refusal("[device]\n").contains("missing"));
        assert!(refusal("no profile").contains("test"));
    }

    #[test]
    fn latencies_that_the_executor_cannot_add_are_refused() {
        let text = |cycles: &str| {
            let figure = format!("{{ value = {cycles}, from = \"measured\" }}");
            format!("base = \"h200\"\n[kernels.latency_cycles]\nshared = {figure}\n")
        };
        assert!(Profile::parse("test", &text("10000.0")).is_ok());
        let error = Profile::parse("test", &text("40000"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("shared is 40000 cycles, and may be 10000"),
            "{error}"
        );
    }

    #[test]
    fn names_and_paths_are_distinguished() {
        let error = |name| Profile::load(name).expect_err("not there");
        assert!(matches!(error("abacus"), ProfileError::Unknown { .. }));
        assert!(
            error("abacus")
                .to_string()
                .contains("h200, b200, h100, a100, l4, rtx4090, t4")
        );
        assert!(matches!(error("./abacus"), ProfileError::Unreadable { .. }));
        assert!(matches!(
            error("abacus.toml"),
            ProfileError::Unreadable { .. }
        ));
        assert!(matches!(
            error("/nowhere/abacus"),
            ProfileError::Unreadable { .. }
        ));
    }
}

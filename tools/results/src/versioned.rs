//! Files in JSON that say the version of their form in a field `version`.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Why a text gives no value.
#[derive(Debug)]
pub enum Unread {
    /// It is not of the form.
    Form(serde_json::Error),
    /// It is of this other version of the form.
    Version(u64),
}

/// Reads a text of version `version` of the form `T`. The version is looked at first: a later form may lack or have what this
/// one does not know.
///
/// # Errors
/// When it is of another version, or not of the form.
pub fn parse<T: DeserializeOwned>(text: &str, version: u32) -> Result<T, Unread> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u64,
    }
    let Versioned { version: found } = serde_json::from_str(text).map_err(Unread::Form)?;
    if found != u64::from(version) {
        return Err(Unread::Version(found));
    }
    serde_json::from_str(text).map_err(Unread::Form)
}

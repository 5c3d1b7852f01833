//! What a claim, a variant, a group or a bound is called: an id that programs refer to, and a text that people read.
//!
//! Files of expectations, benchmarks and comparisons of runs know a thing by its id. Its text may change at any time.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An id with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// What programs refer to: lower-case letters, digits, `-`, and `/` and `.` between them.
    pub id: String,
    /// What a person reads.
    pub text: String,
}

impl Label {
    /// An id with its text.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
        }
    }
}

impl From<&'static str> for Label {
    /// The id, and as its text the same with spaces for `-`.
    fn from(id: &'static str) -> Self {
        Self::new(id, id.replace('-', " "))
    }
}

impl<I: Into<String>, T: Into<String>> From<(I, T)> for Label {
    fn from((id, text): (I, T)) -> Self {
        Self::new(id, text)
    }
}

impl From<&Self> for Label {
    fn from(label: &Self) -> Self {
        label.clone()
    }
}

impl fmt::Display for Label {
    /// The text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Whether this is an id: words of lower-case letters and digits, joined by one of `-`, `/` and `.`.
pub fn is_id(text: &str) -> bool {
    let in_a_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(in_a_word);
    text.split(['-', '/', '.']).all(is_word)
}

/// The first id that comes a second time.
pub fn repeated<T: PartialEq>(ids: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for id in ids {
        if seen.contains(&id) {
            return Some(id);
        }
        seen.push(id);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_alone_is_its_own_text() {
        let label = Label::from("three-streams");
        assert_eq!(
            (&*label.id, &*label.text),
            ("three-streams", "three streams")
        );
        let label = Label::from((format!("streams-{}", 4), "4 streams, round-robin"));
        assert_eq!(label.to_string(), "4 streams, round-robin");
        assert_eq!(format!("{label:24}|"), "4 streams, round-robin  |");
    }

    #[test]
    fn ids_have_one_form() {
        for id in [
            "equal-work",
            "duplex/three-streams",
            "rounds-64/blocks-2",
            "0.5",
        ] {
            assert!(is_id(id), "{id}");
        }
        for text in [
            "",
            "Equal",
            "one stream",
            "-a",
            "a-",
            "a--b",
            "a/",
            "ü",
            "a_b",
        ] {
            assert!(!is_id(text), "{text}");
        }
        assert_eq!(repeated(["a", "b", "a", "b"]), Some("a"));
        assert_eq!(repeated(["a", "b"]), None);
    }
}

//! The names of streams in reports.

use std::collections::BTreeMap;

use super::ids::StreamId;

/// The names of streams. A stream without one is called by its number.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<StreamId, Name>);

#[derive(Debug)]
enum Name {
    Given(String),
    Legacy,
}

impl Names {
    /// The program calls the stream `name`; an empty name takes the one that it had.
    pub(super) fn give(&mut self, stream: StreamId, name: &str) {
        match self.0.get(&stream) {
            Some(Name::Legacy) => {}
            _ if name.is_empty() => self.forget(stream),
            _ => {
                self.0.insert(stream, Name::Given(name.to_owned()));
            }
        }
    }

    /// The stream is the legacy default stream of its context.
    pub(super) fn legacy(&mut self, stream: StreamId) {
        self.0.insert(stream, Name::Legacy);
    }

    pub(super) fn forget(&mut self, stream: StreamId) {
        self.0.remove(&stream);
    }

    /// The stream in words. The number distinguishes legacy streams of several contexts.
    pub(super) fn of(&self, stream: StreamId) -> String {
        let is_legacy = |name: &&Name| matches!(name, Name::Legacy);
        match self.0.get(&stream) {
            None => stream.to_string(),
            Some(Name::Given(name)) => format!("stream `{name}`"),
            Some(Name::Legacy) if self.0.values().filter(is_legacy).count() > 1 => {
                format!("the legacy default stream ({stream})")
            }
            Some(Name::Legacy) => "the legacy default stream".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_called_by_its_name_else_by_its_number() {
        let mut names = Names::default();
        let (copies, legacy, other) = (StreamId(3), StreamId(1), StreamId(9));
        assert_eq!(names.of(copies), "stream 3");
        names.give(copies, "copy in");
        names.legacy(legacy);
        names.give(legacy, "mine");
        assert_eq!(names.of(copies), "stream `copy in`");
        assert_eq!(names.of(legacy), "the legacy default stream");
        names.legacy(other);
        assert_eq!(names.of(legacy), "the legacy default stream (stream 1)");
        names.give(copies, "");
        assert_eq!(names.of(copies), "stream 3");
    }
}

//! Names of streams, for charts, reports and profilers: what NVTX calls naming a resource.

use super::StreamHandle;
use crate::selection::{Driver, selected};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A per-thread default stream is another one on each thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(StreamHandle, Option<u64>);

static NAMES: Mutex<BTreeMap<Key, String>> = Mutex::new(BTreeMap::new());

fn names() -> MutexGuard<'static, BTreeMap<Key, String>> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(stream: StreamHandle) -> Key {
    let thread = (stream == StreamHandle::PER_THREAD).then(|| number(thread::current().id()));
    Key(stream, thread)
}

/// A number for a thread, in the order in which threads ask.
fn number(thread: ThreadId) -> u64 {
    static THREADS: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = threads.iter().position(|known| *known == thread);
    known.unwrap_or_else(|| {
        threads.push(thread);
        threads.len() - 1
    }) as u64
}

/// Names a stream. A per-thread default stream is named for the calling thread.
pub fn name_stream(stream: StreamHandle, name: &str) {
    names().insert(key(stream), name.to_owned());
    if selected().is_some_and(|selected| selected.driver == Driver::Software) {
        software_gpu::streams::set_name(stream.0, name);
    }
    super::tell_name(stream, name);
}

/// The stream's name; the default streams have one from the start.
pub fn name_of_stream(stream: StreamHandle) -> Option<String> {
    let given = names().get(&key(stream)).cloned();
    given.or_else(|| match stream {
        StreamHandle::LEGACY => Some("legacy".to_owned()),
        StreamHandle::PER_THREAD => Some("per-thread".to_owned()),
        _ => None,
    })
}

/// Forgets the name of a handle that the driver may give out again.
pub(super) fn forget(stream: StreamHandle) {
    names().remove(&key(stream));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_lasts_as_long_as_its_stream_and_default_streams_have_one() {
        let stream = StreamHandle(0x1000);
        assert_eq!(name_of_stream(stream), None);
        name_stream(stream, "copy in");
        assert_eq!(name_of_stream(stream).as_deref(), Some("copy in"));
        forget(stream);
        assert_eq!(name_of_stream(stream), None);
        let legacy = name_of_stream(StreamHandle::LEGACY);
        assert_eq!(legacy.as_deref(), Some("legacy"));
    }

    #[test]
    fn each_thread_names_its_own_default_stream() {
        name_stream(StreamHandle::PER_THREAD, "first");
        let other = thread::spawn(|| name_of_stream(StreamHandle::PER_THREAD));
        assert_eq!(other.join().unwrap().as_deref(), Some("per-thread"));
        let own = name_of_stream(StreamHandle::PER_THREAD);
        assert_eq!(own.as_deref(), Some("first"));
    }
}

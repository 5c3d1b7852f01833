//! Streams: order, priority, and the connection each was given.

use super::{OpId, StreamId};

#[derive(Clone, Debug)]
pub(super) struct StreamQueue {
    pub device: usize,
    pub priority: i32,
    pub connection: usize,
    /// The operation submitted last.
    pub last: Option<OpId>,
}

/// Streams by number, and how many live streams use each connection to each device.
#[derive(Debug)]
pub(super) struct StreamTable {
    list: Vec<StreamQueue>,
    users: Vec<Vec<u32>>,
}

impl StreamTable {
    pub fn new(connections: usize, devices: usize) -> Self {
        Self {
            list: Vec::new(),
            users: vec![vec![0; connections]; devices],
        }
    }

    /// A new stream on the connection with the fewest live streams: in turn, while none is removed.
    pub fn add(&mut self, device: usize, priority: i32) -> StreamId {
        let users = &mut self.users[device];
        let connection = (0..users.len())
            .min_by_key(|&connection| users[connection])
            .unwrap_or(0);
        users[connection] += 1;
        self.list.push(StreamQueue {
            device,
            priority,
            connection,
            last: None,
        });
        StreamId(self.list.len() as u32 - 1)
    }

    /// Frees the stream's place on its connection. Its submitted operations still run.
    pub fn remove(&mut self, stream: StreamId) {
        if let Some(stream) = self.list.get(stream.0 as usize) {
            let users = &mut self.users[stream.device][stream.connection];
            *users = users.saturating_sub(1);
        }
    }

    pub fn set_priority(&mut self, stream: StreamId, priority: i32) {
        if let Some(stream) = self.list.get_mut(stream.0 as usize) {
            stream.priority = priority;
        }
    }

    pub fn get(&self, stream: StreamId) -> &StreamQueue {
        &self.list[stream.0 as usize]
    }

    /// Makes `op` the stream's last operation and returns the one before.
    pub fn append(&mut self, stream: StreamId, op: OpId) -> Option<OpId> {
        self.list[stream.0 as usize].last.replace(op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_given_in_turn_and_free_ones_first() {
        let mut streams = StreamTable::new(3, 2);
        let other = streams.add(1, 0);
        let ids: Vec<_> = (0..6).map(|_| streams.add(0, 0)).collect();
        let connection = |streams: &StreamTable, i: usize| streams.get(ids[i]).connection;
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|i| connection(&streams, i)),
            [0, 1, 2, 0, 1, 2]
        );
        streams.remove(ids[1]);
        let next = streams.add(0, 0);
        assert_eq!(streams.get(next).connection, 1);
        assert_eq!(streams.get(other).connection, 0);
    }
}

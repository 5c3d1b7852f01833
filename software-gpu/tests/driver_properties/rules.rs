//! Happens-before by the documentation: all edges, their transitive closure, and all pairs of accesses.

use std::collections::BTreeSet;

pub type Node = usize;

/// What a node does to one place: a buffer of the device or of the host.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub node: Node,
    pub place: usize,
    pub writes: bool,
}

/// What has happened to memory, for the values in the end.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    Value(u8),
    From(usize),
}

#[derive(Default)]
pub struct Rules {
    after: Vec<Vec<Node>>,
    accesses: Vec<Access>,
    changes: Vec<(Node, usize, Change)>,
}

impl Rules {
    pub fn node(&mut self, after: impl IntoIterator<Item = Node>) -> Node {
        self.after.push(after.into_iter().collect());
        self.after.len() - 1
    }

    /// A node learns later what else it comes after.
    pub fn comes_after(&mut self, node: Node, other: impl IntoIterator<Item = Node>) {
        self.after[node].extend(other);
    }

    pub fn reads(&mut self, node: Node, place: usize) {
        self.accesses.push(Access {
            node,
            place,
            writes: false,
        });
    }

    pub fn writes(&mut self, node: Node, place: usize, change: Change) {
        self.accesses.push(Access {
            node,
            place,
            writes: true,
        });
        self.changes.push((node, place, change));
    }

    /// The nodes that come before one of these, themselves included.
    pub fn before(&self, nodes: &[Node]) -> BTreeSet<Node> {
        let mut all = BTreeSet::new();
        let mut open = nodes.to_vec();
        while let Some(node) = open.pop() {
            if all.insert(node) {
                open.extend(&self.after[node]);
            }
        }
        all
    }

    /// Whether two accesses of one place, one of them a write, are not ordered.
    pub fn has_race(&self) -> bool {
        let closure: Vec<_> = (0..self.after.len())
            .map(|node| self.before(&[node]))
            .collect();
        let ordered = |a: Node, b: Node| closure[a].contains(&b) || closure[b].contains(&a);
        self.accesses.iter().enumerate().any(|(index, a)| {
            let earlier = &self.accesses[..index];
            earlier
                .iter()
                .any(|b| a.place == b.place && (a.writes || b.writes) && !ordered(a.node, b.node))
        })
    }

    /// What is in each place in the end, if there is no race; in the beginning all are 0.
    pub fn values(&self, places: usize) -> Vec<u8> {
        let mut changes: Vec<_> = self
            .changes
            .iter()
            .map(|change| (self.before(&[change.0]).len(), change))
            .collect();
        // Whatever comes later has more before it.
        changes.sort_by_key(|(before, (node, ..))| (*before, *node));
        let mut values = vec![0; places];
        for (_, (_, place, change)) in changes {
            values[*place] = match change {
                Change::Value(value) => *value,
                Change::From(from) => values[*from],
            };
        }
        values
    }
}

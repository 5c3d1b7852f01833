//! Happens-before by the documentation: all edges, their transitive closure, and all pairs of accesses.

use std::collections::BTreeSet;

pub type NodeNumber = usize;

/// What a node does to one place: a buffer of the device or of the host, or a flag.
#[derive(Clone, Copy, Debug)]
pub struct NodeAccess {
    pub node: NodeNumber,
    pub place: usize,
    pub does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Read,
    Write,
    Atomic,
}

/// The history of memory, for the values in the end.
#[derive(Clone, Copy, Debug)]
pub enum MemoryChange {
    Value(u8),
    From(usize),
}

#[derive(Default)]
pub struct Rules {
    /// The step whose nodes are added next.
    pub step: usize,
    /// The step of each node.
    pub steps: Vec<usize>,
    after: Vec<Vec<NodeNumber>>,
    accesses: Vec<NodeAccess>,
    changes: Vec<(NodeNumber, usize, MemoryChange)>,
}

impl Rules {
    pub fn node(&mut self, after: impl IntoIterator<Item = NodeNumber>) -> NodeNumber {
        self.after.push(after.into_iter().collect());
        self.steps.push(self.step);
        self.after.len() - 1
    }

    /// A node gets further dependencies later.
    pub fn comes_after(&mut self, node: NodeNumber, other: impl IntoIterator<Item = NodeNumber>) {
        self.after[node].extend(other);
    }

    pub fn reads(&mut self, node: NodeNumber, place: usize) {
        self.accesses(node, place, Does::Read);
    }

    /// As the write of a value and the wait for one.
    pub fn updates(&mut self, node: NodeNumber, place: usize) {
        self.accesses(node, place, Does::Atomic);
    }

    pub fn writes(&mut self, node: NodeNumber, place: usize, change: MemoryChange) {
        self.accesses(node, place, Does::Write);
        self.changes.push((node, place, change));
    }

    fn accesses(&mut self, node: NodeNumber, place: usize, does: Does) {
        self.accesses.push(NodeAccess { node, place, does });
    }

    /// The nodes that come before one of these, themselves included.
    pub fn before(&self, nodes: &[NodeNumber]) -> BTreeSet<NodeNumber> {
        let mut all = BTreeSet::new();
        let mut open = nodes.to_vec();
        while let Some(node) = open.pop() {
            if all.insert(node) {
                open.extend(&self.after[node]);
            }
        }
        all
    }

    /// The pairs of steps that access one place, conflict and are not ordered.
    pub fn races(&self) -> BTreeSet<(usize, usize)> {
        let closure: Vec<_> = (0..self.after.len())
            .map(|node| self.before(&[node]))
            .collect();
        let ordered =
            |a: NodeNumber, b: NodeNumber| closure[a].contains(&b) || closure[b].contains(&a);
        let mut races = BTreeSet::new();
        for (index, a) in self.accesses.iter().enumerate() {
            for b in &self.accesses[..index] {
                if a.place == b.place && a.does.conflicts(b.does) && !ordered(a.node, b.node) {
                    let (a, b) = (self.steps[a.node], self.steps[b.node]);
                    races.extend([(a, b), (b, a)]);
                }
            }
        }
        races
    }

    /// The final value of each place, if there is no race; all begin at 0.
    pub fn values(&self, places: usize) -> Vec<u8> {
        let mut changes: Vec<_> = self
            .changes
            .iter()
            .map(|change| (self.before(&[change.0]).len(), change))
            .collect();
        // More operations happen before a later one.
        changes.sort_by_key(|(before, (node, ..))| (*before, *node));
        let mut values = vec![0; places];
        for (_, (_, place, change)) in changes {
            values[*place] = match change {
                MemoryChange::Value(value) => *value,
                MemoryChange::From(from) => values[*from],
            };
        }
        values
    }
}

impl Does {
    fn conflicts(self, other: Self) -> bool {
        self == Self::Write || other == Self::Write || self != other
    }
}

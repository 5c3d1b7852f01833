//! Happens-before by its definition: all edges, their transitive closure, and all pairs of accesses, byte by byte.

use std::collections::BTreeSet;
use std::ops::Range;

use software_gpu::memory::Accesses;
use software_gpu::order::OrderRule;

/// A node of the graph: an operation, a wait, or something that a host thread did.
pub type NodeNumber = usize;

/// The expected finding of one rule of the checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub rule: OrderRule,
    pub first: NodeNumber,
    pub second: NodeNumber,
    pub bytes: Range<u64>,
}

/// How a byte was touched.
#[derive(Clone, Copy, Default)]
struct Touch {
    read: bool,
    write: bool,
    atomic: bool,
}

struct Executed {
    node: NodeNumber,
    /// For each byte: its address, the kind of access, and its allocation.
    bytes: Vec<(u64, Touch, Option<usize>)>,
}

struct Allocation {
    range: Range<u64>,
    since: usize,
    birth: Option<NodeNumber>,
    death: Option<NodeNumber>,
    /// It is not yet known what the free comes after.
    death_is_open: bool,
    /// Bytes that were freed without stream order.
    gone: BTreeSet<u64>,
}

#[derive(Default)]
pub struct Oracle {
    /// The nodes that come before each node, itself included.
    before: Vec<BTreeSet<NodeNumber>>,
    executed: Vec<Executed>,
    allocations: Vec<Allocation>,
}

impl Oracle {
    /// A new node behind those nodes.
    pub fn node(&mut self, after: impl IntoIterator<Item = NodeNumber>) -> NodeNumber {
        let node = self.before.len();
        let mut before = BTreeSet::from([node]);
        for earlier in after {
            before.extend(&self.before[earlier]);
        }
        self.before.push(before);
        node
    }

    /// The node and its dependents turn out to be ordered after those nodes as well.
    pub fn comes_after(&mut self, node: NodeNumber, after: impl IntoIterator<Item = NodeNumber>) {
        let mut learned = BTreeSet::new();
        for earlier in after {
            learned.extend(&self.before[earlier]);
        }
        let behind = self.before.iter_mut().filter(|own| own.contains(&node));
        behind.for_each(|own| own.extend(&learned));
    }

    /// The accesses of bytes of the range, by now, after which what finds them written comes.
    pub fn writers(&self, range: &Range<u64>, called: usize) -> Vec<NodeNumber> {
        let owners: Vec<_> = range.clone().map(|byte| self.owner(byte, called)).collect();
        let writes = |(byte, touch, owner): &(u64, Touch, Option<usize>)| {
            (touch.write || touch.atomic)
                && range.contains(byte)
                && owners[(byte - range.start) as usize] == *owner
        };
        let executed = self.executed.iter();
        let writers = executed.filter(|executed| executed.bytes.iter().any(writes));
        writers.map(|executed| executed.node).collect()
    }

    pub fn is_before(&self, earlier: NodeNumber, later: NodeNumber) -> bool {
        self.before[later].contains(&earlier)
    }

    pub fn allocated(
        &mut self,
        range: Range<u64>,
        since: usize,
        birth: Option<NodeNumber>,
    ) -> usize {
        if birth.is_none() {
            self.freed(range.clone());
        }
        let allocation = Allocation {
            range,
            since,
            birth,
            death: None,
            death_is_open: false,
            gone: BTreeSet::new(),
        };
        self.allocations.push(allocation);
        self.allocations.len() - 1
    }

    pub fn meets(&self, allocation: usize, range: &Range<u64>) -> bool {
        let own = &self.allocations[allocation].range;
        own.start < range.end && range.start < own.end
    }

    pub fn freed(&mut self, range: Range<u64>) {
        for allocation in &mut self.allocations {
            allocation.gone.extend(range.clone());
        }
        for executed in &mut self.executed {
            executed.bytes.retain(|(byte, ..)| !range.contains(byte));
        }
    }

    /// The node frees the allocation, and gets its clock when it runs: [`pool_freed`](Self::pool_freed).
    pub fn pool_freed_later(&mut self, allocation: usize, death: NodeNumber) {
        self.allocations[allocation].death = Some(death);
        self.allocations[allocation].death_is_open = true;
    }

    pub fn pool_freed(&mut self, allocation: usize, death: NodeNumber) -> Vec<Expected> {
        self.allocations[allocation].death = None;
        self.allocations[allocation].death_is_open = false;
        let mut found = Vec::new();
        let all = self.allocations[allocation].range.clone();
        if let Some((rule, first)) = self.life(allocation, death, all.start) {
            found.push(expected(rule, first, death, all));
        }
        let mut reported: Vec<NodeNumber> = Vec::new();
        for earlier in self.executed.iter().rev() {
            let own = |(byte, _, owner): &(u64, Touch, Option<usize>)| {
                (*owner == Some(allocation)).then_some((*byte, *owner))
            };
            let bytes: Vec<_> = earlier.bytes.iter().filter_map(own).collect();
            if !bytes.is_empty() && self.is_reported(earlier.node, death, &mut reported) {
                found.push(expected(
                    OrderRule::FreedWithoutOrder,
                    earlier.node,
                    death,
                    lowest(&bytes),
                ));
            }
        }
        self.allocations[allocation].death = Some(death);
        found
    }

    /// The operation `node`, submitted after `called` calls, is executed.
    pub fn accessed(
        &mut self,
        node: NodeNumber,
        called: usize,
        accesses: &Accesses,
    ) -> Vec<Expected> {
        let bytes = self.touched(called, accesses);
        let (mut found, mut reported) = (Vec::new(), Vec::new());
        for earlier in self.executed.iter().rev() {
            let common = common(earlier, &bytes);
            if !common.is_empty() && self.is_reported(earlier.node, node, &mut reported) {
                found.push(expected(
                    OrderRule::Race,
                    earlier.node,
                    node,
                    lowest(&common),
                ));
            }
        }
        for (at, (byte, _, owner)) in bytes.iter().enumerate() {
            let Some(owner) = *owner else { continue };
            if let Some((rule, first)) = self.life(owner, node, *byte) {
                let same = |(byte, _, other): &(u64, Touch, Option<usize>)| (*byte, *other);
                let rest: Vec<_> = bytes[at..].iter().map(same).collect();
                found.push(expected(rule, first, node, lowest(&rest)));
                break;
            }
        }
        self.executed.push(Executed { node, bytes });
        found
    }

    /// Whether an earlier access that conflicts with that of `later` has to be reported: it is not ordered before, and no
    /// conflicting access after it was reported already.
    fn is_reported(
        &self,
        earlier: NodeNumber,
        later: NodeNumber,
        reported: &mut Vec<NodeNumber>,
    ) -> bool {
        let covered = |other: &NodeNumber| self.is_before(earlier, *other);
        let is_reported = !self.is_before(earlier, later) && !reported.iter().any(covered);
        if is_reported {
            reported.push(earlier);
        }
        is_reported
    }

    fn touched(&self, called: usize, accesses: &Accesses) -> Vec<(u64, Touch, Option<usize>)> {
        let of = |byte: u64| Touch {
            read: accesses.reads.iter().any(|range| range.contains(&byte)),
            write: accesses.writes.iter().any(|range| range.contains(&byte)),
            atomic: accesses.atomics.iter().any(|range| range.contains(&byte)),
        };
        let parts = [&accesses.reads, &accesses.writes, &accesses.atomics];
        let all: BTreeSet<u64> = parts
            .into_iter()
            .flat_map(|part| part.iter().flatten())
            .collect();
        all.into_iter()
            .map(|byte| (byte, of(byte), self.owner(byte, called)))
            .collect()
    }

    fn owner(&self, byte: u64, called: usize) -> Option<usize> {
        (0..self.allocations.len()).rev().find(|index| {
            self.allocations[*index].has(byte) && self.allocations[*index].since < called
        })
    }

    /// The error in a use of the allocation, if there is one.
    fn life(
        &self,
        allocation: usize,
        user: NodeNumber,
        byte: u64,
    ) -> Option<(OrderRule, NodeNumber)> {
        let own = &self.allocations[allocation];
        if let Some(birth) = own.birth
            && !self.is_before(birth, user)
        {
            return Some((OrderRule::UsedBeforeAllocation, birth));
        }
        let death = own.death?;
        if self.is_before(death, user) {
            return Some((OrderRule::UsedAfterFree, death));
        }
        if own.death_is_open || self.is_before(user, death) {
            return None;
        }
        let reused = self.allocations[allocation + 1..]
            .iter()
            .any(|newer| newer.has(byte));
        let rule = if reused {
            OrderRule::Reused
        } else {
            OrderRule::FreedWithoutOrder
        };
        Some((rule, death))
    }
}

impl Allocation {
    fn has(&self, byte: u64) -> bool {
        self.range.contains(&byte) && !self.gone.contains(&byte)
    }
}

fn expected(rule: OrderRule, first: NodeNumber, second: NodeNumber, bytes: Range<u64>) -> Expected {
    Expected {
        rule,
        first,
        second,
        bytes,
    }
}

/// The bytes at which both conflict.
fn common(earlier: &Executed, later: &[(u64, Touch, Option<usize>)]) -> Vec<(u64, Option<usize>)> {
    let mut common = Vec::new();
    for (byte, touch, owner) in later {
        for (other, was, previous) in &earlier.bytes {
            let writes = touch.write || was.write;
            let mixed = (touch.atomic && was.read) || (touch.read && was.atomic);
            if byte == other && owner == previous && (writes || mixed) {
                common.push((*byte, *owner));
            }
        }
    }
    common
}

/// The first bytes that follow each other in one allocation.
fn lowest(bytes: &[(u64, Option<usize>)]) -> Range<u64> {
    let (start, owner) = bytes[0];
    let following = bytes
        .iter()
        .zip(start..)
        .take_while(|((byte, of), expected)| byte == expected && *of == owner);
    start..start + following.count() as u64
}

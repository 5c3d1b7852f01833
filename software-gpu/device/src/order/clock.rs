//! Vector clocks (Fidge, 1988; Mattern, 1989).
//!
//! A [`Clock`] has one position per chain: the last step of the chain that happens before the clock's owner. A step happens
//! before the owner exactly if the clock's position of its chain is at least the step's. [`Epoch`] is one step, as in FastTrack
//! (Flanagan and Freund, PLDI 2009): a comparison with it reads one position.
//!
//! A clock is a tree whose nodes are shared between clocks. A copy therefore costs one reference count, and a join visits only
//! the nodes in which the clocks differ: a program with many streams costs as much per operation as one with few.
//!
//! | node | content | chains below it |
//! |---|---|---|
//! | leaf, height 0 | 16 positions | 16 |
//! | branch, height h | 16 children of height h - 1, or none | 16 to the power of h + 1 |
//!
//! A missing child stands for positions 0.

use std::sync::Arc;

use super::visited;

/// Children of a node, and positions of a leaf.
const WIDTH: usize = 16;

/// One step of one chain: `chain`'s steps are totally ordered, and `position` counts them from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Epoch {
    pub(super) chain: usize,
    pub(super) position: u64,
}

/// How much of each chain came before. Chains that are not in the tree are at 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    root: Option<Arc<ClockNode>>,
    /// How many levels of branches are above the leaves.
    height: u32,
}

#[derive(Clone, Debug)]
enum ClockNode {
    Leaf([u64; WIDTH]),
    Branch([Option<Arc<ClockNode>>; WIDTH]),
}

/// The result of joining or meeting two nodes.
enum Result {
    Own,
    Other,
    New(ClockNode),
}

impl Clock {
    /// The last step of `chain` that came before, or 0.
    pub(super) fn of(&self, chain: usize) -> u64 {
        // A chain beyond the tree has no step in this clock.
        if chain >= reach(self.height) {
            return 0;
        }
        let mut node = self.root.as_deref();
        let mut height = self.height;
        loop {
            match node {
                None => return 0,
                Some(ClockNode::Leaf(positions)) => return positions[chain % WIDTH],
                Some(ClockNode::Branch(children)) => {
                    height -= 1;
                    node = children[chain / reach(height) % WIDTH].as_deref();
                }
            }
        }
    }

    /// Whether this step came before, or is this clock's own.
    pub(super) fn knows(&self, epoch: Epoch) -> bool {
        self.of(epoch.chain) >= epoch.position
    }

    /// Whether it includes the other one.
    pub(super) fn knows_all(&self, other: &Self) -> bool {
        // A join that adds nothing leaves every node shared, so a comparison of two pointers decides.
        let mut both = self.clone();
        both.join(other);
        both.is_same(self)
    }

    /// Whether it is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether it is the other one or a copy of it, and hence equal. Other clocks may be equal as well.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (None, None) => true,
            (Some(own), Some(root)) => self.height == other.height && Arc::ptr_eq(own, root),
            _ => false,
        }
    }

    /// The join: the maximum of each position.
    pub(super) fn join(&mut self, other: &Self) {
        let Some(root) = &other.root else { return };
        if self.root.is_none() {
            *self = other.clone();
            return;
        }
        if self.height < other.height {
            self.grow(other.height);
        }
        let mut other_root = Arc::clone(root);
        // Both roots need one height before their nodes can be compared.
        for _ in other.height..self.height {
            other_root = Arc::new(ClockNode::above(other_root));
        }
        if let Some(own) = &mut self.root {
            join(own, &other_root);
        }
    }

    /// As [`join`](Self::join), if this clock has joined those `before` already: costs as much as `other` differs from them.
    pub(super) fn join_since<const N: usize>(&mut self, other: &Self, before: [&Self; N]) {
        let Some(root) = &other.root else { return };
        // Nodes can be shared only at equal places, and hence only between trees of one height.
        let known = before.map(|before| match before.height == other.height {
            true => before.root.as_ref(),
            false => None,
        });
        if self.root.is_none() || known.iter().all(Option::is_none) {
            return self.join(other);
        }
        let mut news = Vec::new();
        ClockNode::news(root, known, other.height, 0, &mut news);
        news.into_iter().for_each(|step| self.learn(step));
    }

    /// The meet: the minimum of each position.
    pub(super) fn meet(&mut self, other: &Self) {
        let (Some(own), Some(root)) = (&self.root, &other.root) else {
            self.root = None;
            return;
        };
        // Chains beyond the lower tree are missing in one of the two clocks: their minimum is 0.
        let height = self.height.min(other.height);
        let own = own.first_at(self.height - height);
        let root = root.first_at(other.height - height);
        self.height = height;
        self.root = match (own, root) {
            (Some(own), Some(root)) => Some(meet(own, root)),
            _ => None,
        };
    }

    /// Adds a step.
    pub(super) fn learn(&mut self, epoch: Epoch) {
        if self.of(epoch.chain) < epoch.position {
            *self.position(epoch.chain) = epoch.position;
        }
    }

    /// The clock directly before a step that it includes and that was the last of its chain.
    pub(super) fn before(&self, epoch: Epoch) -> Self {
        let mut clock = self.clone();
        if clock.knows(epoch) {
            *clock.position(epoch.chain) = epoch.position - 1;
        }
        clock
    }

    /// The last step of each chain.
    pub(super) fn steps(&self) -> Vec<Epoch> {
        let mut steps = Vec::new();
        if let Some(root) = &self.root {
            ClockNode::news(root, [], self.height, 0, &mut steps);
        }
        steps
    }

    fn grow(&mut self, height: u32) {
        while self.height < height {
            self.root = self
                .root
                .take()
                .map(|root| Arc::new(ClockNode::above(root)));
            self.height += 1;
        }
    }

    fn position(&mut self, chain: usize) -> &mut u64 {
        while chain >= reach(self.height) {
            self.grow(self.height + 1);
        }
        let mut height = self.height;
        let mut slot = &mut self.root;
        loop {
            let node = slot.get_or_insert_with(|| Arc::new(ClockNode::empty(height)));
            // Copy on write: a node that other clocks share is cloned on the path to the position, and only there.
            match Arc::make_mut(node) {
                ClockNode::Leaf(positions) => return &mut positions[chain % WIDTH],
                ClockNode::Branch(children) => {
                    height -= 1;
                    slot = &mut children[chain / reach(height) % WIDTH];
                }
            }
        }
    }
}

impl PartialEq for Clock {
    fn eq(&self, other: &Self) -> bool {
        self.steps() == other.steps()
    }
}

/// The number of chains that a tree of this height holds.
fn reach(height: u32) -> usize {
    WIDTH.saturating_pow(height + 1)
}

impl ClockNode {
    fn empty(height: u32) -> Self {
        match height {
            0 => Self::Leaf([0; WIDTH]),
            _ => Self::Branch(Default::default()),
        }
    }

    /// A branch whose first child is `node`.
    fn above(node: Arc<Self>) -> Self {
        let mut children: [Option<Arc<Self>>; WIDTH] = Default::default();
        children[0] = Some(node);
        Self::Branch(children)
    }

    /// The node `levels` levels below that has the lowest chains.
    fn first_at(self: &Arc<Self>, levels: u32) -> Option<&Arc<Self>> {
        let mut node = self;
        for _ in 0..levels {
            let Self::Branch(children) = &**node else {
                return None;
            };
            node = children[0].as_ref()?;
        }
        Some(node)
    }

    fn child(&self, index: usize) -> Option<&Arc<Self>> {
        match self {
            Self::Leaf(_) => None,
            Self::Branch(children) => children[index].as_ref(),
        }
    }

    fn position(&self, index: usize) -> u64 {
        match self {
            Self::Leaf(positions) => positions[index],
            Self::Branch(_) => 0,
        }
    }

    /// The steps of `node` that are in none of the `known` ones. Skips nodes that it shares with them.
    fn news<const N: usize>(
        node: &Arc<Self>,
        known: [Option<&Arc<Self>>; N],
        height: u32,
        first: usize,
        news: &mut Vec<Epoch>,
    ) {
        if known.iter().flatten().any(|known| Arc::ptr_eq(node, known)) {
            return;
        }
        visited::node();
        match &**node {
            Self::Leaf(positions) => {
                let all = positions.iter().enumerate().map(|(index, position)| {
                    let known = known.iter().flatten().map(|known| known.position(index));
                    (first + index, *position, known.max().unwrap_or(0))
                });
                let grown = all.filter(|(_, position, known)| position > known);
                news.extend(grown.map(|(chain, position, _)| Epoch { chain, position }));
            }
            Self::Branch(children) => {
                for (index, child) in children.iter().enumerate() {
                    if let Some(child) = child {
                        let known = known.map(|known| known?.child(index));
                        let first = first + index * reach(height - 1);
                        Self::news(child, known, height - 1, first, news);
                    }
                }
            }
        }
    }
}

/// Joins nodes of one height into the first one, which is shared with the other where the other includes it.
fn join(own: &mut Arc<ClockNode>, other: &Arc<ClockNode>) {
    if Arc::ptr_eq(own, other) {
        return;
    }
    // No other clock shares the leaf, so it is changed in place without an allocation.
    if let (Some(ClockNode::Leaf(mine)), ClockNode::Leaf(theirs)) = (Arc::get_mut(own), &**other) {
        visited::node();
        mine.iter_mut()
            .zip(theirs)
            .for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        return;
    }
    match joined(own, other) {
        Result::Own => {}
        Result::Other => *own = Arc::clone(other),
        Result::New(node) => *own = Arc::new(node),
    }
}

fn joined(own: &Arc<ClockNode>, other: &Arc<ClockNode>) -> Result {
    if Arc::ptr_eq(own, other) {
        return Result::Own;
    }
    visited::node();
    match (&**own, &**other) {
        (ClockNode::Leaf(mine), ClockNode::Leaf(theirs)) => leaves(mine, theirs, u64::max),
        (ClockNode::Branch(mine), ClockNode::Branch(theirs)) => {
            branches(mine, theirs, |mine, theirs| match (mine, theirs) {
                (_, None) => Result::Own,
                (None, Some(_)) => Result::Other,
                (Some(mine), Some(theirs)) => joined(mine, theirs),
            })
        }
        _ => Result::Own,
    }
}

fn meet(own: &Arc<ClockNode>, other: &Arc<ClockNode>) -> Arc<ClockNode> {
    match met(own, other) {
        Result::Own => Arc::clone(own),
        Result::Other => Arc::clone(other),
        Result::New(node) => Arc::new(node),
    }
}

fn met(own: &Arc<ClockNode>, other: &Arc<ClockNode>) -> Result {
    if Arc::ptr_eq(own, other) {
        return Result::Own;
    }
    match (&**own, &**other) {
        (ClockNode::Leaf(mine), ClockNode::Leaf(theirs)) => leaves(mine, theirs, u64::min),
        (ClockNode::Branch(mine), ClockNode::Branch(theirs)) => {
            branches(mine, theirs, |mine, theirs| match (mine, theirs) {
                (None, _) => Result::Own,
                (Some(_), None) => Result::Other,
                (Some(mine), Some(theirs)) => met(mine, theirs),
            })
        }
        _ => Result::Own,
    }
}

fn leaves(mine: &[u64; WIDTH], theirs: &[u64; WIDTH], best: impl Fn(u64, u64) -> u64) -> Result {
    let both: [u64; WIDTH] = std::array::from_fn(|index| best(mine[index], theirs[index]));
    if both == *mine {
        Result::Own
    } else if both == *theirs {
        Result::Other
    } else {
        Result::New(ClockNode::Leaf(both))
    }
}

type Children = [Option<Arc<ClockNode>>; WIDTH];

fn branches(
    mine: &Children,
    theirs: &Children,
    each: impl Fn(&Option<Arc<ClockNode>>, &Option<Arc<ClockNode>>) -> Result,
) -> Result {
    let same = |index: usize| match (&mine[index], &theirs[index]) {
        (None, None) => true,
        (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
        _ => false,
    };
    let (mut all_mine, mut all_theirs) = (true, true);
    let children: Children = std::array::from_fn(|index| {
        if same(index) {
            return mine[index].clone();
        }
        match each(&mine[index], &theirs[index]) {
            Result::Own => {
                all_theirs = false;
                mine[index].clone()
            }
            Result::Other => {
                all_mine = false;
                theirs[index].clone()
            }
            Result::New(node) => {
                (all_mine, all_theirs) = (false, false);
                Some(Arc::new(node))
            }
        }
    });
    if all_mine {
        Result::Own
    } else if all_theirs {
        Result::Other
    } else {
        Result::New(ClockNode::Branch(children))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(steps: &[(usize, u64)]) -> Clock {
        let mut clock = Clock::default();
        for (chain, position) in steps {
            clock.learn(epoch(*chain, *position));
        }
        clock
    }

    fn epoch(chain: usize, position: u64) -> Epoch {
        Epoch { chain, position }
    }

    #[test]
    fn a_join_includes_both_clocks_and_a_meet_their_common_steps() {
        let (a, b) = (clock(&[(0, 3), (1, 1)]), clock(&[(0, 2), (1, 4), (2, 5)]));
        let (mut join, mut meet) = (a.clone(), a);
        join.join(&b);
        meet.meet(&b);
        assert_eq!(join, clock(&[(0, 3), (1, 4), (2, 5)]));
        assert_eq!(meet, clock(&[(0, 2), (1, 1)]));
    }

    #[test]
    fn a_step_is_known_with_all_before_it() {
        let mut clock = Clock::default();
        clock.learn(epoch(2, 7));
        assert!(clock.knows(epoch(2, 7)) && clock.knows(epoch(2, 6)));
        assert!(
            !clock.knows(epoch(2, 8)) && !clock.knows(epoch(0, 1)) && !clock.knows(epoch(9, 1))
        );
        clock.learn(epoch(2, 3));
        assert_eq!(clock.of(2), 7);
        assert_eq!((clock.before(epoch(2, 7)).of(2), clock.of(2)), (6, 7));
    }

    /// The tree behaves as an array of positions does, for all sizes of the two clocks.
    #[test]
    fn trees_do_what_arrays_do() {
        const CHAINS: [usize; 8] = [0, 1, 15, 16, 255, 256, 4095, 70_000];
        let mut numbers = fastrand::Rng::with_seed(1);
        let mut random = |bound: u64| numbers.u64(..bound);
        let mut clocks = vec![(Clock::default(), [0_u64; 8]); 6];
        for _ in 0..20_000 {
            let (at, from) = (random(6) as usize, random(6) as usize);
            let (other, others) = clocks[from].clone();
            let (clock, positions) = &mut clocks[at];
            let theirs = positions.iter_mut().zip(others);
            match random(9) {
                8 => {
                    // What the other clock is now, and then what it has become.
                    let mut grown = other.clone();
                    clock.join(&other);
                    grown.learn(epoch(CHAINS[at], 7));
                    clock.join_since(&grown, [&Clock::default(), &other]);
                    theirs.for_each(|(own, other)| *own = (*own).max(other));
                    positions[at] = positions[at].max(7);
                }
                0 => {
                    clock.meet(&other);
                    theirs.for_each(|(own, other)| *own = (*own).min(other));
                }
                1..4 => {
                    clock.join(&other);
                    theirs.for_each(|(own, other)| *own = (*own).max(other));
                }
                4 => (*clock, *positions) = (other, others),
                _ => {
                    let (index, position) = (random(8) as usize, 1 + random(9));
                    clock.learn(epoch(CHAINS[index], position));
                    positions[index] = positions[index].max(position);
                }
            }
            let (clock, positions) = &clocks[at];
            assert_eq!(CHAINS.map(|chain| clock.of(chain)), *positions);
            let known = CHAINS.iter().zip(positions).filter(|(_, own)| **own > 0);
            let known: Vec<_> = known.map(|(chain, own)| epoch(*chain, *own)).collect();
            assert_eq!(clock.steps(), known);
        }
    }

    #[test]
    fn equal_parts_are_shared() {
        let many: Vec<(usize, u64)> = (0..1000).map(|chain| (chain, 1)).collect();
        let (all, mut later) = (clock(&many), clock(&many[..3]));
        later.join(&all);
        let same = |a: &Clock, b: &Clock| match (&a.root, &b.root) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        assert!(same(&later, &all));
        let mut own = all.clone();
        own.join(&clock(&many[5..9]));
        assert!(same(&own, &all));
    }
}

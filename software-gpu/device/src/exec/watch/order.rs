//! Happens-before among the accesses of a block's threads.
//!
//! The algorithm is that of vector clocks, per warp (FastTrack, Flanagan and Freund, PLDI 2009, keeps an epoch where a
//! whole clock is not needed; [`Moment`] is such an epoch). Which instructions synchronise is PTX's memory consistency
//! model (PTX ISA, "Memory Consistency Model").
//!
//! Each warp counts its *stretches*: the time between two points at which it may have released its accesses to others. An access belongs
//! to its warp's current stretch, and happens before the next access of a thread if the clock of the thread's warp includes that
//! stretch.
//!
//! - A block barrier: everything before an arrival happens before everything after a wait.
//! - A warp barrier, and any warp-wide instruction with `.sync`, orders its lanes among themselves. Without one, the lanes
//!   of a warp are not ordered by the text of the program: from sm_70 on, they run independently.
//! - A strong store or an atomic that releases, or follows a fence, happens before an acquire from the same address.
//! - An arrival at an mbarrier object, or an asynchronous copy that completes on it, happens before a wait that finds a phase
//!   of it complete. Phases are not distinguished: a wait for an early phase may acquire too much.
//! - Clocks of other blocks that arrive at one of this block's objects are not kept: those blocks may have acquired
//!   anything that this block has done, so a thread that finds the phase complete knows all of it.
//!
//! An asynchronous instruction, such as `wgmma`, accesses memory between its start and the wait for it. Its accesses are checked at the
//! wait, but with the clock of the start: a store between the two is a race, even if the warp has acquired it since.
//!
//! When all warps of a block wait at one barrier, every clock includes every earlier access: an *era* ends. Accesses of an earlier era
//! cannot race any more, unless a warp returns to an earlier clock for an asynchronous instruction.
//!
//! Clocks are kept per warp, not per thread: when only some lanes of a warp pass a barrier, the clock of the others grows, too. So a race
//! may be missed, but no false one is reported.

use std::collections::BTreeMap;

use super::super::block::BARRIERS;
use super::super::context::Lanes;
use super::super::warp_handlers::LANES;

/// The most warps that a block has.
const WARPS: usize = 1024 / LANES;

/// The last stretch known of each warp.
type Clock = [u32; WARPS];

/// See the [module documentation](self).
#[derive(Default)]
pub(super) struct WarpClocks {
    /// Each warp's current stretch. They continue from block to block: what an earlier block did is known to all.
    stretch: Clock,
    /// By warp: its clock. Its own position is the last stretch whose accesses are ordered before those of all its lanes.
    known: Vec<Clock>,
    /// By warp: clocks of single lanes, kept after a barrier of only some lanes; by lane, then by earlier lane.
    pairs: Vec<Option<Box<[[u32; LANES]; LANES]>>>,
    barriers: [Option<Box<Barrier>>; BARRIERS],
    /// Clocks released at addresses of shared memory.
    told: BTreeMap<u32, Clock>,
    /// By warp: its clock at its last fence, and the clocks that its next fence acquires.
    fenced: Vec<Option<Clock>>,
    heard: Vec<Option<Clock>>,
    era: u64,
    /// The place in clocks of the other blocks of the cluster, all together as if they were one more warp, where their accesses to
    /// this block's shared memory are looked at.
    others: Option<usize>,
    /// A later acquire may refer to an earlier clock of a warp of this block.
    remembered: bool,
}

/// The joined clocks of the threads that have arrived at a block barrier.
#[derive(Default)]
struct Barrier {
    clock: Clock,
    /// By warp: the lanes that have arrived, and which of these wait.
    arrived: [u32; WARPS],
    waiting: [u32; WARPS],
    /// By warp: at its last arrival all lanes that had not exited waited. It has done nothing since.
    whole: [bool; WARPS],
}

/// A warp's clock.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct Knowledge(Clock);

/// The time of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub warp: u8,
    pub lane: u8,
    pub stretch: u32,
}

/// A warp's clock for its accesses at one time.
pub(super) struct View<'o> {
    warp: u8,
    stretch: u32,
    known: &'o Clock,
    pairs: Option<&'o [[u32; LANES]; LANES]>,
}

impl View<'_> {
    /// Now, for a lane of the warp.
    #[inline(always)]
    pub fn now(&self, lane: usize) -> Moment {
        Moment {
            warp: self.warp,
            lane: lane as u8,
            stretch: self.stretch,
        }
    }

    /// Whether `earlier` happens before the next access of every lane.
    #[inline(always)]
    pub fn knows_all(&self, earlier: Moment) -> bool {
        earlier.stretch <= self.known[usize::from(earlier.warp) % WARPS]
    }

    /// Whether [`knows_all`](Self::knows_all) is exact for lanes of the warp, too.
    #[inline(always)]
    pub fn knows_all_lanes_equally(&self) -> bool {
        self.pairs.is_none()
    }

    /// Whether `earlier` happens before `now`, an access of its lane.
    #[inline(always)]
    pub fn is_before(&self, earlier: Moment, now: Moment) -> bool {
        self.knows_all(earlier)
            || earlier.warp == self.warp
                && (earlier.lane == now.lane
                    || self.pairs.is_some_and(|pairs| {
                        earlier.stretch <= pairs[usize::from(now.lane)][usize::from(earlier.lane)]
                    }))
    }
}

impl WarpClocks {
    /// A block of that many warps begins.
    pub fn start(&mut self, warps: usize) {
        self.others = None;
        self.begin(warps);
    }

    /// The same where other blocks of the cluster access its shared memory too. It has less than [`WARPS`] warps.
    pub fn start_with_others(&mut self, warps: usize) {
        self.others = Some(warps);
        self.begin(warps + 1);
    }

    /// The number of the warp that stands for all other blocks of the cluster.
    pub fn others(&self) -> Option<u32> {
        self.others.map(|warp| warp as u32)
    }

    /// The other blocks acquire all accesses of this block.
    pub fn others_hear(&mut self) {
        if let Some(others) = self.others {
            self.hear_all(others as u32);
        }
    }

    /// A warp acquires all accesses of the other blocks.
    pub fn hear_others(&mut self, warp: u32) {
        if let Some(others) = self.others {
            self.known[warp as usize][others] = self.stretch[others];
            self.stretch[others] += 1;
        }
    }

    fn begin(&mut self, warps: usize) {
        // All stretches of earlier blocks are below `next`, and every clock starts at `next - 1`: it includes them all.
        let next = self.stretch.iter().max().map_or(1, |last| last + 1);
        self.stretch = [next; WARPS];
        self.known.clear();
        self.known.resize(warps, [next - 1; WARPS]);
        self.pairs.clear();
        self.pairs.resize(warps, None);
        let barriers = self.barriers.iter_mut().flatten();
        barriers.for_each(|barrier| **barrier = Barrier::default());
        self.told.clear();
        self.fenced.clear();
        self.fenced.resize(warps, None);
        self.heard.clear();
        self.heard.resize(warps, None);
        self.remembered = false;
        self.end_era();
    }

    /// The number of the era: all accesses of earlier ones come before any access of this one.
    #[inline(always)]
    pub fn era(&self) -> u64 {
        self.era
    }

    fn end_era(&mut self) {
        // A remembered clock is older than the barrier, so accesses from before it can still race with those of its owner.
        self.era += u64::from(!self.remembered);
    }

    /// A warp's view of earlier accesses.
    #[inline(always)]
    pub fn view(&self, warp: u32) -> View<'_> {
        let index = warp as usize;
        View {
            warp: warp as u8,
            stretch: self.stretch[index],
            known: &self.known[index],
            pairs: self.pairs[index].as_deref(),
        }
    }

    /// A copy of a warp's clock, to be used later.
    pub fn knowledge(&mut self, warp: u32) -> Knowledge {
        self.remembered = true;
        Knowledge(self.known[warp as usize])
    }

    /// Exchanges a warp's clock with an earlier one, and back again.
    pub fn exchange(&mut self, warp: u32, knowledge: &mut Knowledge) {
        std::mem::swap(&mut self.known[warp as usize], &mut knowledge.0);
    }

    /// Lanes of a warp have synchronised at a warp barrier; `alive` are all that have not exited.
    pub fn warp_barrier(&mut self, warp: u32, lanes: u32, alive: u32) {
        let until = self.stretch[warp as usize];
        self.meet(warp as usize, lanes, alive, until);
        self.stretch[warp as usize] += 1;
    }

    fn meet(&mut self, warp: usize, lanes: u32, alive: u32, until: u32) {
        if alive & !lanes == 0 {
            // All lanes took part: one number says the same as 32 by 32 pairs.
            let own = &mut self.known[warp][warp];
            *own = until.max(*own);
            return;
        }
        let pairs = self.pairs[warp].get_or_insert_with(|| Box::new([[0; LANES]; LANES]));
        for lane in Lanes(lanes) {
            for other in Lanes(lanes) {
                pairs[lane][other] = pairs[lane][other].max(until);
            }
        }
    }

    /// Lanes of a warp have arrived at a block barrier; `alive` are all that have not exited.
    pub fn arrive(&mut self, warp: u32, id: u32, lanes: u32, waits: bool, alive: u32) {
        let warp = warp as usize;
        let told = self.told_now(warp);
        let barrier = self.barriers[id as usize].get_or_insert_default();
        join(&mut barrier.clock, &told);
        barrier.arrived[warp] |= lanes;
        if waits {
            barrier.waiting[warp] |= lanes;
        }
        barrier.whole[warp] = alive & !barrier.waiting[warp] == 0;
    }

    /// A block barrier is complete; `alive` gives the lanes of a warp that have not exited.
    pub fn complete(&mut self, id: u32, alive: impl Fn(usize) -> u32) {
        let Some(mut barrier) = self.barriers[id as usize].take() else {
            return;
        };
        for (warp, waiting) in barrier.waiting.iter().enumerate() {
            if *waiting != 0 {
                // The order among the lanes is set below.
                let own = self.known[warp][warp];
                join(&mut self.known[warp], &barrier.clock);
                self.known[warp][warp] = own;
                let arrived = barrier.arrived[warp];
                self.meet(warp, arrived, alive(warp), barrier.clock[warp]);
            }
        }
        let all_known = (0..self.known.len()).all(|warp| {
            // The arrival has ended a stretch. Lanes that did not wait may have stored in the next one, and exited.
            self.stretch[warp] <= barrier.clock[warp] + u32::from(barrier.whole[warp])
        });
        // Other blocks may not have acquired what all warps of this block have.
        if all_known && self.others.is_none() {
            self.end_era();
        }
        // The next threads to arrive here use it again.
        *barrier = Barrier::default();
        self.barriers[id as usize] = Some(barrier);
    }

    /// All threads of the block, and of its cluster, have synchronised.
    pub fn all_met(&mut self) {
        self.known.fill(self.stretch);
        self.stretch.iter_mut().for_each(|stretch| *stretch += 1);
        self.end_era();
    }

    /// `fence`: later strong stores release all earlier accesses, and clocks read by earlier strong loads are acquired.
    pub fn fence(&mut self, warp: u32) {
        let warp = warp as usize;
        if let Some(heard) = self.heard[warp].take() {
            join(&mut self.known[warp], &heard);
        }
        self.fenced[warp] = Some(self.told_now(warp));
    }

    /// A strong store or an atomic at an address of shared memory.
    pub fn tell(&mut self, warp: u32, address: u32, releases: bool) {
        let warp = warp as usize;
        // PTX: a release pattern is a release, or a fence followed by a strong write ("Release and Acquire Patterns").
        let now = match releases {
            true => Some(self.told_now(warp)),
            false => self.fenced[warp],
        };
        let Some(now) = now else { return };
        match self.told.get_mut(&address) {
            // A later release at the same address keeps the earlier clocks, because an acquire may observe either value. It may thus
            // acquire too much, which misses races and reports no false ones.
            Some(told) => join(told, &now),
            None => {
                self.told.insert(address, now);
            }
        }
    }

    /// A strong load or an atomic at an address of shared memory.
    pub fn hear(&mut self, warp: u32, address: u32, acquires: bool) {
        let warp = warp as usize;
        let Some(told) = self.told.get(&address) else {
            return;
        };
        // PTX: an acquire pattern is an acquire, or a strong read followed by a fence. The latter waits in `heard` for its fence.
        if acquires {
            join(&mut self.known[warp], told);
        } else {
            match &mut self.heard[warp] {
                Some(heard) => join(heard, told),
                none => *none = Some(*told),
            }
        }
    }

    /// A warp acquires from other blocks, which may have acquired all accesses of this block.
    pub fn hear_all(&mut self, warp: u32) {
        join(&mut self.known[warp as usize], &self.stretch);
        self.stretch.iter_mut().for_each(|stretch| *stretch += 1);
    }

    /// A warp's clock including its own accesses, for a release; ends its stretch.
    fn told_now(&mut self, warp: usize) -> Clock {
        let mut clock = self.known[warp];
        // A release covers the accesses of the current stretch, and later ones belong to the next stretch.
        clock[warp] = self.stretch[warp];
        self.stretch[warp] += 1;
        clock
    }
}

fn join(into: &mut Clock, other: &Clock) {
    into.iter_mut()
        .zip(other.iter())
        .for_each(|(into, other)| *into = (*into).max(*other));
}

#[cfg(test)]
mod tests {
    use super::*;

    impl WarpClocks {
        fn now(&self, warp: u32, lane: usize) -> Moment {
            self.view(warp).now(lane)
        }

        fn is_before(&self, earlier: Moment, now: Moment) -> bool {
            self.view(now.warp.into()).is_before(earlier, now)
        }
    }

    fn order() -> WarpClocks {
        let mut order = WarpClocks::default();
        order.start(3);
        order
    }

    #[test]
    fn an_era_continues_if_lanes_may_have_stored_after_their_warp_arrived() {
        let ends = |alive_then: u32| {
            let mut order = WarpClocks::default();
            order.start(2);
            let era = order.era();
            order.arrive(0, 0, 0xffff, true, alive_then);
            order.arrive(1, 0, !0, true, !0);
            // The other half of the first warp has exited by now.
            order.complete(0, |warp| if warp == 0 { 0xffff } else { !0 });
            order.era() > era
        };
        assert!(ends(0xffff));
        assert!(!ends(!0));
    }

    #[test]
    fn a_block_barrier_orders_those_who_took_part() {
        let mut order = order();
        let (a, c) = (order.now(0, 5), order.now(2, 5));
        order.arrive(0, 1, !0, false, !0);
        order.arrive(1, 1, !0, true, !0);
        let late = order.now(0, 5);
        order.complete(1, |_| !0);
        let b = order.now(1, 3);
        assert!(order.is_before(a, b));
        assert!(!order.is_before(late, b));
        assert!(!order.is_before(c, b));
        assert!(!order.is_before(b, order.now(0, 5)));
    }

    #[test]
    fn a_block_barrier_of_some_lanes_tells_no_others() {
        let mut order = order();
        let (first, second) = (order.now(0, 0), order.now(0, 1));
        order.arrive(0, 1, 0b1, true, !0);
        order.arrive(1, 1, !0, true, !0);
        order.complete(1, |_| !0);
        assert!(order.is_before(first, order.now(1, 0)));
        assert!(!order.is_before(second, order.now(0, 0)));
        assert!(!order.is_before(first, order.now(0, 1)));
        assert!(order.is_before(order.now(0, 1), order.now(0, 1)));
    }

    #[test]
    fn lanes_are_ordered_by_warp_barriers_only() {
        let mut order = order();
        let before = order.now(0, 1);
        assert!(order.is_before(before, order.now(0, 1)));
        assert!(!order.is_before(before, order.now(0, 2)));
        order.warp_barrier(0, 0b110, !0);
        assert!(order.is_before(before, order.now(0, 2)));
        assert!(!order.is_before(before, order.now(0, 3)));
        order.warp_barrier(0, !0, !0);
        assert!(order.is_before(before, order.now(0, 3)));
        assert!(!order.is_before(before, order.now(1, 3)));
    }

    #[test]
    fn flags_order_what_is_before_a_release_and_behind_an_acquire() {
        let mut order = order();
        let data = order.now(0, 0);
        order.tell(0, 64, false);
        order.hear(1, 64, true);
        assert!(
            !order.is_before(data, order.now(1, 0)),
            "relaxed, without a fence"
        );
        order.fence(0);
        let late = order.now(0, 0);
        order.tell(0, 64, false);
        order.hear(1, 64, false);
        assert!(
            !order.is_before(data, order.now(1, 0)),
            "no fence behind the load"
        );
        order.fence(1);
        assert!(order.is_before(data, order.now(1, 0)));
        assert!(!order.is_before(late, order.now(1, 0)));
        order.hear(2, 64, true);
        assert!(order.is_before(data, order.now(2, 0)));
    }

    #[test]
    fn earlier_blocks_happen_before_later_ones() {
        let mut order = order();
        let earlier = order.now(0, 0);
        order.start(2);
        assert!(order.is_before(earlier, order.now(1, 7)));
    }
}

//! The memory that the checker knows of: allocations with their lives and their [shadows](Shadow).
//!
//! Each allocation has a region of its own, although a later allocation may have the same addresses: operations that were submitted
//! before the later one still mean the earlier one ([`Owners`] decides). Addresses outside of every allocation belong to
//! [`RegionId::UNKNOWN`].
//!
//! Two checks are made for each access:
//!
//! 1. Life. The allocation must happen before the access, and the access before the free. Otherwise the access is [`Outside`].
//! 2. Races. An earlier access to the same bytes conflicts if at least one of the two writes and the earlier one does not happen before
//!    the later one (FastTrack; Flanagan and Freund, PLDI 2009). A free counts as a write to all bytes of the allocation.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::clock::Clock;
use super::description::Description;
use super::kinds::Kinds;
use super::owners::{Owned, Owners, RegionId};
use super::shadow::{Accessor, Entry, Shadow};
use super::site::Site;
use crate::memory::{Accesses, ByteRanges};

/// All memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    owners: Owners,
    regions: BTreeMap<RegionId, Region>,
    last: u64,
    /// Accesses to a range and allocations since the last time that useless history was dropped.
    growth: usize,
}

/// One allocation, or all memory outside of known allocations.
#[derive(Debug, Default)]
struct Region {
    shadow: Shadow,
    life: Option<Life>,
}

/// An allocation from its beginning to its end.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// Addresses.
    pub(super) range: Range<u64>,
    pub(super) description: Description,
    /// The operation that allocates; none for memory that is there when the call returns.
    pub(super) birth: Option<Arc<Site>>,
    /// The operation that frees.
    pub(super) death: Option<Death>,
    /// The free's clock is known only when it runs.
    death_is_open: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Death {
    pub(super) site: Arc<Site>,
    pub(super) clock: Clock,
}

/// At most this many conflicts with earlier accesses are reported of one access.
const REPORTED: usize = 16;

/// Two accesses without order, and the lowest bytes of both.
#[derive(Debug)]
pub(super) struct Conflict {
    pub(super) earlier: Entry,
    /// How the later one touches them.
    pub(super) kinds: Kinds,
    pub(super) bytes: Range<u64>,
    pub(super) life: Option<Life>,
}

/// An access outside of an allocation's life.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) how: How,
    pub(super) bytes: Range<u64>,
    pub(super) life: Life,
    /// The present owner of the bytes.
    pub(super) newer: Option<Life>,
}

/// How an access misses an allocation's life.
#[derive(Clone, Debug)]
pub(super) enum How {
    /// Nothing makes it wait for the allocation.
    BeforeBirth(Arc<Site>),
    /// It comes after the free.
    AfterDeath(Arc<Site>),
    /// The free does not wait for it, nor it for the free.
    DeathUnordered(Arc<Site>),
}

/// The earlier accesses found, by the number of their execution, and where they overlap.
#[derive(Default)]
struct Unordered(BTreeMap<u64, (Entry, Vec<Met>)>);

struct Met {
    bytes: Range<u64>,
    region: RegionId,
    theirs: Kinds,
    own: Kinds,
}

impl Memory {
    /// Bytes that exist when the call returns: their history begins anew.
    pub(super) fn allocated(&mut self, range: Range<u64>, called: u64, description: Description) {
        self.freed(range.clone());
        self.add(range, called, description, None);
    }

    /// Bytes that are not used any more.
    pub(super) fn freed(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let mut owners = self.owners.remove(range.clone());
        // Accesses may have reached these bytes while no allocation was known there.
        owners.push(RegionId::UNKNOWN);
        for owner in owners {
            if let Some(region) = self.regions.get_mut(&owner) {
                region.shadow.forget(range.clone());
            }
        }
    }

    /// Bytes that exist when the operation `birth` has run.
    pub(super) fn pool_allocated(
        &mut self,
        range: Range<u64>,
        called: u64,
        description: Description,
        birth: Arc<Site>,
    ) {
        self.add(range, called, description, Some(birth));
    }

    fn add(
        &mut self,
        range: Range<u64>,
        called: u64,
        description: Description,
        birth: Option<Arc<Site>>,
    ) {
        if range.is_empty() {
            return;
        }
        self.last += 1;
        self.growth += 1;
        let region = RegionId(self.last);
        self.owners.add(range.clone(), called, region);
        let life = Some(Life {
            range,
            description,
            birth,
            death: None,
            death_is_open: false,
        });
        let shadow = Shadow::default();
        self.regions.insert(region, Region { shadow, life });
    }

    /// The operation `death` frees the allocation at `start`: what has touched it and does not come before.
    pub(super) fn pool_freed(
        &mut self,
        start: u64,
        death: &Death,
    ) -> (Option<Outside>, Vec<Conflict>) {
        match self.owners.newest(start) {
            Some(region) => self.freed_by(region, death),
            None => (None, Vec::new()),
        }
    }

    /// The operation `death` will free the allocation at `start`; its clock is known when it runs.
    pub(super) fn pool_freed_later(&mut self, start: u64, death: &Death) -> Option<RegionId> {
        let id = self.owners.newest(start)?;
        let life = self.regions.get_mut(&id)?.life.as_mut()?;
        // The free's clock is incomplete until it runs. Until then an access without order is no finding: see `Life::misses`.
        life.death_is_open = life.death.is_none();
        life.death.get_or_insert_with(|| death.clone());
        Some(id)
    }

    /// Joins the clock of an allocation's free, which is known now. Returns the conflicts.
    pub(super) fn freed_by(
        &mut self,
        id: RegionId,
        death: &Death,
    ) -> (Option<Outside>, Vec<Conflict>) {
        let Some(region) = self.regions.get_mut(&id) else {
            return (None, Vec::new());
        };
        if let Some(life) = region.life.as_mut().filter(|life| life.death_is_open) {
            life.death_is_open = false;
            life.death = None;
        }
        let outside = region.life.as_ref().and_then(|life| {
            let how = life.misses(&death.site, &death.clock)?;
            Some(Outside {
                how,
                bytes: life.range.clone(),
                life: life.clone(),
                newer: None,
            })
        });
        let mut unordered = Unordered::default();
        region.shadow.unknown_to(&death.clock, |entry, bytes| {
            // A free conflicts with reads as well as with writes.
            unordered.add(entry, id, bytes, Kinds::WRITE);
        });
        if let Some(life) = &mut region.life {
            life.death.get_or_insert_with(|| death.clone());
        }
        (outside, unordered.conflicts(&self.regions))
    }

    /// Records accesses. Returns the first one outside of an allocation's life, and the conflicts that cover all others, the latest
    /// first.
    pub(super) fn accessed(
        &mut self,
        accesses: &Accesses,
        by: Accessor<'_>,
    ) -> (Option<Outside>, Vec<Conflict>) {
        let mut outside: Option<(Owned, How)> = None;
        let mut unordered = Unordered::default();
        let all = [
            (&accesses.writes, Kinds::WRITE),
            (&accesses.reads, Kinds::READ),
            (&accesses.atomics, Kinds::ATOMIC),
        ];
        for (ranges, kinds) in all {
            self.touch(ranges, kinds, by, &mut outside, &mut unordered);
        }
        let outside =
            outside.and_then(|(owned, how)| self.outside(owned, how, accesses, by.site.called));
        (outside, unordered.conflicts(&self.regions))
    }

    fn touch(
        &mut self,
        ranges: &ByteRanges,
        kinds: Kinds,
        by: Accessor<'_>,
        outside: &mut Option<(Owned, How)>,
        unordered: &mut Unordered,
    ) {
        let Self {
            owners,
            regions,
            growth,
            ..
        } = self;
        owners.of_all(ranges.as_slice(), by.site.called, |owned, ranges| {
            let region = regions.entry(owned.region).or_default();
            let pieces = region.shadow.access_all(ranges, kinds, by, |entry, bytes| {
                unordered.add(entry, owned.region, bytes, kinds);
            });
            // The caller prunes when the history has grown by enough: see `Checker`.
            *growth += pieces;
            let lowest = outside.as_ref().map(|(first, _)| first.range.start);
            if lowest.is_none_or(|lowest| owned.range.start < lowest)
                && let Some(life) = &region.life
                && let Some(how) = life.misses(by.site, by.clock)
            {
                *outside = Some((owned, how));
            }
        });
    }

    /// The whole first range of bytes of that allocation.
    fn outside(&self, first: Owned, how: How, accesses: &Accesses, called: u64) -> Option<Outside> {
        let parts = [&accesses.writes, &accesses.reads, &accesses.atomics];
        let touched: ByteRanges = parts.into_iter().flat_map(ByteRanges::iter).collect();
        let start = first.range.start;
        // An access may touch several ranges. The report names the connected bytes from the first wrong one on.
        let within = touched.iter().find(|range| range.contains(&start))?;
        let mut end = start;
        self.owners.of(start..within.end, called, |owned| {
            if owned.region == first.region && owned.range.start == end {
                end = owned.range.end;
            }
        });
        Some(Outside {
            how,
            bytes: start..end,
            life: self.life(first.region)?.clone(),
            newer: first.newer.and_then(|newer| self.life(newer)).cloned(),
        })
    }

    /// The writers of the bytes that `counts`, for what the program called at `called`: those that no later one replaces.
    pub(super) fn writers(
        &self,
        range: Range<u64>,
        called: u64,
        counts: impl Fn(&Site) -> bool,
    ) -> Vec<Arc<Site>> {
        let mut all = Vec::new();
        self.owners.of(range, called, |owned| {
            let Some(region) = self.regions.get(&owned.region) else {
                return;
            };
            let writers = region.shadow.writers(owned.range);
            let sites = writers.map(|entry| &entry.site);
            all.extend(sites.filter(|site| counts(site)).map(Arc::clone));
        });
        all
    }

    /// The newest allocation at this address.
    pub(super) fn newest(&self, address: u64) -> Option<&Life> {
        self.life(self.owners.newest(address)?)
    }

    fn life(&self, region: RegionId) -> Option<&Life> {
        self.regions.get(&region)?.life.as_ref()
    }

    /// Drops the accesses that `everyone` includes, and the allocations that no call at `oldest` or later can refer to.
    pub(super) fn prune(&mut self, everyone: &Clock, oldest: u64) {
        let mut left = BTreeSet::from([RegionId::UNKNOWN]);
        self.owners.prune(oldest, |region| {
            left.insert(region);
        });
        self.regions.retain(|region, _| left.contains(region));
        self.growth = 0;
        for region in self.regions.values_mut() {
            region.shadow.prune(everyone);
        }
    }

    /// How many ranges were added since [`prune`](Self::prune).
    pub(super) fn growth(&self) -> usize {
        self.growth
    }

    /// The number of accesses to remember.
    pub(super) fn len(&self) -> usize {
        self.regions
            .values()
            .map(|region| 1 + region.shadow.len())
            .sum()
    }
}

impl Life {
    fn misses(&self, site: &Site, clock: &Clock) -> Option<How> {
        // Without a birth the memory existed when the call returned, which happens before everything submitted later.
        if let Some(birth) = &self.birth
            && !clock.knows(birth.epoch)
        {
            return Some(How::BeforeBirth(Arc::clone(birth)));
        }
        let death = self.death.as_ref()?;
        if clock.knows(death.site.epoch) {
            return Some(How::AfterDeath(Arc::clone(&death.site)));
        }
        // The access does not happen after the free, so it has to happen before it.
        let ordered = self.death_is_open || death.clock.knows(site.epoch);
        (!ordered).then(|| How::DeathUnordered(Arc::clone(&death.site)))
    }
}

impl Unordered {
    fn add(&mut self, earlier: &Entry, region: RegionId, bytes: Range<u64>, kinds: Kinds) {
        let met = Met {
            bytes,
            region,
            theirs: earlier.kinds,
            own: kinds,
        };
        let found = self.0.entry(earlier.executed);
        let (_, all) = found.or_insert_with(|| (earlier.clone(), Vec::new()));
        all.push(met);
    }

    fn conflicts(self, regions: &BTreeMap<RegionId, Region>) -> Vec<Conflict> {
        let mut told: Vec<Conflict> = Vec::new();
        // Newest first: if the later of two accesses is ordered, so is an earlier one that happens before it. One report covers both.
        for (earlier, met) in self.0.into_values().rev() {
            let is_covered = |later: &Conflict| later.earlier.site.came_after(&earlier.site);
            if told.len() < REPORTED && !told.iter().any(is_covered) {
                told.extend(conflict(earlier, &met, regions));
            }
        }
        told
    }
}

fn conflict(
    mut earlier: Entry,
    met: &[Met],
    regions: &BTreeMap<RegionId, Region>,
) -> Option<Conflict> {
    // One conflict may have many ranges. The report shows the lowest bytes, and the kinds of access that meet there.
    let lowest = met.iter().min_by_key(|met| met.bytes.start)?;
    let within = met.iter().filter(|met| met.region == lowest.region);
    let ranges: ByteRanges = within.clone().map(|met| met.bytes.clone()).collect();
    let mut kinds = lowest.own;
    earlier.kinds = lowest.theirs;
    for met in within.filter(|met| met.bytes.start == lowest.bytes.start) {
        kinds = kinds | met.own;
        earlier.kinds = earlier.kinds | met.theirs;
    }
    let region = regions.get(&lowest.region);
    Some(Conflict {
        earlier,
        kinds,
        bytes: ranges.iter().next()?,
        life: region.and_then(|region| region.life.clone()),
    })
}

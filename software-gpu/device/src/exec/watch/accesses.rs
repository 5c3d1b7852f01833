//! Which bytes of global memory a grid touches.
//!
//! Kernels mostly walk through memory: what a warp touches begins where the warp before it ended. So each memory
//! instruction keeps the run of bytes that its latest accesses have covered and extends it, at the cost of a
//! comparison. When an access lies elsewhere, the run goes to a map of bytes and another one begins.

use crate::memory::{Accesses, Allocation, ByteMap};

use super::super::fault::Access;
use super::super::memory::Site;

/// Which set a run belongs to: a place in [`Recorder::maps`].
const READS: usize = 0;
const WRITES: usize = 1;
const ATOMICS: usize = 2;

/// Collects the accesses of one host thread.
pub(super) struct Recorder<'g> {
    /// By memory instruction, see [`Site::cache`].
    runs: Vec<ByteRun<'g>>,
    maps: [ByteMap; 3],
}

/// Bytes `start..end` of an allocation, all touched. A run without allocation is empty.
#[derive(Clone, Copy, Default)]
struct ByteRun<'g> {
    allocation: Option<&'g Allocation>,
    start: usize,
    end: usize,
    map: usize,
}

impl<'g> Recorder<'g> {
    pub fn new(sites: u32) -> Self {
        Self {
            runs: vec![ByteRun::default(); sites as usize],
            maps: Default::default(),
        }
    }

    /// Adds an access to the instruction's run, if it overlaps or touches it.
    #[inline(always)]
    pub fn extends(
        &mut self,
        site: &Site,
        (allocation, offset, bytes): (&'g Allocation, usize, usize),
    ) -> bool {
        let run = &mut self.runs[site.cache as usize];
        let same = run
            .allocation
            .is_some_and(|known| std::ptr::eq(known, allocation));
        let extends = same && run.start <= offset && offset <= run.end;
        if extends {
            run.end = run.end.max(offset + bytes);
        }
        extends
    }

    /// Begins the instruction's next run.
    pub fn begin(
        &mut self,
        site: &Site,
        access: Access,
        (allocation, start, bytes): (&'g Allocation, usize, usize),
    ) {
        let Some(map) = map(site, access) else {
            return self.add(site, access, (allocation, start, bytes));
        };
        let next = ByteRun {
            allocation: Some(allocation),
            start,
            end: start + bytes,
            map,
        };
        std::mem::replace(&mut self.runs[site.cache as usize], next).flush(&mut self.maps);
    }

    /// Adds an access by itself.
    pub fn add(
        &mut self,
        site: &Site,
        access: Access,
        (allocation, offset, bytes): (&Allocation, usize, usize),
    ) {
        let maps = match map(site, access) {
            Some(map) => map..map + 1,
            None => READS..WRITES + 1,
        };
        for map in &mut self.maps[maps] {
            map.insert(allocation, offset, bytes);
        }
    }

    /// The accesses that several host threads have collected.
    pub fn accesses(recorders: Vec<Self>) -> Accesses {
        let maps = recorders.into_iter().map(|mut recorder| {
            for run in recorder.runs {
                run.flush(&mut recorder.maps);
            }
            recorder.maps
        });
        let total = maps.reduce(|mut total, maps| {
            for (total, map) in total.iter_mut().zip(&maps) {
                total.merge(map);
            }
            total
        });
        let [reads, writes, atomics] = total.unwrap_or_default().map(|map| map.ranges());
        Accesses {
            reads,
            writes,
            atomics,
        }
    }
}

impl ByteRun<'_> {
    fn flush(self, maps: &mut [ByteMap; 3]) {
        if let Some(allocation) = self.allocation {
            maps[self.map].insert(allocation, self.start, self.end - self.start);
        }
    }
}

/// The set that an access belongs to. An atomic operation of smaller scope is a load and a store to other grids.
fn map(site: &Site, access: Access) -> Option<usize> {
    match access {
        _ if site.strength.strong && site.strength.beyond_cluster => Some(ATOMICS),
        Access::Load => Some(READS),
        Access::Store => Some(WRITES),
        Access::Atomic => None,
    }
}

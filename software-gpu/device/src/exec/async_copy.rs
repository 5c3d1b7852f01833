//! Asynchronous copies that are under way (PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy").
//!
//! The hardware may perform them at any time between their issue and the wait for them. Here they are performed as late
//! as possible: when a thread waits for them. So a kernel that forgets a wait reads what was there before, and one that
//! overwrites a copy's source too early spoils the copy, in every run.

use std::collections::VecDeque;

use super::warp_handlers::LANES;

/// Bytes from a place in memory to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub from: *const u8,
    pub to: *mut u8,
    /// Bytes to be read, and bytes to be written: the rest are zeros.
    pub source_bytes: u32,
    pub bytes: u32,
    /// The cycle at which the hardware would be done.
    pub ready: u64,
    /// The phase of the block in which it was issued; see [`Ahead`].
    pub phase: u32,
}

impl Transfer {
    /// Performs the copy.
    ///
    /// # Safety
    /// Both sides are valid for that many bytes.
    pub unsafe fn perform(&self) {
        let source_bytes = self.source_bytes.min(self.bytes) as usize;
        // SAFETY: the caller's promise; `copy` allows the ranges to overlap.
        unsafe {
            self.from.copy_to(self.to, source_bytes);
            self.to
                .add(source_bytes)
                .write_bytes(0, self.bytes as usize - source_bytes);
        }
    }
}

/// The copies that a block has issued by `cp.async` and has not waited for before its next barrier: they overlap with its computation.
///
/// A ring of stages works this way. What is waited for in a later phase than it was requested has been on its way meanwhile: only
/// its latency can hold the block up, [`Transfer::ready`], and the width of the way, which counts over the block's whole life.
/// Copies that complete on an mbarrier object are not counted here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead {
    /// Barriers of the whole block that are complete.
    pub phase: u32,
    /// Bytes of global memory, and bytes into shared memory.
    pub read: u64,
    pub shared: u64,
}

impl Ahead {
    /// Records a copy that was issued.
    pub fn ask(&mut self, transfer: &Transfer) {
        self.read += u64::from(transfer.source_bytes);
        self.shared += u64::from(transfer.bytes);
    }

    /// A thread waits for a copy.
    pub fn wait(&mut self, transfer: &Transfer) {
        if transfer.phase == self.phase {
            self.read -= u64::from(transfer.source_bytes);
            self.shared -= u64::from(transfer.bytes);
        }
    }
}

/// The copies of one warp's threads, in groups that the threads commit.
pub(super) struct Groups {
    pending: VecDeque<Member>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

struct Member {
    lane: u8,
    /// The number of its group, which may not be committed yet.
    group: u32,
    transfer: Transfer,
}

impl Groups {
    pub fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            committed: [0; LANES],
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    /// `lane` issues a copy.
    pub fn issue(&mut self, lane: usize, transfer: Transfer) {
        let group = self.committed[lane];
        let lane = lane as u8;
        self.pending.push_back(Member {
            lane,
            group,
            transfer,
        });
    }

    /// `lane` makes what it has issued since the last time a group.
    pub fn commit(&mut self, lane: usize) {
        self.committed[lane] = self.committed[lane].wrapping_add(1);
    }

    /// Removes and returns the copies of the lanes in `mask` but those of the latest `but` groups of each, and what is
    /// in no group yet.
    pub fn take(&mut self, mask: u32, but: u32) -> Vec<Transfer> {
        let committed = self.committed;
        self.extract(|member| {
            let lane = usize::from(member.lane);
            let age = committed[lane].wrapping_sub(member.group);
            mask & (1 << lane) != 0 && age > but
        })
    }

    /// Removes and returns all copies of the lanes in `mask`, whether in a group or not.
    pub fn take_all(&mut self, mask: u32) -> Vec<Transfer> {
        self.extract(|member| mask & (1 << member.lane) != 0)
    }

    fn extract(&mut self, wanted: impl Fn(&Member) -> bool) -> Vec<Transfer> {
        let mut taken = Vec::new();
        self.pending.retain(|member| {
            let take = wanted(member);
            if take {
                taken.push(member.transfer);
            }
            !take
        });
        taken
    }
}

/// The copies of one warp's threads.
pub(super) struct WarpCopies {
    /// `cp.async`.
    pub single: Groups,
    /// `cp.async.bulk` to global memory.
    pub bulk: Groups,
}

impl WarpCopies {
    pub fn new() -> Self {
        Self {
            single: Groups::new(),
            bulk: Groups::new(),
        }
    }

    pub fn clear(&mut self) {
        self.single.clear();
        self.bulk.clear();
    }

    pub fn of_kind(&mut self, bulk: bool) -> &mut Groups {
        if bulk {
            &mut self.bulk
        } else {
            &mut self.single
        }
    }
}

/// The effect of a completed copy on an mbarrier object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completion {
    /// This number of bytes has arrived: `.mbarrier::complete_tx::bytes`.
    Bytes(u32),
    /// This thread arrives: `cp.async.mbarrier.arrive`.
    Arrival { rank: u32, warp: u32, lane: u32 },
}

/// Copies that complete on an mbarrier object.
#[derive(Debug)]
pub(super) struct Announced {
    /// The object.
    pub mbarrier: *mut u8,
    pub transfers: Vec<Transfer>,
    pub completion: Completion,
    /// The line of the instruction, for messages.
    pub line: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(ready: u64) -> Transfer {
        Transfer {
            from: std::ptr::null(),
            to: std::ptr::null_mut(),
            source_bytes: 0,
            bytes: 0,
            ready,
            phase: 0,
        }
    }

    fn taken(transfers: Vec<Transfer>) -> Vec<u64> {
        transfers.iter().map(|transfer| transfer.ready).collect()
    }

    #[test]
    fn a_wait_leaves_the_latest_groups() {
        let mut groups = Groups::new();
        for number in 0..4 {
            groups.issue(5, transfer(number));
            groups.issue(6, transfer(100 + number));
            if number < 3 {
                groups.commit(5);
            }
        }
        assert_eq!(taken(groups.take(1 << 5, 1)), [0, 1]);
        assert_eq!(taken(groups.take(1 << 5, 0)), [2]);
        assert_eq!(taken(groups.take(1 << 6, 0)), []);
        assert_eq!(taken(groups.take_all(!0)), [100, 101, 102, 3, 103]);
    }

    #[test]
    fn only_copies_issued_before_the_last_barrier_arrive_ahead() {
        let mut ahead = Ahead::default();
        let copy = |phase| Transfer {
            source_bytes: 12,
            bytes: 16,
            phase,
            ..transfer(0)
        };
        ahead.ask(&copy(0));
        ahead.ask(&copy(0));
        ahead.wait(&copy(0));
        assert_eq!((ahead.read, ahead.shared), (12, 16));
        ahead.phase = 1;
        ahead.ask(&copy(1));
        ahead.wait(&copy(0));
        assert_eq!((ahead.read, ahead.shared), (24, 32));
    }

    #[test]
    fn what_the_source_lacks_is_zero() {
        let (from, mut to) = ([1_u8; 8], [7_u8; 16]);
        let transfer = Transfer {
            from: from.as_ptr(),
            to: to.as_mut_ptr(),
            source_bytes: 6,
            bytes: 16,
            ready: 0,
            phase: 0,
        };
        // SAFETY: both arrays are as long as that.
        unsafe { transfer.perform() };
        assert_eq!(to, [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}

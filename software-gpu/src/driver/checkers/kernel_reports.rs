//! Reports of what the checkers have seen inside a kernel.

use super::source_lines;
use super::written_memory::{count, location};
use crate::exec::{
    AbsentSource, DivergentBarrier, LostUpdate, Missing, NeverWritten, Observed, SharedRace,
};
use crate::memory::AddressSpace;
use crate::ptx::SourceLines;
use crate::reports::{self, Kind};

/// Reports all that is wrong with the kernel of the operation with this number.
pub(in crate::driver) fn report(
    operation: u64,
    observed: &Observed,
    memory: &AddressSpace,
    lines: &SourceLines,
) {
    for finding in &observed.never_written {
        never_written(operation, finding, memory, lines);
    }
    for race in &observed.shared_races {
        shared_race(operation, race, lines);
    }
    for found in &observed.divergent_barriers {
        divergent_barrier(operation, found, lines);
    }
    for found in &observed.absent_sources {
        absent_source(operation, found);
    }
    for found in &observed.lost_updates {
        lost_update(operation, found, memory, lines);
    }
}

fn never_written(
    operation: u64,
    finding: &NeverWritten,
    memory: &AddressSpace,
    lines: &SourceLines,
) {
    let place = &finding.place;
    let key = format!("{} {}", place.kernel, place.line);
    reports::add(Kind::NeverWritten, key, vec![operation], || {
        let text = format!(
            "never written: {place}: {} of memory that was never written\n  {} from {:#x} on, {}\n  write them first \
             with a copy, a memset or a kernel",
            finding.access,
            count(finding.bytes),
            finding.address,
            location(finding.address, memory),
        );
        source_lines::add_to(&text, lines)
    });
}

fn shared_race(operation: u64, race: &SharedRace, lines: &SourceLines) {
    let place = &race.place;
    let (a, b) = (race.earlier_line, place.line);
    let key = format!("{} {} {}", place.kernel, a.min(b), a.max(b));
    reports::add(Kind::SharedMemoryRace, key, vec![operation], || {
        let (what, missing) = in_words(race.missing);
        let earlier = match race.missing {
            Missing::ClusterBarrier => "another block".to_owned(),
            _ => format!("thread {}", index(race.earlier_thread)),
        };
        let text = format!(
            "shared memory race: kernel `{}`, block {}: {what} at {:#x} {missing}\n  {earlier}: {}, PTX line {}\n  thread {}: {}, \
             PTX line {}\n  {}",
            place.kernel,
            index(place.block),
            race.address,
            race.earlier_access,
            race.earlier_line,
            index(place.thread),
            race.access,
            place.line,
            remedy(race.missing),
        );
        source_lines::add_to(&text, lines)
    });
}

/// The error, and the missing synchronisation.
fn in_words(missing: Missing) -> (&'static str, &'static str) {
    match missing {
        Missing::WarpBarrier | Missing::BlockBarrier => (
            "two threads touch shared memory",
            "without a barrier between them",
        ),
        Missing::ClusterBarrier => (
            "another block of the cluster and a thread of this one touch its shared memory",
            "without a barrier of the cluster between them",
        ),
        Missing::WaitForGroup | Missing::WaitForMbarrier => (
            "a thread touches shared memory",
            "while an asynchronous copy writes there",
        ),
        Missing::WaitForRead => (
            "a thread stores to shared memory",
            "while a bulk copy reads there",
        ),
        Missing::ProxyFence => (
            "a bulk copy reads shared memory",
            "that a thread has stored to without a fence between the proxies",
        ),
    }
}

/// The remedy.
fn remedy(missing: Missing) -> &'static str {
    match missing {
        Missing::WarpBarrier => {
            "put a warp barrier (bar.warp.sync, `__syncwarp`) between them: the lanes of a warp do not run in step"
        }
        Missing::BlockBarrier => {
            "put a barrier of the block (bar.sync, `__syncthreads`) between them"
        }
        Missing::ClusterBarrier => {
            "put a barrier of the cluster (barrier.cluster.arrive and .wait, `cluster.sync()`) between them: \
             `__syncthreads` orders the threads of one block alone"
        }
        Missing::WaitForGroup => {
            "wait for the copy first (cp.async.wait_group, `__pipeline_wait_prior`) in the thread that asked for it; other \
             threads meet it at a barrier behind that wait"
        }
        Missing::WaitForMbarrier => {
            "wait first for the mbarrier object on which the copy completes (mbarrier.try_wait): a barrier of the block does \
             not wait for copies"
        }
        Missing::WaitForRead => {
            "wait first until the copy has read its source (cp.async.bulk.wait_group.read) in the thread that asked for it"
        }
        Missing::ProxyFence => {
            "put fence.proxy.async (`fence_proxy_async`) behind the store, before the barrier that the copy follows"
        }
    }
}

fn divergent_barrier(operation: u64, found: &DivergentBarrier, lines: &SourceLines) {
    let place = &found.place;
    let key = format!("{} {}", place.kernel, place.line);
    reports::add(Kind::DivergentBarrier, key, vec![operation], || {
        let text = format!(
            "divergent barrier: {place}: lanes {} of the warp reach barrier {} without lanes {}\n  all threads of a \
             warp must execute this barrier together: take it out of the branch, or let the other threads reach it too",
            lanes(found.lanes),
            found.barrier,
            lanes(found.absent),
        );
        source_lines::add_to(&text, lines)
    });
}

fn absent_source(operation: u64, found: &AbsentSource) {
    let place = &found.place;
    let key = format!("{} {}", place.kernel, place.line);
    reports::add(Kind::AbsentLane, key, vec![operation], || {
        format!(
            "absent lane: {place}: lanes {} of the warp shuffle values from lanes that do not take part; lanes {} do\n  the \
             value is undefined (0 on an H100): let all lanes that are read take part, or give a width that ends before them",
            lanes(found.lanes),
            lanes(found.present),
        )
    });
}

fn lost_update(operation: u64, found: &LostUpdate, memory: &AddressSpace, lines: &SourceLines) {
    let place = &found.place;
    let key = format!("{} {} {}", place.kernel, found.load_line, place.line);
    reports::add(Kind::LostUpdate, key, vec![operation], || {
        let text = format!(
            "lost update: kernel `{}`, block {}: threads {} and {} load and store the same {}, {}, and one of their updates is lost\n  \
             load, PTX line {}\n  store, PTX line {}\n  give each thread an element of its own, or use an atomic operation \
             (atom.add, `atomicAdd`)",
            place.kernel,
            index(place.block),
            index(place.thread),
            index(found.other_thread),
            count(u64::from(found.bytes)),
            location(found.address, memory),
            found.load_line,
            place.line,
        );
        source_lines::add_to(&text, lines)
    });
}

fn index([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// The lanes of a mask as ranges: `0-3, 7`.
fn lanes(mask: u32) -> String {
    let mut ranges: Vec<String> = Vec::new();
    let mut rest = u64::from(mask);
    while rest != 0 {
        let first = rest.trailing_zeros();
        let last = first + (rest >> first).trailing_ones() - 1;
        ranges.push(match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        rest &= !0 << (last + 1);
    }
    ranges.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_printed_as_ranges() {
        assert_eq!(lanes(0b1000_1111), "0-3, 7");
        assert_eq!(lanes(!0), "0-31");
        assert_eq!(lanes(1 << 31), "31");
        assert_eq!(lanes(0), "");
    }
}

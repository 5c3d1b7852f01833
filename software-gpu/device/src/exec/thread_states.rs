//! What the threads of a block are doing, for the report of a deadlock: which run, which wait and where, how many have
//! exited.

use std::fmt::Write;

use super::grid::Grid;
use super::warp_handlers::LANES;

/// What threads of a warp are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// They run, or could.
    Running,
    /// They test an mbarrier object again and again.
    Mbarrier,
    /// They wait at a warp barrier for these lanes.
    WarpBarrier(u32),
    /// They wait at the block barrier with this number.
    BlockBarrier(u32),
    /// They wait at the cluster's barrier.
    ClusterBarrier,
}

/// Lanes of a warp at the same place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub warp: u32,
    pub lanes: u32,
    pub at: At,
    /// Line of the barrier, or of the end of the running basic block.
    pub line: u32,
}

/// What a block barrier waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    pub arrived: u32,
    pub expected: u32,
}

/// Says in a line each what groups of threads do, with the first thread of each.
pub(super) fn tell(
    grid: &Grid<'_>,
    all: &[Standing],
    exited: u32,
    awaited: impl Fn(u32) -> Awaited,
) -> String {
    let mut text = String::new();
    let mut told: Vec<(At, u32)> = Vec::new();
    for standing in all {
        let same = |other: &Standing| (other.at, other.line) == (standing.at, standing.line);
        if told.contains(&(standing.at, standing.line)) {
            continue;
        }
        told.push((standing.at, standing.line));
        let threads: u32 = all
            .iter()
            .filter(|other| same(other))
            .map(|other| other.lanes.count_ones())
            .sum();
        let first = standing.warp * LANES as u32 + standing.lanes.trailing_zeros();
        let [x, y, z] = grid.thread(first);
        let what = match standing.at {
            At::Running => "at work".to_owned(),
            At::Mbarrier => "testing an mbarrier object whose phase is not complete".to_owned(),
            At::WarpBarrier(members) => format!("waiting at a warp barrier for lanes {members:#x}"),
            At::BlockBarrier(id) => {
                let Awaited { arrived, expected } = awaited(id);
                format!(
                    "waiting at barrier {id}, where {arrived} of {expected} threads have arrived"
                )
            }
            At::ClusterBarrier => "waiting at the cluster's barrier".to_owned(),
        };
        let _ = write!(
            text,
            "\n  {threads} from thread ({x}, {y}, {z}) on: {what}, PTX line {}",
            standing.line
        );
    }
    if exited > 0 {
        let _ = write!(text, "\n  {exited} have exited");
    }
    text
}

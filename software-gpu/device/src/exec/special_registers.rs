//! Special registers.

use super::context::Context;
use super::grid::Grid;
use super::warp_handlers::LANES;

/// A special register that is constant in a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    ThreadIndex(u8),
    BlockExtent(u8),
    BlockIndex(u8),
    GridExtent(u8),
    ClusterIndex(u8),
    ClustersInGrid(u8),
    BlockInCluster(u8),
    ClusterExtent(u8),
    ClusterRank,
    ClusterBlocks,
    /// 1 for a launch with clusters: `%is_explicit_cluster`, which is a predicate.
    ExplicitCluster,
    Lane,
    Warp,
    Warps,
    Multiprocessor,
    Multiprocessors,
    GridId,
    LaneMaskEqual,
    LaneMaskLess,
    LaneMaskLessEqual,
    LaneMaskGreater,
    LaneMaskGreaterEqual,
    DynamicShared,
    TotalShared,
    /// Half of the address of the grid's workspace in a cooperative launch, else 0: `%envreg1` and `%envreg2`.
    GridWorkspace(u32),
}

/// A special register that changes while a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// `%clock`: low half of the cycle counter.
    Low,
    /// `%clock_hi`.
    High,
    /// `%clock64`.
    Cycles,
    /// `%globaltimer`.
    Nanoseconds,
    /// `%globaltimer_lo`.
    NanosecondsLow,
    /// `%globaltimer_hi`.
    NanosecondsHigh,
}

impl Special {
    /// The register written `name`, such as `%tid.x`.
    pub fn named(name: &str) -> Option<Self> {
        let axis = match name.rsplit_once('.') {
            Some((_, "y")) => 1,
            Some((_, "z")) => 2,
            _ => 0,
        };
        Some(match name {
            "%tid.x" | "%tid.y" | "%tid.z" => Self::ThreadIndex(axis),
            "%ntid.x" | "%ntid.y" | "%ntid.z" => Self::BlockExtent(axis),
            "%ctaid.x" | "%ctaid.y" | "%ctaid.z" => Self::BlockIndex(axis),
            "%nctaid.x" | "%nctaid.y" | "%nctaid.z" => Self::GridExtent(axis),
            "%clusterid.x" | "%clusterid.y" | "%clusterid.z" => Self::ClusterIndex(axis),
            "%nclusterid.x" | "%nclusterid.y" | "%nclusterid.z" => Self::ClustersInGrid(axis),
            "%cluster_ctaid.x" | "%cluster_ctaid.y" | "%cluster_ctaid.z" => {
                Self::BlockInCluster(axis)
            }
            "%cluster_nctaid.x" | "%cluster_nctaid.y" | "%cluster_nctaid.z" => {
                Self::ClusterExtent(axis)
            }
            "%cluster_ctarank" => Self::ClusterRank,
            "%cluster_nctarank" => Self::ClusterBlocks,
            "%laneid" => Self::Lane,
            "%warpid" => Self::Warp,
            "%nwarpid" => Self::Warps,
            "%smid" => Self::Multiprocessor,
            "%nsmid" => Self::Multiprocessors,
            "%gridid" => Self::GridId,
            "%lanemask_eq" => Self::LaneMaskEqual,
            "%lanemask_lt" => Self::LaneMaskLess,
            "%lanemask_le" => Self::LaneMaskLessEqual,
            "%lanemask_gt" => Self::LaneMaskGreater,
            "%lanemask_ge" => Self::LaneMaskGreaterEqual,
            "%dynamic_smem_size" => Self::DynamicShared,
            "%total_smem_size" => Self::TotalShared,
            _ => return None,
        })
    }

    /// Whether it differs between the blocks of a grid.
    pub fn is_per_block(self) -> bool {
        matches!(
            self,
            Self::BlockIndex(_)
                | Self::Multiprocessor
                | Self::ClusterIndex(_)
                | Self::BlockInCluster(_)
                | Self::ClusterRank
        )
    }

    /// Its values in the lanes of `warp`.
    pub fn row(self, cx: &Context<'_>, warp: u32) -> [u32; LANES] {
        let grid: &Grid<'_> = cx.grid;
        let lanes = |f: fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
        let all = |value: u32| [value; LANES];
        match self {
            Self::ThreadIndex(axis) => std::array::from_fn(|lane| {
                grid.thread(warp * LANES as u32 + lane as u32)[usize::from(axis)]
            }),
            Self::BlockExtent(axis) => all(grid.block[usize::from(axis)]),
            Self::BlockIndex(axis) => all(cx.block[usize::from(axis)]),
            Self::GridExtent(axis) => all(grid.grid[usize::from(axis)]),
            Self::ClusterIndex(axis) => {
                let axis = usize::from(axis);
                all(cx.block[axis] / grid.cluster_extents()[axis])
            }
            Self::ClustersInGrid(axis) => all(grid.clusters()[usize::from(axis)]),
            Self::BlockInCluster(axis) => {
                let axis = usize::from(axis);
                all(cx.block[axis] % grid.cluster_extents()[axis])
            }
            Self::ClusterExtent(axis) => all(grid.cluster_extents()[usize::from(axis)]),
            Self::ClusterRank => all(cx.cluster_rank),
            Self::ClusterBlocks => all(grid.cluster_blocks()),
            Self::ExplicitCluster => all(grid.cluster.is_some().into()),
            Self::Lane => lanes(|lane| lane),
            Self::Warp => all(warp),
            Self::Warps => all(64),
            Self::Multiprocessor => {
                all((cx.block_rank % u64::from(grid.multiprocessors.max(1))) as u32)
            }
            Self::Multiprocessors => all(grid.multiprocessors),
            Self::GridId => all(0),
            Self::LaneMaskEqual => lanes(|lane| 1 << lane),
            Self::LaneMaskLess => lanes(|lane| (1 << lane) - 1),
            Self::LaneMaskLessEqual => lanes(|lane| (2u32 << lane).wrapping_sub(1)),
            Self::LaneMaskGreater => lanes(|lane| !(2u32 << lane).wrapping_sub(1)),
            Self::LaneMaskGreaterEqual => lanes(|lane| !((1 << lane) - 1)),
            Self::DynamicShared => all(grid.dynamic_shared_bytes),
            Self::TotalShared => all(cx.shared_bytes),
            Self::GridWorkspace(half) => all(if grid.cooperative { half } else { 0 }),
        }
    }
}

impl Clock {
    /// The clock written `name`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "%clock" => Self::Low,
            "%clock_hi" => Self::High,
            "%clock64" => Self::Cycles,
            "%globaltimer" => Self::Nanoseconds,
            "%globaltimer_lo" => Self::NanosecondsLow,
            "%globaltimer_hi" => Self::NanosecondsHigh,
            _ => return None,
        })
    }

    /// Its value `offset` cycles after the start of the running basic block. Whether loads hit the L2 cache is known when the grid
    /// has run; a thread that reads a clock in a loop and loads meanwhile loads the same data repeatedly.
    pub fn read(self, cx: &Context<'_>, offset: u32) -> u64 {
        let cycles = cx.cycles.saturating_sub(cx.saving) + u64::from(offset);
        let nanoseconds = || {
            cx.grid
                .start_ns
                .wrapping_add((cycles as f64 * 1000.0 / cx.grid.clock_mhz) as u64)
        };
        match self {
            Self::Low => cycles & 0xffff_ffff,
            Self::High => cycles >> 32,
            Self::Cycles => cycles,
            Self::Nanoseconds => nanoseconds(),
            Self::NanosecondsLow => nanoseconds() & 0xffff_ffff,
            Self::NanosecondsHigh => nanoseconds() >> 32,
        }
    }
}

//! What a kernel lacks where its threads, or its asynchronous copies, race in shared memory.

/// What would order the two accesses of a [`SharedRace`](super::SharedRace).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// `bar.warp.sync`: both threads belong to one warp.
    WarpBarrier,
    /// `bar.sync`: both threads belong to one block.
    BlockBarrier,
    /// `barrier.cluster`: the earlier thread belongs to another block of the cluster.
    ClusterBarrier,
    /// `cp.async.wait_group` by the thread that issued the copy, which is still in flight.
    WaitForGroup,
    /// A wait for the mbarrier object on which the copy completes, which is still under way.
    WaitForMbarrier,
    /// `cp.async.bulk.wait_group.read`: the copy still reads what is stored to.
    WaitForRead,
    /// `fence.proxy.async`: a bulk copy reads what threads have stored.
    ProxyFence,
}

// What `executed/mod.rs` runs of sm_90 and later, in one source behind `ampere.rs`, whose names it shares.

use cuda_std::extensions::cluster::{self, ClusterPtr};
use cuda_std::extensions::{bulk, fence};

/// As `mbarriers`, but with the form of the wait that may sleep.
#[kernel]
pub unsafe fn phases(out: *mut u32, input: &[u32]) {
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 1]));
    unsafe {
        if t() == 0 {
            barrier.init(64);
        }
        thread::sync_threads();
        let fresh = barrier.try_wait_parity(1) && !barrier.try_wait_parity(0);
        thread::sync_threads();
        barrier.arrive();
        while !barrier.try_wait_parity(0) {}
        let second = !barrier.try_wait_parity(1);
        *out.add(t() as usize) = input[t() as usize] + 2 * u32::from(fresh) + u32::from(second);
    }
}

/// In by one bulk copy of two halves, one word more, out by another.
#[kernel]
pub unsafe fn bulk_copies(out: *mut u32, input: *const u32) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 1]).cast();
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 1]));
    unsafe {
        if t() == 0 {
            barrier.init(1);
            fence::mbarrier_init();
            barrier.expect_tx(128);
            barrier.arrive_expect_tx(128);
            bulk::copy_to_shared(words, input, 128, barrier);
            bulk::copy_to_shared(words.add(32), input.add(32), 128, barrier);
        }
        thread::sync_threads();
        barrier.wait_parity(0);
        let own = words.add(t());
        own.write(own.read() + 1);
        if t() % 2 == 0 {
            fence::proxy_async();
        } else {
            fence::proxy_async_shared();
        }
        thread::sync_threads();
        if t() == 0 {
            bulk::copy_to_global(out, words, 128);
            bulk::commit_group();
            bulk::wait_group_read::<0>();
            bulk::copy_to_global(out.add(32), words.add(32), 128);
            bulk::commit_group();
            bulk::wait_group::<0>();
        }
    }
}

/// Two blocks of a cluster: each thread takes its word from the other block, or has it put there.
#[kernel]
pub unsafe fn clusters(out: *mut u32, input: &[u32]) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 2]).cast();
    let own = words.add(t());
    let other = cluster::block_rank() ^ 1;
    let there: ClusterPtr<u32> = cluster::map_shared_rank(words, other);
    let i = thread::index_1d() as usize;
    unsafe {
        own.write(input[i]);
        there.add(64 + t()).write(1000 * cluster::block_rank());
        cluster::arrive();
        cluster::wait();
        let shape = cluster::block_count() * 10 + cluster::grid_clusters_x();
        *out.add(i) = there.add(t()).read() + own.add(64).read() + shape + cluster::cluster_idx_x();
        cluster::sync();
    }
}

/// Two blocks of a cluster: each copies its words into the other.
#[kernel]
pub unsafe fn cluster_copies(out: *mut u32, input: &[u32]) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 2]).cast();
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 1]));
    let other = cluster::block_rank() ^ 1;
    let i = thread::index_1d() as usize;
    unsafe {
        if t() == 0 {
            barrier.init(1);
            fence::mbarrier_init();
            barrier.arrive_expect_tx(256);
        }
        words.add(t()).write(input[i]);
        fence::proxy_async_shared();
        cluster::sync();
        if t() == 0 {
            let there = cluster::map_shared_rank(words.add(64), other);
            let to_tell = cluster::map_shared_rank(barrier.place(), other);
            bulk::copy_to_cluster(there, words, 256, to_tell);
        }
        barrier.wait_parity(0);
        *out.add(i) = words.add(64 + t()).read();
        cluster::sync();
    }
}

/// Two blocks of a cluster: each copies half of the first block's words into both, and adds to them when both have arrived at its
/// barrier.
#[kernel]
pub unsafe fn multicasts(out: *mut u32, input: &[u32]) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 1]).cast();
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 2]));
    let rank = cluster::block_rank();
    let i = thread::index_1d() as usize;
    unsafe {
        if t() == 0 {
            barrier.init(1);
            barrier.add(1).init(2);
            fence::mbarrier_init();
        }
        cluster::sync();
        if t() == 0 {
            barrier.arrive_expect_tx(256);
            let first = 32 * rank;
            let from = input.as_ptr().add(128 * (i / 128) + first as usize);
            bulk::multicast_to_cluster(words.add(first), from, 128, barrier, 0b11);
        }
        barrier.wait_parity_of_cluster(0);
        let seen = words.add(t()).read();
        thread::sync_threads();
        // Both blocks have read what they would now be allowed to overwrite.
        if t() < 2 {
            barrier.add(1).arrive_at(t());
        }
        barrier.add(1).wait_parity_of_cluster(0);
        fence::proxy_async_cluster();
        *out.add(i) = seen + rank;
        cluster::sync();
    }
}

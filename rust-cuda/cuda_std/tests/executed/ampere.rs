// What `executed/mod.rs` runs of sm_80 and later: `out` and `input` have a word per thread.

use cuda_std::extensions::{async_copy, barrier, mbarrier::Mbarrier, SharedPtr};
use cuda_std::{shared_array};
use cuda_std::prelude::*;

/// Room for a word of each thread, aligned for every copy.
#[repr(C, align(16))]
struct Words([u32; 64]);

fn t() -> u32 {
    thread::thread_idx_x()
}

/// The second warp reads what the first one has stored.
#[kernel]
pub unsafe fn named_barriers(out: *mut u32, input: &[u32]) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 1]).cast();
    let own = words.add(t() % 32);
    unsafe {
        if t() < 32 {
            own.write(input[t() as usize]);
            barrier::arrive(3, 64);
        } else {
            barrier::sync(3, 64);
            *out.add(t() as usize) = own.read();
        }
    }
}

/// Each thread reads what its opposite has stored, in two phases. Asked without waiting, only the phase just before the
/// current one is complete, and before the first one that is parity 1.
#[kernel]
pub unsafe fn mbarriers(out: *mut u32, input: &[u32]) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 1]).cast();
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 1]));
    unsafe {
        if t() == 0 {
            barrier.init(64);
        }
        thread::sync_threads();
        let fresh = barrier.test_wait_parity(1) && !barrier.test_wait_parity(0);
        thread::sync_threads();
        words.add(t()).write(input[t() as usize]);
        barrier.arrive();
        barrier.wait_parity(0);
        let opposite = words.add(63 - t()).read();
        // The second phase still waits for this thread.
        let second = barrier.test_wait_parity(0) && !barrier.test_wait_parity(1);
        barrier.arrive();
        barrier.wait_parity(1);
        *out.add(t() as usize) = opposite + 2 * u32::from(fresh) + u32::from(second);
        thread::sync_threads();
        if t() == 0 {
            barrier.inval();
        }
    }
}

/// Copies of 4, 8 and 16 bytes; the last sixteen words arrive at an mbarrier object.
#[kernel]
pub unsafe fn async_copies(out: *mut u32, input: *const u32) {
    let words: SharedPtr<u32> = SharedPtr::new(shared_array![Words; 1]).cast();
    let barrier = Mbarrier::at(SharedPtr::new(shared_array![u64; 1]));
    let at = |first: u32| unsafe { (words.add(first), input.add(first as usize)) };
    unsafe {
        if t() == 0 {
            barrier.init(4);
        }
        thread::sync_threads();
        if t() < 16 {
            let (to, from) = at(t());
            async_copy::copy_4(to, from);
            async_copy::commit_group();
            let (to, from) = at(16 + 2 * (t() % 8));
            async_copy::copy_8(to, from);
            async_copy::commit_group();
            async_copy::wait_group::<1>();
            async_copy::wait_group::<0>();
        } else if t() < 20 {
            let (to, from) = at(32 + 4 * (t() - 16));
            async_copy::copy_16(to, from);
            async_copy::wait_all();
            let (to, from) = at(48 + 4 * (t() - 16));
            async_copy::copy_16(to, from);
            barrier.arrive_after_copies();
        }
        barrier.wait_parity(0);
        thread::sync_threads();
        *out.add(t() as usize) = words.add(t()).read();
    }
}

/// The same in upstream's names: one word a thread, then four of the first sixteen threads, in a group of their own.
#[kernel]
pub unsafe fn upstream_copies(out: *mut u32, input: &[u32]) {
    use cuda_std::async_copy::*;
    let words = shared_array![Words; 2].cast::<u32>();
    let i = t() as usize;
    unsafe {
        cp_async_ca(words.add(i), input.as_ptr().add(i));
        cp_async_commit_group();
        if t() < 16 {
            cp_async_cg(words.add(64 + 4 * i).cast::<[u32; 4]>(), input.as_ptr().add(4 * i).cast());
        }
        cp_async_commit_group();
        cp_async_wait_group::<1>();
        cp_async_wait_all();
        thread::sync_threads();
        *out.add(i) = *words.add(63 - i) + *words.add(64 + i) + thread::warp_size();
    }
}

/// A warp's sum, and from its greatest to its least value: 31.
#[kernel]
pub unsafe fn reductions(out: *mut u32, input: &[u32]) {
    use cuda_std::warp::{WarpReductionOp::{Add, Max, Min}, warp_reduce};
    let value = input[t() as usize];
    unsafe {
        let least = warp_reduce(u32::MAX, -(value as i32), Max).unsigned_abs();
        let range = warp_reduce(u32::MAX, value, Max) - least;
        let same = warp_reduce(u32::MAX, u64::from(value), Min) as u32 - least;
        *out.add(t() as usize) = warp_reduce(u32::MAX, value, Add) + range + same;
    }
}

/// Counters in shared memory, reached directly, by a pointer that lies in shared memory itself, and by upstream's intrinsics.
#[kernel]
pub unsafe fn atomics(out: *mut u32, input: &[u32]) {
    use cuda_std::atomic::{AtomicU32, BlockAtomicU32, Ordering, intrinsics::*};
    let counters = shared_array![u32; 4];
    let place = shared_array![*mut u32; 1];
    let (i, value) = (t() as usize, input[t() as usize]);
    unsafe {
        if i < 4 {
            *counters.add(i) = 0;
            }
        if i == 0 {
            *place = counters.add(1);
        }
        thread::sync_threads();
        BlockAtomicU32::from_ptr(counters).fetch_add(value, Ordering::AcqRel);
        AtomicU32::from_ptr(*place).fetch_max(value, Ordering::Relaxed);
        atomic_fetch_inc_acqrel_u32_block(counters.add(2));
        let mut seen = atomic_load_relaxed_32_block(counters.add(3));
        loop {
            let before = atomic_fetch_cas_relaxed_u32_block(counters.add(3), seen, seen + 2);
            if before == seen {
                break;
            }
            seen = before;
        }
        thread::sync_threads();
        let found = atomic_load_acquire_32_block(counters.add(i % 4));
        atomic_fetch_add_release_u32_device(out.add(i), found);
        atomic_fetch_dec_volatile_u32_system(out.add(i));
    }
}

use super::*;
use libcuda::Choice;

const MIB: usize = 1 << 20;

fn scene() -> (Device, Stream, Stream) {
    let device = Device::open(Choice::Software).unwrap();
    let stream = |name| Stream::non_blocking(&device, name).unwrap();
    let (a, b) = (stream("a"), stream("b"));
    (device, a, b)
}

#[test]
fn a_new_pool_is_empty_and_allows_everything() {
    let (device, _, _) = scene();
    let pool = MemoryPool::new(&device).unwrap();
    assert_eq!(pool.statistics().unwrap(), PoolStatistics::default());
    assert_eq!(pool.release_threshold().unwrap(), 0);
    for reuse in Reuse::ALL {
        assert!(pool.allows(reuse).unwrap());
        pool.allow(reuse, false).unwrap();
        assert!(!pool.allows(reuse).unwrap(), "{reuse}");
    }
    pool.allow_only(&[Reuse::AllowOpportunistic]).unwrap();
    let allowed = Reuse::ALL.map(|reuse| pool.allows(reuse).unwrap());
    assert_eq!(allowed, [false, true, false]);
}

#[test]
fn the_threshold_says_what_a_synchronisation_leaves() {
    let (device, stream, _) = scene();
    for (threshold, kept) in [(0, false), (u64::MAX, true)] {
        let pool = MemoryPool::new(&device).unwrap();
        pool.set_release_threshold(threshold).unwrap();
        drop(pool.allocate::<u8>(&stream, 3 * MIB).unwrap());
        let before = pool.statistics().unwrap();
        stream.synchronize().unwrap();
        let after = pool.statistics().unwrap();
        assert_eq!((before.used, before.used_high), (0, 3 * MIB as u64));
        assert_eq!(after.reserved > 0, kept);
        assert_eq!(after.reserved_high, before.reserved);
    }
}

#[test]
fn trimming_and_the_high_water_marks() {
    let (device, stream, _) = scene();
    let pool = MemoryPool::new(&device).unwrap();
    pool.set_release_threshold(u64::MAX).unwrap();
    let kept = pool.allocate::<u8>(&stream, 40 * MIB).unwrap();
    drop(pool.allocate::<u8>(&stream, 40 * MIB).unwrap());
    stream.synchronize().unwrap();
    pool.trim_to(0).unwrap();
    let trimmed = pool.statistics().unwrap();
    assert!((40 * MIB as u64..80 * MIB as u64).contains(&trimmed.reserved));
    assert_eq!(trimmed.used_high, 80 * MIB as u64);
    pool.reset_high_water_marks().unwrap();
    let reset = pool.statistics().unwrap();
    assert_eq!(
        (reset.used_high, reset.reserved_high),
        (reset.used, reset.reserved)
    );
    drop(kept);
}

#[test]
fn a_pool_takes_no_more_than_its_limit() {
    let (device, stream, _) = scene();
    let pool = MemoryPool::limited_to(&device, 32 * MIB).unwrap();
    let first = pool.allocate::<u8>(&stream, 32 * MIB).unwrap();
    let refused = pool.allocate::<u8>(&stream, MIB).unwrap_err();
    assert!(refused.is_out_of_memory(), "{refused}");
    drop(first);
    pool.allocate::<u8>(&stream, MIB).unwrap();
}

#[test]
fn a_limit_of_nothing_is_refused_and_not_taken_for_none() {
    let (device, ..) = scene();
    let refused = MemoryPool::limited_to(&device, 0).err();
    assert!(matches!(refused, Some(Error::PoolLimit)), "{refused:?}");
}

#[test]
fn the_default_pool_serves_what_asks_for_no_pool() {
    let (device, stream, _) = scene();
    let pool = MemoryPool::default_of(&device).unwrap();
    let before = pool.statistics().unwrap().used;
    let buffer = DeviceBuffer::<u8>::from_pool(&stream, MIB).unwrap();
    assert_eq!(pool.statistics().unwrap().used - before, MIB as u64);
    drop(buffer);
}

#[test]
fn memory_outlives_its_pool_and_is_freed_in_its_last_owners_stream() {
    let (device, a, b) = scene();
    let pool = MemoryPool::new(&device).unwrap();
    let mut buffer = pool.allocate::<u32>(&a, MIB).unwrap();
    let (address, again) = (buffer.address(), pool.clone());
    drop(pool);
    buffer.poison().unwrap();
    buffer.hand_to(&b).unwrap();
    buffer.poison().unwrap();
    drop(buffer);
    again.allow_only(&[]).unwrap();
    // Freed in b: without a policy it is b that gets it while the free is pending.
    let in_a = again.allocate::<u32>(&a, MIB).unwrap();
    let in_b = again.allocate::<u32>(&b, MIB).unwrap();
    assert_ne!(in_a.address(), address);
    assert_eq!(in_b.address(), address);
}

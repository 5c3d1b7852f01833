//! Addresses that are loaded: a line that a block has loaded before is near.

use crate::exec_support::*;

/// Cycles of one thread that goes through 64 words of a table, two lines, and loads the memory at each address.
fn walk(entry: &str, between: &str) -> f64 {
    let body = format!(
        "ld.param.u64 %rd1, [in]; mov.u64 %rd2, %rd1; mov.u32 %r2, 0; mov.u32 %r3, 0;
        again: {between} {entry} %r4, [%rd2]; cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd1, %rd3;
        ld.global.u32 %r5, [%rd3]; add.u32 %r3, %r3, %r5; add.u64 %rd2, %rd2, 4; add.u32 %r2, %r2, 1;
        setp.lt.u32 %p0, %r2, 64; @%p0 bra again;
        st.global.u32 [%out], %r3;"
    );
    let module = load(&kernel("", &body)).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let table: Vec<u32> = (0..64).map(|at| 4 * at).collect();
    let (to, from) = (device.upload(&[0_u32]), device.upload(&table));
    let parameters = ParameterBytes::default().with(to).with(from).with(1_u32);
    let cost = device.run(&module, "test", launch(1, 1), &parameters);
    assert_eq!(device.download::<u32>(to, 1), [table.iter().sum::<u32>()]);
    cost.unwrap().runs[0].1.latency_cycles
}

#[test]
fn the_addresses_of_a_line_come_from_memory_once() {
    let near = walk("ld.global.u32", "");
    // 62 of the 64 entries are in a line that another entry has loaded.
    let far = walk("ld.global.cg.u32", "");
    assert_eq!(far - near, 62.0 * (850.0 - 40.0));
    for bypassing in [
        "ld.global.cv.u32",
        "ld.volatile.global.u32",
        "ld.relaxed.gpu.global.u32",
    ] {
        assert_eq!(walk(bypassing, ""), far, "{bypassing}");
    }
}

/// What another block may have written meanwhile is not taken from the L1 cache.
#[test]
fn an_acquire_empties_the_cache_of_lines() {
    let fences = walk("ld.global.cg.u32", "fence.acq_rel.gpu;");
    assert_eq!(walk("ld.global.u32", "fence.acq_rel.gpu;"), fences);
    let of_block = walk("ld.global.cg.u32", "fence.acq_rel.cta;");
    assert!(walk("ld.global.u32", "fence.acq_rel.cta;") < of_block);
}

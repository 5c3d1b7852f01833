//! The memory checker: reads of device memory that was never written.

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Kind, Report};

/// A module with a kernel `test(.u64 x, .u64 y)`: `body` runs with `x + 4 i` in `%x`, `y + 4 i` in `%y`, the thread's
/// index in `%i` and registers `%r0…`, `%rd0…`, `%p0…`.
fn kernel(body: &str) -> String {
    format!(
        ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry test(.param .u64 x, .param .u64 y)
{{
.reg .b32 %t, %i, %r<32>; .reg .b64 %x, %y, %rd<32>; .reg .pred %p<16>;
mov.u32 %t, %tid.x; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mad.lo.s32 %i, %r0, %r1, %t;
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mul.wide.u32 %rd0, %i, 4; add.s64 %x, %x, %rd0; add.s64 %y, %y, %rd0;
{body}
ret;
}}\n"
    )
}

/// Loads a word of `x`, and stores it to `y`.
const LOAD: &str = "ld.global.u32 %r3, [%x]; st.global.u32 [%y], %r3;";

/// Bytes of the arrays that [`found`] passes: one word for each of 4 blocks of 64 threads.
const BYTES: usize = 4 * 64 * 4;

fn arrays(driver: &Driver) -> [Address; 2] {
    [(); 2].map(|()| driver.allocate(BYTES).expect("fits"))
}

/// What is reported when `prepare` has filled two fresh arrays and a kernel runs on them.
fn found(prepare: impl Fn(&Driver, Address, Address), body: &str) -> Vec<Report> {
    found_by(prepare, &kernel(body))
}

/// The same for a whole module.
fn found_by(prepare: impl Fn(&Driver, Address, Address), module: &str) -> Vec<Report> {
    let driver = Driver::new();
    let ((), reports) = reports::collect(|| {
        let function = driver.kernel(module, "test");
        let [x, y] = arrays(&driver);
        prepare(&driver, x, y);
        driver
            .launch(function, 4, 64, 0, &[&x, &y])
            .expect("starts");
        driver.synchronize().expect("runs");
    });
    reports
}

/// The only report, whose text has all of these words.
fn only(reports: &[Report], words: &[&str]) {
    let [report] = reports else {
        panic!("one report is expected: {reports:?}");
    };
    assert_eq!(report.kind, Kind::NeverWritten);
    for word in words {
        assert!(
            report.text.contains(word),
            "`{word}` is missing: {}",
            report.text
        );
    }
}

fn nothing(_: &Driver, _: Address, _: Address) {}

#[test]
fn an_update_of_fresh_memory_in_place_is_found() {
    let body = "ld.global.u32 %r3, [%x]; add.u32 %r3, %r3, 1; st.global.u32 [%x], %r3;";
    only(
        &found(nothing, body),
        &[
            "kernel `test`, block (0, 0, 0), thread (0, 0, 0), PTX line 9",
            "at offset 0 of the allocation of 1024 bytes",
        ],
    );
}

#[test]
fn the_first_unwritten_byte_is_named() {
    let most = |driver: &Driver, x, _| driver.fill(x, 1, BYTES - 200);
    only(
        &found(most, LOAD),
        &[
            "block (3, 0, 0), thread (14, 0, 0)",
            "200 bytes from",
            "at offset 824",
        ],
    );
    let hole = |driver: &Driver, x, _| {
        driver.fill(x, 1, 401);
        driver.fill(x + 403, 1, BYTES - 403);
    };
    only(
        &found(hole, LOAD),
        &[
            "block (1, 0, 0), thread (36, 0, 0)",
            "2 bytes from",
            "at offset 401",
        ],
    );
}

#[test]
fn written_memory_is_silent() {
    let body = "ld.global.u32 %r3, [%x]; st.global.u32 [%y], %r3; ld.global.u32 %r4, [%y];";
    let all = |driver: &Driver, x, _| driver.fill(x, 1, BYTES);
    assert_eq!(found(all, body), []);
}

#[test]
fn each_allocation_has_its_own_written_bytes() {
    let body =
        "setp.lt.u32 %p0, %i, 128; @%p0 ld.global.u32 %r3, [%x]; @%p0 ld.global.u32 %r4, [%y];";
    let halves = |driver: &Driver, x, y| {
        driver.fill(x, 1, BYTES / 2);
        driver.fill(y, 1, BYTES / 2);
    };
    assert_eq!(found(halves, body), []);
}

#[test]
fn a_load_before_the_wait_for_the_grids_before_is_looked_at() {
    let body = "ld.global.u32 %r3, [%x]; griddepcontrol.wait; st.global.u32 [%y], %r3;";
    let module = kernel(body).replace(".version 6.0", ".version 7.8");
    let module = module.replace("sm_70", "sm_90");
    only(&found_by(nothing, &module), &["offset 0 of the allocation"]);
}

#[test]
fn what_a_kernel_has_written_is_written_for_the_next() {
    let driver = Driver::new();
    let ((), reports) = reports::collect(|| {
        let store = driver.kernel(&kernel("st.global.u32 [%x], %i;"), "test");
        let load = driver.kernel(&kernel(LOAD), "test");
        let [x, y] = arrays(&driver);
        driver.launch(store, 4, 64, 0, &[&x, &y]).expect("starts");
        driver.launch(load, 4, 64, 0, &[&x, &y]).expect("starts");
        driver.synchronize().expect("runs");
    });
    assert_eq!(reports, []);
}

#[test]
fn races_between_blocks_are_not_reported() {
    // Each block reads the words of the next one and writes its own.
    let body = "add.u32 %r3, %i, 64; and.b32 %r3, %r3, 255; mul.wide.u32 %rd1, %r3, 4; ld.param.u64 %rd2, [x];
        add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r4, [%rd1]; st.global.u32 [%x], %i;";
    assert_eq!(found(nothing, body), []);
}

#[test]
fn an_unset_counter_is_found() {
    let body = "ld.param.u64 %rd1, [x]; red.global.add.u32 [%rd1], 1;";
    only(
        &found(nothing, body),
        &["atomic operation of memory", "4 bytes from"],
    );
    let zeroed = |driver: &Driver, x, _| driver.fill(x, 0, 4);
    assert_eq!(found(zeroed, body), []);
    let lock = "ld.param.u64 %rd1, [x]; atom.global.exch.b32 %r3, [%rd1], 1;";
    assert_eq!(found(nothing, lock), []);
}

#[test]
fn each_instruction_is_reported_once() {
    let body = "ld.global.u32 %r3, [%x];\n ld.global.u8 %r4, [%y]; st.global.u32 [%y], %r3; st.global.u32 [%x], %r4;";
    let reports = found(nothing, body);
    let lines: Vec<bool> = reports
        .iter()
        .map(|report| report.text.contains("PTX line 10"))
        .collect();
    assert_eq!(lines, [false, true], "{reports:?}");
    assert!(
        reports[1].text.contains("1 byte from"),
        "{}",
        reports[1].text
    );
}

#[test]
fn memory_of_pools_is_unwritten_each_time_it_is_given_out() {
    let driver = Driver::new();
    let ((), reports) = reports::collect(|| {
        let stream = driver.stream(NON_BLOCKING);
        let load = driver.kernel(&kernel(LOAD), "test");
        for fill in [true, true, false] {
            let mut x: Address = 0;
            cu!(cuMemAllocAsync(&mut x => *mut Address, BYTES => usize, stream => Handle))
                .expect("fits");
            if fill {
                driver.set(x, 0, BYTES, stream).expect("starts");
            }
            driver
                .launch(load, 4, 64, stream, &[&x, &x])
                .expect("starts");
            cu!(cuMemFreeAsync(x => Address, stream => Handle)).expect("is allocated");
        }
        driver.stream_synchronize(stream).expect("runs");
    });
    only(
        &reports,
        &[
            "block (0, 0, 0), thread (0, 0, 0)",
            "at offset 0 of the allocation of 1024 bytes",
        ],
    );
    assert_eq!(reports[0].count, 1);
}

#[test]
fn a_copy_to_the_host_of_unwritten_memory_is_found() {
    let driver = Driver::new();
    let (_, reports) = reports::collect(|| {
        let x = driver.allocate(BYTES).expect("fits");
        driver.fill(x, 1, 100);
        driver.fill(x + 120, 1, BYTES - 120);
        driver.read(x, 100);
        driver.read(x + 120, 8);
        driver.read(x + 50, 200)
    });
    only(
        &reports,
        &[
            "a copy of 200 bytes from the device to the host",
            "20 bytes from",
            "at offset 100 of the allocation",
        ],
    );
}

#[test]
fn a_copy_within_the_device_moves_the_gaps() {
    let driver = Driver::new();
    let (_, reports) = reports::collect(|| {
        let [x, y] = arrays(&driver);
        driver.fill(x, 1, 100);
        driver.fill(y, 1, BYTES);
        driver.within_device(y + 16, x + 90, 20, 0).expect("starts");
        driver.read(y, 26);
        driver.read(y + 36, 8);
        driver.read(y, 64)
    });
    only(
        &reports,
        &["10 bytes from", "at offset 26 of the allocation"],
    );
}

#[test]
fn a_copy_to_the_device_fills_the_gap() {
    let driver = Driver::new();
    let (_, reports) = reports::collect(|| {
        let x = driver.allocate(BYTES).expect("fits");
        let host = vec![1_u8; BYTES];
        driver
            .to_device(x, host.as_ptr(), BYTES - 1, 0)
            .expect("starts");
        driver.read(x, BYTES - 1)
    });
    assert_eq!(reports, []);
}

#[test]
fn without_the_checkers_nothing_is_reported_and_later_nothing_made_up() {
    let driver = Driver::new();
    let before = reports::mode();
    reports::set_mode(reports::ReportMode::Off);
    let ((), reports) = reports::collect(|| {
        let function = driver.kernel(&kernel(LOAD), "test");
        let x = driver.allocate(BYTES).expect("fits");
        for mode in [reports::ReportMode::Off, before] {
            reports::set_mode(mode);
            driver
                .launch(function, 4, 64, 0, &[&x, &x])
                .expect("starts");
            driver.synchronize().expect("runs");
        }
    });
    reports::set_mode(before);
    assert_eq!(reports, []);
}

#[test]
fn memory_that_was_freed_is_named() {
    let driver = Driver::new();
    let function = driver.kernel(&kernel("st.global.u32 [%x], %i;"), "test");
    let [x, _] = arrays(&driver);
    cu!(cuMemFree_v2(x => Address)).expect("is allocated");
    let inside = x + 8;
    driver
        .launch(function, 4, 64, 0, &[&inside, &inside])
        .expect("starts");
    assert_eq!(driver.synchronize(), Err(700));
    let text = software_gpu::driver::last_fault().expect("the fault is recorded");
    let words =
        format!("it lies at offset 8 of an allocation of 1024 bytes at {x:#x} that was freed");
    assert!(text.contains(&words), "{text}");
}

#[test]
fn races_in_shared_memory_are_reported_with_both_threads() {
    let body = ".shared .align 4 .b8 s[256]; mov.u64 %rd1, s; mul.wide.u32 %rd2, %t, 4; add.s64 %rd2, %rd1, %rd2;
        st.shared.u32 [%rd2], %t;
        ld.shared.u32 %r3, [s+128]; st.global.u32 [%x], %r3;";
    let reports = found(nothing, body);
    let [report] = reports.as_slice() else {
        panic!("one report is expected: {reports:?}");
    };
    assert_eq!(report.kind, Kind::SharedMemoryRace);
    for words in [
        "kernel `test`, block (0, 0, 0): two threads touch shared memory at 0x80 without a barrier between them",
        "thread (0, 0, 0): load, PTX line 11",
        "thread (32, 0, 0): store, PTX line 10",
        "a barrier of the block (bar.sync, `__syncthreads`)",
    ] {
        assert!(
            report.text.contains(words),
            "`{words}` is missing: {}",
            report.text
        );
    }
    let fixed = body.replace("ld.shared", "bar.sync 0; ld.shared");
    assert_eq!(found(nothing, &fixed), []);
}

#[test]
fn lost_updates_of_a_warp_are_reported() {
    let zeroed = |driver: &Driver, x, _| driver.fill(x, 0, BYTES);
    let body = "ld.param.u64 %rd1, [x];
ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1;
st.global.u32 [%rd1], %r3;";
    let reports = found(zeroed, body);
    let [report] = reports.as_slice() else {
        panic!("one report is expected: {reports:?}");
    };
    assert_eq!(report.kind, Kind::LostUpdate);
    for words in [
        "kernel `test`, block (0, 0, 0): threads (0, 0, 0) and (1, 0, 0) load and store the same 4 bytes, at offset 0 of",
        "load, PTX line 10",
        "store, PTX line 11",
        "use an atomic operation (atom.add, `atomicAdd`)",
    ] {
        assert!(
            report.text.contains(words),
            "`{words}` is missing: {}",
            report.text
        );
    }
    for (wrong, right) in [
        // An element for each thread, an atomic operation, one thread of a block, strong accesses.
        ("%rd1]", "%x]"),
        (
            body,
            "ld.param.u64 %rd1, [x]; atom.global.add.u32 %r3, [%rd1], 1;",
        ),
        ("ld.global", "setp.ne.u32 %p0, %t, 0; @%p0 ret; ld.global"),
        (".global", ".volatile.global"),
        // The same value again changes nothing, and a barrier orders the loads before the stores.
        ("%r3, 1;", "%r3, 0;"),
        ("%r3, 1;", "%r3, 1; bar.sync 0;"),
        ("%r3, 1;", "%r3, 1; bar.warp.sync -1;"),
    ] {
        let right = body.replace(wrong, right);
        assert_eq!(found(zeroed, &right), [], "{right}");
    }
}

#[test]
fn divergent_barriers_are_reported() {
    let body = "setp.lt.u32 %p0, %t, 5; @%p0 bra LOW;\nbar.sync 0; bra END; LOW: bar.sync 0; END:";
    let reports = found(nothing, body);
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].kind, Kind::DivergentBarrier);
    let words = "lanes 5-31 of the warp reach barrier 0 without lanes 0-4";
    assert!(reports[0].text.contains(words), "{}", reports[0].text);
}

#[test]
fn a_pitched_allocation_is_copied_whole() {
    let driver = Driver::new();
    let copied = |written_rows: usize| {
        let (mut base, mut pitch): (Address, usize) = (0, 0);
        let (width, rows) = (100, 8_usize);
        cu!(cuMemAllocPitch_v2(
            &mut base => *mut Address, &mut pitch => *mut usize, width => usize, rows => usize, 4 => u32,
        ))
        .expect("fits");
        let ((), reports) = reports::collect(|| {
            cu!(cuMemsetD2D8_v2(
                base => Address, pitch => usize, 1 => u8, width => usize, written_rows => usize,
            ))
            .expect("sets");
            driver.read(base, pitch * rows);
        });
        reports
    };
    assert_eq!(copied(8), []);
    only(
        &copied(7),
        &["100 bytes from", "at offset 3584 of the allocation"],
    );
}

/// Structures of 8 bytes, of which a kernel writes the 5 bytes of the members, and another copies all.
#[test]
fn the_padding_of_a_copied_structure_is_no_mistake() {
    let copied = |members: &str, load: &str| {
        let place = "mul.wide.u32 %rd1, %i, 8; ld.param.u64 %rd2, [x]; add.s64 %rd1, %rd1, %rd2;";
        let module = kernel(&format!("{place} {members}"));
        let copy = kernel(&format!("{place} {load}"));
        let driver = Driver::new();
        let ((), reports) = reports::collect(|| {
            let [write, copy] = [module, copy].map(|module| driver.kernel(&module, "test"));
            let x = driver.allocate(2 * BYTES).expect("fits");
            driver.launch(write, 4, 64, 0, &[&x, &x]).expect("starts");
            driver.launch(copy, 4, 64, 0, &[&x, &x]).expect("starts");
            driver.synchronize().expect("runs");
        });
        reports
    };
    let both = "st.global.u32 [%rd1], %i; st.global.u8 [%rd1+4], %i;";
    for load in [
        "ld.global.v2.u32 {%r3, %r4}, [%rd1];",
        "ld.global.u64 %rd3, [%rd1];",
    ] {
        assert_eq!(copied(both, load), [], "{load}");
        // A member that is missing.
        let reports = copied("st.global.u8 [%rd1+4], %i;", load);
        only(&reports, &["4 bytes from", "at offset 0 of the allocation"]);
        // A gap in the middle is no padding.
        let hole =
            "st.global.u32 [%rd1], %i; st.global.u8 [%rd1+4], %i; st.global.u8 [%rd1+7], %i;";
        only(
            &copied(hole, load),
            &["2 bytes from", "at offset 5 of the allocation"],
        );
    }
    // A load of what may be padding alone.
    only(
        &copied(both, "ld.global.u8 %r3, [%rd1+5];"),
        &["at offset 5 of the allocation"],
    );
}

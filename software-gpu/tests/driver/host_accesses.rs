//! Loads and stores of the program itself, which nothing declares.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::ffi::c_void;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Report};

const BYTES: usize = 64 << 10;

/// Two buffers of page-locked memory, device memory with a value in it, and a stream.
struct TwoHostBuffers {
    host: Pinned,
    data: u64,
    stream: Handle,
    driver: Driver,
}

impl TwoHostBuffers {
    fn new(bytes: usize) -> Self {
        let driver = Driver::new();
        let data = driver.allocate(bytes).unwrap();
        driver.fill(data, 3, bytes);
        let (host, stream) = (driver.pinned(bytes), driver.stream(NON_BLOCKING));
        Self {
            host,
            data,
            stream,
            driver,
        }
    }

    fn wait(&self) {
        self.driver.stream_synchronize(self.stream).unwrap();
    }

    fn load(&self, offset: usize) -> u8 {
        // SAFETY: the tests pass offsets inside the memory.
        unsafe { self.host.pointer().add(offset).read_volatile() }
    }

    fn store(&self, offset: usize, value: u8) {
        // SAFETY: as above.
        unsafe { self.host.pointer().add(offset).write_volatile(value) };
    }

    fn copy_out(&self, bytes: usize) {
        let (host, data) = (self.host.pointer(), self.data);
        self.driver.to_host(host, data, bytes, self.stream).unwrap();
    }

    fn copy_in(&self, bytes: usize) {
        let (host, data) = (self.host.pointer(), self.data);
        self.driver
            .to_device(data, host, bytes, self.stream)
            .unwrap();
    }
}

fn texts(found: &[Report]) -> Vec<&str> {
    found.iter().map(|report| report.text.as_str()).collect()
}

/// The only report has all these words. The lines are tested where programs have line numbers: in `stream_hazards`.
fn assert_race(found: &[Report], words: &[&str]) {
    let [report] = found else {
        panic!("{:#?}", texts(found));
    };
    for word in words {
        assert!(report.text.contains(word), "{word}: {}", report.text);
    }
}

fn assert_silent(found: &[Report]) {
    assert!(found.is_empty(), "{:#?}", texts(found));
}

#[test]
fn a_load_before_the_wait_is_reported_and_sees_what_is_there() {
    let scene = TwoHostBuffers::new(64);
    let ((), found) = reports::collect(|| {
        scene.copy_out(64);
        let early = scene.load(5);
        scene.wait();
        assert_eq!((early, scene.load(5)), (0, 3));
    });
    assert_race(&found, &["load by the host", "5..6 (1 byte)", "copy of 64"]);
}

#[test]
fn a_store_under_a_copy_from_the_host_is_reported_and_takes_effect() {
    let scene = TwoHostBuffers::new(BYTES);
    let ((), found) = reports::collect(|| {
        scene.copy_in(BYTES);
        assert_eq!(scene.load(BYTES - 1), 0, "loads are allowed");
        scene.store(BYTES - 1, 9);
        scene.wait();
    });
    let copied = scene.driver.read(scene.data, BYTES);
    assert_eq!((scene.load(BYTES - 1), copied[BYTES - 1]), (9, 9));
    assert_race(&found, &["store by the host", "65535..65536"]);
}

#[test]
fn every_wait_for_the_copy_unprotects_the_memory() {
    let scene = TwoHostBuffers::new(BYTES);
    let driver = &scene.driver;
    let event = driver.event();
    let ((), found) = reports::collect(|| {
        for way in 0..5 {
            scene.copy_out(BYTES);
            driver.record(event, scene.stream).unwrap();
            match way {
                0 => scene.wait(),
                1 => driver.event_synchronize(event).unwrap(),
                2 => driver.synchronize().unwrap(),
                3 => while driver.event_query(event).is_err() {},
                _ => while driver.stream_query(scene.stream).is_err() {},
            }
            assert_eq!(scene.load(BYTES / 2), 3, "way {way}");
            scene.store(BYTES / 2, 0);
        }
    });
    assert_silent(&found);
}

/// The page of a neighbour stays open, as what is in it belongs to others.
#[test]
fn other_bytes_of_a_page_belong_to_the_host() {
    let scene = TwoHostBuffers::new(BYTES);
    let ((), found) = reports::collect(|| {
        scene.copy_out(100);
        scene.store(100, 7);
        assert_eq!(scene.load(100), 7);
        scene.copy_out(4096 + 100);
        scene.store(4096 + 100, 8);
        assert_eq!(scene.load(4096 + 100), 8);
        scene.wait();
    });
    assert_silent(&found);
}

/// A host function runs behind the earlier operations of its stream, although no thread has waited for them.
#[test]
fn a_host_function_loads_what_its_stream_has_copied() {
    unsafe extern "C" fn look(data: *mut c_void) {
        // SAFETY: the test passes memory that lives.
        let (value, seen) =
            unsafe { (data.cast::<u8>().read_volatile(), data.cast::<u8>().add(1)) };
        // SAFETY: as above.
        unsafe { seen.write_volatile(value + 1) };
    }
    let scene = TwoHostBuffers::new(BYTES);
    let ((), found) = reports::collect(|| {
        scene.copy_out(BYTES);
        let data = scene.host.pointer().cast();
        scene
            .driver
            .host_function(scene.stream, look, data)
            .unwrap();
        scene.wait();
        assert_eq!((scene.load(0), scene.load(1)), (3, 4));
    });
    assert_silent(&found);
}

/// `memcpy` loads whole vectors, in an order of its own.
#[test]
fn a_copy_by_the_c_library_is_reported_and_copies_what_is_there() {
    let scene = TwoHostBuffers::new(BYTES);
    let mut seen = vec![1_u8; BYTES];
    let ((), found) = reports::collect(|| {
        scene.copy_out(BYTES);
        // SAFETY: both have that many bytes.
        unsafe {
            scene
                .host
                .pointer()
                .copy_to_nonoverlapping(seen.as_mut_ptr(), BYTES)
        };
        scene.wait();
    });
    assert!(seen.iter().all(|byte| *byte == 0));
    assert_race(&found, &["load by the host"]);
}

/// The same values, whether the checker looks or not: each store and each load takes effect.
/// Such a call would fail with `EFAULT` at the first protected page.
#[test]
fn a_system_call_that_is_declared_succeeds_and_is_reported_once() {
    let scene = TwoHostBuffers::new(BYTES);
    let ((), found) = reports::collect(|| {
        scene.copy_out(BYTES);
        let (from, bytes) = (scene.host.pointer(), 2 * BYTES / 3);
        software_gpu::host::system_call_reads(from, bytes);
        let pipe = pipe_of(bytes);
        // SAFETY: the memory has these bytes.
        let written = unsafe { libc::write(pipe[1], from.cast(), bytes) };
        assert_eq!(written, bytes as isize);
        scene.wait();
    });
    assert_race(&found, &["load by the host", "0..1 (1 byte)"]);
    let ((), found) = reports::collect(|| {
        scene.copy_in(BYTES);
        let from = scene.host.pointer();
        software_gpu::host::system_call_reads(from, BYTES);
        software_gpu::host::system_call_writes(from.wrapping_add(BYTES), 100);
        scene.wait();
        software_gpu::host::system_call_writes(from, BYTES);
    });
    assert_silent(&found);
}

/// A pipe that takes this many bytes at once.
fn pipe_of(bytes: usize) -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both.
    let made = unsafe { libc::pipe(ends.as_mut_ptr()) };
    assert!(made == 0 && bytes <= 64 << 10);
    ends
}

/// What instrumented programs ask for each access: `false` must be certain.
#[test]
fn an_access_may_race_from_the_submission_of_a_copy_to_the_wait_for_it() {
    if !child::is_this() {
        let test = "an_access_may_race_from_the_submission_of_a_copy_to_the_wait_for_it";
        child::passes(module_path!(), test, &[]);
        return;
    }
    use software_gpu::host::may_race;
    let scene = TwoHostBuffers::new(BYTES);
    let (driver, host) = (&scene.driver, scene.host.pointer());
    let (other, pageable) = (driver.stream(NON_BLOCKING), vec![0_u8; 100]);
    scene.wait();
    assert!(!may_race(host, BYTES));
    scene.copy_out(BYTES);
    assert!(may_race(host.wrapping_add(BYTES - 1), 1));
    assert!(!may_race(host.wrapping_add(BYTES), 1) && !may_race(host, 0));
    driver.stream_synchronize(other).expect("nothing is in it");
    assert!(may_race(host, 1), "another stream was waited for");
    scene.wait();
    assert!(!may_race(host, BYTES));
    driver
        .to_device(scene.data, pageable.as_ptr().cast_mut(), 100, scene.stream)
        .expect("submitted");
    assert!(may_race(pageable.as_ptr(), 1));
    scene.wait();
    assert!(!may_race(pageable.as_ptr(), 1));
}

/// A loop that calls the driver, so that the clock advances, until `flag` is set.
fn poll(driver: &Driver, other: Handle, flag: &Pinned) {
    // SAFETY: the memory has 8 bytes at least.
    while unsafe { flag.pointer().read_volatile() } == 0 {
        driver.stream_query(other).expect("nothing is in it");
    }
}

fn write_value(stream: Handle, flag: &Pinned) {
    let to = flag.pointer() as u64;
    cu!(cuStreamWriteValue32_v2(stream => Handle, to => u64, 1 => u32, 0 => u32))
        .expect("submitted");
}

#[test]
fn a_host_that_polls_a_flag_comes_after_what_was_before_the_flag() {
    let scene = TwoHostBuffers::new(BYTES);
    let driver = &scene.driver;
    let (value, memset, other) = (
        driver.pinned(64),
        driver.pinned(64),
        driver.stream(NON_BLOCKING),
    );
    let ((), found) = reports::collect(|| {
        scene.copy_out(BYTES);
        write_value(scene.stream, &value);
        poll(driver, other, &value);
        assert_eq!(scene.load(BYTES - 1), 3);
        scene.copy_out(BYTES);
        let flag = memset.pointer() as u64;
        driver.set(flag, 1, 4, scene.stream).expect("submitted");
        poll(driver, other, &memset);
        scene.store(BYTES - 1, 0);
    });
    assert_silent(&found);
}

#[test]
fn a_flag_orders_neither_what_is_behind_it_nor_what_happens_before_it_is_set() {
    let scene = TwoHostBuffers::new(BYTES);
    let driver = &scene.driver;
    let (flag, other) = (driver.pinned(64), driver.stream(NON_BLOCKING));
    let ((), found) = reports::collect(|| {
        scene.copy_out(BYTES);
        write_value(scene.stream, &flag);
        scene.load(7);
        scene.wait();
    });
    assert_race(&found, &["load by the host", "7..8 (1 byte)"]);
    let second = driver.pinned(BYTES);
    let ((), found) = reports::collect(|| {
        // SAFETY: nothing else uses the flag now.
        unsafe { flag.pointer().write_volatile(0) };
        write_value(scene.stream, &flag);
        driver
            .to_host(second.pointer(), scene.data, BYTES, scene.stream)
            .expect("submitted");
        poll(driver, other, &flag);
        // SAFETY: the memory has these bytes.
        unsafe { second.pointer().add(9).read_volatile() };
        scene.wait();
    });
    assert_race(&found, &["load by the host", "9..10 (1 byte)"]);
}

#[test]
fn every_access_of_a_racing_loop_takes_effect() {
    let scene = TwoHostBuffers::new(1 << 20);
    let ((), found) = reports::collect(|| {
        for round in 1..4_u8 {
            scene.copy_in(1 << 20);
            for offset in (0..1 << 20).step_by(512) {
                scene.store(offset, round);
            }
            for offset in (0..1 << 20).step_by(512) {
                assert_eq!(scene.load(offset), round, "{offset}");
            }
        }
        scene.wait();
    });
    assert!(!found.is_empty());
}

/// Memory that is released and allocated again starts open.
#[test]
fn released_memory_is_not_watched() {
    for _ in 0..20 {
        let scene = TwoHostBuffers::new(BYTES);
        let ((), found) = reports::collect(|| {
            scene.store(0, 1);
            scene.copy_in(BYTES);
            scene.wait();
            scene.store(0, 2);
        });
        assert_silent(&found);
    }
}

/// Another handler of `SIGSEGV` that the program installs later: it gets its own faults, and only those.
#[test]
fn handlers_of_the_program_keep_their_own_faults() {
    if !child::is_this() {
        let test = "handlers_of_the_program_keep_their_own_faults";
        let said = child::says(module_path!(), test, "its own fault");
        let both = said.contains("load by the host") && said.contains("its own fault");
        assert!(both, "{said}");
        return;
    }
    extern "C" fn leave(_: libc::c_int) {
        let text = b"its own fault\n";
        // SAFETY: the text is as long as that.
        unsafe {
            libc::write(2, text.as_ptr().cast(), text.len());
            libc::_exit(0);
        }
    }
    let scene = TwoHostBuffers::new(BYTES);
    let handler = leave as *const () as usize;
    // SAFETY: the handler does nothing but write and end the process.
    unsafe { libc::signal(libc::SIGSEGV, handler) };
    scene.copy_out(BYTES);
    assert_eq!(scene.load(1), 0);
    scene.wait();
    // SAFETY: nothing is there, and the handler ends the process.
    unsafe { std::ptr::without_provenance::<u8>(16).read_volatile() };
    panic!("the handler was not called");
}

/// Rust's own handler distinguishes a stack overflow from other faults.
#[test]
fn a_stack_overflow_is_still_called_one() {
    if !child::is_this() {
        let said = child::says(
            module_path!(),
            "a_stack_overflow_is_still_called_one",
            "overflowed its stack",
        );
        assert!(said.contains("overflowed its stack"), "{said}");
        return;
    }
    #[allow(unconditional_recursion)]
    fn deeper(level: u64) -> u64 {
        let array = std::hint::black_box([level; 64]);
        deeper(level + 1) + std::hint::black_box(array[(level % 64) as usize])
    }
    let scene = TwoHostBuffers::new(BYTES);
    scene.copy_out(BYTES);
    assert_eq!(scene.load(1), 0);
    println!("{}", deeper(0));
}

/// The child of a `fork` has the contents of that moment, and its stores stay its own. The driver may let the copy end meanwhile, as this
/// thread is blocked.
#[test]
fn a_forked_child_has_memory_of_its_own() {
    let scene = TwoHostBuffers::new(BYTES);
    scene.store(10, 5);
    scene.copy_out(BYTES);
    // SAFETY: the child makes only calls that a child of a process with threads may make.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let inherited = scene.load(10);
        scene.store(10, 6);
        let is_own = (inherited, scene.load(10)) == (5, 6);
        // SAFETY: the call has no conditions.
        unsafe { libc::_exit(i32::from(!is_own)) };
    }
    let mut status = 0;
    // SAFETY: the child is this process's.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert_ne!(scene.load(10), 6);
    scene.wait();
    assert_eq!(scene.load(10), 3);
}

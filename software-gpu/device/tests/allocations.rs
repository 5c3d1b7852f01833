//! Accesses, branches and barriers of a kernel allocate nothing: a kernel of many rounds allocates as often as one of few.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use software_gpu_device::exec::{Executable, Grid, Latencies, execute, execute_checked};
use software_gpu_device::memory::{AddressSpace, AllocationKind, WriteHold};
use software_gpu_device::ptx;
use software_gpu_device::timeline::Profile;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts the thread's requests.
struct Counting;

// SAFETY: all is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Each round: a strided load, a store to shared memory, a barrier, a divergent branch with an atomic operation, a shuffle, and a
/// barrier.
const ROUNDS: &str = "
.version 6.0
.target sm_70
.address_size 64
.visible .entry rounds(.param .u64 data, .param .u32 rounds)
{
.shared .align 4 .b8 words[512];
.reg .b32 %t, %n, %v, %o, %k, %s, %l; .reg .b64 %data, %at; .reg .pred %p, %q;
ld.param.u64 %data, [data]; ld.param.u32 %n, [rounds];
mov.u32 %t, %tid.x; mul.wide.u32 %at, %t, 12; add.u64 %at, %at, %data;
shl.b32 %o, %t, 2; mov.u32 %s, words; add.u32 %s, %s, %o; mov.u32 %k, 0; and.b32 %l, %t, 1; setp.eq.u32 %p, %l, 0;
AGAIN:
ld.global.u32 %v, [%at];
st.shared.u32 [%s], %v;
bar.sync 0;
@%p bra EVEN;
atom.shared.add.u32 %v, [words], 1;
EVEN:
shfl.sync.down.b32 %v, %v, 1, 31, 0xffffffff;
st.global.u32 [%at], %v;
bar.sync 0;
add.u32 %k, %k, 1; setp.lt.u32 %q, %k, %n; @%q bra AGAIN;
ret;
}
";

/// How often a launch of one block with these rounds allocates.
fn allocations(rounds: u32, checked: bool) -> usize {
    let module = ptx::parse(ROUNDS).expect("is PTX");
    let latencies = Latencies::of(&Profile::h200());
    let module = Executable::new(&module, latencies, &|_| None).expect("is understood");
    let mut space = AddressSpace::new(&[1 << 30], 0);
    let data = space.allocate(0, 4096, AllocationKind::Device);
    let mut parameters = data.expect("fits").to_le_bytes().to_vec();
    parameters.extend_from_slice(&rounds.to_le_bytes());
    let grid = Grid {
        kernel: module.kernel("rounds").expect("exists"),
        grid: [1; 3],
        block: [128, 1, 1],
        cluster: None,
        cooperative: false,
        dynamic_shared_bytes: 0,
        parameters: &parameters,
        start_ns: 0,
        clock_mhz: 1000.0,
        compute_capability: (9, 0),
        multiprocessors: 1,
        instruction_budget: 1 << 24,
        stack_limit: 1024,
        threads: 1,
    };
    let hold = WriteHold::new(&space);
    let before = ALLOCATIONS.get();
    let cost = match checked {
        true => execute_checked(&grid, &hold).0,
        false => execute(&grid, &hold),
    };
    let allocations = ALLOCATIONS.get() - before;
    cost.expect("runs");
    assert!(allocations > 0, "the allocator does not count");
    allocations
}

#[test]
fn rounds_allocate_nothing() {
    for checked in [false, true] {
        let [few, many] = [20, 2000].map(|rounds| allocations(rounds, checked));
        // The list of touched memory grows with the modelled time, and doubles.
        assert!(
            many <= few + 32,
            "checked: {checked}, {few} allocations in 20 rounds and {many} in 2000"
        );
    }
}

//! Tests of the patterns that the addresses of a warp have: results and traffic are those of each lane by itself, and no
//! access goes lane by lane.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::exec::{Executable, Grid, GridCost, Latencies, execute, execute_checked};
use crate::memory::{AddressSpace, AllocationKind, PAGE, WriteHold};
use crate::timeline::Profile;

thread_local! {
    /// Accesses of warps that went lane by lane.
    pub(in crate::exec) static LANE_BY_LANE: Cell<u32> = const { Cell::new(0) };
}

const LANES: usize = 32;
/// Words of each buffer: of several pages.
const WORDS: usize = 8 * PAGE / 4;
/// Words of shared memory.
const SHARED: usize = 1024;

/// Which lanes access memory, and the word that each accesses.
struct LanePattern {
    name: &'static str,
    mask: u32,
    words: [u32; LANES],
}

fn patterns() -> Vec<LanePattern> {
    let mut random = fastrand::Rng::with_seed(7);
    let whole = |name, word: fn(u32) -> u32| LanePattern {
        name,
        mask: !0,
        words: std::array::from_fn(|lane| word(lane as u32)),
    };
    let mut all = vec![
        whole("in a row", |lane| lane),
        whole("in a row, not at a line", |lane| lane + 7),
        whole("rows of 16", |lane| lane / 16 * 256 + lane % 16),
        whole("the same row of 16 twice", |lane| 3 + lane % 16),
        whole("one word for each half", |lane| lane / 16 * 16),
        whole("rows of 8", |lane| lane / 8 * 64 + lane % 8),
        whole("every second word", |lane| 2 * lane),
        whole("a column", |lane| 33 * lane % 1024),
        whole("backwards", |lane| 100 - lane),
        whole("one word", |_| 77),
    ];
    for (name, end) in [("random", SHARED), ("random, a few words", 8)] {
        let words = std::array::from_fn(|_| random.u32(..end as u32));
        all.push(LanePattern {
            name,
            mask: !0,
            words,
        });
    }
    let masks = [0xffff, 0x0f0f_0f0f, 1, 1 << 31, 0x8000_0001, random.u32(..)];
    let masked: Vec<_> = all
        .iter()
        .flat_map(|pattern| masks.map(|mask| LanePattern { mask, ..*pattern }))
        .collect();
    all.extend(masked);
    all
}

/// What a kernel does with the word at `%word`, of an address register and a state space. The value is `%i + 1`.
const STEPS: [(&str, &str); 3] = [
    ("load", "ld.SPACE.u32 %value, [%word];"),
    ("store", "st.SPACE.u32 [%word], %value;"),
    ("atomic", "atom.SPACE.add.u32 %value, [%word], %value;"),
];

/// A kernel of one warp: `out[lane]` is the value behind the step, `data` what the step works on.
fn kernel(step: &str, shared: bool) -> String {
    let space = if shared { "shared" } else { "global" };
    let step = step.replace("SPACE", space);
    // In shared memory the step works on a copy of the data's first words.
    let (word, before, behind) = match shared {
        true => (
            "mov.u32 %base, words; add.u32 %near, %index, %base;",
            "ld.global.u32 %v, [%far]; st.shared.u32 [%s], %v;",
            "ld.shared.u32 %v, [%s]; st.global.u32 [%far], %v;",
        ),
        false => ("", "", ""),
    };
    let each = |body: &str, label: &str| {
        match shared {
        true => format!(
            "mov.u32 %k, 0; {label}: shl.b32 %b, %lane, 2; mad.lo.u32 %b, %k, 128, %b; cvt.u64.u32 %w, %b;
             add.u64 %far, %data, %w; mov.u32 %s, words; add.u32 %s, %s, %b; {body}
             add.u32 %k, %k, 1; setp.lt.u32 %q, %k, {}; @%q bra {label}; bar.warp.sync 0xffffffff;",
            SHARED / LANES
        ),
        false => String::new(),
    }
    };
    format!(
        ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry test(.param .u64 data, .param .u64 index, .param .u64 out, .param .u32 mask)
{{
.shared .align 16 .b8 words[{}];
.reg .b32 %lane, %index, %value, %near, %base, %k, %b, %s, %v, %mask, %bit; .reg .b64 %data, %at, %out, %w, %far, %word; .reg .pred %p, %q;
ld.param.u64 %data, [data]; ld.param.u64 %at, [index]; ld.param.u64 %out, [out]; ld.param.u32 %mask, [mask];
mov.u32 %lane, %tid.x; mul.wide.u32 %w, %lane, 4; add.u64 %at, %at, %w; add.u64 %out, %out, %w;
ld.global.u32 %index, [%at]; shl.b32 %index, %index, 2; cvt.u64.u32 %word, %index; add.u64 %word, %word, %data;
add.u32 %value, %lane, 1; shr.u32 %bit, %mask, %lane; and.b32 %bit, %bit, 1; setp.eq.u32 %p, %bit, 1;
{}
{word}
@%p {};
{}
st.global.u32 [%out], %value;
ret;
}}\n",
        4 * SHARED,
        each(before, "FILL"),
        step.replace("%word", if shared { "%near" } else { "%word" })
            .trim_end_matches(';'),
        each(behind, "DRAIN"),
    )
}

fn load(source: &str) -> Executable {
    let module = crate::ptx::parse(source).expect("is PTX");
    let module = Executable::new(&module, Latencies::of(&Profile::h200()), &|_| None);
    module.expect("is understood")
}

/// Memory with a buffer, the indices and the results.
struct Machine {
    space: AddressSpace,
    data: u64,
    index: u64,
    out: u64,
}

impl Machine {
    fn new(pattern: &LanePattern) -> Self {
        let mut space = AddressSpace::new(&[1 << 30], 0);
        let mut allocate = |words: usize| {
            let base = space.allocate(0, 4 * words, AllocationKind::Device);
            base.expect("fits")
        };
        let (data, index, out) = (allocate(WORDS), allocate(LANES), allocate(LANES));
        let machine = Self {
            space,
            data,
            index,
            out,
        };
        let initial: Vec<u32> = (0..WORDS as u32).map(|word| word * 3 + 1).collect();
        machine.fill(data, &initial);
        machine.fill(index, &pattern.words);
        machine
    }

    fn fill(&self, at: u64, words: &[u32]) {
        let to = self.space.storage(at, 4 * words.len()).expect("is mapped");
        // SAFETY: `storage` checked the range.
        unsafe { to.copy_from_nonoverlapping(words.as_ptr().cast(), 4 * words.len()) };
        self.space
            .mark_written(&(at..at + 4 * words.len() as u64).into());
    }

    fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let from = self.space.storage(at, 4 * count).expect("is mapped");
        let mut words = vec![0_u32; count];
        // SAFETY: `storage` checked the range.
        unsafe { from.copy_to_nonoverlapping(words.as_mut_ptr().cast(), 4 * count) };
        words
    }

    fn run(&self, module: &Executable, mask: u32, checked: bool) -> GridCost {
        let mut parameters = Vec::new();
        for address in [self.data, self.index, self.out] {
            parameters.extend_from_slice(&address.to_le_bytes());
        }
        parameters.extend_from_slice(&mask.to_le_bytes());
        let grid = Grid {
            kernel: module.kernel("test").expect("exists"),
            grid: [1; 3],
            block: [LANES as u32, 1, 1],
            cluster: None,
            cooperative: false,
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            start_ns: 0,
            clock_mhz: 1000.0,
            compute_capability: (9, 0),
            multiprocessors: 1,
            instruction_budget: 1 << 20,
            stack_limit: 1024,
            threads: 1,
        };
        let hold = WriteHold::new(&self.space);
        let cost = match checked {
            true => execute_checked(&grid, &hold).0,
            false => execute(&grid, &hold),
        };
        let cost = cost.expect("runs");
        hold.finish().land(&self.space);
        cost
    }
}

/// What the step leaves: the values of the lanes, and the words.
fn expected(pattern: &LanePattern, step: &str) -> (Vec<u32>, Vec<u32>) {
    let mut words: Vec<u32> = (0..WORDS as u32).map(|word| word * 3 + 1).collect();
    let mut values: Vec<u32> = (1..=LANES as u32).collect();
    for lane in (0..LANES).filter(|lane| pattern.mask >> lane & 1 == 1) {
        let word = &mut words[pattern.words[lane] as usize];
        match step {
            "load" => values[lane] = *word,
            "store" => *word = values[lane],
            _ => {
                let old = *word;
                *word += values[lane];
                values[lane] = old;
            }
        }
    }
    (values, words)
}

#[test]
fn no_pattern_goes_lane_by_lane() {
    let (patterns, mut accesses) = (patterns(), 0);
    for (step, text) in STEPS {
        for shared in [false, true] {
            let module = load(&kernel(text, shared));
            let cases = patterns
                .iter()
                .flat_map(|pattern| [(pattern, false), (pattern, true)]);
            for (pattern, checked) in cases {
                let machine = Machine::new(pattern);
                LANE_BY_LANE.set(0);
                let cost = machine.run(&module, pattern.mask, checked);
                let what = (pattern.name, pattern.mask, step, shared, checked);
                assert_eq!(LANE_BY_LANE.get(), 0, "{what:?}");
                let (values, words) = expected(pattern, step);
                assert_eq!(machine.words(machine.out, LANES), values, "{what:?}");
                assert_eq!(machine.words(machine.data, WORDS), words, "{what:?}");
                if !shared {
                    traffic_is_that_of_the_lanes(&machine, pattern, step, &cost);
                }
                accesses += 1;
            }
        }
    }
    assert!(accesses > 900, "{accesses}");
}

/// Sectors and lines as one counts them by hand.
fn traffic_is_that_of_the_lanes(
    machine: &Machine,
    pattern: &LanePattern,
    step: &str,
    cost: &GridCost,
) {
    let lanes = (0..LANES).filter(|lane| pattern.mask >> lane & 1 == 1);
    let addresses = lanes.map(|lane| machine.data + 4 * u64::from(pattern.words[lane]));
    let addresses: Vec<u64> = addresses.collect();
    let units = |bytes: u64| {
        addresses
            .iter()
            .map(|at| at / bytes)
            .collect::<BTreeSet<_>>()
    };
    let (sectors, lines) = (units(32).len() as u64, units(128));
    let (_, block) = cost.runs[0];
    // The indices are loaded and the values are stored beside that: 128 bytes each.
    let (read, written) = match step {
        "load" => (32 * sectors, 0),
        _ => (0, 32 * sectors),
    };
    let what = (pattern.name, pattern.mask, step);
    assert_eq!(block.global_read_bytes, 128 + read, "{what:?}");
    assert_eq!(block.global_write_bytes, 128 + written, "{what:?}");
    let touched = match step {
        "load" => &cost.touched.reads,
        _ => &cost.touched.writes,
    };
    let of_data = machine.data / 128..(machine.data + 4 * WORDS as u64) / 128;
    let touched = touched.iter().flat_map(|touch| {
        let lines = (0..32).filter(|line| touch.lines >> line & 1 == 1);
        lines.map(|line| touch.granule * 32 + line)
    });
    let touched: BTreeSet<u64> = touched.filter(|line| of_data.contains(line)).collect();
    assert_eq!(touched, lines, "{what:?}");
}

#[test]
fn lanes_of_two_allocations_go_one_by_one() {
    let words = std::array::from_fn(|lane| lane as u32);
    let mut pattern = LanePattern {
        name: "two allocations",
        mask: !0,
        words,
    };
    let machine = Machine::new(&pattern);
    let distance = (machine.index - machine.data) / 4;
    pattern.words[LANES - 1] = distance as u32;
    machine.fill(machine.index, &pattern.words);
    LANE_BY_LANE.set(0);
    machine.run(&load(&kernel(STEPS[0].1, false)), !0, false);
    assert_eq!(LANE_BY_LANE.get(), 1);
    let values = machine.words(machine.out, LANES);
    assert_eq!(values[LANES - 1], pattern.words[0]);
    assert_eq!(values[LANES - 2], 30 * 3 + 1);
}

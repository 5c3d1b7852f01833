//! `wgmma`: every layout that a matrix descriptor describes, against matrices that are written to shared memory element by
//! element; sums against matrices multiplied in Rust; what a missing wait shows.

use crate::exec_support::{ParameterBytes, TestDevice, TestLaunch, launch, load};
use half::{bf16, f16};
use proptest::prelude::*;
use software_gpu::exec::{Fault, Observed};

/// Where A and B are in shared memory.
const A_AT: u64 = 0;
const B_AT: u64 = 16 << 10;
const BYTES: usize = 48 << 10;

/// A swizzle: its number in a descriptor, and the bytes of a line.
const SWIZZLES: [(u64, usize); 4] = [(0, 16), (1, 128), (2, 64), (3, 32)];

/// One multiplication: what follows the type in its name, and its operands behind D.
#[derive(Clone)]
struct Multiplication {
    columns: usize,
    format: &'static str,
    /// A comes from registers.
    registers: bool,
    accumulates: &'static str,
    scales: [i32; 2],
    majors: [u32; 2],
}

impl Multiplication {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            format: "bf16",
            registers: false,
            accumulates: "1",
            scales: [1, 1],
            majors: [0, 0],
        }
    }

    fn text(&self) -> String {
        let count = self.columns / 2;
        let d: Vec<String> = (0..count).map(|index| format!("%d{index}")).collect();
        let (a, majors) = match self.registers {
            true => ("{%a0, %a1, %a2, %a3}", format!("{}", self.majors[1])),
            false => ("%rd4", format!("{}, {}", self.majors[0], self.majors[1])),
        };
        let [first, second] = self.scales;
        format!(
            "wgmma.mma_async.sync.aligned.m64n{}k16.f32.{2}.{2} {{{1}}}, {a}, %rd5, {3}, {first}, {second}, {majors};\n",
            self.columns,
            d.join(", "),
            self.format,
            self.accumulates
        )
    }
}

/// A kernel of 128 threads: fills shared memory, loads A's fragments and D, executes `code`, stores D.
fn kernel(columns: usize, code: &str) -> String {
    let count = columns / 2;
    let each = |text: &str| -> String {
        let line = |index: usize| {
            text.replace("#4", &(4 * index).to_string())
                .replace('#', &index.to_string())
        };
        (0..count).map(line).collect()
    };
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64
.shared .align 1024 .b8 mem[{BYTES}];
.visible .entry test(.param .u64 image, .param .u64 a, .param .u64 d, .param .u64 out, .param .u64 left, .param .u64 right)
{{
.reg .b32 %t, %r<8>, %a<4>; .reg .f32 %d<{count}>, %f<4>; .reg .b64 %rd<8>, %p<4>; .reg .pred %q, %yes, %no;
mov.u32 %t, %tid.x; ld.param.u64 %p0, [image]; ld.param.u64 %p1, [a]; ld.param.u64 %p2, [d]; ld.param.u64 %p3, [out];
ld.param.u64 %rd4, [left]; ld.param.u64 %rd5, [right];
setp.eq.u32 %yes, %t, %t; setp.ne.u32 %no, %t, %t;
mov.u32 %r0, %t; mov.u32 %r2, mem; mov.u32 %r4, %ntid.x;
fill: shl.b32 %r1, %r0, 2; cvt.u64.u32 %rd0, %r1; add.u64 %rd0, %rd0, %p0; ld.global.u32 %r3, [%rd0];
add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r3; add.u32 %r0, %r0, %r4; setp.lt.u32 %q, %r0, {words}; @%q bra fill;
fence.proxy.async; bar.sync 0;
mul.wide.u32 %rd0, %t, 16; add.u64 %rd0, %rd0, %p1; ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%rd0];
mul.wide.u32 %rd1, %t, {row}; add.u64 %rd2, %rd1, %p2; add.u64 %rd3, %rd1, %p3;
{loads}
wgmma.fence.sync.aligned;
{code}
{stores}
ret;
}}\n",
        words = BYTES / 4,
        row = 4 * count,
        loads = each("ld.global.f32 %d#, [%rd2+#4];\n"),
        stores = each("st.global.f32 [%rd3+#4], %d#;\n"),
    )
}

/// The wait that programs have.
const WAIT: &str = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

type MatrixRows = Vec<[f32; 16]>;

struct WarpgroupCase {
    left: u64,
    right: u64,
    image: Vec<u16>,
    a: MatrixRows,
    /// D before, by row.
    before: Vec<Vec<f32>>,
}

fn encode(format: &str, value: f32) -> u16 {
    match format {
        "bf16" => bf16::from_f32(value).to_bits(),
        _ => f16::from_f32(value).to_bits(),
    }
}

/// Row and column of the element that a thread has in register `index` of D, as the instruction set draws it.
fn place(thread: usize, index: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    let row = 16 * warp + lane / 4 + if index & 2 != 0 { 8 } else { 0 };
    (row, 8 * (index / 4) + 2 * (lane % 4) + (index & 1))
}

fn run_checked(
    columns: usize,
    code: &str,
    case: &WarpgroupCase,
    format: &str,
    launch: TestLaunch,
) -> (Result<Vec<Vec<f32>>, Fault>, Observed) {
    let text = kernel(columns, code);
    let module = load(&text).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let threads = launch.block[0] as usize;
    let mut fragments = Vec::new();
    let mut before = Vec::new();
    for thread in 0..threads {
        for register in 0..4 {
            // Upper left, lower left, upper right, lower right.
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register % 2);
            let k = 2 * (thread % 4) + 8 * (register / 2);
            let element = |k: usize| u32::from(encode(format, case.a[row % 64][k]));
            fragments.push(element(k) | element(k + 1) << 16);
        }
        for index in 0..columns / 2 {
            let (row, column) = place(thread, index);
            before.push(case.before[row % 64][column]);
        }
    }
    let (image, a) = (device.upload(&case.image), device.upload(&fragments));
    let (d, out) = (
        device.upload(&before),
        device.upload(&vec![0.0_f32; before.len()]),
    );
    let parameters = ParameterBytes::default()
        .with(image)
        .with(a)
        .with(d)
        .with(out)
        .with(case.left)
        .with(case.right);
    let (cost, observed) = device.run_checked(&module, "test", launch, &parameters);
    let result = cost.map(|_| {
        let came: Vec<f32> = device.download(out, before.len());
        let mut rows = vec![vec![f32::NAN; columns]; 64];
        for (at, value) in came.into_iter().enumerate() {
            let (row, column) = place(at / (columns / 2), at % (columns / 2));
            rows[row % 64][column] = value;
        }
        rows
    });
    (result, observed)
}

fn run(
    columns: usize,
    code: &str,
    case: &WarpgroupCase,
    format: &str,
) -> Result<Vec<Vec<f32>>, Fault> {
    run_checked(columns, code, case, format, launch(1, 128)).0
}

/// The byte where the swizzle puts the byte of an unswizzled layout: chunks of 16 bytes within a line of `line` bytes are
/// numbered anew, by the number of the 128-byte row of memory.
fn swizzled(at: usize, line: usize) -> usize {
    let chunks = line / 16;
    let (chunk, row) = (at / 16 % chunks, at / 128 % chunks);
    at - chunk * 16 + (chunk ^ row) * 16
}

/// An operand's layout, described as matrices of 8 lines one behind the other.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Index into [`SWIZZLES`].
    swizzle: usize,
    /// Elements of eight rows lie together rather than eight along K.
    rows_together: bool,
    /// Bytes between such matrices along K, and along the rows.
    along_k: usize,
    along_rows: usize,
}

impl Layout {
    /// Layouts without gaps for `rows` rows; `wide` puts the matrices along K far apart.
    fn dense(swizzle: usize, rows_together: bool, rows: usize, wide: bool) -> Self {
        let line = SWIZZLES[swizzle].1;
        let block = 8 * line;
        let (along_k, along_rows) = match (rows_together, wide) {
            (false, false) => (block * rows.div_ceil(8), block),
            (false, true) => (block, 2 * block),
            // A matrix holds `line / 2` rows.
            (true, false) => (block, 2 * block),
            (true, true) => (block * rows.div_ceil(line / 2), block),
        };
        Self {
            swizzle,
            rows_together,
            along_k,
            along_rows,
        }
    }

    /// The byte of an element, relative to the operand's start, which is aligned to 1024 bytes.
    fn byte(&self, row: usize, k: usize) -> usize {
        let line = SWIZZLES[self.swizzle].1;
        let (along_line, across) = match self.rows_together {
            true => (row, k),
            false => (k, row),
        };
        let (matrix_along, element) = (along_line / (line / 2), along_line % (line / 2));
        let (matrix_across, number) = (across / 8, across % 8);
        let (over_k, over_rows) = match self.rows_together {
            true => (matrix_across, matrix_along),
            false => (matrix_along, matrix_across),
        };
        let plain =
            over_k * self.along_k + over_rows * self.along_rows + number * line + 2 * element;
        match self.swizzle {
            0 => plain,
            _ => swizzled(plain, line),
        }
    }

    /// The descriptor: which distance is the leading one depends on the layout (PTX ISA, "Strides").
    fn descriptor(&self, start: u64) -> u64 {
        let (leading, stride) = match (self.rows_together, self.swizzle) {
            (false, 0) | (true, 0) => (self.along_k, self.along_rows),
            // Along K there is no other matrix: the distance is ignored.
            (false, _) => (16, self.along_rows),
            (true, _) => (self.along_rows, self.along_k),
        };
        let field = |bytes: usize| bytes as u64 >> 4;
        start >> 4 | field(leading) << 16 | field(stride) << 32 | SWIZZLES[self.swizzle].0 << 62
    }
}

/// Small numbers without a pattern: all sums are exact.
fn noise(seed: usize, count: usize) -> Vec<f32> {
    let mut numbers = fastrand::Rng::with_seed(seed as u64);
    (0..count).map(|_| numbers.i8(-16..=16).into()).collect()
}

fn rows(seed: usize, count: usize) -> MatrixRows {
    let flat = noise(seed, count * 16);
    flat.chunks(16)
        .map(|row| std::array::from_fn(|k| row[k]))
        .collect()
}

fn case(
    format: &str,
    columns: usize,
    [left, right]: [Layout; 2],
    seed: usize,
) -> (WarpgroupCase, MatrixRows) {
    let (a, b) = (rows(seed, 64), rows(seed + 1, columns));
    let mut image = vec![encode(format, 99.0); BYTES / 2];
    for (matrix, layout, start) in [(&a, left, A_AT), (&b, right, B_AT)] {
        for (row, elements) in matrix.iter().enumerate() {
            for (k, element) in elements.iter().enumerate() {
                image[(start as usize + layout.byte(row, k)) / 2] = encode(format, *element);
            }
        }
    }
    let before = noise(seed + 2, 64 * columns);
    let case = WarpgroupCase {
        left: left.descriptor(A_AT),
        right: right.descriptor(B_AT),
        image,
        a,
        before: before.chunks(columns).map(<[f32]>::to_vec).collect(),
    };
    (case, b)
}

/// `times * a * b + share * before`.
fn expected(case: &WarpgroupCase, b: &MatrixRows, times: f32, share: f32) -> Vec<Vec<f32>> {
    let sum = |row: &[f32; 16], column: &[f32; 16]| -> f32 {
        row.iter().zip(column).map(|(a, b)| a * b).sum()
    };
    let row = |(a, before): (&[f32; 16], &Vec<f32>)| {
        let columns = b.iter().zip(before);
        columns
            .map(|(column, before)| times * sum(a, column) + share * before)
            .collect()
    };
    case.a.iter().zip(&case.before).map(row).collect()
}

const PLAIN: [Layout; 2] = [
    Layout {
        swizzle: 0,
        rows_together: false,
        along_k: 1024,
        along_rows: 128,
    },
    Layout {
        swizzle: 0,
        rows_together: false,
        along_k: 4096,
        along_rows: 128,
    },
];

fn check(multiplication: &Multiplication, layouts: [Layout; 2], seed: usize) {
    let columns = multiplication.columns;
    let (case, b) = case(multiplication.format, columns, layouts, seed);
    let code = multiplication.text() + WAIT;
    let came = run(columns, &code, &case, multiplication.format).unwrap();
    let times = (multiplication.scales[0] * multiplication.scales[1]) as f32;
    let share = if matches!(multiplication.accumulates, "1" | "%yes" | "!%no") {
        1.0
    } else {
        0.0
    };
    assert_eq!(came, expected(&case, &b, times, share), "{layouts:?}");
}

#[test]
fn all_widths_are_multiplied() {
    for columns in (8..=256).step_by(8) {
        check(&Multiplication::new(columns), PLAIN, columns);
    }
}

#[test]
fn both_formats_and_both_places_of_a() {
    for format in ["bf16", "f16"] {
        for registers in [false, true] {
            let multiplication = Multiplication {
                format,
                registers,
                ..Multiplication::new(24)
            };
            check(&multiplication, PLAIN, 5);
        }
    }
}

#[test]
fn factors_are_negated_and_sums_dropped() {
    for scales in [[1, -1], [-1, 1], [-1, -1]] {
        for accumulates in ["0", "1", "%yes", "%no", "!%no"] {
            let multiplication = Multiplication {
                scales,
                accumulates,
                ..Multiplication::new(16)
            };
            check(&multiplication, PLAIN, 9);
        }
    }
}

#[test]
fn every_layout_is_read() {
    for swizzle in 0..4 {
        for major in 0..2 {
            for wide in [false, true] {
                let together = major == 1;
                let left = Layout::dense(swizzle, together, 64, wide);
                let right = Layout::dense(swizzle, together, 128, wide);
                let multiplication = Multiplication {
                    majors: [major, major],
                    ..Multiplication::new(128)
                };
                check(&multiplication, [left, right], swizzle + 7);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any two layouts, for any number of columns.
    #[test]
    fn any_two_layouts_go_together(
        columns in 1_usize..=32,
        swizzles in [0_usize..4, 0..4],
        majors in [0_u32..2, 0..2],
        wide in [any::<bool>(), any::<bool>()],
        registers in any::<bool>(),
        seed in 0_usize..1000,
    ) {
        let columns = 8 * columns;
        let left = Layout::dense(swizzles[0], majors[0] == 1, 64, wide[0]);
        let mut right = Layout::dense(swizzles[1], majors[1] == 1, columns, wide[1]);
        // What does not fit.
        if right.byte(columns - 1, 15) + B_AT as usize >= BYTES {
            right = PLAIN[1];
        }
        let majors = [majors[0], u32::from(right.rows_together)];
        check(&Multiplication { majors, registers, ..Multiplication::new(columns) }, [left, right], seed);
    }
}

/// K advances by 32 bytes within a swizzled line: the start of the descriptor moves, the pattern does not.
#[test]
fn a_descriptor_may_start_within_a_line() {
    let wide = Layout {
        swizzle: 1,
        rows_together: false,
        along_k: 0,
        along_rows: 1024,
    };
    let (mut case, b) = case("bf16", 64, [PLAIN[0], wide], 3);
    for start in [0, 32, 64, 96] {
        case.image[B_AT as usize / 2..].fill(encode("bf16", 99.0));
        for (row, elements) in b.iter().enumerate() {
            for (k, element) in elements.iter().enumerate() {
                let at = wide.byte(row, start / 2 + k);
                case.image[(B_AT as usize + at) / 2] = encode("bf16", *element);
            }
        }
        case.right = wide.descriptor(B_AT + start as u64);
        let code = Multiplication::new(64).text() + WAIT;
        let came = run(64, &code, &case, "bf16").unwrap();
        assert_eq!(came, expected(&case, &b, 1.0, 1.0), "start {start}");
    }
}

/// Shared memory is read as late as the wait for it: overwriting it before spoils the product.
#[test]
fn shared_memory_is_read_at_the_wait() {
    let multiply = Multiplication::new(8).text();
    let commit = "wgmma.commit_group.sync.aligned;";
    let wait = |groups: u32| format!("wgmma.wait_group.sync.aligned {groups};");
    let overwrite = format!(
        "bar.sync 0; mov.u32 %r0, 0; add.u32 %r1, %r2, {B_AT}; st.shared.v4.u32 [%r1], {{%r0, %r0, %r0, %r0}}; bar.sync 0;"
    );
    let (case, b) = case("bf16", 8, PLAIN, 1);
    let (once, twice) = (expected(&case, &b, 1.0, 1.0), expected(&case, &b, 2.0, 1.0));
    let ran = |code: String| run(8, &code, &case, "bf16").unwrap();
    assert_eq!(
        ran(format!("{multiply}{commit}{}{overwrite}", wait(0))),
        once
    );
    assert_ne!(
        ran(format!("{multiply}{commit}{overwrite}{}", wait(0))),
        once
    );
    assert_ne!(
        ran(format!("{multiply}{overwrite}{commit}{}", wait(0))),
        once
    );
    // The latest group may stay under way.
    let two = format!("{multiply}{commit}{multiply}{commit}");
    assert_eq!(ran(format!("{two}{}{overwrite}", wait(0))), twice);
    let spoilt = ran(format!("{two}{}{overwrite}{}", wait(1), wait(0)));
    assert_ne!(spoilt, twice);
    assert_ne!(spoilt, ran(format!("{two}{overwrite}{}", wait(0))));
}

/// An instruction that touches D waits first, as `ptxas` has it.
#[test]
fn registers_are_safe_without_a_wait() {
    let multiply = Multiplication::new(8).text();
    let (case, b) = case("bf16", 8, PLAIN, 2);
    let came = run(8, &multiply, &case, "bf16").unwrap();
    assert_eq!(came, expected(&case, &b, 1.0, 1.0));
    let branch = format!("{multiply} @%no bra skip; bar.sync 0; skip:");
    assert_eq!(run(8, &branch, &case, "bf16").unwrap(), came);
    let copied = format!("{multiply} mov.f32 %f0, %d0; {multiply} sub.f32 %d0, %d0, %f0; {WAIT}");
    let mut twice = expected(&case, &b, 2.0, 1.0);
    for thread in 0..128 {
        let (row, column) = place(thread, 0);
        twice[row][column] -= came[row][column];
    }
    assert_eq!(run(8, &copied, &case, "bf16").unwrap(), twice);
}

/// A second warpgroup computes the same.
#[test]
fn two_warpgroups_work_side_by_side() {
    let (case, b) = case("bf16", 32, PLAIN, 4);
    let code = Multiplication::new(32).text() + WAIT;
    let (came, observed) = run_checked(32, &code, &case, "bf16", launch(1, 256));
    assert_eq!(came.unwrap(), expected(&case, &b, 1.0, 1.0));
    assert!(observed.shared_races.is_empty());
}

#[test]
fn overwriting_without_a_barrier_is_a_race() {
    let (case, _) = case("bf16", 8, PLAIN, 4);
    let store =
        format!("add.u32 %r1, %r2, {B_AT}; setp.eq.u32 %q, %t, 96; @%q st.shared.u32 [%r1], 0;");
    let race = format!("{}{WAIT}{store}", Multiplication::new(8).text());
    let (_, observed) = run_checked(8, &race, &case, "bf16", launch(1, 128));
    assert_eq!(observed.shared_races.len(), 1);
    // A barrier before the wait orders nothing: the multiplication may read later.
    let multiply = Multiplication::new(8).text();
    let early = format!("{multiply} bar.sync 0; {store} bar.sync 0; {WAIT}");
    let (_, observed) = run_checked(8, &early, &case, "bf16", launch(1, 128));
    assert_eq!(observed.shared_races.len(), 1);
    let ordered = format!(
        "{}{WAIT} bar.sync 0; {store}",
        Multiplication::new(8).text()
    );
    let (_, observed) = run_checked(8, &ordered, &case, "bf16", launch(1, 128));
    assert_eq!(observed.shared_races, []);
}

#[test]
fn misuse_is_a_fault() {
    let (mut case, _) = case("bf16", 8, PLAIN, 4);
    let code = Multiplication::new(8).text() + WAIT;
    let short = run_checked(8, &code, &case, "bf16", launch(1, 96)).0;
    assert!(short.unwrap_err().to_string().contains("four warps"));
    let different = "cvt.u64.u32 %rd6, %t; add.u64 %rd5, %rd5, %rd6;".to_owned() + &code;
    let fault = run(8, &different, &case, "bf16").unwrap_err();
    assert!(fault.to_string().contains("different matrix descriptors"));
    let diverged = format!("setp.eq.u32 %q, %t, 5; @%q bra skip; {code} skip:");
    let fault = run(8, &diverged, &case, "bf16").unwrap_err();
    assert!(fault.to_string().contains("all 32 threads"), "{fault}");
    case.right = PLAIN[1].descriptor(BYTES as u64 - 128);
    let fault = run(8, &code, &case, "bf16").unwrap_err();
    assert!(matches!(fault, Fault::IllegalAddress { .. }), "{fault}");
}

#[test]
fn what_is_malformed_is_refused() {
    let good = Multiplication::new(8).text();
    for (from, to) in [
        ("m64n8k16", "m64n12k16"),
        ("m64n8k16", "m64n264k16"),
        ("m64n8k16", "m64n16k16"),
        (".f32.bf16.bf16", ".f16.f16.f16"),
        (".sync.aligned", ""),
        ("1, 1, 0, 0", "1, 2, 0, 0"),
        ("1, 1, 0, 0", "1, 1, 0"),
        ("1, 1, 0, 0", "1, 1, 0, 2"),
        ("%d3}", "5}"),
    ] {
        let text = kernel(8, &(good.replacen(from, to, 1) + WAIT));
        assert!(load(&text).is_err(), "{from} to {to}");
    }
    let good = kernel(8, &(good + WAIT + "setmaxnreg.inc.sync.aligned.u32 240;"));
    assert!(load(&good).is_ok());
    for (from, to) in [
        ("sm_90a", "sm_90"),
        ("sm_90a", "sm_100a"),
        ("u32 240", "u32 20"),
    ] {
        assert!(load(&good.replace(from, to)).is_err(), "{from} to {to}");
    }
}

#[test]
fn registers_are_asked_for_on_targets_of_one_architecture() {
    for (target, is_one) in [
        ("sm_90a", true),
        ("sm_100a", true),
        ("sm_120f", true),
        ("sm_90", false),
        ("sm_100", false),
    ] {
        let text = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry test()\n{{
            setmaxnreg.inc.sync.aligned.u32 240; ret; }}\n"
        );
        assert_eq!(load(&text).is_ok(), is_one, "{target}");
    }
}

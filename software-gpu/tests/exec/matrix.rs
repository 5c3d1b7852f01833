//! Matrix instructions of a warp, against matrices multiplied in Rust.

use crate::exec_support::{ParameterBytes, TestDevice, TestLaunch, launch, load};
use half::{bf16, f16};
use software_gpu::exec::Fault;

/// A module with one kernel that finds its lane in `%l` and pointers to its parameters in `%p0` to `%p3`.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry test(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
.reg .b32 %l, %t<8>, %a<4>, %b<2>, %r<16>; .reg .f32 %c<4>, %d<4>; .reg .b64 %p<4>, %o, %rd<8>; .reg .pred %q;
{declarations}
mov.u32 %l, %laneid;
ld.param.u64 %p0, [a]; ld.param.u64 %p1, [b]; ld.param.u64 %p2, [c]; ld.param.u64 %p3, [d];
{body}
ret;
}}\n"
    )
}

/// Runs the kernel on three inputs for `words` words of output.
fn run(
    source: &str,
    launch: TestLaunch,
    inputs: [&[u32]; 3],
    words: usize,
) -> Result<Vec<u32>, Fault> {
    let module = load(source).unwrap_or_else(|error| panic!("{error}"));
    let mut device = TestDevice::new();
    let inputs = inputs.map(|input| device.upload(input));
    let output = device.upload(&vec![0_u32; words]);
    let [a, b, c] = inputs;
    let parameters = ParameterBytes::default()
        .with(a)
        .with(b)
        .with(c)
        .with(output);
    device.run(&module, "test", launch, &parameters)?;
    Ok(device.download(output, words))
}

/// Numbers without a pattern, the same in each run.
fn noise(seed: u32) -> impl FnMut() -> u32 {
    let mut numbers = fastrand::Rng::with_seed(seed.into());
    move || numbers.u32(..)
}

type Matrix<const ROWS: usize, const COLUMNS: usize> = [[f32; COLUMNS]; ROWS];

/// Elements that are exact in `bf16` and in `f16`, and whose sums of products are exact: how tensor cores round is tested
/// where it is written.
fn matrix<const ROWS: usize, const COLUMNS: usize>(seed: u32) -> Matrix<ROWS, COLUMNS> {
    let mut next = noise(seed);
    let mut element = || {
        let value = (next() >> 20) as i32 % 255 - 127;
        value as f32 * [0.5, 1.0, 2.0][(next() >> 16) as usize % 3]
    };
    std::array::from_fn(|_| std::array::from_fn(|_| element()))
}

/// `a * b + c`.
fn product(a: &Matrix<16, 16>, b: &Matrix<16, 8>, c: &Matrix<16, 8>) -> Matrix<16, 8> {
    std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let products = (0..16).map(|k| f64::from(a[row][k]) * f64::from(b[k][column]));
            (f64::from(c[row][column]) + products.sum::<f64>()) as f32
        })
    })
}

fn pack(format: &str, low: f32, high: f32) -> u32 {
    let bits = |value: f32| match format {
        "bf16" => u32::from(bf16::from_f32(value).to_bits()),
        _ => u32::from(f16::from_f32(value).to_bits()),
    };
    bits(low) | bits(high) << 16
}

/// The fragments of `mma.m16n8k16` as the instruction set defines them, element by element: of A, B, and C or D.
fn a_fragment(lane: usize, i: usize) -> (usize, usize) {
    let row = lane / 4 + if i < 2 || (4..6).contains(&i) { 0 } else { 8 };
    (row, lane % 4 * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
}

fn b_fragment(lane: usize, i: usize) -> (usize, usize) {
    (
        lane % 4 * 2 + (i & 1) + if i >= 2 { 8 } else { 0 },
        lane / 4,
    )
}

fn c_fragment(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + (i & 1))
}

/// Each lane loads its fragments as vectors.
const LOAD_FRAGMENTS: &str = "
mul.wide.u32 %o, %l, 16; add.u64 %rd0, %p0, %o; ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd0];
add.u64 %rd2, %p2, %o; ld.global.v4.f32 {%c0, %c1, %c2, %c3}, [%rd2]; add.u64 %rd3, %p3, %o;
mul.wide.u32 %o, %l, 8; add.u64 %rd1, %p1, %o; ld.global.v2.b32 {%b0, %b1}, [%rd1];";

fn check_product(format: &str, in_place: bool) {
    for seed in 1..20 {
        let (a, b, c) = (matrix(seed), matrix(seed + 100), matrix(seed + 200));
        let mut words: [Vec<u32>; 3] = Default::default();
        for lane in 0..32 {
            let element = |(row, column): (usize, usize)| a[row][column];
            words[0].extend((0..4).map(|r| {
                pack(
                    format,
                    element(a_fragment(lane, 2 * r)),
                    element(a_fragment(lane, 2 * r + 1)),
                )
            }));
            let element = |(row, column): (usize, usize)| b[row][column];
            words[1].extend((0..2).map(|r| {
                pack(
                    format,
                    element(b_fragment(lane, 2 * r)),
                    element(b_fragment(lane, 2 * r + 1)),
                )
            }));
            words[2].extend((0..4).map(|i| {
                let (row, column) = c_fragment(lane, i);
                c[row][column].to_bits()
            }));
        }
        let d = if in_place { "%c" } else { "%d" };
        let body = format!(
            "{LOAD_FRAGMENTS}
mma.sync.aligned.m16n8k16.row.col.f32.{format}.{format}.f32 {{{d}0, {d}1, {d}2, {d}3}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%c0, %c1, %c2, %c3}};
st.global.v4.f32 [%rd3], {{{d}0, {d}1, {d}2, {d}3}};"
        );
        let inputs = [&words[0][..], &words[1], &words[2]];
        let came = run(&kernel("", &body), launch(1, 32), inputs, 128).unwrap();
        let expected = product(&a, &b, &c);
        for (index, came) in came.into_iter().enumerate() {
            let (row, column) = c_fragment(index / 4, index % 4);
            assert_eq!(
                f32::from_bits(came),
                expected[row][column],
                "row {row}, column {column}"
            );
        }
    }
}

#[test]
fn matrices_of_bf16_are_multiplied() {
    check_product("bf16", false);
}

#[test]
fn matrices_of_f16_are_multiplied() {
    check_product("f16", false);
}

/// The sums may be in the registers of the result.
#[test]
fn a_product_is_added_in_place() {
    check_product("bf16", true);
}

/// The words of a matrix of 16-bit elements, row by row.
fn words(rows: &[Vec<u16>]) -> Vec<u32> {
    let elements: Vec<u16> = rows.concat();
    elements
        .chunks(2)
        .map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 16)
        .collect()
}

fn elements(words: &[u32]) -> Vec<u16> {
    words
        .iter()
        .flat_map(|word| [*word as u16, (*word >> 16) as u16])
        .collect()
}

/// The way of a kernel: rows in shared memory, `ldmatrix` of A, `ldmatrix.trans` of B, which lies row by row, `mma`.
#[test]
fn a_product_comes_from_shared_memory() {
    let (a, b, c): (Matrix<16, 16>, Matrix<16, 8>, Matrix<16, 8>) =
        (matrix(7), matrix(8), [[0.0; 8]; 16]);
    let bits = |value: &f32| bf16::from_f32(*value).to_bits();
    let a_rows: Vec<Vec<u16>> = a.iter().map(|row| row.iter().map(bits).collect()).collect();
    let b_rows: Vec<Vec<u16>> = b.iter().map(|row| row.iter().map(bits).collect()).collect();
    let declarations = ".shared .align 16 .b8 sa[512]; .shared .align 16 .b8 sb[256];";
    let body = "
mul.wide.u32 %o, %l, 16; mul.lo.u32 %t0, %l, 16; mov.u32 %t1, sa; add.u32 %t1, %t1, %t0; mov.u32 %t2, sb; add.u32 %t2, %t2, %t0;
add.u64 %rd0, %p0, %o; ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0]; st.shared.v4.b32 [%t1], {%r0, %r1, %r2, %r3};
setp.lt.u32 %q, %l, 16; add.u64 %rd1, %p1, %o;
@%q ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1]; @%q st.shared.v4.b32 [%t2], {%r4, %r5, %r6, %r7};
bar.sync 0;
// Tile 0 is rows 0 to 7 of the left half, tile 1 rows 8 to 15, tiles 2 and 3 the right half.
and.b32 %t3, %l, 15; mul.lo.u32 %t3, %t3, 32; shr.u32 %t4, %l, 4; mad.lo.u32 %t3, %t4, 16, %t3; mov.u32 %t5, sa; add.u32 %t3, %t3, %t5;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%t3];
and.b32 %t3, %l, 15; mul.lo.u32 %t3, %t3, 16; mov.u32 %t5, sb; add.u32 %t3, %t3, %t5;
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%b0, %b1}, [%t3];
mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0;
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
add.u64 %rd3, %p3, %o; st.global.v4.f32 [%rd3], {%d0, %d1, %d2, %d3};";
    let inputs = [&words(&a_rows)[..], &words(&b_rows), &[0]];
    let came = run(&kernel(declarations, body), launch(1, 32), inputs, 128).unwrap();
    let expected = product(&a, &b, &c);
    for (index, came) in came.into_iter().enumerate() {
        let (row, column) = c_fragment(index / 4, index % 4);
        assert_eq!(
            f32::from_bits(came),
            expected[row][column],
            "row {row}, column {column}"
        );
    }
}

/// Registers `%a0` to `%a3`, as many as there are tiles.
fn registers(count: usize) -> String {
    ["%a0", "%a1", "%a2", "%a3"][..count].join(", ")
}

/// Rows of tiles at addresses that are not side by side: 32 bytes apart, in reverse order.
const ROW_ADDRESSES: &str =
    "mov.u32 %t1, tiles; sub.u32 %t2, 31, %l; mad.lo.u32 %t1, %t2, 32, %t1;";

#[test]
fn tiles_are_loaded_and_transposed() {
    let mut next = noise(3);
    let rows: Vec<Vec<u16>> = (0..32)
        .map(|_| (0..8).map(|_| next() as u16).collect())
        .collect();
    for (count, space) in [(1, ".shared"), (2, ".shared::cta"), (4, "")] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            // A generic address where no space is named.
            let address = match space {
                "" => "cvt.u64.u32 %rd4, %t1; cvta.shared.u64 %rd4, %rd4;",
                _ => "cvt.u64.u32 %rd4, %t1;",
            };
            let body = format!(
                "{ROW_ADDRESSES} mul.wide.u32 %o, %l, 16; add.u64 %rd0, %p0, %o;
ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd0]; st.shared.v4.b32 [%t1], {{%r0, %r1, %r2, %r3}}; bar.sync 0;
{address} mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %a2, 0; mov.b32 %a3, 0;
ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {{{}}}, [%rd4];
add.u64 %rd3, %p3, %o; st.global.v4.b32 [%rd3], {{%a0, %a1, %a2, %a3}};",
                registers(count)
            );
            let source = kernel(".shared .align 16 .b8 tiles[1024];", &body);
            let came = run(&source, launch(1, 32), [&words(&rows), &[0], &[0]], 128).unwrap();
            for (index, came) in came.into_iter().enumerate() {
                let (lane, tile) = (index / 4, index % 4);
                let element = |part: usize| match (tile < count, transposed) {
                    (false, _) => 0,
                    (true, false) => rows[8 * tile + lane / 4][lane % 4 * 2 + part],
                    (true, true) => rows[8 * tile + lane % 4 * 2 + part][lane / 4],
                };
                let expected = [element(0), element(1)];
                assert_eq!(
                    elements(&[came]),
                    expected,
                    "x{count}{trans}, lane {lane}, tile {tile}"
                );
            }
        }
    }
}

#[test]
fn tiles_are_stored_and_transposed() {
    let mut next = noise(4);
    let fragments: Vec<u32> = (0..128).map(|_| next()).collect();
    for count in [1, 2, 4] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let body = format!(
                "{ROW_ADDRESSES} mul.wide.u32 %o, %l, 16; add.u64 %rd0, %p0, %o; add.u64 %rd3, %p3, %o;
mov.b32 %r0, 0; st.shared.v4.b32 [%t1], {{%r0, %r0, %r0, %r0}}; ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%rd0]; bar.sync 0;
stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%t1], {{{}}}; bar.sync 0;
ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%t1]; st.global.v4.b32 [%rd3], {{%r0, %r1, %r2, %r3}};",
                registers(count)
            );
            let source = kernel(".shared .align 16 .b8 tiles[1024];", &body);
            let came = run(&source, launch(1, 32), [&fragments, &[0], &[0]], 128).unwrap();
            for (lane, row) in came.chunks(4).enumerate() {
                let expected: Vec<u16> = (0..8)
                    .map(|column| {
                        let (tile, row) = (lane / 8, lane % 8);
                        let (row, column) = if transposed {
                            (column, row)
                        } else {
                            (row, column)
                        };
                        let holder = 4 * row + column / 2;
                        match tile < count {
                            true => elements(&[fragments[4 * holder + tile]])[column % 2],
                            false => 0,
                        }
                    })
                    .collect();
                assert_eq!(
                    elements(row),
                    expected,
                    "x{count}{trans}, row of lane {lane}"
                );
            }
        }
    }
}

#[test]
fn a_tile_is_transposed_in_registers() {
    let mut next = noise(5);
    let fragments: Vec<u32> = (0..32).map(|_| next()).collect();
    let body = "mul.wide.u32 %o, %l, 4; add.u64 %rd0, %p0, %o; add.u64 %rd3, %p3, %o; ld.global.b32 %r0, [%rd0];
movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0; st.global.b32 [%rd3], %r0;";
    let came = run(
        &kernel("", body),
        launch(1, 32),
        [&fragments, &[0], &[0]],
        32,
    )
    .unwrap();
    for (lane, came) in came.into_iter().enumerate() {
        let element =
            |row: usize, column: usize| elements(&[fragments[4 * row + column / 2]])[column % 2];
        let expected = [
            element(lane % 4 * 2, lane / 4),
            element(lane % 4 * 2 + 1, lane / 4),
        ];
        assert_eq!(elements(&[came]), expected);
    }
}

/// Diverged threads reconverge before a matrix instruction; missing threads are an error.
#[test]
fn the_whole_warp_takes_part() {
    let meets = "setp.lt.u32 %q, %l, 7; mov.b32 %r0, %l; @%q bra THERE; add.u32 %r0, %r0, 0; THERE:
movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0; mul.wide.u32 %o, %l, 4; add.u64 %rd3, %p3, %o; st.global.b32 [%rd3], %r0;";
    let nothing: [&[u32]; 3] = [&[0], &[0], &[0]];
    assert!(run(&kernel("", meets), launch(1, 32), nothing, 32).is_ok());
    let alone = "setp.lt.u32 %q, %l, 7; @%q movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;";
    for (body, threads) in [(alone, 32), (meets, 16)] {
        let fault = run(&kernel("", body), launch(1, threads), nothing, 32).unwrap_err();
        assert!(matches!(fault, Fault::IllegalInstruction { .. }), "{fault}");
    }
}

#[test]
fn rows_of_tiles_are_aligned_and_in_shared_memory() {
    let nothing: [&[u32]; 3] = [&[0], &[0], &[0]];
    let shared = ".shared .align 16 .b8 tiles[1024];";
    let misaligned =
        format!("{ROW_ADDRESSES} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%a0}}, [%t1+8];");
    let fault = run(&kernel(shared, &misaligned), launch(1, 32), nothing, 32).unwrap_err();
    assert!(matches!(fault, Fault::Misaligned { .. }), "{fault}");
    let global = "ldmatrix.sync.aligned.m8n8.x1.b16 {%a0}, [%p0];";
    let fault = run(
        &kernel(shared, global),
        launch(1, 32),
        [&[0; 4], &[0], &[0]],
        32,
    )
    .unwrap_err();
    assert!(matches!(fault, Fault::IllegalInstruction { .. }), "{fault}");
    for body in [
        "ldmatrix.sync.aligned.m8n8.x1.global.b16 {%a0}, [%p0];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a0}, [%t1];",
        "ldmatrix.aligned.m8n8.x1.shared.b16 {%a0}, [%t1];",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%d0, %d1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};",
    ] {
        assert!(load(&kernel(shared, body)).is_err(), "{body}");
    }
}

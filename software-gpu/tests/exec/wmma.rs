//! `wmma` against matrices multiplied in Rust.

use crate::exec_support::{ParameterBytes, TestDevice, launch, load};
use half::{bf16, f16};
use software_gpu::exec::Fault;

/// A product of matrices in memory: rows and columns of the sums, the factors' type, and whether rows follow each other in A, B
/// and the sums.
#[derive(Clone, Copy, Debug)]
struct Case {
    rows: usize,
    columns: usize,
    kind: &'static str,
    by_rows: [bool; 3],
}

const DEPTH: usize = 16;
/// Elements between rows or columns that no matrix has.
const GAP: usize = 8;

fn layout(by_rows: bool) -> &'static str {
    if by_rows { "row" } else { "col" }
}

/// A kernel that multiplies once. `moves` runs after the addresses are in `%p0` to `%p3`.
fn kernel(case: Case, strides: [usize; 3], space: &str, moves: &str) -> String {
    let Case {
        rows,
        columns,
        kind,
        by_rows: [a_layout, b_layout, c_layout],
    } = case;
    let shape = format!("m{rows}n{columns}k16");
    let count = |used: usize| if kind == "f16" { 8 } else { used };
    let list = |name: &str, count: usize| {
        let names: Vec<_> = (0..count).map(|at| format!("%{name}{at}")).collect();
        names.join(", ")
    };
    let (a, b) = (list("a", count(rows / 4)), list("b", count(columns / 4)));
    let (c, d) = (list("c", 8), list("d", 8));
    let [a_layout, b_layout, c_layout] = [a_layout, b_layout, c_layout].map(layout);
    let [a_stride, b_stride, c_stride] = strides;
    let types = match kind {
        "f16" => "f32.f32",
        _ => "f32.bf16.bf16.f32",
    };
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry test(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
.reg .b32 %a<8>, %b<8>, %t<4>; .reg .f32 %c<8>, %d<8>; .reg .b64 %p<4>, %q<4>; .reg .pred %g;
.shared .align 32 .b8 mem[2048];
ld.param.u64 %p0, [a]; ld.param.u64 %p1, [b]; ld.param.u64 %p2, [c]; ld.param.u64 %p3, [d];
{moves}
wmma.load.a.sync.aligned.{a_layout}.{shape}{space}.{kind} {{{a}}}, [%p0], {a_stride};
wmma.load.b.sync.aligned.{b_layout}.{shape}.{kind} {{{b}}}, [%p1], {b_stride};
wmma.load.c.sync.aligned.{c_layout}.{shape}.global.f32 {{{c}}}, [%p2], {c_stride};
wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.{types} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};
wmma.store.d.sync.aligned.{c_layout}.{shape}.global.f32 [%p3], {{{d}}}, {c_stride};
ret;
}}\n"
    )
}

/// Small integers, which products and sums keep exact in any order.
fn matrix(rows: usize, columns: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut numbers = fastrand::Rng::with_seed(seed);
    let mut row = || (0..columns).map(|_| numbers.i32(-9..10) as f32).collect();
    (0..rows).map(|_| row()).collect()
}

/// The elements in memory, and how far apart rows or columns are.
fn laid_out(matrix: &[Vec<f32>], by_rows: bool) -> (Vec<f32>, usize) {
    let (rows, columns) = (matrix.len(), matrix[0].len());
    let (major, minor) = if by_rows {
        (rows, columns)
    } else {
        (columns, rows)
    };
    let stride = minor + GAP;
    let mut elements = vec![0.0; major * stride];
    for (row, values) in matrix.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            let (major, minor) = if by_rows {
                (row, column)
            } else {
                (column, row)
            };
            elements[major * stride + minor] = *value;
        }
    }
    (elements, stride)
}

fn narrow(kind: &str, values: &[f32]) -> Vec<u16> {
    let bits = |value: &f32| match kind {
        "f16" => f16::from_f32(*value).to_bits(),
        _ => bf16::from_f32(*value).to_bits(),
    };
    values.iter().map(bits).collect()
}

fn run(case: Case, threads: u32, space: &str, moves: &str) -> Result<[Vec<f32>; 2], Fault> {
    let a = matrix(case.rows, DEPTH, 1);
    let b = matrix(DEPTH, case.columns, 2);
    let c = matrix(case.rows, case.columns, 3);
    let sum = |row: usize, column: usize| {
        let products = (0..DEPTH).map(|k| a[row][k] * b[k][column]);
        c[row][column] + products.sum::<f32>()
    };
    let rows = (0..case.rows).map(|row| (0..case.columns).map(|column| sum(row, column)).collect());
    let expected: Vec<Vec<f32>> = rows.collect();
    let [a_rows, b_rows, c_rows] = case.by_rows;
    let (a, a_stride) = laid_out(&a, a_rows);
    let (b, b_stride) = laid_out(&b, b_rows);
    let (c, c_stride) = laid_out(&c, c_rows);
    let text = kernel(case, [a_stride, b_stride, c_stride], space, moves);
    let module = load(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut device = TestDevice::new();
    let out = device.upload(&vec![0.0_f32; c.len()]);
    let parameters = ParameterBytes::default()
        .with(device.upload(&narrow(case.kind, &a)))
        .with(device.upload(&narrow(case.kind, &b)))
        .with(device.upload(&c))
        .with(out);
    device.run(&module, "test", launch(1, threads), &parameters)?;
    Ok([device.download(out, c.len()), laid_out(&expected, c_rows).0])
}

fn square(kind: &'static str) -> Case {
    Case {
        rows: 16,
        columns: 16,
        kind,
        by_rows: [true, false, true],
    }
}

#[test]
fn products_of_all_shapes_types_and_layouts_are_right() {
    for (rows, columns) in [(16, 16), (32, 8), (8, 32)] {
        for kind in ["f16", "bf16"] {
            for layouts in 0..8 {
                let case = Case {
                    rows,
                    columns,
                    kind,
                    by_rows: [layouts & 1 != 0, layouts & 2 != 0, layouts & 4 != 0],
                };
                let [found, expected] = run(case, 32, "", "").expect("runs");
                assert_eq!(found, expected, "{case:?}");
            }
        }
    }
}

#[test]
fn a_fragment_is_loaded_from_shared_memory() {
    // The whole matrix A, of which each thread copies 24 bytes: 16 rows of 24 elements.
    let moves = "
mov.u32 %t0, %tid.x; mov.u32 %t1, mem; mad.lo.u32 %t2, %t0, 24, %t1; mad.wide.u32 %q0, %t0, 24, %p0;
ld.global.b64 %q1, [%q0]; st.shared.b64 [%t2], %q1; ld.global.b64 %q1, [%q0+8]; st.shared.b64 [%t2+8], %q1;
ld.global.b64 %q1, [%q0+16]; st.shared.b64 [%t2+16], %q1; bar.sync 0; cvt.u64.u32 %p0, %t1;";
    let [found, expected] = run(square("f16"), 32, ".shared", moves).expect("runs");
    assert_eq!(found, expected);
}

#[test]
fn all_threads_of_the_warp_load_together() {
    let fault = run(
        square("f16"),
        32,
        "",
        "mov.u32 %t0, %tid.x; setp.eq.u32 %g, %t0, 0; @%g ret;",
    );
    assert!(
        matches!(fault, Err(Fault::IllegalInstruction { .. })),
        "{fault:?}"
    );
}

#[test]
fn other_types_are_refused_by_name() {
    let text = kernel(square("f16"), [24; 3], "", "").replace(".f32.f32 ", ".f16.f16 ");
    let refusal = load(&text).err().expect("is not implemented").to_string();
    assert!(refusal.contains("wmma.mma"), "{refusal}");
}

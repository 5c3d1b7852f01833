//! A matrix product as a program for Hopper writes it: one warp brings tiles by tensor maps, a warpgroup multiplies them.

use std::ffi::c_uint;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Kind};

/// Rows and columns of a block's part of C, and what a stage brings along K.
const TILE: u32 = 64;
const STAGES: u32 = 2;
const BFLOAT16: u32 = 9;

/// C = A * B^T: five warps, of which the last one brings tiles into two stages. `empty` is what the consumers do when they are
/// done with a stage.
fn kernel(empty: &str) -> String {
    let d: Vec<String> = (0..32).map(|index| format!("%d{index}")).collect();
    let zeros: String = d
        .iter()
        .map(|d| format!("mov.f32 {d}, 0f00000000; "))
        .collect();
    let steps: String = (0..4)
        .map(|step| {
            let advance = match step {
                0 => "",
                _ => "add.u64 %da, %da, 2; add.u64 %db, %db, 2;\n",
            };
            format!(
                "{advance}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{}}}, %da, %db, 1, 1, 1, 0, 0;\n",
                d.join(", ")
            )
        })
        .collect();
    let stores: String = (0..32)
        .map(|index| {
            let (row, column) = (8 * (index / 2 % 2), index / 4 * 8 + index % 2);
            format!(
                "mad.lo.u32 %r6, %n, {row}, {column}; mul.wide.u32 %rd1, %r6, 4; add.u64 %rd1, %rd1, %rd0; st.global.f32 [%rd1], %d{index};\n"
            )
        })
        .collect();
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64
.visible .entry gemm(.param .align 64 .b8 pa[128], .param .align 64 .b8 pb[128], .param .u64 pc, .param .u32 pn, .param .u32 pk)
.maxntid 160
{{
.reg .b32 %t, %w, %m, %n, %k, %s, %phase, %at, %x, %y, %kx, %bar, %r<8>; .reg .f32 %d<32>; .reg .b64 %a, %b, %da, %db, %rd<4>; .reg .pred %p, %q;
.shared .align 1024 .b8 tiles[32768]; .shared .align 8 .b8 full[16]; .shared .align 8 .b8 empty[16];
mov.b64 %a, pa; cvta.param.u64 %a, %a; mov.b64 %b, pb; cvta.param.u64 %b, %b;
ld.param.u32 %n, [pn]; ld.param.u32 %k, [pk]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %m, tiles;
mov.u32 %x, %ctaid.x; shl.b32 %x, %x, 6; mov.u32 %y, %ctaid.y; shl.b32 %y, %y, 6;
setp.ne.u32 %p, %t, 0; @%p bra ready; mov.u32 %r0, full; mov.u32 %r1, empty;
mbarrier.init.shared.b64 [%r0], 1; mbarrier.init.shared.b64 [%r0+8], 1; mbarrier.init.shared.b64 [%r1], 4; mbarrier.init.shared.b64 [%r1+8], 4;
fence.mbarrier_init.release.cluster; fence.proxy.async;
ready: bar.sync 0;
mov.u32 %s, 0; mov.u32 %phase, 0; mov.u32 %kx, 0;
setp.ne.u32 %p, %w, 4; @%p bra consume;
setmaxnreg.dec.sync.aligned.u32 24;
elect.sync %r0|%q, 0xffffffff; @!%q bra end;
produce:
mov.u32 %r0, empty; shl.b32 %r1, %s, 3; add.u32 %r0, %r0, %r1; xor.b32 %r2, %phase, 1;
free: mbarrier.try_wait.parity.shared.b64 %p, [%r0], %r2; @!%p bra free;
mov.u32 %bar, full; add.u32 %bar, %bar, %r1; mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16384;
shl.b32 %r3, %s, 14; add.u32 %r3, %r3, %m; add.u32 %r4, %r3, 8192;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%a, {{%kx, %y}}], [%bar];
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%b, {{%kx, %x}}], [%bar];
add.u32 %s, %s, 1; setp.eq.u32 %p, %s, {STAGES}; selp.u32 %s, 0, %s, %p; selp.u32 %r5, 1, 0, %p; xor.b32 %phase, %phase, %r5;
add.u32 %kx, %kx, {TILE}; setp.lt.u32 %p, %kx, %k; @%p bra produce;
bra end;
consume:
setmaxnreg.inc.sync.aligned.u32 240;
{zeros}
more:
mov.u32 %r0, full; shl.b32 %r1, %s, 3; add.u32 %r0, %r0, %r1;
come: mbarrier.try_wait.parity.shared.b64 %p, [%r0], %phase; @!%p bra come;
shl.b32 %r3, %s, 14; add.u32 %r3, %r3, %m; shr.u32 %r4, %r3, 4; cvt.u64.u32 %da, %r4; or.b64 %da, %da, 0x4000004000010000; add.u64 %db, %da, 512;
wgmma.fence.sync.aligned;
{steps}wgmma.commit_group.sync.aligned;
{empty}
add.u32 %s, %s, 1; setp.eq.u32 %p, %s, {STAGES}; selp.u32 %s, 0, %s, %p; selp.u32 %r5, 1, 0, %p; xor.b32 %phase, %phase, %r5;
add.u32 %kx, %kx, {TILE}; setp.lt.u32 %p, %kx, %k; @%p bra more;
wgmma.wait_group.sync.aligned 0;
mov.u32 %r0, %laneid; shr.u32 %r1, %r0, 2; and.b32 %r2, %r0, 3; shl.b32 %r3, %w, 4; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %y;
shl.b32 %r2, %r2, 1; add.u32 %r2, %r2, %x; mad.lo.u32 %r4, %r1, %n, %r2; ld.param.u64 %rd0, [pc]; mul.wide.u32 %rd1, %r4, 4; add.u64 %rd0, %rd0, %rd1;
{stores}end: ret;
}}\n"
    )
}

/// One lane of each warp tells the producer that its warp has read the stage.
const ARRIVE: &str = "mov.u32 %r0, empty; shl.b32 %r1, %s, 3; add.u32 %r0, %r0, %r1; mov.u32 %r2, %laneid; setp.eq.u32 %p, %r2, 0; @%p mbarrier.arrive.shared.b64 _, [%r0];";

fn map(address: Address, rows: u32, k: u32) -> [u64; 16] {
    let mut map = [0; 16];
    let (extents, strides) = ([u64::from(k), rows.into()], [2 * u64::from(k)]);
    let (boxes, steps) = ([TILE; 2], [1_u32; 2]);
    cu!(cuTensorMapEncodeTiled(
        &mut map => *mut [u64; 16], BFLOAT16 => c_uint, 2 => c_uint, address => u64,
        extents.as_ptr() => *const u64, strides.as_ptr() => *const u64,
        boxes.as_ptr() => *const u32, steps.as_ptr() => *const u32,
        0 => c_uint, 3 => c_uint, 0 => c_uint, 0 => c_uint,
    ))
    .expect("is well-formed");
    map
}

/// Small numbers without a pattern.
fn matrix(seed: u32, rows: u32, columns: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) % 9
    };
    (0..rows * columns).map(|_| next() as f32 - 4.0).collect()
}

fn upload(driver: &Driver, values: &[f32]) -> Address {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| half::bf16::from_f32(*value).to_le_bytes())
        .collect();
    let address = driver.allocate(bytes.len()).unwrap();
    let copied = driver.to_device(address, bytes.as_ptr(), bytes.len(), LEGACY);
    copied.and_then(|()| driver.synchronize()).unwrap();
    address
}

/// The elements of C that are not those of A * B^T.
fn wrong(driver: &Driver, text: &str, [rows, columns, k]: [u32; 3]) -> usize {
    let (a, b) = (matrix(1, rows, k), matrix(2, columns, k));
    let maps = [
        map(upload(driver, &a), rows, k),
        map(upload(driver, &b), columns, k),
    ];
    let bytes = 4 * (rows * columns) as usize;
    let c = driver.allocate(bytes).unwrap();
    driver.fill(c, 0xff, bytes);
    let function = driver.kernel(text, "gemm");
    let grid = [columns.div_ceil(TILE), rows.div_ceil(TILE), 1];
    let arguments: [&dyn LaunchArgument; 5] = [&maps[0], &maps[1], &c, &columns, &k];
    driver
        .launch_shaped(function, grid, [160, 1, 1], 0, 0, &arguments)
        .unwrap();
    let came = driver.read(c, bytes);
    let (words, _) = came.as_chunks::<4>();
    let is_wrong = |(index, word): &(usize, &[u8; 4])| {
        let (row, column) = (index / columns as usize, index % columns as usize);
        let k = k as usize;
        let products = a[row * k..][..k].iter().zip(&b[column * k..][..k]);
        let sum: f32 = products.map(|(a, b)| a * b).sum();
        f32::from_le_bytes(**word) != sum
    };
    words.iter().enumerate().filter(is_wrong).count()
}

#[test]
fn a_pipeline_of_tiles_multiplies_matrices() {
    let driver = Driver::new();
    let waiting = format!("wgmma.wait_group.sync.aligned 0; {ARRIVE}");
    for shape in [[64, 64, 64], [128, 192, 320], [128, 64, 40]] {
        let (wrong, reports) = reports::collect(|| wrong(&driver, &kernel(&waiting), shape));
        assert_eq!((wrong, reports), (0, vec![]), "{shape:?}");
    }
}

/// A stage that is handed back before its multiplications are done is overwritten, and they are performed as late as that: the
/// product is wrong, and the checker of shared memory names the multiplication and the copy.
#[test]
fn a_stage_is_not_handed_back_too_early() {
    let driver = Driver::new();
    let (wrong, reports) = reports::collect(|| wrong(&driver, &kernel(ARRIVE), [64, 64, 512]));
    assert_ne!(wrong, 0);
    assert!(!reports.is_empty());
    for report in reports {
        assert_eq!(report.kind, Kind::SharedMemoryRace, "{}", report.text);
    }
}

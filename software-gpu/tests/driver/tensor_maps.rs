//! Tensor maps: what the copies of boxes bring, against a copy element by element and against what an H200 brought.

use std::ffi::c_uint;

use crate::driver_support::*;
use proptest::prelude::*;
use software_gpu::driver::{entry_point, last_fault};

const ILLEGAL_ADDRESS: Error = 700;
const ILLEGAL_INSTRUCTION: Error = 715;
const MISALIGNED_ADDRESS: Error = 716;

const FLOAT16: u32 = 6;
const BFLOAT16: u32 = 9;

/// Bytes of a block's shared memory that kernels copy to and from.
const SHARED: usize = 16 << 10;

type Map = [u64; 16];

/// The arguments of `cuTensorMapEncodeTiled`.
#[derive(Clone, Debug)]
struct Tiled {
    kind: u32,
    rank: u32,
    address: u64,
    extents: [u64; 5],
    strides: [u64; 4],
    boxes: [u32; 5],
    steps: [u32; 5],
    swizzle: u32,
    fill: u32,
}

impl Tiled {
    /// 3 planes of 40 rows of 96 elements of 16 bits.
    fn new(address: u64) -> Self {
        Self {
            kind: BFLOAT16,
            rank: 2,
            address,
            extents: [96, 40, 3, 1, 1],
            strides: [192, 7680, 23040, 23040],
            boxes: [64, 16, 1, 1, 1],
            steps: [1; 5],
            swizzle: 0,
            fill: 0,
        }
    }

    fn encode(&self) -> Result<Map, Error> {
        let mut map = [0; 16];
        let encoded = cu!(cuTensorMapEncodeTiled(
            &mut map => *mut Map,
            self.kind => c_uint,
            self.rank => c_uint,
            self.address => u64,
            self.extents.as_ptr() => *const u64,
            self.strides.as_ptr() => *const u64,
            self.boxes.as_ptr() => *const u32,
            self.steps.as_ptr() => *const u32,
            0 => c_uint, self.swizzle => c_uint, 0 => c_uint, self.fill => c_uint,
        ));
        encoded.map(|()| map)
    }
}

/// Copies a box to shared memory that was full of `0xdead`, and shared memory to `out`, block by block.
fn loading(rank: usize, modifiers: &str, mask: &str) -> String {
    let coordinates = ["%x0", "%x1", "%x2", "%x3", "%x4"][..rank].join(", ");
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .align 4 .b8 at[20], .param .u32 bytes, .param .u32 offset)
{{
.reg .b32 %t, %m, %b, %n, %x<5>, %r<8>; .reg .b64 %rd<4>, %map; .reg .b16 %mask; .reg .pred %p, %first;
.shared .align 1024 .b8 mem[{SHARED}]; .shared .align 8 .b8 bar[8];
mov.b64 %map, map; cvta.param.u64 %map, %map; prefetch.tensormap [%map];
mov.u32 %t, %tid.x; mov.u32 %m, mem; mov.u32 %b, bar; setp.eq.u32 %first, %t, 0;
ld.param.u32 %x0, [at]; ld.param.u32 %x1, [at+4]; ld.param.u32 %x2, [at+8]; ld.param.u32 %x3, [at+12]; ld.param.u32 %x4, [at+16];
ld.param.u64 %rd1, [out]; ld.param.u32 %n, [bytes]; ld.param.u32 %r4, [offset]; add.u32 %r4, %r4, %m;
mov.u32 %r5, %ctaid.x; mul.lo.u32 %r5, %r5, {SHARED}; cvt.u64.u32 %rd2, %r5; add.u64 %rd1, %rd1, %rd2;
mov.u32 %r0, %t; mov.u16 %mask, 3;
fill: shl.b32 %r1, %r0, 2; add.u32 %r1, %r1, %m; st.shared.u32 [%r1], 0xdeaddead; add.u32 %r0, %r0, 128; setp.lt.u32 %p, %r0, {words}; @%p bra fill;
@%first mbarrier.init.shared::cta.b64 [%b], 1; fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; bar.sync 0;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], %n;
barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
mov.u32 %r6, %cluster_ctarank; setp.eq.and.u32 %first, %r6, 0, %first;
@%first cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{modifiers} [%r4], [%map, {{{coordinates}}}], [%b]{mask};
wait: mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0; @!%p bra wait;
mov.u32 %r0, %t;
dump: shl.b32 %r1, %r0, 2; add.u32 %r2, %r1, %m; ld.shared.u32 %r3, [%r2]; cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2], %r3;
add.u32 %r0, %r0, 128; setp.lt.u32 %p, %r0, {words}; @%p bra dump;
ret;
}}\n",
        words = SHARED / 4
    )
}

/// Fills shared memory with numbers, and copies a box of it to the tensor.
fn storing(rank: usize) -> String {
    let coordinates = ["%x0", "%x1", "%x2", "%x3", "%x4"][..rank].join(", ");
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry store(.param .align 64 .b8 map[128], .param .align 4 .b8 at[20], .param .u32 offset)
{{
.reg .b32 %t, %m, %x<5>, %r<8>; .reg .b64 %map; .reg .pred %p;
.shared .align 1024 .b8 mem[{SHARED}];
mov.b64 %map, map; cvta.param.u64 %map, %map;
mov.u32 %t, %tid.x; mov.u32 %m, mem; ld.param.u32 %r4, [offset]; add.u32 %r4, %r4, %m;
ld.param.u32 %x0, [at]; ld.param.u32 %x1, [at+4]; ld.param.u32 %x2, [at+8]; ld.param.u32 %x3, [at+12]; ld.param.u32 %x4, [at+16];
mov.u32 %r0, %t;
fill: shl.b32 %r1, %r0, 2; add.u32 %r1, %r1, %m; mad.lo.u32 %r2, %r0, 0x20002, 0x20001; st.shared.u32 [%r1], %r2;
add.u32 %r0, %r0, 128; setp.lt.u32 %p, %r0, {words}; @%p bra fill;
fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p, %t, 0; @%p bra end;
cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%map, {{{coordinates}}}], [%r4];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
end: ret;
}}\n",
        words = SHARED / 4
    )
}

fn upload(driver: &Driver, values: &[u16]) -> Address {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let address = driver.allocate(bytes.len()).unwrap();
    driver
        .to_device(address, bytes.as_ptr(), bytes.len(), LEGACY)
        .unwrap();
    driver.synchronize().unwrap();
    address
}

fn download(driver: &Driver, address: Address, count: usize) -> Vec<u16> {
    let bytes = driver.read(address, 2 * count);
    let (words, _) = bytes.as_chunks::<2>();
    words.iter().map(|word| u16::from_le_bytes(*word)).collect()
}

/// 1, 2, 3, …
fn numbered(count: usize) -> Vec<u16> {
    (1..=count).map(|number| number as u16).collect()
}

/// Launches `load` of a module, and returns what the blocks' shared memory held.
fn run(
    driver: &Driver,
    text: &str,
    blocks: u32,
    map: &Map,
    at: [i32; 5],
    [bytes, offset]: [u32; 2],
) -> Result<Vec<u16>, Error> {
    let function = driver.function(driver.module(text)?, "load")?;
    let out = driver.allocate(blocks as usize * SHARED)?;
    let arguments: [&dyn LaunchArgument; 5] = [map, &out, &at, &bytes, &offset];
    driver.launch(function, blocks, 128, 0, &arguments)?;
    driver.synchronize()?;
    Ok(download(driver, out, blocks as usize * SHARED / 2))
}

/// What shared memory holds when a box has been loaded.
fn load_box(driver: &Driver, tiled: &Tiled, at: [i32; 5], offset: u32) -> Vec<u16> {
    let text = loading(tiled.rank as usize, "", "");
    let (map, bytes) = (tiled.encode().unwrap(), box_bytes(tiled));
    run(driver, &text, 1, &map, at, [bytes, offset]).unwrap()
}

/// Calls `visit` for each element of a box: its place in shared memory in elements, and its index in the tensor's memory, if
/// it lies in the tensor.
fn for_elements(
    tiled: &Tiled,
    at: [i32; 5],
    offset: usize,
    mut visit: impl FnMut(usize, Option<usize>),
) {
    let rank = tiled.rank as usize;
    let line = [0, 32, 64, 128][tiled.swizzle as usize];
    let row_bytes = 2 * tiled.boxes[0] as usize;
    let taken = |dimension: usize| match dimension {
        0 => tiled.boxes[0],
        _ if dimension < rank => tiled.boxes[dimension].div_ceil(tiled.steps[dimension]),
        _ => 1,
    };
    let counts: [u32; 5] = std::array::from_fn(taken);
    for number in 0..counts.iter().product::<u32>() as usize {
        let (mut rest, mut inside, mut index) = (number, true, 0_i64);
        for dimension in 0..rank {
            let step = if dimension == 0 {
                1
            } else {
                tiled.steps[dimension]
            };
            let position = (rest % counts[dimension] as usize) as i64;
            rest /= counts[dimension] as usize;
            let coordinate = i64::from(at[dimension]) + position * i64::from(step);
            inside &= coordinate >= 0 && coordinate < tiled.extents[dimension] as i64;
            let stride = match dimension {
                0 => 2,
                _ => tiled.strides[dimension - 1] as i64,
            };
            index += coordinate * stride;
        }
        let (row, column) = (number / counts[0] as usize, number % counts[0] as usize);
        let mut place = offset + row * row_bytes.max(line) + 2 * column;
        if line > 0 {
            place ^= place / 128 % (line / 16) * 16;
        }
        visit(place / 2, inside.then_some(index as usize / 2));
    }
}

fn expected(tiled: &Tiled, data: &[u16], at: [i32; 5], offset: usize) -> Vec<u16> {
    let mut shared = vec![0xdead; SHARED / 2];
    for_elements(tiled, at, offset, |place, index| {
        shared[place] = index.map_or(0, |index| data[index]);
    });
    shared
}

fn box_bytes(tiled: &Tiled) -> u32 {
    let mut elements = 0;
    for_elements(tiled, [0; 5], 0, |_, _| elements += 1);
    2 * elements
}

/// Rank, swizzle, offset in shared memory, coordinates, box, type, fill, and the digest of the first 8 KiB of shared memory, of an
/// H200.
type Recorded = (u32, u32, u32, [i32; 3], [u32; 3], u32, u32, u64);

#[rustfmt::skip]
const RECORDED: [Recorded; 28] = [
    (2, 0, 0, [0, 0, 0], [64, 20, 1], 1, 0, 0x3b9926a516d52626),
    (2, 0, 0, [8, -3, 0], [64, 20, 1], 1, 0, 0x296262c99fba0519),
    (2, 0, 0, [-8, 3, 0], [64, 20, 1], 1, 0, 0x17cf173262355f76),
    (2, 0, 128, [80, 30, 0], [64, 16, 1], 9, 0, 0x854262c815c64963),
    (2, 0, 384, [8, 1, 0], [64, 11, 1], 9, 0, 0x85ca4cfb3161bdde),
    (2, 0, 256, [8, 1, 0], [8, 11, 1], 9, 0, 0x2c9c6d8598a1e7f5),
    (2, 1, 0, [0, 0, 0], [16, 20, 1], 1, 0, 0x8822cc55a7664b75),
    (2, 1, 0, [8, -3, 0], [16, 20, 1], 1, 0, 0xb94f36b38d77df05),
    (2, 1, 0, [-8, 3, 0], [16, 20, 1], 1, 0, 0x3f5806b220225435),
    (2, 1, 128, [80, 30, 0], [16, 16, 1], 9, 0, 0x74f998af4539f783),
    (2, 1, 384, [8, 1, 0], [16, 11, 1], 9, 0, 0x3720ba812af301a5),
    (2, 1, 256, [8, 1, 0], [8, 11, 1], 9, 0, 0x64fcff1a24670b55),
    (2, 2, 0, [0, 0, 0], [32, 20, 1], 1, 0, 0xcd81be203716aa9f),
    (2, 2, 0, [8, -3, 0], [32, 20, 1], 1, 0, 0x5faab1a9edb7e627),
    (2, 2, 0, [-8, 3, 0], [32, 20, 1], 1, 0, 0xa12ce3d9d18496a5),
    (2, 2, 128, [80, 30, 0], [32, 16, 1], 9, 0, 0x670917044c0b1143),
    (2, 2, 384, [8, 1, 0], [32, 11, 1], 9, 0, 0x5010cf97a141e6ac),
    (2, 2, 256, [8, 1, 0], [8, 11, 1], 9, 0, 0x32f455e0570a5975),
    (2, 3, 0, [0, 0, 0], [64, 20, 1], 1, 0, 0x5a5b60d9a66777e6),
    (2, 3, 0, [8, -3, 0], [64, 20, 1], 1, 0, 0x70ab75347f5bf339),
    (2, 3, 0, [-8, 3, 0], [64, 20, 1], 1, 0, 0x206759c77e74f696),
    (2, 3, 128, [80, 30, 0], [64, 16, 1], 9, 0, 0x355acef16cb4b0c3),
    (2, 3, 384, [8, 1, 0], [64, 11, 1], 9, 0, 0x41289292b496a5de),
    (2, 3, 256, [8, 1, 0], [8, 11, 1], 9, 0, 0xb3be34f9baf4f1f5),
    (1, 0, 0, [88, 0, 0], [64, 1, 1], 1, 0, 0x75842ac54054cd8d),
    (1, 3, 256, [8, 0, 0], [64, 1, 1], 1, 0, 0xdcf1fa6982185e65),
    (2, 0, 0, [88, 38, 0], [16, 8, 1], 9, 1, 0xc7dfd1d8a0dd0932),
    (2, 3, 0, [1000, 1000, 0], [64, 8, 1], 9, 0, 0xb22e6c1588788f25),
];

fn digest(values: &[u16]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn boxes_come_as_on_an_h200() {
    let driver = Driver::new();
    let address = upload(&driver, &numbered(3 * 40 * 96));
    for recorded in RECORDED {
        let (rank, swizzle, offset, [x, y, z], [width, height, depth], kind, fill, digested) =
            recorded;
        let tiled = Tiled {
            rank,
            swizzle,
            kind,
            fill,
            boxes: [width, height, depth, 1, 1],
            ..Tiled::new(address)
        };
        let came = load_box(&driver, &tiled, [x, y, z, 0, 0], offset);
        assert_eq!(digest(&came[..4096]), digested, "{recorded:?}");
    }
}

/// Boxes that fit into shared memory, and where they begin, within a tensor or beside it.
fn boxes() -> impl Strategy<Value = (Tiled, [i32; 5], u32)> {
    let shape = (
        1_u32..=5,
        0_u32..4,
        1_u32..=8,
        prop::array::uniform4(1_u32..=5),
    );
    let tensor = (
        prop::array::uniform5(1_u64..=12),
        prop::array::uniform4(1_u32..=3),
        prop::array::uniform4(0_u64..3),
    );
    let place = (-4_i32..8, prop::array::uniform4(-3_i32..10), 0_u32..4);
    (shape, tensor, place).prop_map(|(shape, (extents, steps, gaps), (x, others, offset))| {
        let (rank, swizzle, pieces, counts) = shape;
        let longest = [256, 2, 4, 8][swizzle as usize];
        let mut tiled = Tiled {
            rank,
            swizzle,
            kind: FLOAT16,
            ..Tiled::new(0)
        };
        tiled.extents = extents;
        tiled.extents[0] = extents[0] * 5;
        tiled.boxes[0] = 8 * pieces.min(longest);
        let mut stride = (2 * tiled.extents[0]).next_multiple_of(16);
        for dimension in 1..5 {
            stride += 16 * gaps[dimension - 1];
            tiled.strides[dimension - 1] = stride;
            stride *= tiled.extents[dimension];
            // A box of rank 5 stays below the bytes that there are.
            let most = if rank > 3 { 3 } else { 5 };
            tiled.boxes[dimension] = counts[dimension - 1].min(most);
            tiled.steps[dimension] = steps[dimension - 1];
        }
        let [y, z, v, w] = others;
        (tiled, [8 * x, y, z, v, w], 128 * offset)
    })
}

/// Elements of the memory of a tensor.
fn elements(tiled: &Tiled) -> usize {
    let outer =
        |dimension: usize| (tiled.extents[dimension] * tiled.strides[dimension - 1]) as usize;
    let last = tiled.rank as usize - 1;
    match last {
        0 => tiled.extents[0] as usize,
        _ => outer(last) / 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_box_is_loaded((mut tiled, at, offset) in boxes()) {
        let driver = Driver::new();
        let data = numbered(elements(&tiled));
        tiled.address = upload(&driver, &data);
        let came = load_box(&driver, &tiled, at, offset);
        prop_assert_eq!(came, expected(&tiled, &data, at, offset as usize));
    }

    #[test]
    fn any_box_is_stored((mut tiled, at, offset) in boxes()) {
        let driver = Driver::new();
        let before = vec![7; elements(&tiled)];
        tiled.address = upload(&driver, &before);
        let module = driver.module(&storing(tiled.rank as usize)).unwrap();
        let function = driver.function(module, "store").unwrap();
        let map = tiled.encode().unwrap();
        driver.launch(function, 1, 128, 0, &[&map, &at, &offset]).unwrap();
        let shared = numbered(SHARED / 2);
        let mut expected = before;
        for_elements(&tiled, at, offset as usize, |place, index| {
            if let Some(index) = index {
                expected[index] = shared[place];
            }
        });
        prop_assert_eq!(download(&driver, tiled.address, expected.len()), expected);
    }
}

/// Both blocks of a cluster get the box that one of them asks for.
#[test]
fn a_box_goes_to_several_blocks() {
    let driver = Driver::new();
    let data = numbered(3 * 40 * 96);
    let tiled = Tiled {
        swizzle: 3,
        ..Tiled::new(upload(&driver, &data))
    };
    for (modifiers, mask) in [
        (".multicast::cluster", ", %mask"),
        (".multicast::cluster.L2::cache_hint", ", %mask, %rd0"),
    ] {
        let text =
            loading(2, modifiers, mask).replace("offset)\n", "offset) .reqnctapercluster 2\n");
        let (map, at) = (tiled.encode().unwrap(), [8, 3, 0, 0, 0]);
        let came = run(&driver, &text, 2, &map, at, [2048, 1024]);
        let one = expected(&tiled, &data, at, 1024);
        assert_eq!(came.unwrap(), [one.clone(), one].concat());
    }
}

/// A map may lie in global memory; fences between its proxies and prefetches are accepted.
#[test]
fn a_map_may_be_in_global_memory() {
    let driver = Driver::new();
    let data = numbered(3 * 40 * 96);
    let tiled = Tiled::new(upload(&driver, &data));
    let words = tiled.encode().unwrap().map(|word| word.to_le_bytes());
    let place = driver.allocate(128).unwrap();
    driver
        .to_device(place, words.as_flattened().as_ptr(), 128, LEGACY)
        .unwrap();
    let text = loading(2, "", "").replace(
        "mov.b64 %map, map; cvta.param.u64 %map, %map;",
        "ld.param.u64 %map, [map]; cvta.global.u64 %map, %map; fence.proxy.tensormap::generic.release.gpu;
        fence.proxy.tensormap::generic.acquire.gpu [%map], 128; cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {%x0, %x1}];",
    );
    let at = [8, 3, 0, 0, 0];
    let came = run(&driver, &text, 1, &[place; 16], at, [2048, 0]);
    assert_eq!(came.unwrap(), expected(&tiled, &data, at, 0));
}

/// A compiler that copies the parameter to the stack gives the address of a copy that tensor copies do not read.
#[test]
fn a_map_may_not_be_in_local_memory() {
    let driver = Driver::new();
    let tiled = Tiled::new(upload(&driver, &numbered(3 * 40 * 96)));
    let text = loading(2, "", "").replace(
        "mov.b64 %map, map; cvta.param.u64 %map, %map;",
        ".local .align 64 .b8 copy[128]; mov.u64 %map, copy; cvta.local.u64 %map, %map;",
    );
    let map = tiled.encode().unwrap();
    let came = run(&driver, &text, 1, &map, [0; 5], [2048, 0]);
    assert_eq!(came, Err(ILLEGAL_INSTRUCTION));
    assert!(last_fault().unwrap().contains("local memory"));
}

/// What a kernel does wrong ends the context; each has its own code, and a sentence.
#[test]
fn misuse_is_a_fault() {
    type TensorMapChange = fn(&mut Tiled, &mut [i32; 5], &mut u32, &mut Map);
    let cases: [(TensorMapChange, Error, &str); 7] = [
        (|_, at, _, _| at[0] = 4, ILLEGAL_INSTRUCTION, "element 4"),
        (|_, at, _, _| at[0] = -4, ILLEGAL_INSTRUCTION, "element -4"),
        (
            |_, _, _, map| *map = [0; 16],
            ILLEGAL_INSTRUCTION,
            "no tensor map",
        ),
        (|t, _, _, _| t.rank = 3, ILLEGAL_INSTRUCTION, "3 dimensions"),
        (
            |t, _, _, _| t.boxes = [256, 256, 1, 1, 1],
            ILLEGAL_INSTRUCTION,
            "larger than shared",
        ),
        (|_, _, offset, _| *offset = 64, MISALIGNED_ADDRESS, "128"),
        (|t, _, _, _| t.address = 0x10000, ILLEGAL_ADDRESS, "0x10000"),
    ];
    for (change, code, said) in cases {
        let driver = Driver::new();
        let mut tiled = Tiled::new(upload(&driver, &numbered(3 * 40 * 96)));
        let (mut at, mut offset, mut none) = ([0; 5], 0_u32, [1; 16]);
        change(&mut tiled, &mut at, &mut offset, &mut none);
        let map = if none == [0; 16] {
            none
        } else {
            tiled.encode().unwrap()
        };
        let came = run(&driver, &loading(2, "", ""), 1, &map, at, [2048, offset]);
        assert_eq!(came, Err(code), "{said}");
        let fault = last_fault().unwrap();
        assert!(fault.contains(said), "{fault}");
    }
}

#[test]
fn the_address_of_no_map_is_not_replaced() {
    let _driver = Driver::new();
    let mut none: Map = [0; 16];
    let replaced = cu!(cuTensorMapReplaceAddress(&mut none => *mut Map, 256 => u64));
    assert_eq!(replaced, Err(INVALID_VALUE));
}

//! Tensor maps, copies of boxes, and the sums of tensor cores.

use crate::api::*;
use crate::rule::{Failure, Outcome, Rule};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "tensors";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(a_box_need_not_fit, "cuTensorMapEncodeTiled", "Boxes may be larger than the tensor and than shared memory."),
    rule!(types_and_modes_are_checked, "cuTensorMapEncodeTiled",
        "Unknown types, ranks, interleaves, swizzles, promotions and fills are refused."),
    rule!(modes_of_later_devices_are_refused, "cuTensorMapEncodeTiled",
        "Devices before compute capability 10.0 refuse its types and swizzles."),
    rule!(addresses_and_strides_are_aligned, "cuTensorMapEncodeTiled",
        "Addresses and strides are multiples of 16 bytes, and of 32 for an interleave of 32 bytes."),
    rule!(extents_are_bounded, "cuTensorMapEncodeTiled", "Extents are 1 to 2^32, strides less than 2^40."),
    rule!(boxes_are_bounded, "cuTensorMapEncodeTiled",
        "Boxes have 1 to 256 elements in each dimension, steps of 1 to 8, and rows of whole 16 bytes."),
    rule!(swizzled_rows_fit_their_line, "cuTensorMapEncodeTiled", "A row of a box is no longer than the line of its swizzle."),
    rule!(nothing_looks_at_the_memory, "cuTensorMapEncodeTiled", "Addresses need not belong to memory (seen on an H200)."),
    rule!(null_is_refused, "cuTensorMapEncodeTiled",
        "Each pointer is needed, that to the strides also for one dimension (seen on an H200)."),
    rule!(an_address_is_replaced, "cuTensorMapReplaceAddress",
        "A map with another address is the map of that address; an address that is not aligned is refused."),
    rule!(a_swizzle_permutes_pieces, "PTX ISA, Swizzling modes",
        "Pieces of 16 bytes change places within a line of 128 bytes by the number of the line."),
    rule!(outside_is_zero, "PTX ISA, Tiled mode: bounding box", "Elements beyond the tensor are loaded as zero and not stored."),
    rule!(tensor_cores_add_as_recorded, "PTX ISA, wgmma.mma_async and mma.sync",
        "On compute capability 9.0, mma.sync and wgmma give the bits that were recorded on an H200."),
    rule!(architecture_specific_code_is_for_one, "PTX ISA, .target",
        "A module for sm_90a loads on compute capability 9.0 alone."),
];

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `.._MINOR`.
const CAPABILITY: [u32; 2] = [75, 76];

fn capability(scene: &Scene) -> Outcome<[i32; 2]> {
    let [major, minor] = CAPABILITY.map(|attribute| scene.attribute(attribute));
    Ok([major?, minor?])
}

/// Skips the rule on devices without tensor maps.
fn has_tensor_maps(scene: &Scene) -> Outcome {
    match capability(scene)?[0] {
        9.. => Ok(()),
        _ => Err(Failure::device("the device has no tensor maps")),
    }
}

/// `CUtensorMap`.
#[derive(Clone, Copy, PartialEq)]
#[repr(C, align(128))]
struct Map([u64; 16]);

const UINT16: u32 = 1;
const BFLOAT16: u32 = 9;

/// The arguments of `cuTensorMapEncodeTiled`.
#[derive(Clone)]
struct Tiled {
    kind: u32,
    rank: u32,
    address: Address,
    extents: [u64; 5],
    strides: [u64; 4],
    boxes: [u32; 5],
    steps: [u32; 5],
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

impl Tiled {
    /// 40 rows of 96 elements of 16 bits.
    fn new(address: Address) -> Self {
        Self {
            kind: BFLOAT16,
            rank: 2,
            address,
            extents: [96, 40, 3, 1, 1],
            strides: [192, 7680, 23040, 23040],
            boxes: [64, 8, 1, 1, 1],
            steps: [1; 5],
            interleave: 0,
            swizzle: 0,
            promotion: 0,
            fill: 0,
        }
    }

    fn encode(&self, map: &mut Map) -> Code {
        cu!(cuTensorMapEncodeTiled(
            (&raw mut *map).cast(),
            self.kind,
            self.rank,
            self.address,
            self.extents.as_ptr(),
            self.strides.as_ptr(),
            self.boxes.as_ptr(),
            self.steps.as_ptr(),
            self.interleave,
            self.swizzle,
            self.promotion,
            self.fill
        ))
    }

    fn encoded(&self) -> Outcome<Map> {
        let mut map = Map([0; 16]);
        same!(self.encode(&mut map), SUCCESS);
        Ok(map)
    }
}

type TensorMapChange = fn(&mut Tiled);

/// Arguments that differ in one way are accepted, or refused.
fn try_changes(
    scene: &Scene,
    accepted: &[TensorMapChange],
    refused: &[TensorMapChange],
) -> Outcome {
    has_tensor_maps(scene)?;
    let address = scene.device(1 << 20)?;
    for (changes, code) in [(accepted, SUCCESS), (refused, INVALID_VALUE)] {
        for (number, change) in changes.iter().enumerate() {
            let mut tiled = Tiled::new(address);
            change(&mut tiled);
            let mut map = Map([7; 16]);
            let came = tiled.encode(&mut map);
            same!((number, came), (number, code));
        }
    }
    Ok(())
}

fn a_box_need_not_fit(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 3] = [
        |_| {},
        |t| t.boxes = [256, 256, 1, 1, 1],
        |t| t.boxes = [128, 64, 1, 1, 1],
    ];
    try_changes(scene, &accepted, &[])
}

fn types_and_modes_are_checked(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 8] = [
        |t| t.kind = 12,
        |t| (t.interleave, t.rank, t.swizzle, t.boxes[0]) = (2, 3, 1, 16),
        |t| t.rank = 1,
        |t| t.rank = 5,
        |t| (t.interleave, t.rank, t.boxes[0]) = (1, 3, 8),
        |t| t.swizzle = 3,
        |t| t.promotion = 3,
        |t| t.fill = 1,
    ];
    let refused: [TensorMapChange; 9] = [
        |t| t.kind = 99,
        |t| t.rank = 0,
        |t| t.rank = 6,
        |t| (t.interleave, t.rank) = (3, 3),
        |t| t.interleave = 1,
        |t| (t.swizzle, t.boxes[0]) = (8, 8),
        |t| t.promotion = 4,
        |t| t.fill = 2,
        |t| (t.fill, t.kind) = (1, UINT16),
    ];
    try_changes(scene, &accepted, &refused)
}

fn modes_of_later_devices_are_refused(scene: &mut Scene) -> Outcome {
    if capability(scene)?[0] > 9 {
        return Err(Failure::device("the device has these types and swizzles"));
    }
    try_changes(
        scene,
        &[],
        &[|t| t.kind = 13, |t| (t.swizzle, t.boxes[0]) = (4, 8)],
    )
}

fn addresses_and_strides_are_aligned(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 2] = [|t| t.address += 16, |t| t.strides[1] = 1];
    let refused: [TensorMapChange; 7] = [
        |t| t.address += 1,
        |t| (t.interleave, t.rank, t.strides[0]) = (2, 3, 208),
        |t| t.address += 8,
        |t| t.strides[0] = 8,
        |t| t.strides[0] = 200,
        |t| (t.rank, t.strides[1]) = (3, 7672),
        |t| {
            (t.interleave, t.rank) = (2, 3);
            t.address += 16;
        },
    ];
    try_changes(scene, &accepted, &refused)
}

fn extents_are_bounded(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 3] = [
        |t| t.extents[1] = 1 << 32,
        |t| t.extents[2] = 0,
        |t| t.strides[0] = (1 << 40) - 16,
    ];
    let refused: [TensorMapChange; 4] = [
        |t| t.extents[0] = 0,
        |t| t.extents[1] = 0,
        |t| t.extents[1] = (1 << 32) + 1,
        |t| t.strides[0] = 1 << 40,
    ];
    try_changes(scene, &accepted, &refused)
}

fn boxes_are_bounded(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 2] = [|t| t.boxes[0] = 8, |t| t.steps = [8, 8, 1, 1, 1]];
    let refused: [TensorMapChange; 11] = [
        |t| t.boxes[0] = 0,
        |t| t.boxes[0] = 1,
        |t| t.steps[0] = 9,
        |t| t.boxes[0] = 4,
        |t| t.boxes[0] = 12,
        |t| t.boxes[0] = 257,
        |t| t.boxes[1] = 0,
        |t| t.boxes[1] = 257,
        |t| t.steps[0] = 0,
        |t| t.steps[1] = 0,
        |t| t.steps[1] = 9,
    ];
    try_changes(scene, &accepted, &refused)
}

fn swizzled_rows_fit_their_line(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 4] = [
        |t| (t.swizzle, t.boxes[0]) = (1, 16),
        |t| (t.swizzle, t.boxes[0]) = (2, 32),
        |t| (t.swizzle, t.boxes[0]) = (3, 64),
        |t| (t.swizzle, t.boxes[0]) = (3, 24),
    ];
    let refused: [TensorMapChange; 3] = [
        |t| (t.swizzle, t.boxes[0]) = (1, 24),
        |t| (t.swizzle, t.boxes[0]) = (2, 40),
        |t| (t.swizzle, t.boxes[0]) = (3, 72),
    ];
    try_changes(scene, &accepted, &refused)
}

fn nothing_looks_at_the_memory(scene: &mut Scene) -> Outcome {
    let accepted: [TensorMapChange; 4] = [
        |t| t.address = 0,
        |t| t.address = 0x10000,
        |t| t.strides[0] = 0,
        |t| t.strides[0] = 16,
    ];
    try_changes(scene, &accepted, &[])
}

fn null_is_refused(scene: &mut Scene) -> Outcome {
    has_tensor_maps(scene)?;
    let (tiled, null) = (Tiled::new(0), std::ptr::null());
    let (extents, strides) = (tiled.extents.as_ptr(), tiled.strides.as_ptr());
    let (boxes, steps) = (tiled.boxes.as_ptr(), tiled.steps.as_ptr());
    let mut map = Map([0; 16]);
    let to = (&raw mut map).cast();
    let none = std::ptr::null_mut();
    gives!(
        INVALID_VALUE,
        cuTensorMapEncodeTiled(
            none, BFLOAT16, 1, 0, extents, strides, boxes, steps, 0, 0, 0, 0
        )
    );
    for [extents, strides] in [[null, strides], [extents, null]] {
        gives!(
            INVALID_VALUE,
            cuTensorMapEncodeTiled(
                to, BFLOAT16, 1, 0, extents, strides, boxes, steps, 0, 0, 0, 0
            )
        );
    }
    let null = std::ptr::null();
    for [boxes, steps] in [[null, steps], [boxes, null]] {
        gives!(
            INVALID_VALUE,
            cuTensorMapEncodeTiled(
                to, BFLOAT16, 1, 0, extents, strides, boxes, steps, 0, 0, 0, 0
            )
        );
    }
    Ok(())
}

fn an_address_is_replaced(scene: &mut Scene) -> Outcome {
    has_tensor_maps(scene)?;
    let (first, second) = (scene.device(1 << 16)?, scene.device(1 << 16)?);
    let mut map = Tiled::new(first).encoded()?;
    let to = (&raw mut map).cast();
    ok!(cuTensorMapReplaceAddress(to, second));
    holds!(map == Tiled::new(second).encoded()?);
    gives!(INVALID_VALUE, cuTensorMapReplaceAddress(to, second + 8));
    Ok(())
}

/// Elements of the matrix of [`Tiled::new`].
const ELEMENTS: usize = 40 * 96;

/// The matrix 1, 2, 3, …; what a box of it is in shared memory, and a matrix of 7s when it has been stored there.
fn move_box(scene: &mut Scene, swizzle: u32, [x, y]: [i32; 2]) -> Outcome<[Vec<u16>; 2]> {
    has_tensor_maps(scene)?;
    if capability(scene)? != [9, 0] {
        return Err(Failure::device("the kernel is for compute capability 9.0"));
    }
    let (from, to, seen) = (
        scene.device(2 * ELEMENTS)?,
        scene.device(2 * ELEMENTS)?,
        scene.device(1024)?,
    );
    let numbers: Vec<u16> = (1..=ELEMENTS as u16).collect();
    ok!(cuMemcpyHtoD_v2(from, numbers.as_ptr().cast(), 2 * ELEMENTS));
    ok!(cuMemsetD16_v2(to, 7, ELEMENTS));
    let maps = [from, to].map(|address| Tiled {
        swizzle,
        ..Tiled::new(address)
    });
    let [first, second] = [maps[0].encoded()?, maps[1].encoded()?];
    let module = scene.load(
        include_str!("../../ptx/tensor.ptx")
            .replace("BF", "bf16")
            .as_str(),
    )?;
    let function = scene.kernel_of(module, "box")?;
    let launched = scene.try_launch(function, 0, &[&first, &second, &seen, &x, &y, &1024_u32]);
    same!(launched, SUCCESS);
    let words = |bytes: Vec<u8>| {
        let (words, _) = bytes.as_chunks::<2>();
        words.iter().map(|word| u16::from_le_bytes(*word)).collect()
    };
    Ok([
        words(scene.bytes(seen, 1024)?),
        words(scene.bytes(to, 2 * ELEMENTS)?),
    ])
}

fn a_swizzle_permutes_pieces(scene: &mut Scene) -> Outcome {
    let [shared, stored] = move_box(scene, 3, [16, 5])?;
    for row in 0..8 {
        for column in 0..64 {
            let place = 64 * row + 8 * ((column / 8) ^ row) + column % 8;
            let index = 96 * (5 + row) + 16 + column;
            same!(shared[place], index as u16 + 1);
            same!(stored[index], index as u16 + 1);
        }
    }
    Ok(())
}

fn outside_is_zero(scene: &mut Scene) -> Outcome {
    // Beyond the last row and the last column. At a row before the first, an H200 does not store: the instruction is illegal.
    let [shared, stored] = move_box(scene, 0, [72, 36])?;
    for row in 0..8_usize {
        for column in 0..64_usize {
            let inside = row < 4 && column < 24;
            let expected = if inside {
                (96 * (36 + row) + 72 + column) as u16 + 1
            } else {
                0
            };
            same!(shared[64 * row + column], expected);
        }
    }
    let changed = stored.iter().filter(|value| **value != 7).count();
    same!(changed, 4 * 24);
    Ok(())
}

/// Sums that were recorded on an H200: format, a row of A, a column of B, the sum before, the sum.
const RECORDED: &str = include_str!("../../../../software-gpu/tests/tensor_cores/h200.txt");

struct Sum {
    a: [u16; 16],
    b: [u16; 16],
    before: u32,
    after: u32,
}

fn recorded(format: &str) -> Vec<Sum> {
    let number = |digits: &str| u32::from_str_radix(digits, 16).unwrap_or_default();
    let factors = |text: &str| std::array::from_fn(|k| number(&text[4 * k..][..4]) as u16);
    let sum = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, a, b, before, after] = fields[..] else {
            return None;
        };
        (name == format).then(|| Sum {
            a: factors(a),
            b: factors(b),
            before: number(before),
            after: number(after),
        })
    };
    RECORDED.lines().filter_map(sum).collect()
}

fn upload(scene: &Scene, words: &[u32]) -> Outcome<Address> {
    let address = scene.device(4 * words.len())?;
    ok!(cuMemcpyHtoD_v2(
        address,
        words.as_ptr().cast(),
        4 * words.len()
    ));
    Ok(address)
}

/// Eight sums for each block: the row and the column of the same number.
fn tensor_cores_add_as_recorded(scene: &mut Scene) -> Outcome {
    if capability(scene)? != [9, 0] {
        return Err(Failure::device("it was recorded on compute capability 9.0"));
    }
    for format in ["bf16", "f16"] {
        let sums = recorded(format);
        let pair = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
        let (mut a, mut core, mut b, mut c) = (vec![], vec![], vec![], vec![]);
        for block in sums.chunks_exact(8) {
            for thread in 0..128 {
                let (row, k) = (thread / 4, thread % 4 * 2);
                let has_row = thread < 32;
                for quarter in 0..4 {
                    let k = k + quarter / 2 * 8;
                    let is_upper = has_row && quarter % 2 == 0;
                    a.push(if is_upper {
                        pair(block[row].a[k], block[row].a[k + 1])
                    } else {
                        0
                    });
                    let column = k % 8 + quarter % 2;
                    let is_own = has_row && quarter < 2 && column == row;
                    c.push(if is_own { block[row].before } else { 0 });
                }
            }
            for half in 0..2 {
                for column in block {
                    let elements = &column.b[8 * half..][..8];
                    core.extend(elements.chunks(2).map(|two| pair(two[0], two[1])));
                }
            }
            for lane in 0..32 {
                let column = &block[lane / 4].b;
                let k = lane % 4 * 2;
                b.extend([k, k + 8].map(|k| pair(column[k], column[k + 1])));
            }
        }
        let blocks = (sums.len() / 8) as u32;
        let module = scene.load(&include_str!("../../ptx/tensor.ptx").replace("BF", format))?;
        let function = scene.kernel_of(module, &format!("sums_{format}"))?;
        let inputs = [&a, &core, &b, &c].map(|words| upload(scene, words));
        let [a, core, b, c] = inputs;
        let (a, core, b, c) = (a?, core?, b?, c?);
        let bytes = 16 * 128 * blocks as usize;
        let (by_mma, by_wgmma) = (scene.device(bytes)?, scene.device(bytes)?);
        let arguments: [&dyn crate::scene::Argument; 6] = [&a, &core, &b, &c, &by_mma, &by_wgmma];
        let launched = scene.try_shaped(function, [blocks, 1, 1], [128, 1, 1], 0, 0, &arguments);
        same!(launched, SUCCESS);
        for came in [by_mma, by_wgmma] {
            let bytes = scene.bytes(came, bytes)?;
            let (words, _) = bytes.as_chunks::<4>();
            for (number, sum) in sums.iter().enumerate() {
                let (block, row) = (number / 8, number % 8);
                let word = 4 * (128 * block + 4 * row + row / 2) + row % 2;
                let bits = u32::from_le_bytes(words[word]);
                same!((format, number, bits), (format, number, sum.after));
            }
        }
    }
    Ok(())
}

fn architecture_specific_code_is_for_one(scene: &mut Scene) -> Outcome {
    let expected = match capability(scene)? {
        [9, 0] => SUCCESS,
        _ => NO_BINARY_FOR_GPU,
    };
    let text = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n\0";
    let mut module = 0;
    let came = cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
    same!(came, expected);
    Ok(())
}

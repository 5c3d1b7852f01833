//! Copies of rectangles and boxes.

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy};
use crate::{gives, holds, ok, rule, same};

const FAMILY: &str = "boxes";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(rectangle_to_the_device, "cuMemcpy2D", "A rectangle is written row by row, and the bytes around it stay."),
    rule!(rectangle_to_the_host, "cuMemcpy2D", "A rectangle is read row by row, each side with its own pitch and offset."),
    rule!(rectangle_within_the_device, "cuMemcpy2D", "A rectangle is copied within the device."),
    rule!(unified_addresses_say_where_they_are, "CU_MEMORYTYPE_UNIFIED",
        "With the memory type unified the addresses say which side is the host's."),
    rule!(unaligned_copies_do_the_same, "cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned copies the same bytes."),
    rule!(rows_must_fit_into_the_pitch, "cuMemcpy2D", "A row that is wider than the pitch, counted from its offset, is refused."),
    rule!(rectangles_must_stay_inside, "cuMemcpy2D", "A rectangle that leaves its allocation is refused."),
    rule!(rectangle_to_the_host_waits, "cuMemcpy2D", "A synchronous copy to the host waits for work before it."),
    rule!(asynchronous_rectangle_returns_at_once, "cuMemcpy2DAsync",
        "cuMemcpy2DAsync from page-locked memory does not wait, and keeps the stream's order."),
    rule!(asynchronous_rectangle_to_pageable_waits, "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpy2DAsync to pageable memory returns when the bytes are there."),
    rule!(box_to_the_device, "cuMemcpy3D", "A box is written slice by slice, and the bytes around it stay."),
    rule!(box_to_the_host, "cuMemcpy3D", "A box is read slice by slice, each side with its own height."),
    rule!(asynchronous_box, "cuMemcpy3DAsync", "cuMemcpy3DAsync copies a box in stream order."),
];

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const UNIFIED: u32 = 4;

const PITCH: usize = 16;
const ROWS: usize = 8;
const BYTES: usize = PITCH * ROWS;

fn on_device(address: Address, x: usize, y: usize) -> Side2D {
    Side2D {
        x,
        y,
        kind: DEVICE,
        device: address,
        pitch: PITCH,
        ..Side2D::default()
    }
}

fn on_host(start: usize, pitch: usize, x: usize, y: usize) -> Side2D {
    Side2D {
        x,
        y,
        kind: HOST,
        host: start,
        pitch,
        ..Side2D::default()
    }
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).map(|index| index as u8 + 1).collect()
}

/// A plane of zeros into which `rows` are written at (3, 2).
fn expected(rows: &[&[u8]]) -> Vec<u8> {
    let mut plane = vec![0; BYTES];
    for (index, row) in rows.iter().enumerate() {
        let start = (index + 2) * PITCH + 3;
        plane[start..start + row.len()].copy_from_slice(row);
    }
    plane
}

/// A copy of three rows of five bytes from tightly packed host memory to (3, 2) of a plane on the device.
fn five_by_three(from: usize, to: Address) -> Memcpy2D {
    Memcpy2D {
        from: on_host(from, 5, 0, 0),
        to: on_device(to, 3, 2),
        width: 5,
        height: 3,
    }
}

fn rectangle_to_the_device(scene: &mut Scene) -> Outcome {
    let (sent, plane) = (numbers(15), scene.device(BYTES)?);
    ok!(cuMemcpy2D_v2(&five_by_three(sent.as_ptr() as usize, plane)));
    same!(
        scene.bytes(plane, BYTES)?,
        expected(&[&sent[..5], &sent[5..10], &sent[10..]])
    );
    Ok(())
}

/// A plane on the device that holds the numbers from 1 on.
fn numbered_plane(scene: &Scene) -> Outcome<Address> {
    let (sent, plane) = (numbers(BYTES), scene.device(BYTES)?);
    ok!(cuMemcpyHtoD_v2(plane, sent.as_ptr().cast(), BYTES));
    ok!(cuCtxSynchronize());
    Ok(plane)
}

fn rectangle_to_the_host(scene: &mut Scene) -> Outcome {
    let (plane, mut came) = (numbered_plane(scene)?, [0_u8; 21]);
    let copy = Memcpy2D {
        from: on_device(plane, 2, 1),
        to: on_host(came.as_mut_ptr() as usize, 7, 1, 1),
        width: 4,
        height: 2,
    };
    ok!(cuMemcpy2D_v2(&copy));
    let mut rows = [0_u8; 21];
    rows[8..12].copy_from_slice(&[19, 20, 21, 22]);
    rows[15..19].copy_from_slice(&[35, 36, 37, 38]);
    same!(came, rows);
    Ok(())
}

fn rectangle_within_the_device(scene: &mut Scene) -> Outcome {
    let (from, to) = (numbered_plane(scene)?, scene.device(BYTES)?);
    let copy = Memcpy2D {
        from: on_device(from, 0, 0),
        to: on_device(to, 3, 2),
        width: 4,
        height: 2,
    };
    ok!(cuMemcpy2D_v2(&copy));
    same!(
        scene.bytes(to, BYTES)?,
        expected(&[&[1, 2, 3, 4], &[17, 18, 19, 20]])
    );
    Ok(())
}

fn unified_addresses_say_where_they_are(scene: &mut Scene) -> Outcome {
    let (sent, plane) = (numbers(15), scene.device(BYTES)?);
    let mut copy = five_by_three(0, plane);
    copy.from = Side2D {
        kind: UNIFIED,
        device: sent.as_ptr() as Address,
        ..copy.from
    };
    copy.to.kind = UNIFIED;
    ok!(cuMemcpy2D_v2(&copy));
    same!(
        scene.bytes(plane, BYTES)?,
        expected(&[&sent[..5], &sent[5..10], &sent[10..]])
    );
    Ok(())
}

fn unaligned_copies_do_the_same(scene: &mut Scene) -> Outcome {
    let (sent, plane) = (numbers(15), scene.device(BYTES)?);
    ok!(cuMemcpy2DUnaligned_v2(&five_by_three(
        sent.as_ptr() as usize,
        plane
    )));
    same!(
        scene.bytes(plane, BYTES)?,
        expected(&[&sent[..5], &sent[5..10], &sent[10..]])
    );
    Ok(())
}

fn rows_must_fit_into_the_pitch(scene: &mut Scene) -> Outcome {
    let (sent, plane) = (numbers(60), scene.device(BYTES)?);
    let copy = Memcpy2D {
        from: on_host(sent.as_ptr() as usize, 20, 0, 0),
        to: on_device(plane, 0, 0),
        width: 20,
        height: 3,
    };
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    // From 2 on a row of 4 bytes needs a pitch of 6.
    let mut copy = Memcpy2D {
        from: on_host(sent.as_ptr() as usize, 5, 2, 0),
        width: 4,
        ..copy
    };
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    same!(scene.bytes(plane, BYTES)?, vec![0; BYTES]);
    copy.from.pitch = 6;
    ok!(cuMemcpy2D_v2(&copy));
    Ok(())
}

fn rectangles_must_stay_inside(scene: &mut Scene) -> Outcome {
    /// A size that no allocator rounds up.
    const LARGE: usize = 32 << 20;
    let (sent, plane) = (numbers(15), scene.device(LARGE)?);
    let mut copy = five_by_three(sent.as_ptr() as usize, plane);
    copy.to.y = LARGE / PITCH - 1;
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    Ok(())
}

fn rectangle_to_the_host_waits(scene: &mut Scene) -> Outcome {
    let (plane, mut word) = (scene.device(BYTES)?, 0_u32);
    scene.slow_store(plane, 71, 0)?;
    ok!(cuMemcpy2D_v2(&first_word(plane, &raw mut word)));
    same!(word, 71);
    Ok(())
}

/// A copy of a plane's first four bytes to the host.
fn first_word(plane: Address, to: *mut u32) -> Memcpy2D {
    Memcpy2D {
        from: on_device(plane, 0, 0),
        to: on_host(to as usize, 4, 0, 0),
        width: 4,
        height: 1,
    }
}

fn asynchronous_rectangle_to_pageable_waits(scene: &mut Scene) -> Outcome {
    let (stream, plane, mut word) = (scene.non_blocking()?, scene.device(BYTES)?, 0_u32);
    scene.slow_store(plane, 72, stream)?;
    ok!(cuMemcpy2DAsync_v2(
        &first_word(plane, &raw mut word),
        stream
    ));
    // SAFETY: a variable of this function, which the driver wrote through a pointer.
    same!(unsafe { (&raw const word).read_volatile() }, 72);
    Ok(())
}

fn asynchronous_rectangle_returns_at_once(scene: &mut Scene) -> Outcome {
    let (stream, pinned, plane) = (scene.stream()?, scene.pinned(15)?, scene.device(BYTES)?);
    pinned.fill(9);
    scene.busy(stream)?;
    ok!(cuMemsetD8Async(plane, 0, BYTES, stream));
    ok!(cuMemcpy2DAsync_v2(
        &five_by_three(pinned.pointer() as usize, plane),
        stream
    ));
    holds!(is_busy(stream)?);
    same!(
        scene.bytes(plane, BYTES)?,
        expected(&[&[9; 5], &[9; 5], &[9; 5]])
    );
    Ok(())
}

/// A copy of two slices of two rows of three bytes, packed on the host, to and from a volume of slices of four rows.
fn small_box(host: usize, volume: Address) -> Memcpy3D {
    let packed = Side3D {
        kind: HOST,
        host,
        pitch: 3,
        height: 2,
        ..Side3D::default()
    };
    let inner = Side3D {
        x: 1,
        y: 1,
        z: 0,
        kind: DEVICE,
        device: volume,
        pitch: PITCH,
        height: 4,
        ..Side3D::default()
    };
    Memcpy3D {
        from: packed,
        to: inner,
        width: 3,
        height: 2,
        depth: 2,
    }
}

/// Where the rows of [`small_box`] start in the volume.
const BOX_ROWS: [usize; 4] = [PITCH + 1, 2 * PITCH + 1, 5 * PITCH + 1, 6 * PITCH + 1];

fn volume_with(rows: &[u8]) -> Vec<u8> {
    let mut volume = vec![0; BYTES];
    for (start, row) in BOX_ROWS.into_iter().zip(rows.chunks(3)) {
        volume[start..start + 3].copy_from_slice(row);
    }
    volume
}

fn box_to_the_device(scene: &mut Scene) -> Outcome {
    let (sent, volume) = (numbers(12), scene.device(BYTES)?);
    ok!(cuMemcpy3D_v2(&small_box(sent.as_ptr() as usize, volume)));
    same!(scene.bytes(volume, BYTES)?, volume_with(&sent));
    Ok(())
}

fn box_to_the_host(scene: &mut Scene) -> Outcome {
    let (volume, mut came) = (numbered_plane(scene)?, [0_u8; 12]);
    let mut copy = small_box(came.as_mut_ptr() as usize, volume);
    std::mem::swap(&mut copy.from, &mut copy.to);
    ok!(cuMemcpy3D_v2(&copy));
    let rows: Vec<u8> = BOX_ROWS
        .into_iter()
        .flat_map(|start| numbers(BYTES)[start..start + 3].to_vec())
        .collect();
    same!(came[..], rows[..]);
    Ok(())
}

fn asynchronous_box(scene: &mut Scene) -> Outcome {
    let (stream, pinned, volume) = (scene.stream()?, scene.pinned(12)?, scene.device(BYTES)?);
    pinned.fill(8);
    scene.busy(stream)?;
    ok!(cuMemsetD8Async(volume, 0, BYTES, stream));
    ok!(cuMemcpy3DAsync_v2(
        &small_box(pinned.pointer() as usize, volume),
        stream
    ));
    holds!(is_busy(stream)?);
    same!(scene.bytes(volume, BYTES)?, volume_with(&[8; 12]));
    Ok(())
}

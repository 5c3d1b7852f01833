//! Copies of random rectangles and boxes, and of senseless ones.

use crate::driver_support::copies::{
    ARRAY, Copy2D, Copy3D, DEVICE, HOST, Side2D, Side3D, UNIFIED, copy_2d, copy_2d_async, copy_3d,
    copy_3d_async, numbered,
};
use crate::driver_support::{
    Address, Driver, INVALID_VALUE, LEGACY, NON_BLOCKING, NOT_SUPPORTED, Pinned,
};
use proptest::prelude::*;

/// Where the sides of a random copy are.
#[derive(Clone, Copy, Debug)]
enum Memory {
    Pageable,
    Pinned,
    Device,
}

/// A random box in a larger one.
#[derive(Clone, Debug)]
struct RandomBox {
    memory: Memory,
    unified: bool,
    offset: [usize; 3],
    /// More than the box needs: bytes of a row, and rows.
    slack: [usize; 2],
}

const SIDE_BYTES: usize = 1 << 14;

fn side() -> impl Strategy<Value = RandomBox> {
    let memory = prop_oneof![
        Just(Memory::Pageable),
        Just(Memory::Pinned),
        Just(Memory::Device)
    ];
    let offset = [0..9_usize, 0..4, 0..3];
    (memory, any::<bool>(), offset, [0..9_usize, 0..3]).prop_map(
        |(memory, unified, offset, slack)| RandomBox {
            memory,
            unified,
            offset,
            slack,
        },
    )
}

/// The memory that one side of the random copies uses.
struct Arena {
    pageable: Vec<u8>,
    pinned: Pinned,
    device: Address,
}

impl Arena {
    fn new(driver: &Driver) -> Self {
        Self {
            pageable: vec![0; SIDE_BYTES],
            pinned: driver.pinned(SIDE_BYTES),
            device: driver.allocate(SIDE_BYTES).expect("fits"),
        }
    }

    fn write(&mut self, driver: &Driver, memory: Memory, bytes: &[u8]) {
        match memory {
            Memory::Pageable => self.pageable.copy_from_slice(bytes),
            // SAFETY: the memory has that many bytes, and the driver is idle.
            Memory::Pinned => unsafe {
                self.pinned.pointer().copy_from(bytes.as_ptr(), bytes.len());
            },
            Memory::Device => driver
                .to_device(self.device, bytes.as_ptr(), bytes.len(), LEGACY)
                .expect("cuMemcpyHtoDAsync"),
        }
        driver.synchronize().expect("cuCtxSynchronize");
    }

    fn read(&self, driver: &Driver, memory: Memory) -> Vec<u8> {
        match memory {
            Memory::Pageable => self.pageable.clone(),
            Memory::Pinned => self.pinned.bytes(),
            Memory::Device => driver.read(self.device, SIDE_BYTES),
        }
    }

    /// The description of a side, and the distances between its rows and slices.
    fn side(&mut self, random: &RandomBox, extent: [usize; 3]) -> Side3D {
        let address = match random.memory {
            Memory::Pageable => self.pageable.as_mut_ptr() as usize,
            Memory::Pinned => self.pinned.pointer() as usize,
            Memory::Device => self.device as usize,
        };
        let memory_type = match (random.unified, random.memory) {
            (true, _) => UNIFIED,
            (false, Memory::Device) => DEVICE,
            (false, _) => HOST,
        };
        Side3D {
            x: random.offset[0],
            y: random.offset[1],
            z: random.offset[2],
            memory_type,
            host: address,
            device: address as Address,
            pitch: random.offset[0] + extent[0] + random.slack[0],
            height: random.offset[1] + extent[1] + random.slack[1],
            ..Side3D::default()
        }
    }
}

impl Side3D {
    fn offset(&self, x: usize, y: usize, z: usize) -> usize {
        ((self.z + z) * self.height + self.y + y) * self.pitch + self.x + x
    }

    /// The same side of a copy of one slice; the slices before it count as rows.
    fn flat(&self) -> Side2D {
        Side2D {
            x: self.x,
            y: self.y + self.z * self.height,
            memory_type: self.memory_type,
            host: self.host,
            device: self.device,
            array: 0,
            pitch: self.pitch,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn boxes_land_where_a_loop_over_bytes_puts_them(
        from in side(), to in side(),
        extent in [0..24_usize, 0..7, 0..5],
        flat: bool, synchronous: bool,
    ) {
        let driver = Driver::new();
        let stream = driver.stream(NON_BLOCKING);
        let extent = [extent[0], extent[1], if flat { 1 } else { extent[2] }];
        let (mut source, mut target) = (Arena::new(&driver), Arena::new(&driver));
        let before = numbered(SIDE_BYTES);
        source.write(&driver, from.memory, &before);
        target.write(&driver, to.memory, &vec![0xff; SIDE_BYTES]);
        let (from_side, to_side) = (source.side(&from, extent), target.side(&to, extent));
        let [width, height, depth] = extent;
        let copied = match (flat, synchronous) {
            (true, true) => copy_2d(&Copy2D { from: from_side.flat(), to: to_side.flat(), width, height }),
            (true, false) => {
                copy_2d_async(&Copy2D { from: from_side.flat(), to: to_side.flat(), width, height }, stream)
            }
            (false, true) => copy_3d(&Copy3D { from: from_side, to: to_side, width, height, depth }),
            (false, false) => copy_3d_async(&Copy3D { from: from_side, to: to_side, width, height, depth }, stream),
        };
        prop_assert_eq!(copied, Ok(()));
        driver.synchronize().expect("cuCtxSynchronize");
        let mut expected = vec![0xff; SIDE_BYTES];
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    expected[to_side.offset(x, y, z)] = before[from_side.offset(x, y, z)];
                }
            }
        }
        prop_assert!(target.read(&driver, to.memory) == expected);
        prop_assert!(source.read(&driver, from.memory) == before);
    }
}

/// Numbers at which sums and products go wrong.
fn number() -> impl Strategy<Value = usize> {
    let edge = [
        0,
        1,
        2,
        4096,
        0x7fff_ffff,
        1 << 32,
        1 << 47,
        1 << 63,
        usize::MAX,
    ];
    prop_oneof![0..300_usize, prop::sample::select(edge.to_vec())]
}

fn senseless_side(device: Address) -> impl Strategy<Value = Side3D> {
    let addresses = vec![
        0,
        device,
        device + 100,
        device + 4095,
        device + 4096,
        u64::MAX,
        1 << 48,
    ];
    // Host memory is left out: the driver cannot know how much of it there is.
    let memory_types = vec![0, DEVICE, DEVICE, DEVICE, ARRAY, UNIFIED, 9];
    let place = (
        prop::sample::select(addresses),
        prop::sample::select(memory_types),
    );
    let offset = [number(), number(), number()];
    (place, offset, [number(), number()], 0..10_usize).prop_map(
        |((device, memory_type), offset, [pitch, height], level)| Side3D {
            x: offset[0],
            y: offset[1],
            z: offset[2],
            level: level / 9,
            memory_type: if device < 1 << 48 && memory_type == UNIFIED {
                DEVICE
            } else {
                memory_type
            },
            device,
            pitch,
            height,
            ..Side3D::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn senseless_boxes_give_errors(
        from in senseless_side(1 << 48), to in senseless_side(1 << 48), extent in [number(), number(), number()],
        flat: bool,
    ) {
        let driver = Driver::new();
        let device = driver.allocate(4096).expect("fits");
        // The sides were made for memory at the first device address; here it is where the driver put it.
        let moved = |side: Side3D| Side3D {
            device: match side.device.checked_sub(1 << 48) {
                Some(offset) if offset <= 4096 => device + offset,
                _ => side.device,
            },
            ..side
        };
        let (from, to) = (moved(from), moved(to));
        let [width, height, depth] = extent;
        let copied = if flat {
            let side = |side: Side3D| Side2D {
                x: side.x,
                y: side.y,
                memory_type: side.memory_type,
                host: 0,
                device: side.device,
                array: 0,
                pitch: side.pitch,
            };
            copy_2d(&Copy2D { from: side(from), to: side(to), width, height })
        } else {
            copy_3d(&Copy3D { from, to, width, height, depth })
        };
        prop_assert!(matches!(copied, Ok(()) | Err(INVALID_VALUE | NOT_SUPPORTED)), "{copied:?}");
        prop_assert_eq!(driver.synchronize(), Ok(()));
    }
}

//! CUDA arrays, texture objects and surface objects, as a program and its kernels see them.

use std::ffi::c_uint;

use crate::driver_support::copies::{
    ARRAY, Copy2D, Copy3D, HOST, Side2D, Side3D, copy_2d, copy_2d_async, copy_3d,
};
use crate::driver_support::*;
use software_gpu::driver::{entry_point, last_fault};
use software_gpu::reports;

const ILLEGAL_INSTRUCTION: Error = 715;
const ILLEGAL_ADDRESS: Error = 700;

const UNSIGNED_8: c_uint = 1;
const FLOAT: c_uint = 0x20;
const LAYERED: c_uint = 1;
const SURFACE: c_uint = 2;

const WRAP: c_uint = 0;
const CLAMP: c_uint = 1;
const BORDER: c_uint = 3;
const READ_AS_INTEGER: c_uint = 1;
const NORMALIZED: c_uint = 2;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Descriptor {
    extent: [usize; 3],
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_RESOURCE_DESC`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Resource {
    kind: c_uint,
    fields: [u64; 16],
    flags: c_uint,
}

impl Resource {
    fn new(kind: c_uint, first: &[u64]) -> Self {
        let mut fields = [0; 16];
        fields[..first.len()].copy_from_slice(first);
        Self {
            kind,
            fields,
            flags: 0,
        }
    }

    fn array(array: Handle) -> Self {
        Self::new(0, &[array as u64])
    }

    fn linear(address: Address, format: c_uint, bytes: u64) -> Self {
        Self::new(2, &[address, u64::from(format) | 1 << 32, bytes])
    }

    fn rows(address: Address, [width, height, pitch]: [u64; 3]) -> Self {
        let format = u64::from(FLOAT) | 1 << 32;
        Self::new(3, &[address, format, width, height, pitch])
    }
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Reading {
    modes: [c_uint; 3],
    filter: c_uint,
    flags: c_uint,
    rest: [c_uint; 5],
    border: [f32; 4],
    reserved: [c_uint; 12],
}

fn reading(mode: c_uint, linear: bool, flags: c_uint) -> Reading {
    Reading {
        modes: [mode; 3],
        filter: linear.into(),
        flags,
        ..Reading::default()
    }
}

fn create(descriptor: Descriptor) -> Result<Handle, Error> {
    let mut array = 0;
    cu!(cuArray3DCreate_v2(&mut array => *mut Handle, &descriptor => *const Descriptor))
        .map(|()| array)
}

fn floats(extent: [usize; 3], flags: c_uint) -> Descriptor {
    Descriptor {
        extent,
        format: FLOAT,
        channels: 1,
        flags,
    }
}

fn texture(resource: Resource, reading: Reading) -> Result<u64, Error> {
    let mut object = 0;
    cu!(cuTexObjectCreate(
        &mut object => *mut u64, &resource => *const Resource, &reading => *const Reading, 0 => usize,
    ))
    .map(|()| object)
}

fn surface(array: Handle) -> Result<u64, Error> {
    let mut object = 0;
    cu!(cuSurfObjectCreate(&mut object => *mut u64, &Resource::array(array) => *const Resource))
        .map(|()| object)
}

/// Copies between rows in host memory and an array.
fn rows(values: &[f32], array: Handle, width: usize) -> (Side2D, Side2D) {
    let host = Side2D {
        memory_type: HOST,
        host: values.as_ptr() as usize,
        pitch: 4 * width,
        ..Side2D::default()
    };
    let array = Side2D {
        memory_type: ARRAY,
        array,
        ..Side2D::default()
    };
    (host, array)
}

fn fill_2d(array: Handle, values: &[f32], width: usize) {
    let (from, to) = rows(values, array, width);
    let height = values.len() / width;
    copy_2d(&Copy2D {
        from,
        to,
        width: 4 * width,
        height,
    })
    .expect("copies");
}

/// A 4 x 3 array with 0 to 11.
fn numbered() -> Handle {
    let array = create(floats([4, 3, 0], 0)).expect("fits");
    let values: Vec<f32> = (0..12).map(|number| number as f32).collect();
    fill_2d(array, &values, 4);
    array
}

/// A kernel `test(texture, out, places)`: thread i reads three coordinates of 32 bits at `places + 12 i` into `%x`, `%y`
/// and `%z`, and as numbers `%fx`, `%fy` and `%fz`. It stores `%v0` to `%v3` at `out + 16 i`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry test(.param .u64 texture, .param .u64 out, .param .u64 places)
{{
.reg .b32 %i, %x, %y, %z, %v<4>; .reg .f32 %fx, %fy, %fz; .reg .b64 %tex, %out, %places, %rd<4>;
ld.param.u64 %tex, [texture]; ld.param.u64 %out, [out]; ld.param.u64 %places, [places]; mov.u32 %i, %tid.x;
mad.wide.u32 %places, %i, 12, %places; mad.wide.u32 %out, %i, 16, %out;
ld.global.b32 %x, [%places]; ld.global.b32 %y, [%places+4]; ld.global.b32 %z, [%places+8];
mov.b32 %fx, %x; mov.b32 %fy, %y; mov.b32 %fz, %z;
mov.b32 %v0, 0; mov.b32 %v1, 0; mov.b32 %v2, 0; mov.b32 %v3, 0;
{body}
st.global.v4.b32 [%out], {{%v0, %v1, %v2, %v3}};
ret;
}}\n"
    )
}

const FETCH_2D: &str = "tex.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%tex, {%fx, %fy}];";

/// What the threads store, for a thread per place.
fn run(
    driver: &Driver,
    body: &str,
    object: u64,
    places: &[[u32; 3]],
) -> Result<Vec<[u32; 4]>, Error> {
    let function = driver.kernel(&kernel(body), "test");
    let bytes = 12 * places.len();
    let at = driver.allocate(bytes)?;
    driver.to_device(at, places.as_ptr().cast(), bytes, LEGACY)?;
    let out = driver.allocate(16 * places.len())?;
    let threads = places.len() as u32;
    driver.launch(function, 1, threads, LEGACY, &[&object, &out, &at])?;
    driver.synchronize()?;
    let words = driver.read(out, 16 * places.len());
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| words[at + byte]));
    Ok((0..places.len())
        .map(|place| std::array::from_fn(|index| word(16 * place + 4 * index)))
        .collect())
}

/// The first channel of fetches from two coordinates.
fn fetch(driver: &Driver, object: u64, places: &[[f32; 2]]) -> Vec<f32> {
    let places: Vec<_> = places
        .iter()
        .map(|[x, y]| [x.to_bits(), y.to_bits(), 0])
        .collect();
    let values = run(driver, FETCH_2D, object, &places).expect("runs");
    values
        .into_iter()
        .map(|[first, ..]| f32::from_bits(first))
        .collect()
}

#[test]
fn a_fetch_reads_the_nearest_texel_or_interpolates() {
    let driver = Driver::new();
    let array = Resource::array(numbered());
    let nearest = texture(array, reading(CLAMP, false, 0)).expect("is right");
    let places = [[0.5, 0.5], [3.9, 2.9], [1.0, 2.0], [-4.0, 9.0]];
    assert_eq!(fetch(&driver, nearest, &places), [0.0, 11.0, 9.0, 8.0]);
    let linear = texture(array, reading(CLAMP, true, 0)).expect("is right");
    let places = [[1.5, 1.5], [2.0, 1.5], [2.0, 2.0], [1.75, 1.5]];
    assert_eq!(fetch(&driver, linear, &places), [5.0, 5.5, 7.5, 5.25]);
    let wrapped = texture(array, reading(WRAP, false, NORMALIZED)).expect("is right");
    let places = [[1.125, 0.5], [-0.125, 0.5]];
    assert_eq!(fetch(&driver, wrapped, &places), [4.0, 7.0]);
    let mut outside = reading(BORDER, true, 0);
    outside.border = [100.0; 4];
    let bordered = texture(array, outside).expect("is right");
    assert_eq!(
        fetch(&driver, bordered, &[[0.0, 0.5], [-9.0, 0.5]]),
        [50.0, 100.0]
    );
}

#[test]
fn bytes_are_read_as_integers_or_as_numbers() {
    let driver = Driver::new();
    let bytes = [0_u8, 51, 255, 7];
    let array = create(Descriptor {
        format: UNSIGNED_8,
        channels: 4,
        extent: [1, 0, 0],
        flags: 0,
    })
    .expect("fits");
    cu!(cuMemcpyHtoA_v2(array => Handle, 0 => usize, bytes.as_ptr() => *const u8, 4 => usize))
        .expect("copies");
    let body = "tex.1d.v4.u32.s32 {%v0, %v1, %v2, %v3}, [%tex, {%x}];";
    let object = |flags| texture(Resource::array(array), reading(CLAMP, false, flags));
    let integers = object(READ_AS_INTEGER).expect("is right");
    let values = run(&driver, body, integers, &[[0; 3]]).expect("runs");
    assert_eq!(values, [[0, 51, 255, 7]]);
    let numbers = object(0).expect("is right");
    let [values] = run(&driver, body, numbers, &[[0; 3]]).expect("runs")[..] else {
        panic!("one thread")
    };
    assert_eq!(
        values.map(f32::from_bits),
        [0.0, 0.2, 1.0, (7.0 / 255.0_f64) as f32]
    );
}

#[test]
fn layers_and_slices_are_copied_and_read() {
    let driver = Driver::new();
    let values: Vec<f32> = (0..2 * 3 * 4).map(|number| number as f32).collect();
    let (layered, solid) = ("a2d", "3d");
    for (flags, shape) in [(LAYERED, layered), (0, solid)] {
        let array = create(floats([4, 3, 2], flags)).expect("fits");
        let copy = Copy3D {
            from: Side3D {
                memory_type: HOST,
                host: values.as_ptr() as usize,
                pitch: 16,
                height: 3,
                ..Side3D::default()
            },
            to: Side3D {
                memory_type: ARRAY,
                array,
                ..Side3D::default()
            },
            width: 16,
            height: 3,
            depth: 2,
        };
        copy_3d(&copy).expect("copies");
        let object = texture(Resource::array(array), reading(CLAMP, false, 0)).expect("is right");
        let coordinates = match shape == layered {
            true => "%z, %x, %y, %y",
            false => "%x, %y, %z, %z",
        };
        let body =
            format!("tex.{shape}.v4.f32.s32 {{%v0, %v1, %v2, %v3}}, [%tex, {{{coordinates}}}];");
        let found = run(&driver, &body, object, &[[1, 2, 1], [3, 0, 0]]).expect("runs");
        let found: Vec<f32> = found.iter().map(|texel| f32::from_bits(texel[0])).collect();
        assert_eq!(found, [21.0, 3.0], "{shape}");
    }
}

#[test]
fn memory_becomes_a_texture_without_a_copy() {
    let driver = Driver::new();
    let memory = driver.allocate(4096).expect("fits");
    let values: Vec<f32> = (0..1024).map(|number| number as f32).collect();
    driver
        .to_device(memory, values.as_ptr().cast(), 4096, LEGACY)
        .expect("copies");
    let line = texture(
        Resource::linear(memory, FLOAT, 64),
        reading(CLAMP, false, 0),
    );
    let body = "tex.1d.v4.f32.s32 {%v0, %v1, %v2, %v3}, [%tex, {%x}];";
    let places = [[3, 0, 0], [15, 0, 0], [16, 0, 0], [u32::MAX, 0, 0]];
    let found = run(&driver, body, line.expect("is right"), &places).expect("runs");
    // Outside of linear memory the value is zero in every address mode.
    assert_eq!(found.map_first(), [3.0, 15.0, 0.0, 0.0].map(f32::to_bits));
    let rows = texture(
        Resource::rows(memory, [5, 4, 512]),
        reading(CLAMP, false, 0),
    );
    let rows = rows.expect("is right");
    assert_eq!(
        fetch(&driver, rows, &[[1.5, 2.5], [9.0, 0.5]]),
        [257.0, 4.0]
    );
}

/// The first channel of each result.
trait FirstChannel {
    fn map_first(&self) -> Vec<u32>;
}

impl FirstChannel for Vec<[u32; 4]> {
    fn map_first(&self) -> Vec<u32> {
        self.iter().map(|[first, ..]| *first).collect()
    }
}

#[test]
fn what_a_kernel_writes_to_a_surface_a_copy_brings_back() {
    let driver = Driver::new();
    let array = create(floats([4, 2, 0], SURFACE)).expect("fits");
    fill_2d(array, &[1.0; 8], 4);
    let object = surface(array).expect("is right");
    // The coordinate in x counts bytes.
    let body = "shl.b32 %x, %x, 2; suld.b.2d.b32.trap {%v0}, [%tex, {%x, %y}]; \
                sust.b.2d.b32.trap [%tex, {%x, %y}], {%z};";
    let bits = |value: f32| value.to_bits();
    let places = [[0, 0, bits(7.0)], [3, 1, bits(8.0)]];
    let before = run(&driver, body, object, &places).expect("runs");
    assert_eq!(before.map_first(), [bits(1.0), bits(1.0)]);
    let after = [0.0_f32; 8];
    let (to, from) = rows(&after, array, 4);
    let copy = Copy2D {
        from,
        to,
        width: 16,
        height: 2,
    };
    copy_2d(&copy).expect("copies");
    let after = std::hint::black_box(after);
    assert_eq!(after, [7.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 8.0]);
}

#[test]
fn a_surface_ends_where_the_mode_says() {
    let driver = Driver::new();
    let array = create(floats([4, 2, 0], SURFACE)).expect("fits");
    fill_2d(array, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 4);
    let object = surface(array).expect("is right");
    let load = |mode| format!("suld.b.2d.b32.{mode} {{%v0}}, [%tex, {{%x, %y}}];");
    let places = [[16, 0, 0], [4, 2, 0], [0_u32.wrapping_sub(4), 1, 0]];
    let zero = run(&driver, &load("zero"), object, &places).expect("runs");
    assert_eq!(zero.map_first(), [0, 0, 0]);
    let clamped = run(&driver, &load("clamp"), object, &places).expect("runs");
    assert_eq!(clamped.map_first(), [3.0, 5.0, 4.0].map(f32::to_bits));
    let trapped = run(&driver, &load("trap"), object, &places[1..2]);
    assert_eq!(trapped, Err(ILLEGAL_ADDRESS));
    let fault = last_fault().expect("is recorded");
    assert!(fault.contains("outside of a surface"), "{fault}");
    assert!(fault.contains("row 2"), "{fault}");
}

#[test]
fn a_handle_that_names_no_texture_stops_the_kernel() {
    let driver = Driver::new();
    let array = create(floats([4, 2, 0], SURFACE)).expect("fits");
    let object = surface(array).expect("is right");
    assert_eq!(
        run(&driver, FETCH_2D, object, &[[0; 3]]),
        Err(ILLEGAL_INSTRUCTION)
    );
    let fault = last_fault().expect("is recorded");
    assert!(fault.contains("is not a texture"), "{fault}");
}

#[test]
fn a_destroyed_texture_serves_the_kernels_that_were_launched_before() {
    let driver = Driver::new();
    let object = texture(Resource::array(numbered()), reading(CLAMP, false, 0)).expect("is right");
    let function = driver.kernel(&kernel(FETCH_2D), "test");
    let at = driver.allocate(12).expect("fits");
    driver.fill(at, 0, 12);
    let out = driver.allocate(16).expect("fits");
    driver
        .launch(function, 1, 1, LEGACY, &[&object, &out, &at])
        .expect("starts");
    cu!(cuTexObjectDestroy(object => u64)).expect("exists");
    assert_eq!(cu!(cuTexObjectDestroy(object => u64)), Err(INVALID_VALUE));
    driver.synchronize().expect("runs");
    driver
        .launch(function, 1, 1, LEGACY, &[&object, &out, &at])
        .expect("starts");
    // An object is forgotten when the next one is made or destroyed and nothing runs.
    let other = Resource::array(numbered());
    driver.synchronize().expect("runs");
    texture(other, reading(CLAMP, false, 0)).expect("is right");
    driver
        .launch(function, 1, 1, LEGACY, &[&object, &out, &at])
        .expect("starts");
    assert_eq!(driver.synchronize(), Err(ILLEGAL_INSTRUCTION));
}

#[test]
fn descriptions_come_back_as_they_were_given() {
    let _driver = Driver::new();
    let given = floats([4, 3, 2], LAYERED | SURFACE);
    let array = create(given).expect("fits");
    let mut descriptor = Descriptor::default();
    cu!(cuArray3DGetDescriptor_v2(&mut descriptor => *mut Descriptor, array => Handle))
        .expect("exists");
    assert_eq!(descriptor, given);
    let (resource, described) = (Resource::array(array), reading(BORDER, true, NORMALIZED));
    let object = texture(resource, described).expect("is right");
    let (mut found, mut read) = (Resource::new(9, &[]), Reading::default());
    cu!(cuTexObjectGetResourceDesc(&mut found => *mut Resource, object => u64)).expect("exists");
    cu!(cuTexObjectGetTextureDesc(&mut read => *mut Reading, object => u64)).expect("exists");
    assert_eq!((found, read), (resource, described));
    cu!(cuArrayDestroy(array => Handle)).expect("exists");
    assert_eq!(cu!(cuArrayDestroy(array => Handle)), Err(INVALID_HANDLE));
}

#[test]
fn senseless_descriptions_are_refused() {
    let driver = Driver::new();
    for descriptor in [
        floats([0, 3, 0], 0),
        floats([4, 0, 2], 0),
        floats([1 << 20, 1, 0], 0),
        Descriptor {
            channels: 3,
            ..floats([4, 3, 0], 0)
        },
    ] {
        assert_eq!(create(descriptor), Err(INVALID_VALUE), "{descriptor:?}");
    }
    let array = create(floats([4, 3, 0], 0)).expect("fits");
    surface(array).expect("the driver does not look for the flag of surfaces");
    let memory = driver.allocate(4096).expect("fits");
    for resource in [
        Resource::linear(memory + 4, FLOAT, 64),
        Resource::linear(memory, FLOAT, 8192),
        Resource::linear(memory, FLOAT, 0),
        Resource::rows(memory, [5, 4, 16]),
        Resource::rows(memory, [5, 4, 40]),
        Resource::array(0),
    ] {
        let refused = texture(resource, reading(CLAMP, false, 0));
        assert_eq!(refused, Err(INVALID_VALUE), "{resource:?}");
    }
    let integers = Resource::linear(memory, UNSIGNED_8, 64);
    texture(integers, reading(CLAMP, false, READ_AS_INTEGER)).expect("is right");
    let array = create(Descriptor {
        format: UNSIGNED_8,
        ..floats([4, 3, 0], 0)
    });
    let array = Resource::array(array.expect("fits"));
    let interpolated = texture(array, reading(CLAMP, true, READ_AS_INTEGER));
    interpolated.expect("the driver does not compare the filter with the reading");
}

#[test]
fn a_copy_ends_at_the_edges_of_an_array() {
    let _driver = Driver::new();
    let array = create(floats([4, 3, 0], 0)).expect("fits");
    let host = [0.0_f32; 16];
    let (from, to) = rows(&host, array, 4);
    for (x, y, width, height, expected) in [
        (0, 0, 16, 3, Ok(())),
        (4, 1, 12, 2, Ok(())),
        (4, 0, 16, 1, Err(INVALID_VALUE)),
        (0, 2, 16, 2, Err(INVALID_VALUE)),
    ] {
        let copy = Copy2D {
            from,
            to: Side2D { x, y, ..to },
            width,
            height,
        };
        assert_eq!(copy_2d(&copy), expected, "{x}, {y}, {width}, {height}");
    }
}

/// A kernel reads a texture while a copy in another stream replaces its array.
#[test]
fn a_race_on_an_array_is_reported() {
    let report = |waits: bool| {
        let driver = Driver::new();
        let array = numbered();
        let object = texture(Resource::array(array), reading(CLAMP, false, 0)).expect("is right");
        let function = driver.kernel(&kernel(FETCH_2D), "test");
        let at = driver.allocate(12).expect("fits");
        driver.fill(at, 0, 12);
        let out = driver.allocate(16).expect("fits");
        let pinned = driver.pinned(16);
        let streams = [driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING)];
        driver.synchronize().expect("runs");
        let ((), reports) = reports::collect(|| {
            driver
                .launch(function, 1, 1, streams[0], &[&object, &out, &at])
                .expect("starts");
            if waits {
                let event = driver.event();
                driver.record(event, streams[0]).expect("records");
                driver.wait(streams[1], event).expect("waits");
            }
            let copy = Copy2D {
                from: Side2D {
                    memory_type: HOST,
                    host: pinned.pointer() as usize,
                    pitch: 16,
                    ..Side2D::default()
                },
                to: Side2D {
                    memory_type: ARRAY,
                    array,
                    ..Side2D::default()
                },
                width: 16,
                height: 1,
            };
            copy_2d_async(&copy, streams[1]).expect("starts");
            driver.synchronize().expect("runs");
        });
        reports.len()
    };
    assert_eq!((report(false), report(true)), (1, 0));
}

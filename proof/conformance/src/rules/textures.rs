//! CUDA arrays, textures and surfaces.

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::Scene;
use crate::{gives, ok, rule, same};

const FAMILY: &str = "textures";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(a_fetch_reads_the_nearest_texel, "CUDA C++ Programming Guide, Nearest-Point Sampling",
        "A coordinate in texels reads the texel that it lies in, and a clamped one the texel at the edge."),
    rule!(a_linear_filter_has_eight_fractional_bits, "CUDA C++ Programming Guide, Linear Filtering",
        "The weight of a linear filter is the position between two texels, rounded to the nearest multiple of 1/256."),
    rule!(bytes_become_numbers, "CU_TRSF_READ_AS_INTEGER", "Without the flag a byte is read as a number: 255 parts are 1."),
    rule!(normalized_coordinates_repeat, "CUaddress_mode",
        "Normalized coordinates wrap around, are mirrored, are clamped, or read the border's colour."),
    rule!(outside_of_linear_memory_is_zero, "tex1Dfetch", "An index outside of linear memory reads zero."),
    rule!(a_gather_reads_four_texels, "PTX ISA, tld4", "tld4 returns the four texels around a point, counter-clockwise from the lower left."),
    rule!(texture_memory_is_aligned, "CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT",
        "Linear memory that does not begin at a multiple of the texture alignment is refused."),
    rule!(a_linear_filter_of_integers_is_accepted, "cuTexObjectCreate", "A linear filter of texels that are read as integers is accepted."),
    rule!(the_flag_of_a_surface_is_not_checked, "CUDA_ARRAY3D_SURFACE_LDST", "A surface is created of an array without the flag, too."),
    rule!(a_surface_is_read_and_written, "PTX ISA, suld and sust", "A surface's coordinate in x counts bytes; zero is read outside."),
    rule!(outside_of_a_surface_traps, "PTX ISA, suld: .trap", "An access with .trap outside of a surface is an illegal address.").in_process(),
    rule!(senseless_arrays_are_refused, "cuArray3DCreate", "Arrays without width, with three channels, or with a depth and no height are refused."),
];

const BYTE: u32 = 0x01;
const FLOAT: u32 = 0x20;
const SURFACE: u32 = 2;
const GATHER: u32 = 8;

const WRAP: u32 = 0;
const CLAMP: u32 = 1;
const MIRROR: u32 = 2;
const BORDER: u32 = 3;
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED: u32 = 2;

fn array(extent: [usize; 2], format: u32, flags: u32) -> Outcome<Handle> {
    let [width, height] = extent;
    let descriptor = Array3D {
        width,
        height,
        format,
        channels: 1,
        flags,
        ..Array3D::default()
    };
    let mut array = 0;
    ok!(cuArray3DCreate_v2(&mut array, &descriptor));
    Ok(array)
}

/// An array of floats in rows of that many, with these values.
fn floats(width: usize, values: &[f32], flags: u32) -> Outcome<Handle> {
    let height = if values.len() > width {
        values.len() / width
    } else {
        0
    };
    let array = array([width, height], FLOAT, flags)?;
    let copy = Memcpy2D {
        from: Side2D {
            kind: 1,
            host: values.as_ptr() as usize,
            pitch: 4 * width,
            ..Side2D::default()
        },
        to: Side2D {
            kind: 3,
            array,
            ..Side2D::default()
        },
        width: 4 * width,
        height: height.max(1),
    };
    ok!(cuMemcpy2D_v2(&copy));
    Ok(array)
}

fn resource(kind: u32, first: &[u64]) -> ResourceDesc {
    let mut resource = ResourceDesc {
        kind,
        ..ResourceDesc::default()
    };
    resource.resource[..first.len()].copy_from_slice(first);
    resource
}

fn of_array(array: Handle) -> ResourceDesc {
    resource(0, &[array as u64])
}

fn of_memory(address: Address, format: u32, bytes: u64) -> ResourceDesc {
    resource(2, &[address, u64::from(format) | 1 << 32, bytes])
}

fn reading(mode: u32, filter: u32, flags: u32) -> TextureDesc {
    TextureDesc {
        address_modes: [mode; 3],
        filter,
        flags,
        border: [-1.0; 4],
        ..TextureDesc::default()
    }
}

fn texture(resource: ResourceDesc, reading: TextureDesc) -> Outcome<u64> {
    let mut object = 0;
    ok!(cuTexObjectCreate(
        &mut object,
        &resource,
        &reading,
        std::ptr::null()
    ));
    Ok(object)
}

/// What the instruction reads at each place: four words. It has x and y as integers in `%x` and `%y` and as numbers in `%fx` and `%fy`.
fn fetched(
    scene: &Scene,
    instruction: &str,
    object: u64,
    places: &[[u32; 2]],
) -> Outcome<Vec<[u32; 4]>> {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry fetch(.param .u64 texture, .param .u64 out, .param .u32 x, .param .u32 y)
{{
.reg .b32 %x, %y, %v<4>; .reg .f32 %fx, %fy; .reg .b64 %tex, %out;
ld.param.u64 %tex, [texture]; ld.param.u64 %out, [out]; ld.param.u32 %x, [x]; ld.param.u32 %y, [y];
mov.b32 %fx, %x; mov.b32 %fy, %y; mov.b32 %v0, 0; mov.b32 %v1, 0; mov.b32 %v2, 0; mov.b32 %v3, 0;
{instruction}
st.global.v4.b32 [%out], {{%v0, %v1, %v2, %v3}};
ret;
}}\n"
    );
    let module = scene.load(&text)?;
    let kernel = scene.kernel_of(module, "fetch")?;
    let out = scene.device(16 * places.len())?;
    for (index, [x, y]) in places.iter().enumerate() {
        let to = out + 16 * index as u64;
        same!(scene.try_launch(kernel, 0, &[&object, &to, x, y]), SUCCESS);
    }
    gives!(SUCCESS, cuCtxSynchronize());
    let bytes = scene.bytes(out, 16 * places.len())?;
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let texel = |place: usize| std::array::from_fn(|index| word(16 * place + 4 * index));
    Ok((0..places.len()).map(texel).collect())
}

/// The first channel, as a number, where coordinates are numbers.
fn numbers(scene: &Scene, shape: &str, object: u64, places: &[[f32; 2]]) -> Outcome<Vec<f32>> {
    let coordinates = if shape == "1d" { "%fx" } else { "%fx, %fy" };
    let instruction =
        format!("tex.{shape}.v4.f32.f32 {{%v0, %v1, %v2, %v3}}, [%tex, {{{coordinates}}}];");
    let places: Vec<_> = places.iter().map(|place| place.map(f32::to_bits)).collect();
    let texels = fetched(scene, &instruction, object, &places)?;
    Ok(texels
        .iter()
        .map(|texel| f32::from_bits(texel[0]))
        .collect())
}

fn twelve() -> Vec<f32> {
    (0..12).map(|number| number as f32).collect()
}

fn a_fetch_reads_the_nearest_texel(scene: &mut Scene) -> Outcome {
    let object = texture(of_array(floats(4, &twelve(), 0)?), reading(CLAMP, 0, 0))?;
    let places = [
        [0.5, 0.5],
        [3.9, 2.9],
        [1.0, 2.0],
        [-4.0, 9.0],
        [2.999, 0.0],
    ];
    same!(
        numbers(scene, "2d", object, &places)?,
        vec![0.0, 11.0, 9.0, 8.0, 2.0]
    );
    Ok(())
}

fn a_linear_filter_has_eight_fractional_bits(scene: &mut Scene) -> Outcome {
    let object = texture(of_array(floats(2, &[0.0, 256.0], 0)?), reading(CLAMP, 1, 0))?;
    // Every eighth of a step, over four steps.
    let steps: Vec<f32> = (0..=32).map(|eighth| eighth as f32 / 8.0).collect();
    let places: Vec<_> = steps.iter().map(|step| [0.5 + step / 256.0, 0.0]).collect();
    let expected: Vec<f32> = steps.iter().map(|step| step.round()).collect();
    same!(numbers(scene, "1d", object, &places)?, expected);
    Ok(())
}

fn bytes_become_numbers(scene: &mut Scene) -> Outcome {
    let bytes: Vec<u8> = (0..=255).collect();
    let memory = scene.device(256)?;
    ok!(cuMemcpyHtoD_v2(memory, bytes.as_ptr().cast(), 256));
    let object = texture(of_memory(memory, BYTE, 256), reading(CLAMP, 0, 0))?;
    let instruction = "tex.1d.v4.f32.s32 {%v0, %v1, %v2, %v3}, [%tex, {%x}];";
    let places: Vec<_> = (0..256).map(|index| [index, 0]).collect();
    let texels = fetched(scene, instruction, object, &places)?;
    let found: Vec<f32> = texels
        .iter()
        .map(|texel| f32::from_bits(texel[0]))
        .collect();
    let expected: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) / 255.0).collect();
    same!(found, expected);
    Ok(())
}

fn normalized_coordinates_repeat(scene: &mut Scene) -> Outcome {
    let array = floats(4, &twelve(), 0)?;
    let places = [[-0.125, 0.5], [1.125, 0.5], [1.375, 0.5], [0.125, -0.5]];
    for (mode, expected) in [
        (WRAP, [7.0, 4.0, 5.0, 4.0]),
        (MIRROR, [4.0, 7.0, 6.0, 4.0]),
        (CLAMP, [4.0, 7.0, 7.0, 0.0]),
        (BORDER, [-1.0; 4]),
    ] {
        let object = texture(of_array(array), reading(mode, 0, NORMALIZED))?;
        same!(
            (mode, numbers(scene, "2d", object, &places)?),
            (mode, expected.to_vec())
        );
    }
    Ok(())
}

fn outside_of_linear_memory_is_zero(scene: &mut Scene) -> Outcome {
    let memory = scene.device(1024)?;
    ok!(cuMemsetD32_v2(memory, 7, 256));
    let object = texture(of_memory(memory, FLOAT, 64), reading(CLAMP, 0, 0))?;
    let instruction = "tex.1d.v4.f32.s32 {%v0, %v1, %v2, %v3}, [%tex, {%x}];";
    let texels = fetched(
        scene,
        instruction,
        object,
        &[[15, 0], [16, 0], [u32::MAX, 0]],
    )?;
    let found: Vec<u32> = texels.iter().map(|texel| texel[0]).collect();
    same!(found, vec![7, 0, 0]);
    Ok(())
}

fn a_gather_reads_four_texels(scene: &mut Scene) -> Outcome {
    let object = texture(
        of_array(floats(4, &twelve(), GATHER)?),
        reading(CLAMP, 0, 0),
    )?;
    let instruction = "tld4.r.2d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%tex, {%fx, %fy}];";
    let place = [2.0_f32, 1.0].map(f32::to_bits);
    let texels = fetched(scene, instruction, object, &[place])?;
    same!(texels[0].map(f32::from_bits), [5.0, 6.0, 2.0, 1.0]);
    Ok(())
}

fn texture_memory_is_aligned(scene: &mut Scene) -> Outcome {
    let memory = scene.device(1024)?;
    let mut object = 0;
    let (resource, reading) = (of_memory(memory + 4, FLOAT, 64), reading(CLAMP, 0, 0));
    gives!(
        INVALID_VALUE,
        cuTexObjectCreate(&mut object, &resource, &reading, std::ptr::null())
    );
    Ok(())
}

fn a_linear_filter_of_integers_is_accepted(_: &mut Scene) -> Outcome {
    let mut object = 0;
    let resource = of_array(array([4, 3], BYTE, 0)?);
    let reading = reading(CLAMP, 1, READ_AS_INTEGER);
    ok!(cuTexObjectCreate(
        &mut object,
        &resource,
        &reading,
        std::ptr::null()
    ));
    Ok(())
}

fn the_flag_of_a_surface_is_not_checked(_: &mut Scene) -> Outcome {
    let mut object = 0;
    let resource = of_array(array([4, 3], FLOAT, 0)?);
    ok!(cuSurfObjectCreate(&mut object, &resource));
    Ok(())
}

fn surface() -> Outcome<u64> {
    let mut object = 0;
    let resource = of_array(floats(4, &twelve(), SURFACE)?);
    ok!(cuSurfObjectCreate(&mut object, &resource));
    Ok(object)
}

fn a_surface_is_read_and_written(scene: &mut Scene) -> Outcome {
    let object = surface()?;
    let instruction = "suld.b.2d.b32.zero {%v0}, [%tex, {%x, %y}]; sust.b.2d.b32.zero [%tex, {%x, %y}], {%y}; \
                       suld.b.2d.b32.zero {%v1}, [%tex, {%x, %y}];";
    let texels = fetched(scene, instruction, object, &[[8, 1], [16, 0], [0, 3]])?;
    let found: Vec<[u32; 2]> = texels.iter().map(|texel| [texel[0], texel[1]]).collect();
    same!(found, vec![[6.0_f32.to_bits(), 1], [0, 0], [0, 0]]);
    Ok(())
}

fn outside_of_a_surface_traps(scene: &mut Scene) -> Outcome {
    let object = surface()?;
    let text = ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry beyond(.param .u64 surface)
{ .reg .b32 %v; .reg .b64 %s; ld.param.u64 %s, [surface]; suld.b.2d.b32.trap {%v}, [%s, {0, 3}]; sust.b.2d.b32.zero [%s, {0, 0}], {%v}; ret; }\n";
    let module = scene.load(text)?;
    let kernel = scene.kernel_of(module, "beyond")?;
    same!(scene.try_launch(kernel, 0, &[&object]), SUCCESS);
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    Ok(())
}

fn senseless_arrays_are_refused(_: &mut Scene) -> Outcome {
    let good = Array3D {
        width: 4,
        height: 3,
        format: FLOAT,
        channels: 1,
        ..Array3D::default()
    };
    let mut array = 0;
    for descriptor in [
        Array3D { width: 0, ..good },
        Array3D {
            channels: 3,
            ..good
        },
        Array3D {
            height: 0,
            depth: 2,
            ..good
        },
    ] {
        gives!(INVALID_VALUE, cuArray3DCreate_v2(&mut array, &descriptor));
    }
    Ok(())
}

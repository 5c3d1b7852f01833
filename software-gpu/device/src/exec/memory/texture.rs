//! `tex`, `tld4`, `txq`, `suld`, `sust`, `suq`: each lane reads the object that its handle names, and texels of its image.

use crate::texture::{
    Coordinate, Footprint, Image, Object, Sampler, Texel, TextureShape, gather, sample,
};

use super::super::context::Context;
use super::super::fault::{Access, Fault};
use super::super::op::{Handler, Op, Slot};
use super::super::warp_handlers::{self as handlers, plain_handler};
use super::super::watch::Scattered;
use super::Site;
use super::cells::{cell, read, set_cell, write};
use super::target::{SECTOR, Target, addresses};

/// Constants of a texture or surface instruction.
pub(in crate::exec) struct TextureAccess {
    pub operation: Operation,
    pub shape: TextureShape,
    /// Row of layers.
    pub layer: Option<Slot>,
    /// Rows of 32-bit cells.
    pub coordinates: [Slot; 3],
    /// Coordinates are numbers, not integers.
    pub is_float: bool,
    /// Rows of the data: of 64-bit cells for elements of 8 bytes.
    pub rows: [Slot; 4],
}

/// What the instruction does.
#[derive(Clone, Copy)]
pub(in crate::exec) enum Operation {
    /// `tex`.
    Sample,
    /// `tld4` of a channel.
    Gather(usize),
    /// `suld.b` of elements of this many bytes.
    Load(TexelElements),
    /// `sust.b`.
    Store(TexelElements),
    /// `txq`, `suq`.
    Query(Query),
}

/// The data of a surface instruction.
#[derive(Clone, Copy)]
pub(in crate::exec) struct TexelElements {
    pub bytes: u32,
    pub count: u32,
    pub outside: Outside,
}

/// The behaviour outside of a surface.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Outside {
    Trap,
    Clamp,
    Zero,
}

/// What `txq` and `suq` ask for.
#[derive(Clone, Copy)]
pub(in crate::exec) enum Query {
    Width,
    Height,
    Depth,
    Layers,
    Levels,
}

/// The sectors that a warp touches.
#[derive(Default)]
struct Traffic(Vec<u64>);

struct AccessTexture;

impl handlers::Shape for AccessTexture {
    /// Row `a` of handles (site `x`), site `x + 1` of the texels, access `c`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let code = cx.code;
        let (handles, texels) = (&code.sites[op.x as usize], code.sites[op.x as usize + 1]);
        let access = &code.textures[op.c as usize];
        cx.watch_instruction();
        // SAFETY: lowering made `a` the first site's address row.
        let handles = unsafe { addresses(cx, handles, op.a) };
        let mut traffic = Traffic::default();
        for lane in cx.lanes() {
            let mut fetch = Fetch {
                access,
                site: texels,
                lane,
                traffic: &mut traffic,
            };
            // SAFETY: lowering made the rows of the access rows of the frame.
            if unsafe { fetch.run(cx, handles[lane]) }.is_none() {
                break;
            }
        }
        let kind = match access.operation {
            Operation::Store(_) => Access::Store,
            _ => Access::Load,
        };
        let mut sectors = traffic.0;
        sectors.sort_unstable();
        sectors.dedup();
        cx.count(sectors.len() as u64, kind);
        for sector in sectors {
            cx.touch_line(sector * SECTOR, kind);
        }
    }
}

/// One lane's instruction.
struct Fetch<'f> {
    access: &'f TextureAccess,
    site: Site,
    lane: usize,
    traffic: &'f mut Traffic,
}

impl Fetch<'_> {
    /// # Safety
    ///
    /// The access's rows are rows of the running frame.
    unsafe fn run(&mut self, cx: &mut Context<'_>, handle: u64) -> Option<()> {
        let object = cx.hold.space().objects.get(handle).copied();
        let access = self.access;
        let (image, sampler) = match (object, access.operation) {
            (Some(Object::Surface(image)), Operation::Load(_) | Operation::Store(_)) => {
                (image, Sampler::default())
            }
            (Some(Object::Texture(image, sampler)), Operation::Sample | Operation::Gather(_)) => {
                (image, sampler)
            }
            (Some(Object::Texture(image, _) | Object::Surface(image)), Operation::Query(query)) => {
                // SAFETY: the caller's promise.
                unsafe { self.set(cx, 0, queried(&image, query).into()) };
                return Some(());
            }
            _ => return self.refuse(cx, handle, object),
        };
        if !reads(access, &image) {
            let (named, actual) = (access.shape.name(), image.shape.name());
            let message =
                format!("the instruction reads `.{named}`, and the object is `.{actual}`");
            return self.illegal(cx, message);
        }
        // SAFETY: the caller's promise.
        unsafe {
            match access.operation {
                Operation::Sample => self.sample(cx, &image, &sampler),
                Operation::Gather(channel) => self.gather(cx, &image, &sampler, channel),
                Operation::Load(elements) => self.load(cx, &image, elements),
                Operation::Store(elements) => self.store(cx, &image, elements),
                Operation::Query(_) => Some(()),
            }
        }
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn sample(
        &mut self,
        cx: &mut Context<'_>,
        image: &Image,
        sampler: &Sampler,
    ) -> Option<()> {
        // SAFETY: the caller's promise.
        let (layer, coordinates) = unsafe { self.coordinates(cx) };
        let footprint = sample(image, sampler, layer, coordinates);
        let mut sums = [0.0; 4];
        for (texel, weight) in footprint.texels() {
            let weight = f64::from(*weight) / f64::from(Footprint::UNIT);
            let channels = self.texel(cx, image, sampler, *texel)?;
            for (sum, channel) in sums.iter_mut().zip(channels) {
                *sum += weight * channel;
            }
        }
        for (index, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.set(cx, index, sampler.register_of(image, sum).into()) };
        }
        Some(())
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn gather(
        &mut self,
        cx: &mut Context<'_>,
        image: &Image,
        sampler: &Sampler,
        channel: usize,
    ) -> Option<()> {
        // SAFETY: the caller's promise.
        let (layer, coordinates) = unsafe { self.coordinates(cx) };
        let texels = gather(image, sampler, layer, coordinates);
        for (index, texel) in texels.into_iter().enumerate() {
            let value = self.texel(cx, image, sampler, texel)?[channel];
            // SAFETY: the caller's promise.
            unsafe { self.set(cx, index, sampler.register_of(image, value).into()) };
        }
        Some(())
    }

    /// The channels of a texel.
    fn texel(
        &mut self,
        cx: &mut Context<'_>,
        image: &Image,
        sampler: &Sampler,
        texel: Texel,
    ) -> Option<[f64; 4]> {
        let place = match texel {
            Texel::Inside(place) => place,
            Texel::Border if image.linear => return Some([0.0; 4]),
            Texel::Border => return Some(sampler.border.map(f64::from)),
        };
        let bytes = image.format.bytes();
        let address = image.address(place);
        let target = self.target(cx, address, bytes, Access::Load)?;
        let mut texel = [0; 16];
        let texel = &mut texel[..bytes as usize];
        // SAFETY: the target has that many bytes, and `texel` is not part of them.
        unsafe {
            target
                .pointer
                .copy_to_nonoverlapping(texel.as_mut_ptr(), texel.len());
        }
        Some(sampler.channels_of(image, texel))
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn load(
        &mut self,
        cx: &mut Context<'_>,
        image: &Image,
        elements: TexelElements,
    ) -> Option<()> {
        // SAFETY: the caller's promise.
        let place = unsafe { self.place(cx, image, elements, Access::Load) }?;
        let target = match place {
            Some(address) => {
                let bytes = elements.bytes * elements.count;
                Some(self.target(cx, address, bytes, Access::Load)?)
            }
            None => None,
        };
        for index in 0..elements.count as usize {
            let offset = index * elements.bytes as usize;
            // SAFETY: the target has all elements, and the rest is the caller's promise.
            unsafe {
                let value = target.as_ref().map_or(0, |target| {
                    read(target.pointer.add(offset), elements.bytes, false)
                });
                self.set(cx, index, value);
            }
        }
        Some(())
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn store(
        &mut self,
        cx: &mut Context<'_>,
        image: &Image,
        elements: TexelElements,
    ) -> Option<()> {
        // SAFETY: the caller's promise.
        let Some(address) = (unsafe { self.place(cx, image, elements, Access::Store) })? else {
            return Some(());
        };
        let bytes = elements.bytes * elements.count;
        let target = self.target(cx, address, bytes, Access::Store)?;
        if let Some((allocation, offset)) = target.global {
            cx.hold.before_store(allocation, offset, bytes as usize);
        }
        for index in 0..elements.count as usize {
            let offset = index * elements.bytes as usize;
            // SAFETY: the target has all elements, and the rest is the caller's promise.
            unsafe {
                let value = cell(cx, self.access.rows[index], elements.bytes == 8, self.lane);
                write(target.pointer.add(offset), elements.bytes, value);
            }
        }
        Some(())
    }

    /// The address of a surface's bytes; `Some(None)` for an access outside that does nothing.
    ///
    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn place(
        &self,
        cx: &mut Context<'_>,
        image: &Image,
        elements: TexelElements,
        access: Access,
    ) -> Option<Option<u64>> {
        // SAFETY: the caller's promise.
        let [x, y, z] = unsafe { self.surface_coordinates(cx) };
        let bytes = elements.bytes * elements.count;
        let last_x = image.row_bytes() as i64 - i64::from(bytes);
        let last = [last_x, image.extent[1].into(), image.extent[2].into()];
        let last = [last[0], last[1] - 1, last[2] - 1];
        let given = [x, y, z].map(i64::from);
        let is_inside = given
            .iter()
            .zip(last)
            .all(|(value, last)| (0..=last).contains(value));
        let [x, y, z] = match elements.outside {
            _ if is_inside => given,
            Outside::Clamp if last[0] >= 0 => {
                [0, 1, 2].map(|axis| given[axis].clamp(0, last[axis]))
            }
            Outside::Clamp | Outside::Zero => return Some(None),
            Outside::Trap => {
                let [width, height, depth] = image.extent;
                let message = format!(
                    "byte {x} of row {y} in slice {z}; a row has {} bytes, and the surface {width} x {height} x {depth} texels",
                    image.row_bytes()
                );
                cx.fail(self.lane as u32, self.site.line, |place| {
                    Fault::OutsideSurface {
                        place,
                        access,
                        bytes,
                        message,
                    }
                });
                return None;
            }
        };
        let first = image.address([0, y as u32, z as u32]);
        Some(Some(first.wrapping_add(x as u64)))
    }

    /// The checked memory of `bytes` bytes, which the checkers see.
    fn target<'g>(
        &mut self,
        cx: &mut Context<'g>,
        address: u64,
        bytes: u32,
        access: Access,
    ) -> Option<Target<'g>> {
        let site = Site {
            offset: 0,
            bytes: bytes.min(8),
            count: bytes.div_ceil(8),
            ..self.site
        };
        let target = cx.lane_target(&site, self.lane, address, access)?;
        let mut none = Scattered::default();
        cx.watch_lane(&site, access, &target, self.lane, &mut none, |_| false);
        let last = address + u64::from(bytes) - 1;
        self.traffic.0.extend(address / SECTOR..=last / SECTOR);
        Some(target)
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn coordinates(&self, cx: &Context<'_>) -> (u32, [Coordinate; 3]) {
        let access = self.access;
        // SAFETY: the caller's promise; these are rows of 32-bit cells.
        let read = |slot: Slot| unsafe { cell(cx, slot, false, self.lane) as u32 };
        let coordinates = access.coordinates.map(|slot| match access.is_float {
            true => Coordinate::Float(f32::from_bits(read(slot))),
            false => Coordinate::Integer(read(slot).cast_signed()),
        });
        (access.layer.map_or(0, read), coordinates)
    }

    /// Byte, row and slice, layer or face.
    ///
    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn surface_coordinates(&self, cx: &Context<'_>) -> [i32; 3] {
        let access = self.access;
        // SAFETY: the caller's promise; these are rows of 32-bit cells.
        let read = |slot: Slot| unsafe { cell(cx, slot, false, self.lane) as i32 };
        let [x, y, z] = access.coordinates.map(read);
        let layer = access.layer.map(read);
        match access.shape.dimensions() {
            1 => [x, 0, layer.unwrap_or(0)],
            2 => [x, y, layer.unwrap_or(0)],
            _ => [x, y, z],
        }
    }

    /// # Safety
    ///
    /// That of [`Self::run`].
    unsafe fn set(&self, cx: &Context<'_>, index: usize, value: u64) {
        let wide = match self.access.operation {
            Operation::Load(elements) => elements.bytes == 8,
            _ => false,
        };
        // SAFETY: the caller's promise.
        unsafe { set_cell(cx, self.access.rows[index], wide, self.lane, value) }
    }

    #[cold]
    fn refuse(&self, cx: &mut Context<'_>, handle: u64, object: Option<Object>) -> Option<()> {
        let needed = match self.access.operation {
            Operation::Load(_) | Operation::Store(_) => "surface",
            _ => "texture",
        };
        let message = match object {
            None => format!("no {needed} object has the handle {handle:#x}"),
            Some(_) => format!("the object with the handle {handle:#x} is not a {needed}"),
        };
        self.illegal(cx, message)
    }

    #[cold]
    fn illegal(&self, cx: &mut Context<'_>, message: String) -> Option<()> {
        cx.fail(self.lane as u32, self.site.line, |place| {
            Fault::IllegalInstruction { place, message }
        });
        None
    }
}

/// Whether an instruction of this shape reads the image. Surface instructions reach the faces of cubes as layers.
fn reads(access: &TextureAccess, image: &Image) -> bool {
    let is_surface = matches!(access.operation, Operation::Load(_) | Operation::Store(_));
    let as_layers =
        is_surface && image.shape.is_cube() && access.shape == TextureShape::LayeredTwoD;
    access.shape == image.shape || as_layers
}

fn queried(image: &Image, query: Query) -> u32 {
    let [width, height, depth] = image.extent;
    let faces = if image.shape.is_cube() { 6 } else { 1 };
    match query {
        Query::Width => width,
        Query::Height => height,
        Query::Depth => depth,
        Query::Layers => depth / faces,
        Query::Levels => 1,
    }
}

/// Handler of texture and surface instructions.
pub(in crate::exec) fn access_texture() -> Handler {
    plain_handler::<AccessTexture>()
}

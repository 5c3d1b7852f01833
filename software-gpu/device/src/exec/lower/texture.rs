//! "Texture Instructions" and "Surface Instructions": `tex`, `tld4`, `txq`, `suld.b`, `sust.b` and `suq`, in the unified mode,
//! where one handle names image and sampler.
//!
//! An image has one mipmap level here: what `.level` and `.grad` name makes no difference.

use crate::ptx::ir::{Instruction, Operand, Space, Type};
use crate::texture::TextureShape;

use super::super::cost::{Class, Weight};
use super::super::memory::{self, Operation, Outside, Query, TexelElements, TextureAccess};
use super::super::op::Slot;
use super::load_store::MemoryInstruction;
use super::modifiers::Modifiers;
use super::{Lowering, Result};

impl Lowering<'_> {
    /// Texture and surface instructions.
    pub(super) fn texture(&mut self, i: &Instruction) -> Result<Weight> {
        let m = Modifiers::of(i);
        match i.opcode.as_str() {
            "tex" => self.fetch(i, m),
            "tld4" => self.gather(i, m),
            "suld" | "sust" => self.surface(i, m),
            _ => self.query(i, m),
        }
    }

    fn fetch(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let level = m.pick(|name| match name {
            "base" => Some(0),
            "level" => Some(1),
            "grad" => Some(2),
            _ => None,
        });
        let shape = self.shape(i, &mut m)?;
        let is_float = self.result_and_coordinates(i, &mut m)?;
        m.end()?;
        let [to, from, rest @ ..] = i.operands.as_slice() else {
            return Err(self.malformed(i, "a destination and a texture are needed"));
        };
        if rest.len() != level.unwrap_or(0) {
            let message = "offsets and comparisons of depth are not implemented";
            return Err(self.unsupported(i, message));
        }
        let rows = self.texels(i, to)?;
        self.access_texture(i, from, Operation::Sample, (shape, is_float), rows)
    }

    fn gather(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let channel = m.pick(|name| ["r", "g", "b", "a"].iter().position(|known| *known == name));
        let channel =
            channel.ok_or_else(|| self.malformed(i, "`.r`, `.g`, `.b` or `.a` is needed"))?;
        let shape = self.shape(i, &mut m)?;
        if shape.dimensions() != 2 {
            return Err(self.malformed(i, "the texture must have two dimensions"));
        }
        let is_float = self.result_and_coordinates(i, &mut m)?;
        m.end()?;
        let [to, from] = i.operands.as_slice() else {
            let message = "offsets and comparisons of depth are not implemented";
            return Err(self.unsupported(i, message));
        };
        let rows = self.texels(i, to)?;
        let operation = Operation::Gather(channel);
        self.access_texture(i, from, operation, (shape, is_float), rows)
    }

    /// `suld.b` and `sust.b`.
    fn surface(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let loads = i.opcode == "suld";
        if !m.take("b") {
            return Err(self.unsupported(i, "formatted accesses are not implemented"));
        }
        m.ignore(&["ca", "cg", "cs", "cv", "wb", "wt"]);
        let shape = self.shape(i, &mut m)?;
        let count = match (m.take("v2"), m.take("v4")) {
            (false, false) => 1,
            (true, _) => 2,
            (_, true) => 4,
        };
        let kind = m.kind()?;
        let outside = m.pick(|name| match name {
            "trap" => Some(Outside::Trap),
            "clamp" => Some(Outside::Clamp),
            "zero" => Some(Outside::Zero),
            _ => None,
        });
        m.end()?;
        let bytes = kind.bytes();
        if !matches!(kind, Type::B8 | Type::B16 | Type::B32 | Type::B64) || bytes * count > 16 {
            return Err(self.malformed(i, format!("no {count} elements of {kind} are accessed")));
        }
        let (data, surface) = match (loads, i.operands.as_slice()) {
            (true, [data, surface]) | (false, [surface, data]) => (data, surface),
            _ => return Err(self.malformed(i, "2 operands are needed")),
        };
        let data = match data {
            Operand::Vector(data) => data.as_slice(),
            scalar => std::slice::from_ref(scalar),
        };
        if data.len() != count as usize {
            return Err(self.malformed(i, format!("a vector of {count} registers is needed")));
        }
        let mut rows = [0; 4];
        for (row, operand) in rows.iter_mut().zip(data) {
            *row = match loads {
                true => self.target(i, operand, kind)?,
                false => self.source(i, operand, kind)?,
            };
        }
        let elements = TexelElements {
            bytes,
            count,
            outside: outside.unwrap_or(Outside::Trap),
        };
        let operation = match loads {
            true => Operation::Load(elements),
            false => Operation::Store(elements),
        };
        self.access_texture(i, surface, operation, (shape, false), rows)
    }

    /// `txq` and `suq`.
    fn query(&mut self, i: &Instruction, mut m: Modifiers<'_>) -> Result<Weight> {
        let query = m.pick(|name| match name {
            "width" => Some(Query::Width),
            "height" => Some(Query::Height),
            "depth" => Some(Query::Depth),
            "array_size" => Some(Query::Layers),
            "num_mipmap_levels" => Some(Query::Levels),
            _ => None,
        });
        m.take("b32");
        m.end()?;
        let query = query.ok_or_else(|| self.malformed(i, "the property is missing"))?;
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let rows = [self.target(i, to, Type::B32)?, 0, 0, 0];
        let handle = Operand::Tensor(Box::new(from.clone()), Vec::new());
        self.access_texture(
            i,
            &handle,
            Operation::Query(query),
            (TextureShape::OneD, false),
            rows,
        )
    }

    /// Emits the access. `object` has the handle and the coordinates.
    fn access_texture(
        &mut self,
        i: &Instruction,
        object: &Operand,
        operation: Operation,
        (shape, is_float): (TextureShape, bool),
        rows: [Slot; 4],
    ) -> Result<Weight> {
        let Operand::Tensor(handle, coordinates) = object else {
            return Err(self.malformed(i, "a handle and coordinates are needed"));
        };
        let mut coordinates = coordinates.as_slice();
        let mut layer = None;
        if shape.is_layered() {
            let [first, rest @ ..] = coordinates else {
                return Err(self.malformed(i, "a layer is needed"));
            };
            layer = Some(self.source(i, first, Type::U32)?);
            coordinates = rest;
        }
        let needed = match (shape.is_cube(), operation) {
            (_, Operation::Query(_)) => 0,
            (true, _) => 3,
            (false, _) => shape.dimensions(),
        };
        let read = coordinates.get(..needed).ok_or_else(|| {
            self.malformed(
                i,
                format!("{needed} coordinates are needed for this texture"),
            )
        })?;
        let kind = if is_float { Type::F32 } else { Type::S32 };
        let mut slots = [self.literal(0, kind)?; 3];
        for (slot, coordinate) in slots.iter_mut().zip(read) {
            *slot = self.source(i, coordinate, kind)?;
        }
        let plain = || MemoryInstruction::plain(Space::Generic, Type::B32, 1);
        let (address, site, _) = self.site(i, handle, plain())?;
        self.site(i, handle, plain())?;
        self.textures.push(TextureAccess {
            operation,
            shape,
            layer,
            coordinates: slots,
            is_float,
            rows,
        });
        let index = self.textures.len() as u32 - 1;
        let run = memory::access_texture();
        self.emit_with(run, 0, [address, 0, index], site);
        Ok(match operation {
            Operation::Store(_) => Weight::new(Class::Memory, 1, 0),
            _ => Weight::global_load(self.latencies.global),
        })
    }

    fn shape(&self, i: &Instruction, m: &mut Modifiers<'_>) -> Result<TextureShape> {
        const SHAPES: [TextureShape; 7] = [
            TextureShape::OneD,
            TextureShape::TwoD,
            TextureShape::ThreeD,
            TextureShape::LayeredOneD,
            TextureShape::LayeredTwoD,
            TextureShape::Cube,
            TextureShape::LayeredCube,
        ];
        let shape = m.pick(|name| SHAPES.into_iter().find(|shape| shape.name() == name));
        shape.ok_or_else(|| self.unsupported(i, "this shape of an image is not implemented"))
    }

    /// Whether coordinates are numbers. Results have 32 bits.
    fn result_and_coordinates(&self, i: &Instruction, m: &mut Modifiers<'_>) -> Result<bool> {
        let is_known = m.take("v4");
        let result = m.kind()?;
        if !is_known || !matches!(result, Type::U32 | Type::S32 | Type::F32) {
            return Err(
                self.unsupported(i, "results other than four of 32 bits are not implemented")
            );
        }
        if i.opcode == "tld4" {
            m.take("f32");
            return Ok(true);
        }
        match m.kind()? {
            Type::F32 => Ok(true),
            Type::S32 => Ok(false),
            _ => Err(self.malformed(i, "coordinates are `.f32` or `.s32`")),
        }
    }

    /// The rows that receive four results.
    fn texels(&mut self, i: &Instruction, to: &Operand) -> Result<[Slot; 4]> {
        if matches!(to, Operand::Pair(..)) {
            let message = "the predicate of resident texels is not implemented";
            return Err(self.unsupported(i, message));
        }
        let mut rows = [0; 4];
        for (row, operand) in rows.iter_mut().zip(self.vector(i, to, 4)?) {
            *row = match operand {
                Operand::Sink => self.temporary(false)?,
                operand => self.target(i, operand, Type::B32)?,
            };
        }
        Ok(rows)
    }
}

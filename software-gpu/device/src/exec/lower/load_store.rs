//! `ld`, `ldu`, `st` and `st.async`, and the memory operands that atomics share with them.
//!
//! An asynchronous access takes place immediately and completes on its mbarrier object: a program that waits for that object
//! cannot tell the difference.

use crate::ptx::ir::{Instruction, Operand, Space, Symbol, Type};

use super::super::cost::{Class, Weight, latency};
use super::super::memory::{self, Combination, Site, Strength};
use super::super::op::Slot;
use super::memory_ordering;
use super::modifiers::Modifiers;
use super::registers::MemoryAddress;
use super::{Lowering, Result};

/// Cache operators.
const CACHE: [&str; 9] = ["ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"];
/// The bytes that an asynchronous access reports to its mbarrier object.
pub(super) const COMPLETES_BYTES: &str = "mbarrier::complete_tx::bytes";
/// The widest access of one lane.
const MAX_LANE_BYTES: u32 = 16;

/// The data of one memory instruction.
pub(super) struct MemoryInstruction {
    pub space: Space,
    pub kind: Type,
    pub count: u32,
    pub wide: bool,
    pub rows: [Slot; 4],
    pub strength: Strength,
    pub exchanges: bool,
    pub combine: Option<Combination>,
}

impl MemoryInstruction {
    /// An access without data rows of its own.
    pub fn plain(space: Space, kind: Type, count: u32) -> Self {
        Self {
            space,
            kind,
            count,
            wide: kind.bytes() == 8,
            rows: [0; 4],
            strength: Strength::default(),
            combine: None,
            exchanges: false,
        }
    }
}

/// The state space called `name` (without dot).
pub(super) fn space(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

/// Whether a load leaves what it has loaded in the L1 cache (PTX ISA, "Cache Operators").
fn keeps_line(i: &Instruction) -> bool {
    let bypasses = |modifier: &String| ["cg", "cv", "L1::no_allocate"].contains(&&**modifier);
    !i.modifiers.iter().any(bypasses)
}

impl Lowering<'_> {
    pub(super) fn load(&mut self, i: &Instruction) -> Result<Weight> {
        let (space, kind, count, strength) = self.access(i)?;
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        if self.is_constant(Some(to)) {
            return Ok(Weight::FREE);
        }
        let targets = self.elements(i, to, count)?;
        let is_wide = |operand: &Operand| match operand {
            Operand::Register(register) => {
                self.source.body.registers[*register as usize].bytes() == 8
            }
            _ => true,
        };
        let wide = kind.bytes() == 8 || targets.iter().all(is_wide);
        let mut rows = [0; 4];
        for (row, operand) in rows.iter_mut().zip(targets) {
            *row = match operand {
                Operand::Sink => self.temporary(wide)?,
                Operand::Register(register) if wide && kind.bytes() < 8 => {
                    self.register(*register)?
                }
                operand => self.target(i, operand, kind)?,
            };
        }
        let access = MemoryInstruction {
            space,
            kind,
            count,
            wide,
            rows,
            strength,
            exchanges: false,
            combine: None,
        };
        let (address, site, space) = self.site(i, from, access)?;
        self.leads_to_address &= !strength.strong && keeps_line(i);
        if self.leads_to_address {
            self.emit_with(memory::look_up_line(), 0, [address, 0, 0], site);
        }
        self.emit_with(memory::load(), 0, [address, 0, 0], site);
        let distributed = i.modifiers.iter().any(|m| m == "shared::cluster");
        let latency = match space {
            Space::Shared if distributed => self.latencies.cluster_shared,
            Space::Shared => self.latencies.shared,
            Space::Local => latency::LOCAL,
            Space::Param | Space::Const => latency::CONSTANT,
            Space::Global | Space::Generic if strength.acquires && strength.beyond_cluster => {
                self.schedule.meets_others(0);
                self.latencies.acquire
            }
            Space::Global | Space::Generic => {
                return Ok(Weight::global_load(self.latencies.global));
            }
        };
        Ok(Weight::new(Class::Memory, 1, latency))
    }

    pub(super) fn store(&mut self, i: &Instruction) -> Result<Weight> {
        let (space, kind, count, strength) = self.access(i)?;
        if space == Space::Const {
            return Err(self.malformed(i, "constant memory cannot be written"));
        }
        let [to, from] = i.operands.as_slice() else {
            return Err(self.malformed(i, "2 operands are needed"));
        };
        let mut rows = [0; 4];
        for (row, operand) in rows.iter_mut().zip(self.elements(i, from, count)?) {
            *row = self.source(i, operand, kind)?;
        }
        let access = MemoryInstruction {
            space,
            kind,
            count,
            wide: kind.bytes() == 8,
            rows,
            strength,
            exchanges: false,
            combine: None,
        };
        let (address, site, space) = self.site(i, to, access)?;
        self.emit_with(memory::store(), 0, [address, 0, 0], site);
        let may_be_global = matches!(space, Space::Global | Space::Generic);
        if may_be_global && strength.releases && strength.beyond_cluster {
            self.schedule.meets_others(self.latencies.release);
        }
        Ok(Weight::new(Class::Memory, 1, 0))
    }

    /// `st.async`: a store to shared memory of the cluster that completes on an mbarrier object there.
    pub(super) fn store_async(&mut self, i: &Instruction) -> Result<Weight> {
        let mut m = Modifiers::of(i);
        m.ignore(&["async", "weak"]);
        if !m.take(COMPLETES_BYTES) {
            let message = "stores without a completion are not implemented";
            return Err(self.unsupported(i, message));
        }
        let space = m.pick(space).unwrap_or(Space::Generic);
        let count = match (m.take("v2"), m.take("v4")) {
            (false, false) => 1,
            (true, _) => 2,
            (_, true) => 4,
        };
        let kind = m.kind()?;
        m.end()?;
        let bytes = kind.bytes() * count;
        if !matches!(kind.bytes(), 4 | 8) || bytes > MAX_LANE_BYTES {
            return Err(self.malformed(i, format!("no {count} elements of {kind} are stored")));
        }
        let [to, from, _] = i.operands.as_slice() else {
            return Err(self.malformed(i, "3 operands are needed"));
        };
        let mut access = MemoryInstruction::plain(space, kind, count);
        for (row, operand) in access.rows.iter_mut().zip(self.elements(i, from, count)?) {
            *row = self.source(i, operand, kind)?;
        }
        let (address, site, found) = self.site(i, to, access)?;
        if !matches!(found, Space::Shared | Space::Generic) {
            return Err(self.malformed(i, "the destination must be in shared memory"));
        }
        self.emit_with(memory::store(), 0, [address, 0, 0], site);
        self.complete_bytes(i, space, bytes)?;
        Ok(Weight::new(Class::Memory, 1, 0))
    }

    /// Completes this number of bytes of each thread on the mbarrier object of the last operand.
    pub(super) fn complete_bytes(
        &mut self,
        i: &Instruction,
        space: Space,
        bytes: u32,
    ) -> Result<()> {
        let object = self.operand(i, i.operands.len() - 1)?;
        let (address, site) = self.mbarrier_site(i, object, space)?;
        let (count, state) = (
            self.literal(bytes.into(), Type::U32)?,
            self.temporary(true)?,
        );
        let update = memory::update_mbarrier(memory::Update::CompleteBytes);
        self.emit_with(update, state, [address, count, 0], site);
        Ok(())
    }

    /// Space, element type, number of elements and strength of a load or store.
    fn access(&self, i: &Instruction) -> Result<(Space, Type, u32, Strength)> {
        let mut m = Modifiers::of(i);
        let strength = memory_ordering::of_access(&mut m);
        m.ignore(&CACHE);
        m.ignore_prefix("L1::");
        m.ignore(&["L2::64B", "L2::128B", "L2::256B"]);
        m.ignore(&["L2::evict_first", "L2::evict_last", "L2::evict_normal"]);
        let space = m.pick(space).unwrap_or(Space::Generic);
        let count = match (m.take("v2"), m.take("v4")) {
            (true, false) => 2,
            (false, true) => 4,
            (false, false) => 1,
            (true, true) => return Err(self.malformed(i, "two vector lengths")),
        };
        let kind = m.kind()?;
        m.end()?;
        if strength.strong && matches!(space, Space::Local | Space::Const | Space::Param) {
            let message = "no other thread writes this state space: the access can be weak only";
            return Err(self.malformed(i, message));
        }
        if kind.bytes() == 0 || kind.bytes() > 8 || kind.bytes() * count > MAX_LANE_BYTES {
            return Err(self.unsupported(
                i,
                format!("access to {count} elements of {kind} is not implemented"),
            ));
        }
        Ok((space, kind, count, strength))
    }

    /// The data operands: those of a vector, or one.
    fn elements<'i>(
        &self,
        i: &Instruction,
        operand: &'i Operand,
        count: u32,
    ) -> Result<&'i [Operand]> {
        match operand {
            Operand::Vector(elements) if elements.len() == count as usize => Ok(elements),
            Operand::Vector(_) => Err(self.malformed(i, "the vector has another length")),
            scalar if count == 1 => Ok(std::slice::from_ref(scalar)),
            _ => Err(self.malformed(i, "a vector is needed")),
        }
    }

    /// Resolves a memory operand: its address row, the index of a new site, and the space it lies in.
    pub(super) fn site(
        &mut self,
        i: &Instruction,
        operand: &Operand,
        access: MemoryInstruction,
    ) -> Result<(Slot, u32, Space)> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.malformed(i, "an address in brackets is needed"));
        };
        let mut site = Site {
            line: i.line,
            space: access.space,
            offset: *offset,
            relative: false,
            wide_address: true,
            bytes: access.kind.bytes(),
            count: access.count,
            signed: access.kind.is_signed(),
            wide: access.wide,
            rows: access.rows,
            strength: access.strength,
            exchanges: access.exchanges,
            cache: self.totals.sites,
            combine: access.combine,
        };
        let address = match &**base {
            Operand::Register(register) => {
                let declared = self.source.body.registers[*register as usize];
                if !matches!(declared.bytes(), 4 | 8) {
                    return Err(self.malformed(i, "addresses have 32 or 64 bits"));
                }
                site.wide_address = declared.bytes() == 8;
                // A device function's parameters lie in its frame.
                if site.space == Space::Param && !self.source.is_kernel {
                    site.space = Space::Local;
                }
                self.register(*register)?
            }
            Operand::Symbol(symbol, more) => {
                site.offset = site.offset.wrapping_add(*more);
                self.symbol_address(i, symbol, &mut site)?
            }
            Operand::Integer(address) => {
                site.offset = site.offset.wrapping_add(*address as i64);
                self.literal(0, Type::U64)?
            }
            _ => {
                return Err(
                    self.malformed(i, "the address must be a register, a variable or a number")
                );
            }
        };
        let space = site.space;
        self.totals.sites += 1;
        self.sites.push(site);
        Ok((address, self.sites.len() as u32 - 1, space))
    }

    /// The address row of a variable; its space becomes that of the site.
    fn symbol_address(
        &mut self,
        i: &Instruction,
        symbol: &Symbol,
        site: &mut Site,
    ) -> Result<Slot> {
        let (space, address) = self
            .address(symbol)
            .ok_or_else(|| self.unknown_symbol(i, symbol))?;
        let fits = match (site.space, space) {
            (Space::Generic, _) | (Space::Param, Space::Local) => true,
            (named, actual) => named == actual,
        };
        if !fits {
            return Err(self.malformed(i, "the variable lies in another state space"));
        }
        site.space = space;
        match address {
            MemoryAddress::Fixed(address) => self.literal(address, Type::U64),
            MemoryAddress::Local(address) => {
                site.relative = true;
                site.offset = site.offset.wrapping_add(address.into());
                self.literal(0, Type::U64)
            }
        }
    }
}

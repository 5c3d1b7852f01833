//! A PTX module as data: names resolved, instructions as written.

use std::fmt;

use super::{PtxError, SourceLines};

/// One module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`, major and minor.
    pub version: (u32, u32),
    /// The first word of `.target`, such as `sm_70`.
    pub target: String,
    /// `.address_size`: always 64.
    pub address_size: u32,
    /// `.entry` functions in the order of the text.
    pub kernels: Vec<Kernel>,
    /// `.func` functions, defined or only declared.
    pub functions: Vec<Function>,
    /// Module-scope variables in `.global`, `.const` and `.shared` space. The driver allocates and initialises those
    /// in `.global` and `.const`; `.shared` ones are laid out per kernel by the executor.
    pub globals: Vec<Variable>,
    /// Lines of the text are for this device alone: a GPU does not need what they use, such as a stack.
    pub has_own_lines: bool,
    /// The source code of the instructions, if the compiler noted it. Linking several modules drops it.
    pub source_lines: SourceLines,
}

/// Where the addresses of functions start: nothing can be loaded from there.
const FUNCTIONS: u64 = 0x00f4_0000_0000_0000;

impl Module {
    /// Bounds the registers of the kernels that say nothing of their own: neither `.maxnreg` nor how large blocks are.
    pub fn limit_registers(&mut self, most: u32) {
        for kernel in &mut self.kernels {
            let own = kernel.max_threads.or(kernel.required_threads);
            if own.is_none() && kernel.max_registers.is_none() {
                kernel.max_registers = Some(most);
            }
        }
    }

    /// Bytes of the variables in `.const` space.
    pub fn constant_bytes(&self) -> u64 {
        let constants = self.globals.iter();
        let constants = constants.filter(|variable| variable.space == Space::Const);
        constants.fold(0_u64, |end, variable| {
            let start = end.next_multiple_of(u64::from(variable.align));
            start.saturating_add(variable.bytes)
        })
    }

    /// The number that stands for a function where its address is taken.
    pub fn function_address(&self, name: &str) -> Option<u64> {
        let index = self.functions.iter().position(|f| f.name == name)?;
        Some(FUNCTIONS + 16 * index as u64)
    }
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters with their place in the parameter buffer.
    pub parameters: Vec<Parameter>,
    /// Its code.
    pub body: Body,
    /// `.maxntid`.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxnreg`: the most registers of a thread.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster` and its variants.
    pub cluster: ClusterBounds,
    /// Line of its declaration.
    pub line: u32,
}

/// What a kernel says of the clusters that it is launched in (PTX ISA, "Cluster Dimension Directives").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterBounds {
    /// `.reqnctapercluster`: blocks of a cluster in x, y, z.
    pub required: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch has to say how large clusters are.
    pub explicit: bool,
    /// `.maxclusterrank`: the most blocks of a cluster.
    pub max_blocks: Option<u32>,
}

/// A device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Return values.
    pub returns: Vec<Parameter>,
    /// Arguments.
    pub parameters: Vec<Parameter>,
    /// Who knows it.
    pub linkage: Linkage,
    /// Its code, absent in a declaration such as that of `__assertfail`.
    pub body: Option<Body>,
    /// Line of its declaration.
    pub line: u32,
}

/// The scope of a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// Its module alone.
    #[default]
    Local,
    /// All modules that are linked: `.visible`, `.extern`.
    Visible,
    /// As visible, but another definition may replace it: `.weak`, `.common`.
    Weak,
}

/// A parameter in `.param` space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// Offset in the parameter buffer.
    pub offset: u32,
    /// The register that carries it, for device functions that pass registers (`.func (.reg .b32 x) …`).
    pub register: Option<RegisterId>,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `.global`.
    Global,
    /// `.const`.
    Const,
    /// `.shared`.
    Shared,
    /// `.local`.
    Local,
    /// `.param`.
    Param,
    /// No named space: the address decides.
    Generic,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its space.
    pub space: Space,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes; 0 for an array without length (`.extern .shared`).
    pub bytes: u64,
    /// Who knows it.
    pub linkage: Linkage,
    /// Declared `.extern`: no storage here. In `.shared` space that means dynamic shared memory.
    pub external: bool,
    /// Declared `.attribute(.managed)`: in memory that the host reads and writes at the same address (PTX ISA, section "Variable and
    /// Function Attribute Directive: .attribute").
    pub managed: bool,
    /// Initial bytes; shorter than `bytes` when the rest is zero.
    pub data: Vec<u8>,
    /// Addresses to be stored into the initial bytes.
    pub relocations: Vec<Relocation>,
    /// Line of its declaration.
    pub line: u32,
}

/// The address of another variable inside an initialiser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the variable the address goes.
    pub offset: u64,
    /// How many bytes of it are stored there (low ones first).
    pub bytes: u32,
    /// Whose address.
    pub symbol: String,
    /// Added to the address.
    pub addend: i64,
}

/// The code of a function.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Types of all registers, indexed by [`RegisterId`]. Only a few declared ones may be in use.
    pub registers: Vec<Type>,
    /// Variables declared in the function (`.local`, `.shared`, `.param`).
    pub variables: Vec<Variable>,
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// For each label, the index of the instruction it precedes (which may be one past the last).
    pub labels: Vec<usize>,
    /// Names of the labels, for messages.
    pub label_names: Vec<String>,
    /// `.branchtargets` lists, by the name of their label.
    pub target_lists: Vec<(String, Vec<LabelId>)>,
    /// Why the code could not be read: something in it is valid and not implemented. All else is empty then.
    pub refusal: Option<Box<PtxError>>,
}

/// Index into [`Body::registers`].
pub type RegisterId = u32;
/// Index into [`Body::labels`].
pub type LabelId = u32;

/// An instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Line in the text.
    pub line: u32,
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard>,
    /// `ld` of `ld.global.v2.f32`.
    pub opcode: String,
    /// `global`, `v2`, `f32` of it.
    pub modifiers: Vec<String>,
    /// Its operands, destination first.
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// Opcode and modifiers with their dots.
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.clone();
        for modifier in &self.modifiers {
            text.push('.');
            text.push_str(modifier);
        }
        text
    }
}

/// The predicate that guards an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Predicate register.
    pub register: RegisterId,
    /// `@!p`.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// A special register such as `%tid.x`, with its percent sign.
    Special(String),
    /// An integer constant in two's complement.
    Integer(u64),
    /// `0f…`.
    Single(u32),
    /// `0d…` or a decimal fraction.
    Double(u64),
    /// The address of a symbol plus an offset.
    Symbol(Symbol, i64),
    /// A branch target.
    Label(LabelId),
    /// `!p`.
    Not(Box<Operand>),
    /// `d|p`.
    Pair(Box<Operand>, Box<Operand>),
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)` of a call.
    List(Vec<Operand>),
    /// `[base+offset]`.
    Address(Box<Operand>, i64),
    /// `[base+offset, {a, b}]`: the address of a tensor map, and coordinates.
    Tensor(Box<Operand>, Vec<Operand>),
    /// `_`.
    Sink,
}

/// Something with an address or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Parameter of the function, by index.
    Parameter(usize),
    /// Return value of the function, by index.
    Return(usize),
    /// Index into [`Body::variables`].
    Variable(usize),
    /// Module-scope variable, function, or label of a target list.
    Name(String),
}

/// A fundamental type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    const NAMES: [(&'static str, Type); 20] = [
        ("b8", Self::B8),
        ("b16", Self::B16),
        ("b32", Self::B32),
        ("b64", Self::B64),
        ("b128", Self::B128),
        ("u8", Self::U8),
        ("u16", Self::U16),
        ("u32", Self::U32),
        ("u64", Self::U64),
        ("s8", Self::S8),
        ("s16", Self::S16),
        ("s32", Self::S32),
        ("s64", Self::S64),
        ("f16", Self::F16),
        ("f16x2", Self::F16x2),
        ("bf16", Self::Bf16),
        ("bf16x2", Self::Bf16x2),
        ("f32", Self::F32),
        ("f64", Self::F64),
        ("pred", Self::Pred),
    ];

    /// The type called `name` (without dot).
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(text, _)| *text == name)
            .map(|(_, kind)| *kind)
    }

    /// Size in bytes; 0 for a predicate.
    pub fn bytes(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
            Self::Pred => 0,
        }
    }

    /// A two's complement type.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// A floating-point type.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16 | Self::F16x2 | Self::Bf16 | Self::Bf16x2 | Self::F32 | Self::F64
        )
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, kind)| kind == self);
        write!(f, ".{}", name.map_or("?", |(name, _)| name))
    }
}

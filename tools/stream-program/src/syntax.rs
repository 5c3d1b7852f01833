//! The parts of a program.

/// A whole program.
pub type StreamProgram = Vec<Statement>;

/// A line of a program, and the lines within it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The line, from 1.
    pub line: u32,
    /// What it does.
    pub action: Action,
}

/// The action of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `let NAME = NUMBER`
    Let(String, Expression),
    /// `stream NAME` or `stream NAME[COUNT]`; `blocking` streams synchronise with the legacy default stream.
    Streams(bool, Vec<NamedArray>),
    /// `event NAME`; `timed` ones take the time.
    Events(bool, Vec<NamedArray>),
    /// `device NAME[LENGTH]`, `pinned`, `pageable`; a second number in front is that of buffers. `in STREAM` allocates in
    /// stream order.
    Memory(MemoryKind, Vec<(NamedArray, Expression)>, Option<Object>),
    /// `for NAME in FROM..TO {`
    For(String, Expression, Expression, Vec<Statement>),
    /// `KERNEL<<<BLOCKS, THREADS, 0, STREAM>>>(ARGUMENTS)`
    Launch(Launch),
    /// `graph NAME = STREAM.end_capture()`
    EndCapture(String, Object),
    /// A call of another kind.
    Call(Call),
}

/// Names with a number of objects: one, unless a number is given.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArray {
    /// Its name.
    pub name: String,
    /// How many; `None` for one that is no array.
    pub count: Option<Expression>,
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory of the device.
    Device,
    /// Page-locked memory of the host.
    Pinned,
    /// Ordinary memory of the host.
    Pageable,
}

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks.
    pub blocks: Expression,
    /// Threads of a block.
    pub threads: Expression,
    /// Its stream.
    pub stream: Object,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A number with a point.
    Float(f32, String),
    /// A whole number, or memory if the name is that of memory.
    Value(Expression),
    /// Memory, with an index or a range.
    Memory(ElementRange),
}

/// `NAME` or `NAME[INDEX]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// The index in an array.
    pub index: Option<Expression>,
}

/// Memory, or a range of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementRange {
    /// The memory.
    pub memory: Object,
    /// The first element and the one behind the last.
    pub range: Option<(Expression, Expression)>,
}

/// A call, by what it does.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the words of the forms")]
pub enum Call {
    /// `STREAM.copy(TO, FROM)`; without a stream, the call blocks the host.
    Copy {
        stream: Option<Object>,
        to: ElementRange,
        from: ElementRange,
    },
    /// `zero(MEMORY)`
    Zero(ElementRange),
    /// `STREAM.free(MEMORY)`; without a stream, the call blocks the host.
    Free {
        stream: Option<Object>,
        memory: Object,
    },
    /// `EVENT.record(STREAM)`
    Record { event: Object, stream: Object },
    /// `STREAM.wait(EVENT)`
    Wait { stream: Object, event: Object },
    /// `X.synchronize()` of a stream or an event; without one, of the device.
    Synchronize(Option<Object>),
    /// `fill(MEMORY, BATCH)`: the host writes a batch of data.
    Fill(ElementRange, Expression),
    /// `cpu_work(MICROSECONDS)`
    CpuWork(Expression),
    /// `hand_in_time(START, END)`: the time from an event to another one.
    HandInTime { start: Object, end: Object },
    /// `hand_in(MEMORY)`: the host reads the result.
    HandIn(Object),
    /// `pool.keep(BYTES)`: the release threshold of the device's default pool.
    KeepInPool(Expression),
    /// `STREAM.begin_capture()`
    BeginCapture(Object),
    /// `GRAPH.launch(STREAM)`
    LaunchGraph { graph: Object, stream: Object },
}

/// A whole number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(u64),
    /// A name.
    Name(String),
    /// Two numbers and an operator.
    Binary(Box<Expression>, Operator, Box<Expression>),
}

/// The operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
}

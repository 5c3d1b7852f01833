//! Names and kinds: what a program means, before it runs.

use crate::error::ProgramError;
use crate::kernels::{self, Parameter};
use crate::syntax::{
    Action, Argument, Call, ElementRange, Expression, Launch, MemoryKind, NamedArray, Object,
    Statement, StreamProgram,
};

/// Names that mean something else, here or in a language that the program is written in.
const RESERVED: [&str; 62] = [
    "all",
    "as",
    "async",
    "auto",
    "await",
    "bool",
    "box",
    "break",
    "case",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "drop",
    "dyn",
    "each",
    "else",
    "enum",
    "error",
    "extern",
    "false",
    "float",
    "fn",
    "free",
    "if",
    "impl",
    "in",
    "int",
    "kernels",
    "labs",
    "long",
    "loop",
    "main",
    "match",
    "milliseconds",
    "mod",
    "move",
    "mut",
    "new",
    "pool",
    "pub",
    "ref",
    "return",
    "self",
    "Self",
    "short",
    "sizeof",
    "static",
    "struct",
    "switch",
    "this",
    "threshold",
    "true",
    "type",
    "unsafe",
    "use",
    "void",
    "while",
];

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number,
    /// A stream.
    Stream,
    /// An event; a timed one takes the time.
    Event {
        /// Whether it takes the time.
        timed: bool,
    },
    /// Memory.
    Memory(MemoryKind),
    /// A graph that can be launched.
    Graph,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Stream => "a stream",
            Self::Event { .. } => "an event",
            Self::Memory(MemoryKind::Device) => "memory of the device",
            Self::Memory(_) => "memory of the host",
            Self::Graph => "a graph",
        }
    }
}

/// Finds what is wrong with a program.
pub fn check(program: &StreamProgram) -> Vec<ProgramError> {
    let mut checker = Checker {
        names: vec![("legacy".to_owned(), Kind::Stream, false, 0)],
        errors: Vec::new(),
    };
    checker.block(program);
    checker.errors
}

struct Checker {
    /// Name, kind, whether it is an array, and the line that declares it. The last one counts.
    names: Vec<(String, Kind, bool, u32)>,
    errors: Vec<ProgramError>,
}

type Checked = Result<(), String>;

impl Checker {
    fn block(&mut self, statements: &[Statement]) {
        let outside = self.names.len();
        for statement in statements {
            if let Err(message) = self.action(statement) {
                self.errors.push(ProgramError::new(statement.line, message));
            }
        }
        self.names.truncate(outside);
    }

    fn action(&mut self, statement: &Statement) -> Checked {
        let line = statement.line;
        match &statement.action {
            Action::Let(name, value) => {
                self.number(value)?;
                self.declare(name, Kind::Number, false, line)
            }
            Action::Streams(_, arrays) => self.declare_all(arrays, Kind::Stream, line),
            Action::Events(timed, arrays) => {
                self.declare_all(arrays, Kind::Event { timed: *timed }, line)
            }
            Action::Memory(kind, declared, stream) => {
                if let Some(stream) = stream {
                    self.stream(stream)?;
                }
                for (array, length) in declared {
                    self.number(length)?;
                    self.declare_all(std::slice::from_ref(array), Kind::Memory(*kind), line)?;
                }
                Ok(())
            }
            Action::For(name, from, to, body) => {
                let outside = self.names.len();
                let head = self.number(from).and_then(|()| self.number(to));
                let head = head.and_then(|()| self.declare(name, Kind::Number, false, line));
                self.block(body);
                self.names.truncate(outside);
                head
            }
            Action::Launch(launch) => self.launch(launch),
            Action::EndCapture(name, stream) => {
                self.stream(stream)?;
                self.declare(name, Kind::Graph, false, line)
            }
            Action::Call(call) => self.call(call),
        }
    }

    fn call(&self, call: &Call) -> Checked {
        match call {
            Call::Copy { stream, to, from } => {
                if let Some(stream) = stream {
                    self.stream(stream)?;
                }
                let is_host = |kind| kind != MemoryKind::Device;
                match (self.elements(to)?, self.elements(from)?) {
                    (to, from) if is_host(to) && is_host(from) => Err(
                        "a copy has memory of the device on one side at least: copy(TO, FROM)"
                            .into(),
                    ),
                    _ => Ok(()),
                }
            }
            Call::Zero(memory) => match self.elements(memory)? {
                MemoryKind::Device => Ok(()),
                _ => Err("zero writes memory of the device; the host's is zero at first".into()),
            },
            Call::Free { stream, memory } => {
                let kind = self.memory(memory)?;
                if memory.index.is_some() {
                    return Err(format!(
                        "{} is an array, which is freed at the end of its block",
                        memory.name
                    ));
                }
                match stream {
                    Some(stream) if kind == MemoryKind::Device => self.stream(stream),
                    Some(_) => Err(format!(
                        "{} is memory of the host: free({}) frees it",
                        memory.name, memory.name
                    )),
                    None => Ok(()),
                }
            }
            Call::Record { event, stream } => {
                self.event(event)?;
                self.stream(stream)
            }
            Call::Wait { stream, event } => {
                self.stream(stream)?;
                self.event(event).map(drop)
            }
            Call::Synchronize(None) => Ok(()),
            Call::Synchronize(Some(object)) => match self.kind(object)? {
                Kind::Stream | Kind::Event { .. } => Ok(()),
                other => Err(format!(
                    "the host waits for a stream or an event, and {} is {}",
                    object.name,
                    other.word()
                )),
            },
            Call::Fill(memory, batch) => {
                self.number(batch)?;
                match self.elements(memory)? {
                    MemoryKind::Device => {
                        Err("fill writes memory of the host: copy it from there".into())
                    }
                    _ => Ok(()),
                }
            }
            Call::CpuWork(microseconds) => self.number(microseconds),
            Call::HandInTime { start, end } => match self.event(start)? && self.event(end)? {
                true => Ok(()),
                false => {
                    Err("only a timed event takes the time: declare it with `timed event`".into())
                }
            },
            Call::HandIn(memory) => match self.memory(memory)? {
                MemoryKind::Device => Err(format!(
                    "the host cannot read {}, which is memory of the device: copy it",
                    memory.name
                )),
                _ => Ok(()),
            },
            Call::KeepInPool(bytes) => match bytes {
                Expression::Name(name) if name == "all" => Ok(()),
                _ => self.number(bytes),
            },
            Call::BeginCapture(stream) => self.stream(stream),
            Call::LaunchGraph { graph, stream } => {
                self.is(graph, Kind::Graph)?;
                self.stream(stream)
            }
        }
    }

    fn launch(&self, launch: &Launch) -> Checked {
        let Some(kernel) = kernels::find(&launch.kernel) else {
            let names: Vec<&str> = kernels::KERNELS.iter().map(|kernel| kernel.name).collect();
            return Err(format!(
                "{} is not a kernel. The kernels are {}",
                launch.kernel,
                names.join(", ")
            ));
        };
        self.number(&launch.blocks)?;
        self.number(&launch.threads)?;
        self.stream(&launch.stream)?;
        let (given, wanted) = (launch.arguments.len(), kernel.parameters.len());
        if given != wanted {
            let names: Vec<&str> = kernel.parameters.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "{} takes {wanted} arguments ({}), not {given}",
                kernel.name,
                names.join(", ")
            ));
        }
        for ((name, parameter), argument) in kernel.parameters.iter().zip(&launch.arguments) {
            self.argument(name, *parameter, argument)?;
        }
        Ok(())
    }

    fn argument(&self, name: &str, parameter: Parameter, argument: &Argument) -> Checked {
        match (parameter, argument) {
            (Parameter::Float, Argument::Float(..)) => Ok(()),
            (Parameter::Float | Parameter::Whole, Argument::Value(value)) => self.number(value),
            (Parameter::Float | Parameter::Whole, _) => {
                let what = match parameter {
                    Parameter::Float => "a number",
                    _ => "a whole number",
                };
                Err(format!("{name} of this kernel is {what}"))
            }
            (_, argument) => match as_elements(argument).map(|memory| self.elements(&memory)) {
                Some(Ok(MemoryKind::Device)) => Ok(()),
                Some(Err(message)) => Err(message),
                _ => Err(format!("{name} of this kernel is memory of the device")),
            },
        }
    }

    fn declare_all(&mut self, arrays: &[NamedArray], kind: Kind, line: u32) -> Checked {
        for NamedArray { name, count } in arrays {
            if let Some(count) = count {
                self.number(count)?;
            }
            self.declare(name, kind, count.is_some(), line)?;
        }
        Ok(())
    }

    fn declare(&mut self, name: &str, kind: Kind, is_array: bool, line: u32) -> Checked {
        if RESERVED.contains(&name) {
            return Err(format!(
                "{name} has a meaning of its own, here, in Rust or in C++: choose another name"
            ));
        }
        if kernels::find(name).is_some() {
            return Err(format!("{name} is a kernel: choose another name"));
        }
        let taken = self.names.iter().find(|(known, ..)| known == name);
        if let Some((.., 0)) = taken {
            return Err(format!(
                "{name} is the legacy default stream: choose another name"
            ));
        }
        if let Some((.., first)) = taken {
            return Err(format!(
                "{name} is declared in line {first}: choose another name"
            ));
        }
        self.names.push((name.to_owned(), kind, is_array, line));
        Ok(())
    }

    fn known(&self, name: &str) -> Result<(Kind, bool), String> {
        let known = self.names.iter().find(|(known, ..)| known == name);
        known
            .map(|(_, kind, is_array, _)| (*kind, *is_array))
            .ok_or_else(|| format!("{name} is not declared"))
    }

    fn number(&self, expression: &Expression) -> Checked {
        for name in expression.names() {
            match self.known(name)? {
                (Kind::Number, _) => {}
                (other, _) => return Err(format!("{name} is {}, not a number", other.word())),
            }
        }
        Ok(())
    }

    /// The kind of an object, with an index if it is an array.
    fn kind(&self, object: &Object) -> Result<Kind, String> {
        let (kind, is_array) = self.known(&object.name)?;
        match (&object.index, is_array) {
            (Some(index), true) => self.number(index)?,
            (None, false) => {}
            (None, true) => {
                return Err(format!(
                    "{0} is an array: say which one, {0}[0]",
                    object.name
                ));
            }
            (Some(_), false) => {
                return Err(match kind {
                    Kind::Memory(_) => {
                        format!("a part of {0} is a range, {0}[0..1024]", object.name)
                    }
                    _ => format!("{} is not an array", object.name),
                });
            }
        }
        Ok(kind)
    }

    fn is(&self, object: &Object, wanted: Kind) -> Checked {
        match self.kind(object)? {
            kind if kind == wanted => Ok(()),
            other => Err(format!(
                "{} is {}, and {} belongs here",
                object.name,
                other.word(),
                wanted.word()
            )),
        }
    }

    fn stream(&self, object: &Object) -> Checked {
        self.is(object, Kind::Stream)
    }

    /// Whether it takes the time.
    fn event(&self, object: &Object) -> Result<bool, String> {
        match self.kind(object)? {
            Kind::Event { timed } => Ok(timed),
            other => Err(format!(
                "{} is {}, and an event belongs here",
                object.name,
                other.word()
            )),
        }
    }

    fn memory(&self, object: &Object) -> Result<MemoryKind, String> {
        match self.kind(object)? {
            Kind::Memory(kind) => Ok(kind),
            other => Err(format!(
                "{} is {}, and memory belongs here",
                object.name,
                other.word()
            )),
        }
    }

    fn elements(&self, elements: &ElementRange) -> Result<MemoryKind, String> {
        if let Some((from, to)) = &elements.range {
            self.number(from)?;
            self.number(to)?;
        }
        self.memory(&elements.memory)
    }
}

/// An argument that may name memory.
pub(crate) fn as_elements(argument: &Argument) -> Option<ElementRange> {
    match argument {
        Argument::Memory(elements) => Some(elements.clone()),
        Argument::Value(Expression::Name(name)) => Some(ElementRange {
            memory: Object {
                name: name.clone(),
                index: None,
            },
            range: None,
        }),
        _ => None,
    }
}

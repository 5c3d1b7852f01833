//! Running a program: each line makes the calls that it stands for, through cust or the driver's own functions.

mod memory;

use crate::check::as_elements;
use crate::error::ProgramError;
use crate::kernels::{self, Parameter};
use crate::syntax::{
    Action, Argument, Call, ElementRange, Expression, Launch, MemoryKind, NamedArray, Object,
    Statement, StreamProgram,
};
use cuda_host::capture::{self, GraphExec};
use cuda_host::{StreamExt as _, pool::MemoryPool, stream};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use memory::{ProgramMemory, Span};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// Lines that a program executes, at most: loops within loops end.
const MOST_STEPS: u32 = 100_000;

/// Objects of one declaration, at most.
const MOST_OBJECTS: u64 = 256;

/// What a name stands for.
enum VariableValue {
    Number(u64),
    Streams(Vec<Stream>),
    Events(Vec<Event>),
    /// None once it is freed.
    Memory(Vec<Option<ProgramMemory>>),
    Graph(GraphExec),
}

/// A program that runs.
struct Run {
    values: Vec<(String, VariableValue)>,
    modules: BTreeMap<&'static str, Module>,
    file: Arc<str>,
    steps: u32,
}

type Done = Result<(), String>;

/// Runs a program that [`check`](crate::check::check) accepts, in a context of its own. Reports of the software GPU name its
/// lines as `program:LINE`.
///
/// # Errors
/// A call fails, or a value does not fit: with the line.
pub fn run(program: &StreamProgram) -> Result<(), ProgramError> {
    let first = program.first().map_or(1, |statement| statement.line);
    let at_first = |error: String| ProgramError::new(first, error);
    let _context = cust::quick_init().map_err(|error| at_first(error.to_string()))?;
    let mut modules = BTreeMap::new();
    for kernel in launched(program) {
        if !modules.contains_key(kernel.module) {
            let module = Module::from_ptx(kernel.ptx(), &[]);
            modules.insert(
                kernel.module,
                module.map_err(|error| at_first(error.to_string()))?,
            );
        }
    }
    let mut run = Run {
        values: Vec::new(),
        modules,
        file: Arc::from("program"),
        steps: 0,
    };
    let result = run.block(program);
    run.leave(0);
    software_gpu::note_script_line(None);
    result
}

/// The kernels that a program launches.
pub(crate) fn launched(program: &[Statement]) -> Vec<&'static kernels::Kernel> {
    let mut found = Vec::new();
    for statement in program {
        match &statement.action {
            Action::Launch(launch) => found.extend(kernels::find(&launch.kernel)),
            Action::For(.., body) => found.extend(launched(body)),
            _ => {}
        }
    }
    found.sort_by_key(|kernel| kernel.name);
    found.dedup_by_key(|kernel| kernel.name);
    found
}

fn in_words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Run {
    fn block(&mut self, statements: &[Statement]) -> Result<(), ProgramError> {
        for statement in statements {
            let at = |message| ProgramError::new(statement.line, message);
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(at(format!(
                    "the program has executed {MOST_STEPS} lines and is stopped here"
                )));
            }
            software_gpu::note_script_line(Some((&self.file, statement.line)));
            if let Action::For(name, from, to, body) = &statement.action {
                let range = self.number(from).map_err(at)?..self.number(to).map_err(at)?;
                for number in range {
                    let outside = self.values.len();
                    self.values
                        .push((name.clone(), VariableValue::Number(number)));
                    let result = self.block(body);
                    self.leave(outside);
                    result?;
                }
                continue;
            }
            self.action(&statement.action).map_err(at)?;
        }
        Ok(())
    }

    /// Gives back what was declared since, the last first, as Rust does at the end of a block.
    fn leave(&mut self, outside: usize) {
        while self.values.len() > outside {
            self.values.pop();
        }
    }

    fn action(&mut self, action: &Action) -> Done {
        match action {
            Action::Let(name, value) => {
                let value = self.number(value)?;
                self.values
                    .push((name.clone(), VariableValue::Number(value)));
                Ok(())
            }
            Action::Streams(blocking, arrays) => arrays
                .iter()
                .try_for_each(|array| self.streams(*blocking, array)),
            Action::Events(timed, arrays) => arrays
                .iter()
                .try_for_each(|array| self.events(*timed, array)),
            Action::Memory(kind, declared, stream) => {
                for (array, length) in declared {
                    self.allocate(*kind, array, length, stream.as_ref())?;
                }
                Ok(())
            }
            Action::For(..) => Ok(()),
            Action::Launch(launch) => self.launch(launch),
            Action::EndCapture(name, stream) => {
                let graph = capture::end(self.stream(stream)?).map_err(in_words)?;
                let graph = graph.instantiate().map_err(in_words)?;
                self.values
                    .push((name.clone(), VariableValue::Graph(graph)));
                Ok(())
            }
            Action::Call(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &Call) -> Done {
        match call {
            Call::Copy { stream, to, from } => {
                let (to, from) = (self.span(to)?, self.span(from)?);
                let stream = stream
                    .as_ref()
                    .map(|stream| self.stream(stream))
                    .transpose()?;
                memory::copy(to, from, stream)
            }
            Call::Zero(elements) => memory::zero(self.span(elements)?),
            Call::Free { stream, memory } => self.free(stream.as_ref(), memory),
            Call::Record { event, stream } => self
                .event(event)?
                .record(self.stream(stream)?)
                .map_err(in_words),
            Call::Wait { stream, event } => self
                .stream(stream)?
                .wait(self.event(event)?)
                .map_err(in_words),
            Call::Synchronize(None) => CurrentContext::synchronize().map_err(in_words),
            Call::Synchronize(Some(object)) => match self.value(&object.name)? {
                VariableValue::Events(_) => self.event(object)?.synchronize().map_err(in_words),
                _ => self.stream(object)?.synchronize().map_err(in_words),
            },
            Call::Fill(elements, batch) => {
                let batch = self.number(batch)?;
                let span = self.span(elements)?;
                labs::fill(span.host_mut()?, usize::try_from(batch).map_err(in_words)?);
                Ok(())
            }
            Call::CpuWork(microseconds) => {
                labs::cpu_work(Duration::from_micros(
                    self.number(microseconds)?.min(1_000_000),
                ));
                Ok(())
            }
            Call::HandInTime { start, end } => {
                let time = self
                    .event(end)?
                    .elapsed(self.event(start)?)
                    .map_err(in_words)?;
                labs::hand_in_time("kernel", time);
                Ok(())
            }
            Call::HandIn(memory) => {
                let whole = ElementRange {
                    memory: memory.clone(),
                    range: None,
                };
                labs::hand_in(self.span(&whole)?.host_mut()?).map_err(in_words)
            }
            Call::KeepInPool(bytes) => {
                let bytes = match bytes {
                    Expression::Name(name) if name == "all" => u64::MAX,
                    _ => self.number(bytes)?,
                };
                let device = CurrentContext::get_device().map_err(in_words)?;
                let pool = MemoryPool::default_of(device).map_err(in_words)?;
                pool.set_release_threshold(bytes).map_err(in_words)
            }
            Call::BeginCapture(stream) => capture::begin(self.stream(stream)?).map_err(in_words),
            Call::LaunchGraph { graph, stream } => {
                let VariableValue::Graph(exec) = self.value(&graph.name)? else {
                    return Err(format!("{} is not a graph", graph.name));
                };
                // SAFETY: the software GPU checks what a graph touches, and reports what does not live.
                unsafe { exec.launch(self.stream(stream)?) }.map_err(in_words)
            }
        }
    }

    fn streams(&mut self, blocking: bool, array: &NamedArray) -> Done {
        let make = |name: &str| {
            let stream = match blocking {
                true => Stream::new(StreamFlags::DEFAULT, None),
                false => stream::non_blocking(),
            };
            stream.map(|stream| stream.named(name)).map_err(in_words)
        };
        let name = array.name.replace('_', " ");
        let streams = match &array.count {
            None => vec![make(&name)?],
            Some(count) => {
                let count = self.count(count)?;
                (0..count)
                    .map(|index| make(&format!("{name} {index}")))
                    .collect::<Result<_, _>>()?
            }
        };
        self.values
            .push((array.name.clone(), VariableValue::Streams(streams)));
        Ok(())
    }

    fn events(&mut self, timed: bool, array: &NamedArray) -> Done {
        let count = array
            .count
            .as_ref()
            .map_or(Ok(1), |count| self.count(count))?;
        let flags = match timed {
            true => EventFlags::DEFAULT,
            false => EventFlags::DISABLE_TIMING,
        };
        let events = (0..count).map(|_| Event::new(flags).map_err(in_words));
        let events = events.collect::<Result<_, _>>()?;
        self.values
            .push((array.name.clone(), VariableValue::Events(events)));
        Ok(())
    }

    fn allocate(
        &mut self,
        kind: MemoryKind,
        array: &NamedArray,
        length: &Expression,
        stream: Option<&Object>,
    ) -> Done {
        let count = array
            .count
            .as_ref()
            .map_or(Ok(1), |count| self.count(count))?;
        let length = self.number(length)?;
        let stream = stream.map(|stream| self.stream(stream)).transpose()?;
        let memory = (0..count).map(|_| ProgramMemory::allocate(kind, length, stream).map(Some));
        let memory = memory.collect::<Result<_, _>>()?;
        self.values
            .push((array.name.clone(), VariableValue::Memory(memory)));
        Ok(())
    }

    fn free(&mut self, stream: Option<&Object>, memory: &Object) -> Done {
        let index = self.index(memory)?;
        let slot = self
            .values
            .iter()
            .rposition(|(name, _)| *name == memory.name);
        let taken = slot.and_then(|slot| match &mut self.values[slot].1 {
            VariableValue::Memory(all) => all.get_mut(index).and_then(Option::take),
            _ => None,
        });
        let taken = taken.ok_or_else(|| format!("{} is freed already", memory.name))?;
        let stream = stream.map(|stream| self.stream(stream)).transpose()?;
        taken.free(stream)
    }

    fn launch(&self, launch: &Launch) -> Done {
        let kernel = kernels::find(&launch.kernel)
            .ok_or_else(|| format!("{} is not a kernel", launch.kernel))?;
        let module = &self.modules[kernel.module];
        let function = module.get_function(kernel.name).map_err(in_words)?;
        let whole = |number: u64, what: &str| {
            u32::try_from(number).map_err(|_| format!("{number} {what} are more than 32 bits"))
        };
        let blocks = whole(self.number(&launch.blocks)?, "blocks")?;
        let threads = whole(self.number(&launch.threads)?, "threads")?;
        // Each value is at most as large as a u64, and little-endian: a kernel reads the bytes of its type.
        let mut values: Vec<u64> = Vec::new();
        for ((_, parameter), argument) in kernel.parameters.iter().zip(&launch.arguments) {
            match (parameter, argument) {
                (Parameter::Float, Argument::Float(number, _)) => {
                    values.push(number.to_bits().into());
                }
                (Parameter::Float, Argument::Value(value)) => {
                    values.push((self.number(value)? as f32).to_bits().into());
                }
                (Parameter::Whole, Argument::Value(value)) => {
                    values.push(whole(self.number(value)?, "rounds")?.into());
                }
                (_, argument) => {
                    let elements = as_elements(argument)
                        .ok_or_else(|| format!("{} needs memory here", kernel.name))?;
                    let span = self.span(&elements)?;
                    values.push(span.device()?);
                    if *parameter != Parameter::Pointer {
                        values.push(span.length);
                    }
                }
            }
        }
        let pointers: Vec<*mut c_void> = values
            .iter()
            .map(|value| std::ptr::from_ref(value).cast_mut().cast())
            .collect();
        let stream = self.stream(&launch.stream)?;
        // SAFETY: a pointer for each parameter; the software GPU checks what the kernel accesses.
        unsafe { stream.launch(&function, blocks, threads, 0, &pointers) }.map_err(in_words)
    }

    fn value(&self, name: &str) -> Result<&VariableValue, String> {
        let found = self.values.iter().rev().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| format!("{name} is not declared"))
    }

    fn number(&self, expression: &Expression) -> Result<u64, String> {
        expression.value(&|name| match self.value(name)? {
            VariableValue::Number(number) => Ok(*number),
            _ => Err(format!("{name} is not a number")),
        })
    }

    fn count(&self, expression: &Expression) -> Result<u64, String> {
        match self.number(expression)? {
            count @ 1..=MOST_OBJECTS => Ok(count),
            other => Err(format!(
                "an array has 1 to {MOST_OBJECTS} objects, not {other}"
            )),
        }
    }

    fn index(&self, object: &Object) -> Result<usize, String> {
        let index = object
            .index
            .as_ref()
            .map_or(Ok(0), |index| self.number(index))?;
        usize::try_from(index).map_err(in_words)
    }

    fn nth<'a, T>(&self, object: &Object, all: &'a [T]) -> Result<&'a T, String> {
        let index = self.index(object)?;
        all.get(index).ok_or_else(|| {
            format!(
                "{0}[{index}] does not exist: {0} has {1} objects, from 0",
                object.name,
                all.len()
            )
        })
    }

    fn stream(&self, object: &Object) -> Result<&Stream, String> {
        if object.name == "legacy" {
            return Ok(memory::legacy());
        }
        match self.value(&object.name)? {
            VariableValue::Streams(streams) => self.nth(object, streams),
            _ => Err(format!("{} is not a stream", object.name)),
        }
    }

    fn event(&self, object: &Object) -> Result<&Event, String> {
        match self.value(&object.name)? {
            VariableValue::Events(events) => self.nth(object, events),
            _ => Err(format!("{} is not an event", object.name)),
        }
    }

    fn span(&self, elements: &ElementRange) -> Result<Span, String> {
        let name = &elements.memory.name;
        let VariableValue::Memory(all) = self.value(name)? else {
            return Err(format!("{name} is not memory"));
        };
        let memory = self.nth(&elements.memory, all)?.as_ref();
        let span = memory
            .ok_or_else(|| format!("{name} is freed already"))?
            .span();
        let Some((from, to)) = &elements.range else {
            return Ok(span);
        };
        let (from, to) = (self.number(from)?, self.number(to)?);
        span.part(from, to).ok_or_else(|| {
            format!(
                "{name} has {} elements, and {from}..{to} is not a part of them",
                span.length
            )
        })
    }
}

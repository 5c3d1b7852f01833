//! The program as Rust, with cust.

use crate::check::{Kind, as_elements};
use crate::kernels::{self, Parameter};
use crate::run::launched;
use crate::syntax::{
    Action, Argument, Call, ElementRange, Expression, Launch, MemoryKind, NamedArray, Object,
    Statement, StreamProgram,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Writes the Rust that a program stands for. The program has been [checked](crate::check::check).
pub fn translate(program: &StreamProgram) -> String {
    let mut body = Body {
        text: String::new(),
        depth: 1,
        kinds: BTreeMap::new(),
        mutable: BTreeSet::new(),
        uses: BTreeSet::new(),
    };
    body.find_mutable(program);
    let kernels = launched(program);
    let modules: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.module).collect();
    body.line("let _context = cust::quick_init()?;");
    for module in &modules {
        let name = struct_of(module, modules.len());
        body.line(&format!(
            "let {} = {name}::load(gpu_kernels::{module})?;",
            variable_of(module, modules.len())
        ));
    }
    if mentions_legacy(program) {
        body.line("let legacy = stream::legacy();");
    }
    body.text.push('\n');
    body.modules(program, modules.len());
    body.line("Ok(())");
    let mut text = String::from(
        "//! Written from a stream program.\n\nuse anyhow::Result;\nuse cuda_host::prelude::*;\n",
    );
    for path in &body.uses {
        let _ = writeln!(text, "use {path};");
    }
    text.push('\n');
    for module in &modules {
        let names: Vec<&str> = kernels
            .iter()
            .filter(|kernel| kernel.module == *module)
            .map(|kernel| kernel.name)
            .collect();
        let list = format!("use gpu_kernels::{{{}}};", names.join(", "));
        match modules.len() {
            1 => {
                let _ = writeln!(text, "kernels! {{ {list} }}\n");
            }
            _ => {
                let _ = writeln!(
                    text,
                    "mod {} {{\n    cuda_host::kernels! {{ {list} }}\n}}\n",
                    module.to_lowercase()
                );
            }
        }
    }
    text.push_str("fn main() -> Result<()> {\n");
    text.push_str(&body.text);
    text.push_str("}\n");
    text
}

fn struct_of(module: &str, of: usize) -> String {
    match of {
        1 => "Kernels".to_owned(),
        _ => format!("{}::Kernels", module.to_lowercase()),
    }
}

fn variable_of(module: &str, of: usize) -> String {
    match of {
        1 => "kernels".to_owned(),
        _ => format!("kernels_{}", module.to_lowercase()),
    }
}

fn mentions_legacy(program: &[Statement]) -> bool {
    program.iter().any(|statement| match &statement.action {
        Action::For(.., body) => mentions_legacy(body),
        other => format!("{other:?}").contains("\"legacy\""),
    })
}

struct Body {
    text: String,
    depth: usize,
    kinds: BTreeMap<String, Kind>,
    /// Memory that something writes to through its own name.
    mutable: BTreeSet<String>,
    /// What the program imports besides.
    uses: BTreeSet<&'static str>,
}

impl Body {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.depth));
    }

    fn find_mutable(&mut self, program: &[Statement]) {
        for statement in program {
            match &statement.action {
                Action::For(.., body) => self.find_mutable(body),
                Action::Memory(kind, declared, _) => {
                    for (array, _) in declared {
                        self.kinds.insert(array.name.clone(), Kind::Memory(*kind));
                    }
                }
                Action::Launch(launch) => {
                    let Some(kernel) = kernels::find(&launch.kernel) else {
                        continue;
                    };
                    for ((_, parameter), argument) in
                        kernel.parameters.iter().zip(&launch.arguments)
                    {
                        if matches!(parameter, Parameter::Output | Parameter::Pointer) {
                            self.writes(as_elements(argument).as_ref());
                        }
                    }
                }
                Action::Call(Call::Copy { to, .. } | Call::Zero(to) | Call::Fill(to, _)) => {
                    self.writes(Some(to))
                }
                _ => {}
            }
        }
    }

    fn writes(&mut self, to: Option<&ElementRange>) {
        let Some(to) = to else {
            return;
        };
        // A range of the device's memory is an object of its own.
        if to.range.is_none() || !self.is_device(&to.memory) {
            self.mutable.insert(to.memory.name.clone());
        }
    }

    fn is_device(&self, memory: &Object) -> bool {
        self.kinds.get(&memory.name) == Some(&Kind::Memory(MemoryKind::Device))
    }

    fn modules(&mut self, statements: &[Statement], modules: usize) {
        for statement in statements {
            self.statement(&statement.action, modules);
        }
    }

    fn statement(&mut self, action: &Action, modules: usize) {
        match action {
            Action::Let(name, value) if is_constant(name, value) => {
                self.line(&format!("const {name}: usize = {value};"));
            }
            Action::Let(name, value) => self.line(&format!("let {name} = {value};")),
            Action::Streams(blocking, arrays) => {
                let new = match blocking {
                    true => "Stream::new(StreamFlags::DEFAULT, None)",
                    false => "stream::non_blocking()",
                };
                for NamedArray { name, count } in arrays {
                    let label = name.replace('_', " ");
                    let text = match count {
                        None => format!("let {name} = {new}?.named(\"{label}\");"),
                        Some(count) => format!(
                            "let {name} = (0..{}).map(|n| {new}.map(|each| each.named(&format!(\"{label} {{n}}\")))).collect::<CudaResult<Vec<_>>>()?;",
                            count.as_word()
                        ),
                    };
                    self.line(&text);
                }
            }
            Action::Events(timed, arrays) => {
                let flags = if *timed { "DEFAULT" } else { "DISABLE_TIMING" };
                for array in arrays {
                    self.objects(array, "", &format!("Event::new(EventFlags::{flags})"));
                }
            }
            Action::Memory(kind, declared, stream) => {
                for (array, length) in declared {
                    self.memory(*kind, array, length, stream.as_ref());
                }
            }
            Action::For(name, from, to, body) => {
                self.line(&format!(
                    "for {name} in {}..{} {{",
                    from.as_word(),
                    to.as_word()
                ));
                self.depth += 1;
                self.modules(body, modules);
                self.depth -= 1;
                self.line("}");
            }
            Action::Launch(launch) => self.launch(launch, modules),
            Action::EndCapture(name, stream) => {
                self.uses.insert("cuda_host::capture");
                self.line(&format!(
                    "let {name} = capture::end({})?.instantiate()?;",
                    by_reference(stream)
                ));
            }
            Action::Call(call) => self.call(call),
        }
    }

    fn objects(&mut self, NamedArray { name, count }: &NamedArray, mutable: &str, new: &str) {
        let text = match count {
            None => format!("let {mutable}{name} = {new}?;"),
            Some(count) => format!(
                "let {mutable}{name} = (0..{}).map(|_| {new}).collect::<CudaResult<Vec<_>>>()?;",
                count.as_word()
            ),
        };
        self.line(&text);
    }

    fn memory(
        &mut self,
        kind: MemoryKind,
        array: &NamedArray,
        length: &Expression,
        stream: Option<&Object>,
    ) {
        self.kinds.insert(array.name.clone(), Kind::Memory(kind));
        let mutable = if self.mutable.contains(&array.name) {
            "mut "
        } else {
            ""
        };
        match (kind, stream) {
            (MemoryKind::Device, stream) => {
                let new = match stream {
                    Some(stream) => format!(
                        "DeviceBuffer::<f32>::uninitialized_async({length}, {})",
                        by_reference(stream)
                    ),
                    None => format!("DeviceBuffer::<f32>::uninitialized({length})"),
                };
                self.objects(array, mutable, &format!("unsafe {{ {new} }}"));
            }
            (MemoryKind::Pinned, _) => self.objects(
                array,
                mutable,
                &format!("LockedBuffer::new(&0f32, {length})"),
            ),
            (MemoryKind::Pageable, _) => {
                let one = format!("vec![0f32; {length}]");
                let all = match &array.count {
                    None => one,
                    Some(count) => format!("vec![{one}; {count}]"),
                };
                self.line(&format!("let {mutable}{} = {all};", array.name));
            }
        }
    }

    fn launch(&mut self, launch: &Launch, modules: usize) {
        let Some(kernel) = kernels::find(&launch.kernel) else {
            return;
        };
        let arguments: Vec<String> = kernel
            .parameters
            .iter()
            .zip(&launch.arguments)
            .map(|((_, parameter), argument)| self.argument(*parameter, argument))
            .collect();
        // The macro takes the name of a stream.
        let (before, stream) = match &launch.stream.index {
            Some(_) => (
                format!("let stream = {}; ", by_reference(&launch.stream)),
                "stream",
            ),
            None => (String::new(), launch.stream.name.as_str()),
        };
        self.line(&format!(
            "unsafe {{ {before}launch!({}.{}<<<{}, {}, 0, {stream}>>>({}))? }};",
            variable_of(kernel.module, modules),
            kernel.name,
            launch.blocks.cast("u32"),
            launch.threads.cast("u32"),
            arguments.join(", ")
        ));
    }

    fn argument(&self, parameter: Parameter, argument: &Argument) -> String {
        match (parameter, argument) {
            (_, Argument::Float(_, text)) => text.clone(),
            (Parameter::Float, Argument::Value(value)) => format!("{} as f32", value.as_word()),
            (Parameter::Whole, Argument::Value(value)) => value.cast("u32"),
            (parameter, argument) => {
                let memory = as_elements(argument)
                    .map(|memory| self.elements(&memory))
                    .unwrap_or_default();
                match parameter {
                    Parameter::Input => format!("&{memory}"),
                    _ => format!("&mut {memory}"),
                }
            }
        }
    }

    fn elements(&self, elements: &ElementRange) -> String {
        let memory = object(&elements.memory);
        match (&elements.range, self.is_device(&elements.memory)) {
            (None, _) => memory,
            (Some((from, to)), true) => {
                format!("{memory}.index({}..{})", from.as_word(), to.as_word())
            }
            (Some((from, to)), false) => format!("{memory}[{}..{}]", from.as_word(), to.as_word()),
        }
    }

    fn copy(&mut self, stream: Option<&Object>, to: &ElementRange, from: &ElementRange) {
        let to_device = self.is_device(&to.memory);
        let (to, from) = (self.elements(to), self.elements(from));
        let copied = |name: &str, stream: &str| match to_device {
            true => format!("{to}.{name}_from(&{from}{stream})?"),
            false => format!("{from}.{name}_to(&mut {to}{stream})?"),
        };
        match stream {
            Some(stream) => {
                let call = copied("async_copy", &format!(", {}", by_reference(stream)));
                self.line(&format!("unsafe {{ {call} }};"));
            }
            None => self.line(&format!("{};", copied("copy", ""))),
        }
    }

    fn call(&mut self, call: &Call) {
        let text = match call {
            Call::Copy { stream, to, from } => return self.copy(stream.as_ref(), to, from),
            Call::Zero(elements) => format!("{}.set_zero()?;", self.elements(elements)),
            Call::Free {
                stream: Some(stream),
                memory,
            } => format!("{}.drop_async({})?;", object(memory), by_reference(stream)),
            Call::Free {
                stream: None,
                memory,
            } => format!("drop({});", object(memory)),
            Call::Record { event, stream } => {
                format!("{}.record({})?;", object(event), by_reference(stream))
            }
            Call::Wait { stream, event } => {
                format!("{}.wait({})?;", object(stream), by_reference(event))
            }
            Call::Synchronize(Some(waited)) => format!("{}.synchronize()?;", object(waited)),
            Call::Synchronize(None) => {
                self.uses.insert("cust::context::CurrentContext");
                "CurrentContext::synchronize()?;".to_owned()
            }
            Call::Fill(elements, batch) => {
                format!("labs::fill(&mut {}, {batch});", self.elements(elements))
            }
            Call::CpuWork(microseconds) => {
                self.uses.insert("std::time::Duration");
                format!(
                    "labs::cpu_work(Duration::from_micros({}));",
                    microseconds.cast("u64")
                )
            }
            Call::HandInTime { start, end } => format!(
                "labs::hand_in_time(\"kernel\", {}.elapsed({})?);",
                object(end),
                by_reference(start)
            ),
            Call::HandIn(memory) => format!("labs::hand_in({})?;", by_reference(memory)),
            Call::KeepInPool(bytes) => {
                self.uses.insert("cust::context::CurrentContext");
                let bytes = match bytes {
                    Expression::Name(name) if name == "all" => "u64::MAX".to_owned(),
                    other => other.cast("u64"),
                };
                format!(
                    "MemoryPool::default_of(CurrentContext::get_device()?)?.set_release_threshold({bytes})?;"
                )
            }
            Call::BeginCapture(stream) => {
                self.uses.insert("cuda_host::capture");
                format!("capture::begin({})?;", by_reference(stream))
            }
            Call::LaunchGraph { graph, stream } => format!(
                "unsafe {{ {}.launch({})? }};",
                object(graph),
                by_reference(stream)
            ),
        };
        self.line(&text);
    }
}

/// Names in capitals that depend on such names only are constants.
pub(crate) fn is_constant(name: &str, value: &Expression) -> bool {
    let is_capital = |name: &str| !name.chars().any(char::is_lowercase);
    is_capital(name) && value.names().into_iter().all(is_capital)
}

fn object(object: &Object) -> String {
    match &object.index {
        Some(index) => format!("{}[{index}]", object.name),
        None => object.name.clone(),
    }
}

fn by_reference(of: &Object) -> String {
    format!("&{}", object(of))
}

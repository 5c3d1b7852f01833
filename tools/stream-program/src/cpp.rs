//! The program as CUDA C++, with the runtime API.

use crate::check::as_elements;
use crate::kernels::{self, Kernel, Parameter};
use crate::run::launched;
use crate::rust::is_constant;
use crate::syntax::{
    Action, Argument, Call, ElementRange, Expression, Launch, MemoryKind, NamedArray, Object,
    Statement, StreamProgram,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const HEAD: &str = r#"// Written from a stream program. What is declared and not defined here is the kernels' and the labs'.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                      \
    do {                                                                 \
        cudaError_t error = (call);                                      \
        if (error != cudaSuccess) {                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorName(error)); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

void labs_fill(float* memory, size_t length, size_t batch);
void labs_cpu_work(size_t microseconds);
void labs_hand_in(const float* result, size_t length);
"#;

/// Writes the CUDA C++ that a program stands for. The program has been [checked](crate::check::check).
pub fn translate(program: &StreamProgram) -> String {
    let mut body = Body {
        text: String::new(),
        depth: 1,
        memory: BTreeMap::new(),
        events: BTreeSet::new(),
    };
    body.statements(program);
    let mut text = HEAD.to_owned();
    for kernel in launched(program) {
        let _ = writeln!(text, "\n// {}\n{}", kernel.does, declaration(kernel));
    }
    let _ = write!(text, "\nint main() {{\n{}    return 0;\n}}\n", body.text);
    text
}

fn declaration(kernel: &Kernel) -> String {
    let parameters: Vec<String> = kernel
        .parameters
        .iter()
        .map(|(name, parameter)| match parameter {
            Parameter::Input => format!("const float* {name}, size_t {name}_length"),
            Parameter::Output => format!("float* {name}, size_t {name}_length"),
            Parameter::Pointer => format!("float* {name}"),
            Parameter::Float => format!("float {name}"),
            Parameter::Whole => format!("uint32_t {name}"),
        })
        .collect();
    format!(
        "__global__ void {}({});",
        kernel.name,
        parameters.join(", ")
    )
}

struct Body {
    text: String,
    depth: usize,
    /// Where memory lies, and its length.
    memory: BTreeMap<String, (MemoryKind, Expression)>,
    events: BTreeSet<String>,
}

impl Body {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.depth));
    }

    /// A call of the runtime.
    fn check(&mut self, call: &str) {
        self.line(&format!("CHECK({call});"));
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(&statement.action);
        }
    }

    fn statement(&mut self, action: &Action) {
        match action {
            Action::Let(name, value) if is_constant(name, value) => {
                self.line(&format!("constexpr size_t {name} = {value};"))
            }
            Action::Let(name, value) => self.line(&format!("const size_t {name} = {value};")),
            Action::Streams(blocking, arrays) => {
                let flag = if *blocking {
                    "cudaStreamDefault"
                } else {
                    "cudaStreamNonBlocking"
                };
                for array in arrays {
                    self.objects(array, "cudaStream_t", |name| {
                        format!("cudaStreamCreateWithFlags(&{name}, {flag})")
                    });
                }
            }
            Action::Events(timed, arrays) => {
                let flag = if *timed {
                    "cudaEventDefault"
                } else {
                    "cudaEventDisableTiming"
                };
                for array in arrays {
                    self.events.insert(array.name.clone());
                    self.objects(array, "cudaEvent_t", |name| {
                        format!("cudaEventCreateWithFlags(&{name}, {flag})")
                    });
                }
            }
            Action::Memory(kind, declared, stream) => {
                for (array, length) in declared {
                    self.allocate(*kind, array, length, stream.as_ref());
                }
            }
            Action::For(name, from, to, body) => {
                self.line(&format!(
                    "for (size_t {name} = {from}; {name} < {}; {name}++) {{",
                    to.as_word()
                ));
                self.depth += 1;
                self.statements(body);
                self.depth -= 1;
                self.line("}");
            }
            Action::Launch(launch) => self.launch(launch),
            Action::EndCapture(name, stream) => {
                self.line(&format!("cudaGraph_t {name}_nodes;"));
                self.check(&format!(
                    "cudaStreamEndCapture({}, &{name}_nodes)",
                    object(stream)
                ));
                self.line(&format!("cudaGraphExec_t {name};"));
                self.check(&format!("cudaGraphInstantiate(&{name}, {name}_nodes, 0)"));
            }
            Action::Call(call) => self.call(call),
        }
    }

    fn objects(
        &mut self,
        NamedArray { name, count }: &NamedArray,
        kind: &str,
        new: impl Fn(&str) -> String,
    ) {
        match count {
            None => {
                self.line(&format!("{kind} {name};"));
                self.check(&new(name));
            }
            Some(count) => {
                self.line(&format!("std::vector<{kind}> {name}({count});"));
                self.line(&format!(
                    "for ({kind}& each : {name}) CHECK({});",
                    new("each")
                ));
            }
        }
    }

    fn allocate(
        &mut self,
        kind: MemoryKind,
        array: &NamedArray,
        length: &Expression,
        stream: Option<&Object>,
    ) {
        self.memory
            .insert(array.name.clone(), (kind, length.clone()));
        let bytes = format!("{} * sizeof(float)", length.as_word());
        if kind == MemoryKind::Pageable {
            let one = format!("static_cast<float*>(calloc({length}, sizeof(float)))");
            match &array.count {
                None => self.line(&format!("float* {} = {one};", array.name)),
                Some(count) => {
                    self.line(&format!("std::vector<float*> {}({count});", array.name));
                    self.line(&format!(
                        "for (float*& each : {}) each = {one};",
                        array.name
                    ));
                }
            }
            return;
        }
        self.objects(array, "float*", |name| match (kind, stream) {
            (MemoryKind::Pinned, _) => format!("cudaMallocHost(&{name}, {bytes})"),
            (_, Some(stream)) => format!("cudaMallocAsync(&{name}, {bytes}, {})", object(stream)),
            (_, None) => format!("cudaMalloc(&{name}, {bytes})"),
        });
    }

    fn launch(&mut self, launch: &Launch) {
        let Some(kernel) = kernels::find(&launch.kernel) else {
            return;
        };
        let arguments: Vec<String> = kernel
            .parameters
            .iter()
            .zip(&launch.arguments)
            .map(|((_, parameter), argument)| self.argument(*parameter, argument))
            .collect();
        self.line(&format!(
            "{}<<<{}, {}, 0, {}>>>({});",
            kernel.name,
            launch.blocks.as_word(),
            launch.threads.as_word(),
            object(&launch.stream),
            arguments.join(", ")
        ));
        self.check("cudaGetLastError()");
    }

    fn argument(&self, parameter: Parameter, argument: &Argument) -> String {
        match (parameter, argument) {
            (_, Argument::Float(_, text)) => format!("{text}f"),
            (Parameter::Float, Argument::Value(value)) => format!("static_cast<float>({value})"),
            (Parameter::Whole, Argument::Value(value)) => format!("static_cast<uint32_t>({value})"),
            (parameter, argument) => {
                let Some(elements) = as_elements(argument) else {
                    return String::new();
                };
                let (pointer, length) = self.elements(&elements);
                match parameter {
                    Parameter::Pointer => pointer,
                    _ => format!("{pointer}, {length}"),
                }
            }
        }
    }

    /// A pointer and a number of elements.
    fn elements(&self, elements: &ElementRange) -> (String, String) {
        let pointer = object(&elements.memory);
        match &elements.range {
            Some((from, to)) => (
                format!("{pointer} + {from}"),
                format!("{} - {}", to.as_word(), from.as_word()),
            ),
            None => (
                pointer,
                self.memory
                    .get(&elements.memory.name)
                    .map(|(_, length)| length.to_string())
                    .unwrap_or_default(),
            ),
        }
    }

    fn kind(&self, memory: &Object) -> MemoryKind {
        self.memory
            .get(&memory.name)
            .map_or(MemoryKind::Device, |(kind, _)| *kind)
    }

    fn copy(&mut self, stream: Option<&Object>, to: &ElementRange, from: &ElementRange) {
        let word = |kind| {
            if kind == MemoryKind::Device {
                "Device"
            } else {
                "Host"
            }
        };
        let kind = format!(
            "cudaMemcpy{}To{}",
            word(self.kind(&from.memory)),
            word(self.kind(&to.memory))
        );
        let ((to, length), (from, _)) = (self.elements(to), self.elements(from));
        match stream {
            Some(stream) => self.check(&format!(
                "cudaMemcpyAsync({to}, {from}, ({length}) * sizeof(float), {kind}, {})",
                object(stream)
            )),
            None => self.check(&format!(
                "cudaMemcpy({to}, {from}, ({length}) * sizeof(float), {kind})"
            )),
        }
    }

    fn free(&mut self, stream: Option<&Object>, memory: &Object) {
        let name = object(memory);
        match (stream, self.kind(memory)) {
            (Some(stream), _) => self.check(&format!("cudaFreeAsync({name}, {})", object(stream))),
            (None, MemoryKind::Device) => self.check(&format!("cudaFree({name})")),
            (None, MemoryKind::Pinned) => self.check(&format!("cudaFreeHost({name})")),
            (None, MemoryKind::Pageable) => self.line(&format!("free({name});")),
        }
    }

    fn call(&mut self, call: &Call) {
        match call {
            Call::Copy { stream, to, from } => self.copy(stream.as_ref(), to, from),
            Call::Zero(elements) => {
                let (pointer, length) = self.elements(elements);
                self.check(&format!(
                    "cudaMemset({pointer}, 0, ({length}) * sizeof(float))"
                ));
            }
            Call::Free { stream, memory } => self.free(stream.as_ref(), memory),
            Call::Record { event, stream } => self.check(&format!(
                "cudaEventRecord({}, {})",
                object(event),
                object(stream)
            )),
            Call::Wait { stream, event } => self.check(&format!(
                "cudaStreamWaitEvent({}, {}, 0)",
                object(stream),
                object(event)
            )),
            Call::Synchronize(None) => self.check("cudaDeviceSynchronize()"),
            Call::Synchronize(Some(waited)) => {
                let kind = if self.events.contains(&waited.name) {
                    "Event"
                } else {
                    "Stream"
                };
                self.check(&format!("cuda{kind}Synchronize({})", object(waited)));
            }
            Call::Fill(elements, batch) => {
                let (pointer, length) = self.elements(elements);
                self.line(&format!("labs_fill({pointer}, {length}, {batch});"));
            }
            Call::CpuWork(microseconds) => self.line(&format!("labs_cpu_work({microseconds});")),
            Call::HandInTime { start, end } => {
                self.line("float milliseconds;");
                self.check(&format!(
                    "cudaEventElapsedTime(&milliseconds, {}, {})",
                    object(start),
                    object(end)
                ));
                self.line("printf(\"kernel: %.3f ms\\n\", milliseconds);");
            }
            Call::HandIn(memory) => {
                let whole = ElementRange {
                    memory: memory.clone(),
                    range: None,
                };
                let (pointer, length) = self.elements(&whole);
                self.line(&format!("labs_hand_in({pointer}, {length});"));
            }
            Call::KeepInPool(bytes) => {
                let bytes = match bytes {
                    Expression::Name(name) if name == "all" => "UINT64_MAX".to_owned(),
                    other => other.to_string(),
                };
                self.line("cudaMemPool_t pool;");
                self.check("cudaDeviceGetDefaultMemPool(&pool, 0)");
                self.line(&format!("uint64_t threshold = {bytes};"));
                self.check(
                    "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold)",
                );
            }
            Call::BeginCapture(stream) => self.check(&format!(
                "cudaStreamBeginCapture({}, cudaStreamCaptureModeThreadLocal)",
                object(stream)
            )),
            Call::LaunchGraph { graph, stream } => self.check(&format!(
                "cudaGraphLaunch({}, {})",
                object(graph),
                object(stream)
            )),
        }
    }
}

fn object(object: &Object) -> String {
    match (&object.index, object.name.as_str()) {
        (Some(index), name) => format!("{name}[{index}]"),
        (None, "legacy") => "cudaStreamLegacy".to_owned(),
        (None, name) => name.to_owned(),
    }
}

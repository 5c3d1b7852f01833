//! What a panic costs on a GPU.
//!
//! A panic of Rust formats its message, which takes a kernel of ten registers to fifty and needs a stack. So a module may do
//! without: instead of calling `core`'s function, the kernel stores a number and traps, and the module's last lines say what each
//! number means. The calls and the functions that they reach stay in the text, behind [`HIDDEN`]: a comment for `ptxas`, and code
//! for the software GPU, which shows the whole message.

use std::collections::{BTreeMap, BTreeSet};

/// How a kernel panics on a GPU. The software GPU always shows the whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanicMode {
    /// The message, file, line, block and thread, which the driver prints; the host gets `CUDA_ERROR_ASSERT`. Takes about 50
    /// registers and 700 bytes of stack.
    Message,
    /// A number, which stands for file, line and kind, for a host that asks for it in the module's variable `cuda_std_panic`; then a
    /// trap. Takes no register.
    Location,
    /// A trap: the host gets `CUDA_ERROR_LAUNCH_FAILED`.
    Trap,
}

/// Stands before lines that only the software GPU reads.
const HIDDEN: &str = "//software-gpu:";

/// The name of the variable with the address to which a panic stores its number; 0 if the host does not ask.
const RECORD: &str = "cuda_std_panic";

/// The module with panics of that mode. Names are without the hashes of crates.
pub(crate) fn lower(assembly: &str, mode: PanicMode) -> String {
    if mode == PanicMode::Message {
        return assembly.to_owned();
    }
    let module = ModuleText::new(assembly);
    let mut hidden = vec![false; module.lines.len()];
    let mut inserted = BTreeMap::new();
    let mut places: Vec<String> = Vec::new();
    for function in module.items.iter().filter(|item| item.has_body) {
        if module.is_panic(function.name) {
            continue;
        }
        for call in module.calls(function) {
            hidden[call.first..=call.last].fill(true);
            let place = module.place(function, &call, 0);
            let place = place.unwrap_or_else(|| "an unknown place".into());
            let text = format!("{place}: {}", kind(call.callee));
            let number = places.iter().position(|known| *known == text);
            let number = number.unwrap_or_else(|| {
                places.push(text);
                places.len() - 1
            });
            inserted.insert(call.last, code(mode, number + 1));
        }
    }
    if places.is_empty() {
        return assembly.to_owned();
    }
    module.hide_unreachable(&mut hidden);

    let mut text = String::with_capacity(assembly.len() * 2);
    for (at, line) in module.lines.iter().enumerate() {
        if hidden[at] {
            text.push_str(HIDDEN);
        }
        text.push_str(line);
        text.push('\n');
        text.push_str(inserted.get(&at).map_or("", String::as_str));
        if mode == PanicMode::Location && line.starts_with(".address_size") {
            text += &format!("\n.visible .global .align 8 .u64 {RECORD};\n");
        }
    }
    for (number, place) in places.iter().enumerate() {
        text += &format!("// panic {}: {place}\n", number + 1);
    }
    text
}

/// What a panic does on a GPU.
fn code(mode: PanicMode, number: usize) -> String {
    if mode == PanicMode::Trap {
        return format!("\t// panic {number}\n\ttrap;\n");
    }
    format!(
        "\t{{ // panic {number}\n\t.reg .pred \t%panic_asked;\n\t.reg .b64 \t%panic_record;\n\
         \tld.global.b64 \t%panic_record, [{RECORD}];\n\tsetp.ne.s64 \t%panic_asked, %panic_record, 0;\n\
         \t@%panic_asked st.global.b32 \t[%panic_record], {number};\n\tmembar.sys;\n\ttrap;\n\t}}\n"
    )
}

/// The kind of a panic, by the function of `core` that ends it.
fn kind(function: &str) -> String {
    const KINDS: [(&str, &str); 5] = [
        ("panic_bounds_check", "index out of bounds"),
        ("assert_failed", "assertion failed"),
        (
            "unwrap_failed",
            "`unwrap` or `expect` of nothing or an error",
        ),
        ("expect_failed", "`expect` of nothing"),
        ("slice_", "a range outside of its slice"),
    ];
    if let Some((_, rest)) = function.split_once("panic_const_") {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let name = name
            .replace("div_by_zero", "divide by zero")
            .replace('_', " ");
        return match name.contains("zero") {
            true => format!("attempt to {name}"),
            false => name,
        };
    }
    let known = KINDS.iter().find(|(name, _)| function.contains(name));
    known.map_or("a panic", |(_, kind)| kind).into()
}

/// A module's text, cut into what it declares.
struct ModuleText<'a> {
    lines: Vec<&'a str>,
    items: Vec<Item<'a>>,
    /// The functions of `core` and `alloc` that do not return.
    panics: BTreeSet<&'a str>,
}

/// A function or variable: its lines, from the first to the last.
#[derive(Clone, Copy)]
struct Item<'a> {
    name: &'a str,
    first: usize,
    last: usize,
    has_body: bool,
    /// The host finds it by its name.
    is_visible: bool,
    is_variable: bool,
}

/// A call that does not return: its lines, from `{` to `}`.
struct PanicCall<'a> {
    first: usize,
    last: usize,
    callee: &'a str,
}

impl<'a> ModuleText<'a> {
    fn new(assembly: &'a str) -> Self {
        let lines: Vec<&str> = assembly.lines().collect();
        let mut items = Vec::new();
        let mut first = 0;
        while first < lines.len() {
            match Item::at(&lines, first) {
                Some(item) => {
                    first = item.last + 1;
                    items.push(item);
                }
                None => first += 1,
            }
        }
        let ends = |item: &&Item| {
            let body = &lines[item.first..=item.last];
            item.has_body && is_of_core(item.name) && !body.iter().any(|line| line.trim() == "ret;")
        };
        let panics = items.iter().filter(ends).map(|item| item.name).collect();
        Self {
            lines,
            items,
            panics,
        }
    }

    fn is_panic(&self, name: &str) -> bool {
        self.panics.contains(name)
    }

    /// The calls of a function that panic.
    fn calls(&self, function: &Item<'a>) -> Vec<PanicCall<'a>> {
        let mut calls = Vec::new();
        let mut first = None;
        let mut callee = None;
        for at in function.first..=function.last {
            let line = self.lines[at].trim();
            if line.starts_with("{ // callseq ") {
                (first, callee) = (Some(at), None);
            } else if let Some(call) = line.strip_prefix("call.uni ") {
                callee = call.split(',').next();
            } else if line.starts_with("} // callseq ")
                && let (Some(first), Some(callee)) = (first.take(), callee)
                && self.is_panic(callee)
            {
                let last = at;
                calls.push(PanicCall {
                    first,
                    last,
                    callee,
                });
            }
        }
        calls
    }

    /// File, line and column of a panic: the last argument, or, where LLVM has moved it into the function that is called, that
    /// function's.
    fn place(&self, function: &Item<'a>, call: &PanicCall<'a>, depth: usize) -> Option<String> {
        /// Functions of `core` between a kernel and the one that formats.
        const MOST: usize = 8;
        let argument = self.last_argument(call);
        let constant = argument.and_then(|register| self.constant(function, register));
        if let Some(place) = constant.and_then(|name| self.location(name)) {
            return Some(place);
        }
        let callee = self
            .items
            .iter()
            .find(|item| item.has_body && item.name == call.callee)?;
        let calls = self.calls(callee);
        if depth == MOST || calls.len() != 1 {
            return None;
        }
        self.place(callee, &calls[0], depth + 1)
    }

    /// The register of a call's last argument.
    fn last_argument(&self, call: &PanicCall<'_>) -> Option<&'a str> {
        let lines = &self.lines[call.first..call.last];
        let line = lines.iter().find(|line| line.contains("call.uni "))?;
        let list = line.rsplit_once('(')?.1.split(')').next()?;
        let name = list.rsplit(", ").next()?;
        let stored = format!("[{name}], ");
        let line = lines
            .iter()
            .find(|line| line.contains("st.param.b64") && line.contains(&stored))?;
        Some(line.split_once(", ")?.1.trim_end_matches(';'))
    }

    /// The variable whose generic address a register holds, if only one line gives it a value.
    fn constant(&self, function: &Item<'_>, register: &str) -> Option<&'a str> {
        let source = |opcode: &str, register: &str| {
            let written = format!("\t{register}, ");
            let lines = self.lines[function.first..=function.last].iter();
            let mut lines = lines.filter(|line| line.contains(&written));
            match (lines.next(), lines.next()) {
                (Some(line), None) if line.trim_start().starts_with(opcode) => {
                    Some(line.split_once(", ")?.1.trim_end_matches(';'))
                }
                _ => None,
            }
        };
        source("mov.b64", source("cvta.global.u64", register)?)
    }

    /// What a `core::panic::Location` in memory says.
    fn location(&self, name: &str) -> Option<String> {
        let values = self.values(name)?;
        let [file, length, line] = values.split(", ").collect::<Vec<_>>()[..] else {
            return None;
        };
        let file = file.strip_prefix("generic(")?.strip_suffix(')')?;
        let bytes = self.values(file)?;
        let bytes = bytes.split(", ").map_while(|byte| byte.parse::<u8>().ok());
        let bytes: Vec<u8> = bytes.take(length.parse().ok()?).collect();
        let file = String::from_utf8(bytes).ok()?;
        let line: u64 = line.parse().ok()?;
        Some(format!("{file}:{}:{}", line as u32, line >> 32))
    }

    /// The initial values of a variable.
    fn values(&self, name: &str) -> Option<&'a str> {
        let variable = self
            .items
            .iter()
            .find(|item| item.is_variable && item.name == name)?;
        let (_, values) = self.lines[variable.first].split_once("= {")?;
        values.strip_suffix("};")
    }

    /// Hides what no visible line reaches from a kernel or from what else the host can find.
    fn hide_unreachable(&self, hidden: &mut [bool]) {
        let mut by_name: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for item in &self.items {
            by_name.entry(item.name).or_default().push(item);
        }
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let visible = self.items.iter().filter(|item| item.is_visible);
        let mut waiting: Vec<&str> = visible.map(|item| item.name).collect();
        while let Some(name) = waiting.pop() {
            if !reached.insert(name) {
                continue;
            }
            for item in &by_name[name] {
                let lines = (item.first..=item.last).filter(|at| !hidden[*at]);
                let words = lines.flat_map(|at| self.lines[at].split(|c| !is_name(c)));
                waiting.extend(words.filter(|word| by_name.contains_key(word)));
            }
        }
        for item in self
            .items
            .iter()
            .filter(|item| !reached.contains(item.name))
        {
            hidden[item.first..=item.last].fill(true);
        }
    }
}

impl<'a> Item<'a> {
    /// What begins at a line.
    fn at(lines: &[&'a str], first: usize) -> Option<Self> {
        let line = lines[first];
        let words = || line.split([' ', '\t']);
        let is_visible = line.starts_with(".visible") || line.starts_with(".extern");
        let kind = words().find(|word| *word != ".visible" && *word != ".extern")?;
        let is_variable = matches!(kind, ".global" | ".const" | ".shared");
        let name = match (kind, is_variable) {
            (".entry" | ".func", _) => {
                // A result stands in parentheses before the name.
                let head = line.split_once(") ").map_or(line, |(_, name)| name);
                head.split(' ').next_back()?.split('(').next()?
            }
            (_, true) => {
                let declared = line.split([';', '=']).next()?.trim_end();
                declared.split(' ').next_back()?.split('[').next()?
            }
            _ => return None,
        };
        let rest = || lines[first..].iter();
        let (last, has_body) = match is_variable {
            true => (first, false),
            false => {
                let length = rest().position(|line| *line == ";" || *line == "}")?;
                (first + length, lines[first + length] == "}")
            }
        };
        Some(Self {
            name,
            first,
            last,
            has_body,
            // A symbol that is only declared is defined elsewhere.
            is_visible: is_visible && line.starts_with(".visible"),
            is_variable,
        })
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

/// Whether a mangled name begins with a path of `core` or `alloc`.
fn is_of_core(name: &str) -> bool {
    let of_crate =
        |(at, _): (usize, &str)| name[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let first = name
        .match_indices('C')
        .map(|found| (found.0, found.1))
        .find(|found| of_crate(*found));
    name.starts_with("_R")
        && first.is_some_and(|(at, _)| {
            ["4core", "5alloc"]
                .iter()
                .any(|path| name[at + 1..].starts_with(path))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that checks an index, one whose panic LLVM has moved, and one that calls its own function that does not return.
    const ASSEMBLY: &str = "\
.address_size 64

.global .align 1 .b8 anon_0[11] = {115, 114, 99, 47, 108, 105, 98, 46, 114, 115};
.global .align 8 .u64 anon_1[3] = {generic(anon_0), 10, 38654705677};
.visible .entry index(
\t.param .u64 index_param_0
)
{
\tld.param.b64 \t%rd1, [index_param_0];
\t{ // callseq 1, 0
\t.param .b64 \tparam0;
\t.param .b64 \tparam1;
\tst.param.b64 \t[param0], %rd1;
\tmov.b64 \t%rd2, anon_1;
\tcvta.global.u64 \t%rd3, %rd2;
\tst.param.b64 \t[param1], %rd3;
\tcall.uni _RNvNtC4core9panicking18panic_bounds_check, (param0, param1);
\t} // callseq 1
\ttrap; exit;
}
.visible .entry divide()
{
\t{ // callseq 2, 0
\tcall.uni _RNvNtNtC4core9panicking11panic_const23panic_const_div_by_zero, ();
\t} // callseq 2
\ttrap; exit;
}
.visible .entry own()
{
\t{ // callseq 3, 0
\tcall.uni _RNvC7kernels7forever, ();
\t} // callseq 3
\ttrap; exit;
}
.func _RNvNtC4core9panicking18panic_bounds_check(
\t.param .b64 p0,
\t.param .b64 p1
)
{
\ttrap; exit;
}
.func _RNvNtNtC4core9panicking11panic_const23panic_const_div_by_zero()
{
\t{ // callseq 4, 0
\t.param .b64 \tparam0;
\tmov.b64 \t%rd2, anon_1;
\tcvta.global.u64 \t%rd3, %rd2;
\tst.param.b64 \t[param0], %rd3;
\tcall.uni _RNvNtC4core9panicking9panic_fmt, (param0);
\t} // callseq 4
\ttrap; exit;
}
.func _RNvNtC4core9panicking9panic_fmt(
\t.param .b64 p0
)
{
\ttrap; exit;
}
.func _RNvC7kernels7forever()
{
\ttrap; exit;
}
";

    /// The lines for a GPU.
    fn on_gpu(text: &str) -> String {
        let lines = text.lines().filter(|line| !line.starts_with(HIDDEN));
        lines.map(|line| line.to_owned() + "\n").collect()
    }

    #[test]
    fn a_panic_stores_the_number_of_its_place() {
        let text = lower(ASSEMBLY, PanicMode::Location);
        let places = [
            "// panic 1: src/lib.rs:13:9: index out of bounds\n",
            "// panic 2: src/lib.rs:13:9: attempt to divide by zero\n",
        ];
        assert!(text.ends_with(&places.concat()), "{text}");
        let on_gpu = on_gpu(&text);
        for number in [1, 2] {
            let stored = format!("st.global.b32 \t[%panic_record], {number};");
            assert!(on_gpu.contains(&stored), "{on_gpu}");
        }
        assert!(on_gpu.contains(".u64 cuda_std_panic;"), "{on_gpu}");
        assert!(!on_gpu.contains("9panicking"), "{on_gpu}");
        assert!(!on_gpu.contains("anon_"), "{on_gpu}");
        assert!(
            on_gpu.contains("call.uni _RNvC7kernels7forever"),
            "not a panic: {on_gpu}"
        );
        assert!(on_gpu.contains(".func _RNvC7kernels7forever"), "{on_gpu}");
    }

    #[test]
    fn the_software_gpu_reads_hidden_panic_calls() {
        for mode in [PanicMode::Location, PanicMode::Trap] {
            let text = lower(ASSEMBLY, mode).replace(HIDDEN, "");
            let lines: Vec<_> = text.lines().collect();
            let mut at = 0;
            for line in ASSEMBLY.lines() {
                let found = lines[at..].iter().position(|other| *other == line);
                at += found.unwrap_or_else(|| panic!("{line} is not in\n{text}")) + 1;
            }
        }
    }

    #[test]
    fn a_trap_stores_nothing_and_a_message_changes_nothing() {
        let on_gpu = on_gpu(&lower(ASSEMBLY, PanicMode::Trap));
        assert!(on_gpu.contains("// panic 1\n\ttrap;\n"), "{on_gpu}");
        assert!(!on_gpu.contains("cuda_std_panic"), "{on_gpu}");
        assert_eq!(lower(ASSEMBLY, PanicMode::Message), ASSEMBLY);
    }

    #[test]
    fn functions_of_core_are_distinguished_from_others() {
        for (name, is_core) in [
            ("_RINvNtC4core9panicking13assert_failedmmEC7kernels", true),
            ("_RNvNtC5alloc7raw_vec17capacity_overflow", true),
            ("_RNvC7kernels5panic", false),
            ("_RINvC7kernels4failNtC4core5EmptyE", false),
            ("core", false),
        ] {
            assert_eq!(is_of_core(name), is_core, "{name}");
        }
    }
}

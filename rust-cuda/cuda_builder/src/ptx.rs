//! The PTX file: a header that says what it was made of, then what LLVM wrote, with the launch bounds in place.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::inputs::{Digest, Inputs};
use crate::toolchain::DEVICE_RUSTC;
use crate::{CudaBuilderError, NvvmArch, PanicMode, panics};

/// The changes to LLVM's assembly. To be raised with every change of it: older modules are stale then.
pub(crate) const FORMAT: &str = "4: sources of core under /rustc, launch bounds in their entries, shared arrays in the head, a list of inputs, memcmp, names without hashes";

/// What the first lines of a module say beside its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) arch: NvvmArch,
    pub(crate) digest: Digest,
}

impl Header {
    fn lines(&self, inputs: &Inputs, body: &str) -> String {
        let mut lines = format!(
            "// Kernels for {}, compiled by cuda_builder. Do not edit.\n\
             // compiler: rustc {DEVICE_RUSTC}\n\
             // sources: fnv1a {}\n\
             // text: fnv1a {}\n",
            self.arch.target_cpu(),
            self.digest,
            Digest::of(body)
        );
        for file in &inputs.files {
            lines += &format!("{FILE}{file}\n");
        }
        for package in &inputs.packages {
            lines += &format!("{PACKAGE}{package}\n");
        }
        for name in &inputs.variables {
            lines += &format!("{VARIABLE}{name}\n");
        }
        lines
    }
}

const FILE: &str = "// file: ";
const PACKAGE: &str = "// package: ";
const VARIABLE: &str = "// variable: ";

/// The header and the inputs of a module, if it is as [`write`] left it.
pub(crate) fn read(file: &Path) -> Option<(Header, Inputs)> {
    let text = fs::read_to_string(file).ok()?.replace('\r', "");
    let mut inputs = Inputs::default();
    for line in text.lines().skip(FIXED_LINES) {
        if let Some(file) = line.strip_prefix(FILE) {
            inputs.files.insert(file.into());
        } else if let Some(package) = line.strip_prefix(PACKAGE) {
            inputs.packages.insert(package.into());
        } else if let Some(name) = line.strip_prefix(VARIABLE) {
            inputs.variables.insert(name.into());
        } else {
            break;
        }
    }
    let arch = NvvmArch::ALL.iter().copied().rev().find(|arch| {
        let title = text.lines().next().unwrap_or_default();
        title.contains(&format!(" {},", arch.target_cpu()))
    })?;
    let digest = text.lines().nth(2)?.strip_prefix("// sources: fnv1a ")?;
    let header = Header {
        arch,
        digest: Digest::parse(digest)?,
    };
    let lines = FIXED_LINES + inputs.files.len() + inputs.packages.len() + inputs.variables.len();
    let (end, _) = text.match_indices('\n').nth(lines - 1)?;
    let (found, body) = text.split_at(end + 1);
    (found == header.lines(&inputs, body)).then_some((header, inputs))
}

/// Lines of a header before the inputs.
const FIXED_LINES: usize = 4;

/// Writes the module. A reader never sees half of it: it is renamed into place when it is complete. A module that is the same
/// already keeps its time, by which cargo tells what to build again.
pub(crate) fn write(
    file: &Path,
    header: &Header,
    inputs: &Inputs,
    assembly: &str,
    panics: PanicMode,
) -> Result<(), CudaBuilderError> {
    refuse_missing_arithmetic(assembly)?;
    refuse_local_atomics(assembly)?;
    let assembly = declare_shared_arrays(assembly)?;
    let body = place_launch_bounds(&stable_names(&define_memcmp(&assembly)))?;
    let body = panics::lower(&body, panics);
    let text = header.lines(inputs, &body) + &body;
    if fs::read_to_string(file).is_ok_and(|present| present == text) {
        return Ok(());
    }
    // Two builds at the same time write two files.
    let partial = file.with_extension(format!("ptx.{}.partial", std::process::id()));
    file.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(&partial, text))
        .and_then(|()| fs::rename(&partial, file))
        .map_err(|source| {
            // What cannot be moved must not stay; the first error is the one to tell.
            let _ = fs::remove_file(&partial);
            CudaBuilderError::Io {
                action: "write",
                path: file.to_owned(),
                source,
            }
        })
}

/// The compiler's own functions, which it calls for what has no instruction, are not in the module. Others may be linked by
/// the host.
fn refuse_missing_arithmetic(assembly: &str) -> Result<(), CudaBuilderError> {
    let mut declared = assembly
        .lines()
        .filter(|line| line.starts_with(".extern .func"))
        .filter_map(|line| line.split([' ', '\t', '(']).next_back());
    let is_arithmetic = |name: &&str| {
        let of = |prefix: &&str| name.starts_with(prefix);
        [
            "__float", "__fix", "__div", "__udiv", "__mod", "__umod", "__mul", "__pow", "__extend",
            "__trunc",
        ]
        .iter()
        .any(of)
    };
    match declared.find(is_arithmetic) {
        Some(function) => Err(CudaBuilderError::MissingArithmetic {
            function: function.into(),
            caller: caller(assembly, function).map(str::to_owned),
        }),
        None => Ok(()),
    }
}

/// `ptxas` knows no atomic operation on local memory (PTX ISA, "atom").
fn refuse_local_atomics(assembly: &str) -> Result<(), CudaBuilderError> {
    let is_local = |line: &str| {
        let line = line.trim_start();
        let opcode = line.split([' ', '\t']).next().unwrap_or_default();
        let is_atomic = opcode.starts_with("atom.") || opcode.starts_with("red.");
        is_atomic && opcode.split('.').any(|modifier| modifier == "local")
    };
    match assembly.lines().any(is_local) {
        true => Err(CudaBuilderError::LocalAtomic {
            function: enclosing(assembly, is_local).map(str::to_owned),
        }),
        false => Ok(()),
    }
}

/// The kernel or function that calls that function first.
fn caller<'a>(assembly: &'a str, function: &str) -> Option<&'a str> {
    enclosing(assembly, |line| {
        line.trim_start().starts_with("call")
            && line
                .split([' ', ',', '\t'])
                .any(|word| word.trim_end_matches(';') == function)
    })
}

/// The kernel or function with the first such line.
fn enclosing(assembly: &str, is_meant: impl Fn(&str) -> bool) -> Option<&str> {
    let mut name = None;
    for line in assembly.lines() {
        let is_head = [".visible .entry", ".visible .func", ".func"]
            .iter()
            .any(|start| line.starts_with(start));
        if is_head {
            let head = line.rsplit_once('(').map_or(line, |(head, _)| head);
            name = head.split([' ', ')']).rfind(|word| !word.is_empty());
        } else if is_meant(line) {
            return name;
        }
    }
    None
}

/// The declaration of the one function of C that rustc calls and LLVM does not expand: there is no C library to link.
const MEMCMP: &str = ".extern .func  (.param .b32 func_retval0) memcmp";

const MEMCMP_BODY: &str = include_str!("memcmp.ptx");

/// Makes a declaration of `memcmp` a function of the module.
fn define_memcmp(assembly: &str) -> String {
    match assembly.contains(MEMCMP) {
        true => {
            let own = MEMCMP.trim_start_matches(".extern ");
            assembly.replacen(MEMCMP, own, 1) + MEMCMP_BODY
        }
        false => assembly.to_owned(),
    }
}

/// Takes out of names what depends on the place of the checkout: the disambiguators of crates in mangled names, and the hashes
/// of modules in the names of constants.
fn stable_names(assembly: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let mut constants: BTreeMap<&str, usize> = BTreeMap::new();
    let mut text = String::with_capacity(assembly.len());
    let mut rest = assembly;
    while let Some(start) = rest.find(is_name) {
        let (before, after) = rest.split_at(start);
        text.push_str(before);
        let (name, after) = after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()));
        if name.starts_with("_R") {
            text.push_str(&without_disambiguators(name));
        } else if name.starts_with("anon_$_") {
            let next = constants.len();
            let number = constants.entry(name).or_insert(next);
            text.push_str(&format!("anon_{number}"));
        } else {
            text.push_str(name);
        }
        rest = after;
    }
    text + rest
}

/// A name of rustc's mangling, version 0, without the hashes of crates: `Cs`, a number of base 62, `_`, and then a length.
fn without_disambiguators(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("Cs") {
        let hash = &rest[at + 2..];
        let length = hash.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(0);
        let after = &hash[length..];
        let is_hash = length >= 8
            && after.starts_with('_')
            && after[1..].starts_with(|c: char| c.is_ascii_digit());
        text.push_str(&rest[..=at]);
        rest = match is_hash {
            true => &after[1..],
            false => &rest[at + 1..],
        };
    }
    text + rest
}

/// What `shared_array!` leaves in the assembly: this, the array's name, its alignment and its bytes.
const SHARED_ARRAY: &str = "// shared_array ";

/// The shared memory in bytes that a module can declare for a block, on every architecture.
const MOST_SHARED: u64 = 48 << 10;

/// Declares the shared arrays of the comments in front of the first function, each once.
fn declare_shared_arrays(assembly: &str) -> Result<String, CudaBuilderError> {
    let mut arrays: BTreeMap<(usize, &str), &str> = BTreeMap::new();
    let comments = assembly
        .lines()
        .filter_map(|line| line.trim().strip_prefix(SHARED_ARRAY)?.split_once(' '));
    for (name, size) in comments {
        // In the order of the source, which numbers them.
        let number = name
            .rsplit('_')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0);
        let known = arrays.entry((number, name)).or_insert(size);
        if *known != size {
            return Err(CudaBuilderError::SharedArray { name: name.into() });
        }
    }
    for ((_, name), size) in &arrays {
        let bytes = size
            .split_once(' ')
            .and_then(|(_, bytes)| bytes.parse().ok());
        if let Some(bytes) = bytes.filter(|bytes| *bytes > MOST_SHARED) {
            return Err(CudaBuilderError::LargeSharedArray {
                name: (*name).into(),
                bytes,
                most: MOST_SHARED,
            });
        }
    }
    let declarations: String = arrays
        .iter()
        .filter_map(|((_, name), size)| {
            let (align, bytes) = size.split_once(' ')?;
            Some(format!(".shared .align {align} .b8 {name}[{bytes}];\n"))
        })
        .collect();
    let mut text = String::with_capacity(assembly.len() + declarations.len());
    for line in assembly
        .lines()
        .filter(|line| !line.trim().starts_with(SHARED_ARRAY))
    {
        text.push_str(line);
        text.push('\n');
        if line.starts_with(".address_size") && !declarations.is_empty() {
            text.push('\n');
            text.push_str(&declarations);
        }
    }
    Ok(text)
}

/// What `#[kernel(launch_bounds(..))]` leaves in the assembly: this, the kernel's name, its directives.
const MARK: &str = "// launch_bounds ";

/// Moves launch bounds from the comments that carry them into the headers of their entries.
fn place_launch_bounds(assembly: &str) -> Result<String, CudaBuilderError> {
    let mut bounds: BTreeMap<&str, &str> = assembly
        .lines()
        .filter_map(|line| line.trim().strip_prefix(MARK)?.split_once(' '))
        .collect();

    let mut text = String::with_capacity(assembly.len());
    let mut pending = None;
    for line in assembly
        .lines()
        .filter(|line| !line.trim().starts_with(MARK))
    {
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            pending = entry.split('(').next().and_then(|name| bounds.remove(name));
        }
        if line.ends_with(')')
            && let Some(directives) = pending.take()
        {
            text.push_str(directives);
            text.push('\n');
        }
    }
    match bounds.into_keys().next() {
        Some(kernel) => Err(CudaBuilderError::LaunchBounds {
            kernel: kernel.into(),
        }),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const ASSEMBLY: &str = "\
.version 6.0
// launch_bounds two .maxntid 256 .minnctapersm 4
.visible .entry one(
\t.param .u64 one_param_0
)
{
\tret;
}
.visible .entry two(
\t.param .u64 two_param_0
)
{
\tcall.uni f, (r);
}
";

    #[test]
    fn launch_bounds_go_to_their_entry() {
        let expected = ASSEMBLY
            .replace("// launch_bounds two .maxntid 256 .minnctapersm 4\n", "")
            .replace(
                "two_param_0\n)\n",
                "two_param_0\n)\n.maxntid 256 .minnctapersm 4\n",
            );
        assert_eq!(place_launch_bounds(ASSEMBLY).unwrap(), expected);
    }

    #[test]
    fn launch_bounds_of_an_entry_without_parameters() {
        let assembly = "// launch_bounds f .maxntid 32\n.visible .entry f()\n{\n}\n";
        assert_eq!(
            place_launch_bounds(assembly).unwrap(),
            ".visible .entry f()\n.maxntid 32\n{\n}\n"
        );
    }

    #[test]
    fn launch_bounds_without_an_entry_are_an_error() {
        let error = place_launch_bounds("// launch_bounds gone .maxntid 32\n").unwrap_err();
        assert!(error.to_string().contains("`gone`"), "{error}");
    }

    #[test]
    fn shared_arrays_are_declared_once_in_the_order_of_the_source() {
        let assembly = "\
.address_size 64
.visible .entry f()
{
\t// shared_array k_shared_10 4 64
\tcvta.shared.u64 %rd1, k_shared_10;
\t// shared_array k_shared_9 8 512
\tcvta.shared.u64 %rd2, k_shared_9;
\t// shared_array k_shared_10 4 64
\tcvta.shared.u64 %rd3, k_shared_10;
}
";
        let expected = "\
.address_size 64

.shared .align 8 .b8 k_shared_9[512];
.shared .align 4 .b8 k_shared_10[64];
.visible .entry f()
{
\tcvta.shared.u64 %rd1, k_shared_10;
\tcvta.shared.u64 %rd2, k_shared_9;
\tcvta.shared.u64 %rd3, k_shared_10;
}
";
        assert_eq!(declare_shared_arrays(assembly).unwrap(), expected);
        let error =
            declare_shared_arrays("// shared_array a 4 8\n// shared_array a 4 16\n").unwrap_err();
        assert!(error.to_string().contains("generic"), "{error}");
        assert!(declare_shared_arrays("// shared_array a 4 49152\n").is_ok());
        let error = declare_shared_arrays("// shared_array a 4 400000\n").unwrap_err();
        let error = error.to_string();
        for part in ["400000 bytes", "at most 49152 bytes", "dynamic_shared_mem"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn names_do_not_depend_on_the_checkout() {
        let assembly = "call _RNvNtCsl8QmqC41qOU_4core9panicking9panic_fmtCs94u90c1ICdb_7kernels, (Cs1);\n\
                        mov.b64 %rd1, anon_$_42f3_$_1; mov.b64 %rd2, anon_$_42f3_$_0; ld [anon_$_42f3_$_1+8];";
        let expected = "call _RNvNtC4core9panicking9panic_fmtC7kernels, (Cs1);\n\
                        mov.b64 %rd1, anon_0; mov.b64 %rd2, anon_1; ld [anon_0+8];";
        assert_eq!(stable_names(assembly), expected);
    }

    #[test]
    fn arithmetic_that_the_gpu_lacks_is_named() {
        let assembly = ".extern .func  (.param .b32 func_retval0) __floatuntisf\n(\n)\n;\n\
             .visible .entry other(\n)\n{\n\tcall.uni mine, (p);\n}\n\
             .visible .entry kernel(\n)\n{\n\tcall.uni (retval0), __floatuntisf, (param0, param1);\n}\n";
        let error = refuse_missing_arithmetic(assembly).unwrap_err().to_string();
        assert_eq!(
            error,
            "`kernel` needs the function `__floatuntisf`, which the GPU does not have: it is `u128 as f32`; \
             convert the two halves as `u64`"
        );
        let others = ".extern .func  (.param .b32 func_retval0) vprintf\n.extern .func __assertfail\n.extern .func mine\n";
        assert!(refuse_missing_arithmetic(others).is_ok());
    }

    #[test]
    fn memcmp_is_defined_where_it_is_declared() {
        let assembly = ".extern .func  (.param .b32 func_retval0) memcmp\n(\n)\n;\n";
        let text = define_memcmp(assembly);
        assert!(
            text.starts_with(".func  (.param .b32 func_retval0) memcmp\n"),
            "{text}"
        );
        assert!(
            text.contains("\n.func (.param .b32 result) memcmp("),
            "{text}"
        );
        assert_eq!(define_memcmp(".version 6.0\n"), ".version 6.0\n");
    }

    #[test]
    fn a_module_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("module.ptx");
        let header = Header {
            arch: NvvmArch::Compute90a,
            digest: Digest::of("sources"),
        };
        let inputs = Inputs {
            files: ["Cargo.toml", "src/a b.rs"].map(str::to_owned).into(),
            packages: ["libm 0.2.16".to_owned()].into(),
            variables: ["TILE".to_owned()].into(),
        };
        assert_eq!(read(&file), None, "there is no file yet");
        write(
            &file,
            &header,
            &inputs,
            ".version 6.0\n",
            PanicMode::Message,
        )
        .unwrap();
        let known = Some((header, inputs.clone()));
        assert_eq!(read(&file), known);

        let windows = fs::read_to_string(&file).unwrap().replace('\n', "\r\n");
        fs::write(&file, windows).unwrap();
        assert_eq!(read(&file), known, "line endings");

        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, whole.replace("6.0", "6.1")).unwrap();
        assert_eq!(read(&file), None, "edited by hand");
        fs::write(&file, whole.lines().next().unwrap()).unwrap();
        assert_eq!(read(&file), None, "cut off");
        write(
            &file,
            &header,
            &inputs,
            ".version 6.0\n",
            PanicMode::Message,
        )
        .unwrap();
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["module.ptx"], "nothing else is left");
    }

    #[test]
    fn a_module_that_is_the_same_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("module.ptx");
        let header = Header {
            arch: NvvmArch::Compute70,
            digest: Digest::of("sources"),
        };
        let write_body =
            |body| write(&file, &header, &Inputs::default(), body, PanicMode::Message).unwrap();
        let modified = || fs::metadata(&file).unwrap().modified().unwrap();
        write_body(".version 6.0\n");
        let before = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let opened = fs::File::options().write(true).open(&file).unwrap();
        opened.set_modified(before).unwrap();
        write_body(".version 6.0\n");
        assert_eq!(modified(), before);
        write_body(".version 6.1\n");
        assert_ne!(modified(), before);
    }
}

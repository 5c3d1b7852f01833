//! The form of a lesson's part: `src/PART.rs` is the lecture, plain CUDA that can be copied out; `src/verdicts/PART.rs` measures and
//! judges it.

use regex_lite::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a lecture, and of each file of a verdict.
const MOST_LINES: usize = 120;
/// Lectures whose subject is data or a decision, or that are little more than signatures, and how many in a hundred of their lines
/// of code are CUDA operations at least. All others have a third.
const FEWER: [(&str, usize); 5] = [
    ("adaptive_streams/src/controller.rs", 24),
    ("exhaustion/src/grids.rs", 26),
    ("exhaustion/src/occupancy.rs", 23),
    ("stream_ordered_kv_cache/src/growth.rs", 22),
    ("stream_ordered_kv_cache/src/prefetch.rs", 26),
];
/// The crates that a lecture may import.
const CRATES: [&str; 5] = ["anyhow", "cuda_host", "cust", "gpu_kernels", "std"];
/// What only verdicts and `main` may name.
const JUDGES: &str = r"\b(examples_host|examples_data|chapter_\w+|libcuda|software_gpu|verdicts)\b";

/// The host's real clock, and ways to wait for it: the software GPU models the host's time, and does not see them.
const REAL_TIME: &str = r"\b(sleep|sleep_until|park_timeout|yield_now|spin_loop|recv_timeout|wait_timeout\w*|Instant|SystemTime)\b";

/// A line that calls the driver, declares memory for it, or launches.
const CUDA: &str = r"launch!|<<<|async_copy|copy_from|copy_to|\.record\(|\.record_with|\.wait\(|wait_event|synchroni[sz]e|Event::new|non_blocking|blocking\(|with_priority|max_active_blocks|allow_dynamic_shared|Stream::new|DeviceBuffer|LockedBuffer|Registered|set_8|set_32|memset|quick_init|\bKernels::load|kernels!|gpu_kernels::|elapsed_time|add_callback|\.launch_\w+\(|capture|Graph|graph\.|instantiate|\.launch\(|pool|alloc_async|free_async|drop_async|peer|Context::|nccl|cuda[A-Z]\w+\(|cu[A-Z]\w+\(|\bstream\.|uninitialized|new_stream|clone_htod|memcpy|alloc_zeros|load_module|load_function|launch_builder|\.arg\(|\bModule\b|get_function|device_pointer|SharedCount|\.acquire\(|\.release\(|is_idle";
/// A line that measures, compares or judges.
const JUDGE: &str = r"expect!|\bpart\.|\bPart\b|outcome|Outcome|variants!|Plan\b|\bplan\b|Workload|check::|Checked|at_least|at_most|\.near\(|share\(|ratio\(|truth\(|right\(|time\(|units::|predict|take_away|Rows::|Engine::|Recording|recording|\.chart|\.say|\.show|=>.*;|stages|alone|bounded|Seed|poison|ByteSize|PartOption|sweep|compare|Label|in_records_of|for_any|checkResult|printf|expected";
/// Each of these makes a line one of CUDA's.
const CUDA_ABOVE_ALL: &str = r"launch!|<<<|async_copy|\.record\(|\.wait\(|synchroni";
const IMPORT: &str = r"^(pub )?(use|mod) |^#include|^extern crate";

fn found(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).expect("a pattern").is_match(text)
}

/// How many lines are CUDA operations, of how many lines of code: without comments, blank lines and imports.
fn cuda_lines(source: &str) -> (usize, usize) {
    let comment = |line: &&str| ["//", "/*", "*"].iter().any(|mark| line.starts_with(mark));
    let lines = source.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !comment(line) && !found(IMPORT, line));
    let code: Vec<&str> = lines.collect();
    let judges = |line: &str| found(JUDGE, line) && !found(CUDA_ABOVE_ALL, line);
    let cuda = |line: &&&str| found(CUDA, line) && !judges(line);
    (code.iter().filter(cuda).count(), code.len())
}

/// What a lecture, or a module that lectures share, may not name.
fn strangers(source: &str) -> BTreeSet<String> {
    let imports = Regex::new(r"(?m)^(?:pub )?use (\w+)").expect("a pattern");
    let imports = imports.captures_iter(source);
    let imported = imports.map(|captures| captures[1].to_owned());
    let foreign = imported
        .filter(|name| !["crate", "super"].contains(&&**name) && !CRATES.contains(&&**name));
    let judges = Regex::new(JUDGES).expect("a pattern");
    let judges = judges
        .find_iter(source)
        .map(|name| name.as_str().to_owned());
    foreign.chain(judges).chain(real_time(source)).collect()
}

/// What code, comments apart, takes of the host's real time.
fn real_time(source: &str) -> Vec<String> {
    let code: Vec<&str> = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect();
    let names = Regex::new(REAL_TIME).expect("a pattern");
    let code = code.join("\n");
    names
        .find_iter(&code)
        .map(|name| name.as_str().to_owned())
        .collect()
}

/// Everything that keeps a file from being a lecture, of whose lines at least `least` in a hundred are CUDA operations.
fn faults(source: &str, least: Option<usize>) -> Vec<String> {
    let mut faults: Vec<String> = strangers(source)
        .into_iter()
        .map(|name| format!("names {name}"))
        .collect();
    let lines = source.lines().count();
    if lines > MOST_LINES {
        faults.push(format!("{lines} lines"));
    }
    let (cuda, code) = cuda_lines(source);
    if least.map_or(3 * cuda < code, |least| 100 * cuda < least * code) {
        faults.push(format!("{cuda} of {code} lines are CUDA operations"));
    }
    faults
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files in a folder, and in the folders in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The sources of the packages with verdicts, and the template's.
fn judged() -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace()).expect("the workspace");
    let packages = entries.map(|entry| entry.expect("an entry").path().join("src"));
    let template = workspace().join("examples-host/examples/lesson");
    let folders = packages.chain([template]);
    let mut judged: Vec<_> = folders
        .filter(|src| src.join("verdicts").is_dir())
        .collect();
    judged.sort();
    judged
}

/// The lectures: what stands beside a verdict of the same name.
fn lectures() -> Vec<PathBuf> {
    let lecture = |verdict: PathBuf| {
        let (src, name) = (verdict.parent()?.parent()?, verdict.file_name()?);
        Some(src.join(name)).filter(|path| path.is_file())
    };
    let verdicts = judged()
        .into_iter()
        .flat_map(|src| sources(&src.join("verdicts")));
    verdicts.filter_map(lecture).collect()
}

/// The modules of its package that a file imports.
fn imported(path: &Path) -> BTreeSet<PathBuf> {
    let own = Regex::new(r"\bcrate::(\w+)").expect("a pattern");
    let source = read(path);
    let names = own.captures_iter(&source);
    let file = |name: &str| path.with_file_name(name).with_extension("rs");
    let files = names.map(|captures| file(&captures[1]));
    files.filter(|file| file.is_file()).collect()
}

#[test]
fn lectures_are_short_and_a_third_of_them_is_cuda() {
    let lectures = lectures();
    assert!(
        lectures.len() >= 3,
        "there are lectures to look at: {lectures:?}"
    );
    let wrong = |path: &PathBuf| {
        let fewer = FEWER.iter().find(|(name, _)| path.ends_with(name));
        let faults = faults(&read(path), fewer.map(|(_, least)| *least));
        (!faults.is_empty()).then(|| format!("{}: {}", path.display(), faults.join(", ")))
    };
    let wrong: Vec<String> = lectures.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The modules that a lecture imports, and those below it.
fn modules(lecture: &Path) -> BTreeSet<PathBuf> {
    let below = sources(&lecture.with_extension(""));
    imported(lecture).into_iter().chain(below).collect()
}

#[test]
fn modules_that_lectures_share_know_no_judge_either() {
    for module in lectures().iter().flat_map(|lecture| modules(lecture)) {
        let source = read(&module);
        let (path, lines) = (module.display(), source.lines().count());
        assert!(
            strangers(&source).is_empty(),
            "{path} names {:?}",
            strangers(&source)
        );
        assert!(lines <= MOST_LINES, "{path} has {lines} lines");
    }
}

/// Where all parts have a verdict, nothing else judges.
#[test]
fn only_verdicts_and_main_name_the_judge() {
    let part = Regex::new(r"(?m)(?:^|[^:\w])\w+::run\b").expect("a pattern");
    let whole = |src: &PathBuf| !part.is_match(&read(&src.join("main.rs")));
    for src in judged().into_iter().filter(whole) {
        let judging = [src.join("verdicts"), src.join("main.rs")];
        let others = sources(&src).into_iter();
        for path in others.filter(|path| !judging.iter().any(|judge| path.starts_with(judge))) {
            let named = found(r"\bexamples_host\b", &read(&path));
            assert!(!named, "{} names examples_host", path.display());
        }
    }
}

#[test]
fn files_of_verdicts_are_short() {
    for src in judged() {
        for path in sources(&src.join("verdicts")) {
            let lines = read(&path).lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn a_lesson_that_judges_itself_is_no_lecture() {
    let judging = "use examples_host::prelude::*;\n\
        pub fn run(part: &mut Part) -> anyhow::Result<()> {\n\
            part.predict(\"it is faster\");\n\
            part.say(\"it was\");\n\
            part.take_away(\"it is\");\n\
            stream.synchronize()?;\n\
        }\n";
    assert_eq!(
        faults(judging, None),
        ["names examples_host", "1 of 6 lines are CUDA operations"]
    );
    assert_eq!(faults("use rayon::prelude::*;\n", None), ["names rayon"]);
    let hidden = "let size = examples_host::size::ByteSize::mib(1);\nstream.synchronize()?;\n";
    assert_eq!(faults(hidden, None), ["names examples_host"]);
    let sleeping = "std::thread::sleep(time); // sleep(1)\nstream.synchronize()?;\n";
    assert_eq!(faults(sleeping, None), ["names sleep"]);
    assert_eq!(real_time("let start = Instant::now();\n"), ["Instant"]);
    assert!(real_time("let sleeping = wait; // the host sleeps: sleep\n").is_empty());
    let long = "stream.synchronize()?;\n".repeat(MOST_LINES + 1);
    assert_eq!(faults(&long, None), ["121 lines"]);
}

#[test]
fn only_cuda_operations_count_as_cuda() {
    let source = "//! stream.synchronize()\n\
        use cust::stream::Stream;\n\
        \n\
        let outcome = part.compare(stream.len());\n\
        stream.wait(&outcome)?;\n\
        event.record(&stream)?;\n\
        Ok(())\n";
    assert_eq!(cuda_lines(source), (2, 4));
}

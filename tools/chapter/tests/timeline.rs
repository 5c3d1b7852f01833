//! `cargo chapter timeline FILE`: what it prints, and how it refuses what it cannot read.

#[path = "../../nsight/tests/export/mod.rs"]
#[allow(dead_code, reason = "the reader's own tests need more of it")]
mod export;

use chapter_results::device::{Fingerprint, TimeSource};
use chapter_results::intervals::{Dependency, Engine, Interval, Recording, Source, Span};
use chapter_results::part::{PartResults, Timeline};
use chapter_results::results::Request;
use chapter_results::{Results, VERSION};
use export::{Export, Version};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The command's output, with its exit code.
fn chapter(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chapter"));
    let output = command.arg("timeline").args(arguments).current_dir(folder);
    let output = output.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

/// Its output; it must have succeeded.
fn printed(arguments: &[&str], folder: &Path) -> String {
    let (code, out, err) = chapter(arguments, folder);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out
}

/// The reason why it refused a file.
fn refused(file: &str, folder: &Path) -> String {
    let (code, out, err) = chapter(&[file], folder);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    err
}

fn interval(engine: Engine, stream: &str, start: u64, end: u64) -> Interval {
    let is_kernel = engine == Engine::Kernel;
    Interval {
        device: 0,
        engine,
        name: match is_kernel {
            true => "scale".into(),
            false => engine.to_string(),
        },
        stream: stream.into(),
        span: Span {
            start: start * 1000,
            end: end * 1000,
        },
        bytes: if is_kernel { 0 } else { 1 << 20 },
    }
}

/// Two timelines of a part: with an event, and beside the legacy stream.
fn results() -> Results {
    let pipeline = vec![
        interval(Engine::HostToDevice, "in", 0, 20),
        interval(Engine::Kernel, "work", 21, 31),
        interval(Engine::HostToDevice, "in", 20, 40),
        interval(Engine::DeviceToHost, "out", 33, 53),
        interval(Engine::HostFunction, "out", 53, 60),
        interval(Engine::Kernel, "work", 70, 80),
    ];
    let mut pipeline = Recording::new(Source::SoftwareGpu, pipeline);
    // By place in order of starts: the copy in, the second copy in, the kernel, the copy out.
    pipeline.dependencies = vec![Dependency { from: 0, to: 2 }, Dependency { from: 2, to: 3 }];
    let beside = vec![
        interval(Engine::Kernel, "a", 0, 100),
        interval(Engine::Kernel, "b", 50, 120),
        interval(Engine::Kernel, "legacy", 122, 200),
        interval(Engine::Kernel, "a", 203, 300),
        interval(Engine::Kernel, "b", 203, 310),
    ];
    let timeline = |variant: &str, recording| Timeline {
        variant: (variant.replace(' ', "-"), variant).into(),
        recording,
    };
    Results {
        version: VERSION,
        example: "basic_streams".into(),
        device: Fingerprint::default(),
        times: TimeSource::Modelled,
        request: Request::default(),
        parts: vec![PartResults {
            name: "three-way".into(),
            question: "Does it overlap?".into(),
            workload: "0".into(),
            timelines: vec![
                timeline("three streams", pipeline),
                timeline("blocking streams", Recording::new(Source::Cupti, beside)),
                timeline("nothing", Recording::new(Source::Cupti, vec![])),
            ],
            ..PartResults::default()
        }],
        reports: vec![],
        holds: false,
    }
}

/// The form as JSON, for tests to spoil.
fn json() -> String {
    serde_json::to_string(&results()).unwrap()
}

/// An export with one of each cause.
fn write_export(path: &Path, version: Version) {
    let mut export = Export::create(path, version);
    export.device();
    for (stream, flag) in [(13, 2), (14, 2), (15, 1)] {
        export.stream(stream, flag);
    }
    // A pageable copy blocks the host.
    export.copy(1, 0, 13, (-20, 602), (0, 600));
    export.kernel("scale", 64, 14, (604, 606), (608, 700));
    // An event.
    export.copy(1, 1, 13, (607, 608), (612, 690));
    export.record(1, 1, 14, 609);
    export.wait(1, 1, 13, 610);
    export.copy(2, 1, 13, (611, 612), (702, 780));
    // The legacy stream.
    export.kernel("add", 64, 15, (613, 614), (700, 800));
    export.kernel("scale", 4096, 7, (615, 616), (802, 900));
    // A grid that fills the device.
    export.kernel("add", 4096, 14, (617, 618), (900, 1000));
    export.kernel("add", 64, 13, (619, 620), (1001, 1100));
    // A late host.
    export.call("cudaDeviceSynchronize_v3020", (621, 1104));
    export.kernel("scale", 64, 14, (1110, 1112), (1115, 1200));
    export.range("step 1", false, (600, 1110));
}

#[test]
fn an_examples_timelines_are_explained() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.json"), json()).unwrap();
    insta::assert_snapshot!(printed(&["run.json"], folder.path()));
}

#[test]
fn as_many_gaps_are_listed_as_asked_for() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.json"), json()).unwrap();
    let lines = |gaps: &str| {
        let text = printed(&["run.json", "--gaps", gaps], folder.path());
        text.lines()
            .filter(|line| line.contains(": after "))
            .count()
    };
    assert_eq!([lines("0"), lines("1"), lines("9")], [0, 2, 3]);
}

#[test]
fn a_stretch_of_a_timeline_is_shown_by_time_and_by_name() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.json"), json()).unwrap();
    let first = |options: &[&str]| {
        let text = printed(
            &[&["run.json", "--part", "three-way"], options].concat(),
            folder.path(),
        );
        text.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let late = first(&["--from", "35us", "--to", "75us"]);
    assert!(
        late.contains("three streams, from 20.0 µs on\n  4 operations"),
        "{late}"
    );
    let around = first(&["--around", "host"]);
    assert!(
        around.contains("three streams, from 0 ns on\n  6 operations"),
        "{around}"
    );
    let (code, _, error) = chapter(&["run.json", "--from", "2s"], folder.path());
    assert!(
        code == 2 && error.contains("--from 2000000000ns: no operation"),
        "{error}"
    );
    let (code, _, error) = chapter(&["run.json", "--from", "2"], folder.path());
    assert!(code == 2 && error.contains("\"2\" is no time"), "{error}");
}

#[test]
fn an_export_of_nsight_systems_is_explained() {
    let folder = TempDir::new().unwrap();
    // Nothing hangs on the name.
    write_export(&folder.path().join("report.json"), Version::V2026);
    insta::assert_snapshot!(printed(&["report.json"], folder.path()));
}

#[test]
fn an_older_export_says_less_and_what_it_lacks() {
    let folder = TempDir::new().unwrap();
    write_export(&folder.path().join("report.sqlite"), Version::V2021);
    insta::assert_snapshot!(printed(&["report.sqlite"], folder.path()));
}

#[test]
fn a_file_that_is_not_a_timeline_is_refused_with_exit_code_2() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let error = |name: &str, content: &[u8]| {
        fs::write(at.join(name), content).unwrap();
        refused(name, at)
    };
    let text = json();
    let cut = error("cut.json", &text.as_bytes()[..text.len() / 2]);
    assert!(
        cut.contains("cut.json holds no results of an example: EOF"),
        "{cut}"
    );
    let later = text.replacen("\"version\":3", "\"version\":4", 1);
    let later = error("later.json", later.as_bytes());
    assert!(
        later.contains("later.json has version 4 of the results' form"),
        "{later}"
    );
    let mut empty = results();
    empty.parts[0].timelines.drain(..2);
    let empty = error("empty.json", &serde_json::to_vec(&empty).unwrap());
    assert!(
        empty.contains("empty.json holds no device operations: its parts recorded no timeline"),
        "{empty}"
    );
    let report = error("run.nsys-rep", b"\x90\x91 not text");
    assert!(report.contains("nsys export --type sqlite"), "{report}");
    let nothing = error("nothing", b"");
    assert!(nothing.contains("nothing holds no results"), "{nothing}");
    fs::create_dir(at.join("folder")).unwrap();
    let directory = refused("folder", at);
    assert!(
        directory.contains("cannot read folder: Is a directory"),
        "{directory}"
    );
    let absent = refused("absent", at);
    assert!(
        absent.contains("cannot read absent: No such file"),
        "{absent}"
    );
    drop(Export::create(&at.join("bare.sqlite"), Version::V2026));
    let bare = refused("bare.sqlite", at);
    assert!(
        bare.contains("bare.sqlite holds no device operations: nothing ran on a GPU")
            && bare.contains("nsys profile --trace=cuda"),
        "{bare}"
    );
    let foreign = rusqlite::Connection::open(at.join("foreign.db")).unwrap();
    foreign
        .execute("CREATE TABLE notes (text TEXT)", [])
        .unwrap();
    let foreign = refused("foreign.db", at);
    assert!(
        foreign.contains("foreign.db: a database, but not an export of Nsight Systems"),
        "{foreign}"
    );
    let torn = fs::read(at.join("foreign.db")).unwrap();
    let torn = error("torn.db", &torn[..600]);
    assert!(torn.contains("torn.db: SQLite cannot read it"), "{torn}");
    let names = fs::read_dir(at).unwrap();
    assert_eq!(names.count(), 9, "nothing was left beside the files");
}

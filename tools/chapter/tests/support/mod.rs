//! A chapter of programs that only pretend: shell scripts beside a copy of the command, as on a machine without Rust.

use chapter_results::VERSION;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the command in it and programs beside it.
pub struct Chapter {
    folder: tempfile::TempDir,
}

impl Chapter {
    /// Programs of these names, which do what the scripts say.
    pub fn new(programs: &[(&str, String)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = folder.path().join("chapter");
        // A link costs nothing, and is possible where both are on one file system.
        fs::hard_link(env!("CARGO_BIN_EXE_chapter"), &command)
            .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_chapter"), &command).map(drop))
            .unwrap();
        let mut list = String::new();
        for (name, script) in programs {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            list += &format!("example {name}\n");
        }
        fs::write(folder.path().join("chapter-targets.txt"), list).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the results go by default.
    pub fn results(&self) -> PathBuf {
        self.path().join("chapter-results")
    }

    pub fn start(&self, arguments: &[&str]) -> Output {
        Command::new(self.path().join("chapter"))
            .args(arguments)
            .current_dir(self.path())
            .env_remove("CUDA_DRIVER")
            .output()
            .unwrap()
    }

    /// Exit code, standard output and standard error.
    pub fn ends(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.start(arguments);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

/// A part that a program pretends to have: its name, whether its claim holds, and what the device lacks for it.
pub type FakePart<'a> = (&'a str, bool, Option<&'a str>);

/// A script that describes itself and writes results of the requested parts, and ends as an example does.
pub fn example(name: &str, parts: &[FakePart]) -> String {
    let described: Vec<String> = parts.iter().map(|part| described(part)).collect();
    let device = format!(
        r#"{{"present":{{"introduction":"Paper GPU. Times are modelled.","times":"modelled","fingerprint":{FINGERPRINT}}}}}"#
    );
    let description = format!(
        r#"{{"name":"{name}","about":"A pretence","device":{device},"parts":[{}]}}"#,
        described.join(",")
    );
    let mut script = format!(
        "case \" $* \" in *\" --describe \"*) echo '{description}'; exit 0;; esac\n\
         all=1; asked=; for argument; do case $argument in --part=*) all=; asked=\"$asked ${{argument#--part=}} \";; esac; done\n\
         while [ \"$1\" != --json ]; do shift; done\n\
         parts=; holds=true\n"
    );
    for (part, holds, _) in parts {
        let results = results(part, *holds);
        script += &format!(
            "case \"$all$asked\" in 1*|*\" {part} \"*) echo '{part}: Does {part} hold?'; parts=\"$parts,\"'{results}'; {};; esac\n",
            if *holds { ":" } else { "holds=false" }
        );
    }
    script += &format!(
        "cat > \"$2\" <<END\n{{\"version\":{VERSION},\"example\":\"{name}\",\"device\":{FINGERPRINT},\"times\":\"modelled\",\
         \"request\":{{}},\"parts\":[${{parts#,}}],\"reports\":[],\"holds\":$holds}}\nEND\n\
         [ $holds = true ] || exit 1\n"
    );
    script
}

const FINGERPRINT: &str = r#"{"name":"Paper GPU","driver":"software GPU","cuda":"13.0","clock_mhz":1,"memory_clock_mhz":1,"multiprocessors":1}"#;

fn described((name, _, lacking): &FakePart) -> String {
    let needs = lacking.map(|property| format!(r#"{{"property":"{property}","met":false}}"#));
    format!(
        r#"{{"name":"{name}","question":"Does {name} hold?","options":["--iterations"],"needs":[{}]}}"#,
        needs.unwrap_or_default()
    )
}

fn results(part: &str, holds: bool) -> String {
    format!(
        r#"{{"name":"{part}","question":"Does {part} hold?","workload":"1","timed":[{{"group":{{"id":"variants","text":"1 MiB"}},"variant":{{"id":"one-stream","text":"one stream"}},"kind":"makespan","samples_us":[2.0]}},{{"group":{{"id":"variants","text":"1 MiB"}},"variant":{{"id":"three-streams","text":"three streams"}},"kind":"makespan","samples_us":[1.0]}}],"bounds":[],"timelines":[],"claims":[{{"id":"true","sentence":"it is true","found":"{holds}","limit":"true","holds":{holds}}}],"holds":{holds}}}"#
    )
}

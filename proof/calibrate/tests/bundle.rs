//! The step `compare` of the GPU bundle's `run.sh`, with programs that only pretend to be examples: what its exit code says.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// Stands for `basic_streams`: as that program does, it gives a GPU more data than a model unless told otherwise, and chooses a number
/// of pieces unless told one. The variables are percentages: of the times of a profile, and of what the host makes on the GPU's machine.
const PROGRAM: &str = r#"#!/bin/sh
times=modelled mib=16 best=8 chunks= request= host=100 percent=${OF_calibrated:-100}
while [ $# -gt 0 ]; do
    case "$1 $2" in
    "--device nvidia") times=measured mib=64 best=16 percent=100 host=${HOST:-100} code=${LESSON:-0} ;;
    "--gpu h200") percent=${OF_h200:-100} ;;
    "--gpu h100") percent=${OF_h100:-100} ;;
    --gpu-sizes*) mib=64 request="\"gpu_sizes\":true,$request" ;;
    --chunks*) chunks=$2 request="$request\"chunks\":$2," ;;
    --json*) json=$2 ;;
    esac
    shift
done
timed() { # variant, kind, time
    cat <<END
{"group":{"id":"variants","text":"$mib MiB, ${chunks:-$best} launches"},"variant":{"id":"$1","text":"$1"},"kind":"$2",
"samples_us":[$(($3 * mib * percent))]}
END
}
part() { # name, what is timed
    echo "{\"name\":\"$1\",\"question\":\"?\",\"workload\":\"1\",\"timed\":[$2],\"bounds\":[],\"timelines\":[],\"claims\":[],\"holds\":true}"
}
cat >"$json" <<END
{"version":3,"example":"basic_streams","times":"$times","request":{$request"profiled":false},
"device":{"name":"NVIDIA H200","driver":"1","cuda":"13.0","clock_mhz":1,"memory_clock_mhz":1,"multiprocessors":1},
"parts":[$(part three-way "$(timed one-stream makespan 40),$(timed three-streams makespan 20)"),
$(part cpu-overlap "$(timed after-wait makespan $((host / 2)))"),$(part pinned "$(timed pageable copy "$host")")],
"reports":[],"holds":true}
END
exit ${code:-0}
"#;

/// Calibrates by writing a file, and compares as the real one does.
const CALIBRATE: &str = r#"#!/bin/sh
[ "$1" != compare ] || exec "$REAL" "$@"
while [ "$1" != --out ]; do shift; done
echo > "$2"
"#;

/// Runs `run.sh compare` on a machine with a GPU of this name.
fn compare(gpu: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let run = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scripts/gpu-bundle-run.sh"
    ));
    let smi = format!("#!/bin/sh\necho '{gpu}'\n");
    fs::create_dir(folder.path().join("bin")).unwrap();
    for (path, text) in [
        ("run.sh", run),
        ("bin/basic_streams", PROGRAM),
        ("bin/calibrate", CALIBRATE),
        ("bin/nvidia-smi", &smi),
    ] {
        let path = folder.path().join(path);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", folder.path().join("bin").display());
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(folder.path().join("run.sh"))
        .arg("compare")
        .env("PATH", path)
        .env("REAL", env!("CARGO_BIN_EXE_calibrate"))
        .env_remove("RESULTS")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let said = [stdout, stderr].concat();
    (status.code(), String::from_utf8(said).unwrap())
}

/// The exit code of this step, as `run.sh` prints it.
fn code<'a>(said: &'a str, step: &str) -> Option<&'a str> {
    let mut lines = said.lines();
    let line = lines.find(|line| line.split_whitespace().next() == Some(step))?;
    Some(line.split_once("exit code ")?.1.split_once(',')?.0)
}

const H200: &str = "NVIDIA H200";
const H100: &str = "NVIDIA H100 80GB HBM3";

#[test]
fn a_model_that_does_the_same_work_in_the_same_time_passes() {
    for (gpu, profile) in [(H200, "h200"), (H100, "h100")] {
        let (ended, said) = compare(gpu, &[]);
        assert_eq!(ended, Some(0), "{said}");
        assert_eq!(code(&said, "compare_calibrated"), Some("0"), "{said}");
        assert_eq!(
            code(&said, &format!("compare_{profile}")),
            Some("0"),
            "{said}"
        );
        assert!(!said.contains("skipped: "), "{said}");
    }
}

#[test]
fn a_model_that_is_off_fails() {
    for (gpu, off, right) in [(H200, "h200", "calibrated"), (H100, "h100", "calibrated")] {
        let (ended, said) = compare(gpu, &[(&format!("OF_{off}"), "120")]);
        assert_eq!(ended, Some(1), "{said}");
        assert_eq!(code(&said, &format!("compare_{off}")), Some("1"), "{said}");
        assert_eq!(
            code(&said, &format!("compare_{right}")),
            Some("0"),
            "{said}"
        );
        assert!(
            said.contains(&format!("failed: compare_{off} (see")),
            "{said}"
        );
    }
    let (ended, said) = compare(H200, &[("OF_calibrated", "80")]);
    assert_eq!(ended, Some(1), "{said}");
    assert!(said.contains("failed: compare_calibrated (see"), "{said}");
}

#[test]
fn slower_host_code_fails_no_expectation() {
    let (ended, said) = compare(H200, &[("HOST", "300")]);
    assert_eq!(ended, Some(0), "{said}");
}

#[test]
fn a_gpu_without_a_shipped_profile_is_compared_with_its_own_alone() {
    let (ended, said) = compare("NVIDIA GH200 480GB", &[]);
    assert_eq!(ended, Some(0), "{said}");
    assert_eq!(code(&said, "compare_calibrated"), Some("0"), "{said}");
    assert_eq!(code(&said, "compare_h200"), None, "{said}");
    assert!(
        said.contains("skipped: compare with a shipped profile"),
        "{said}"
    );
}

#[test]
fn a_lesson_that_does_not_hold_on_the_gpu_is_named() {
    let (ended, said) = compare(H200, &[("LESSON", "1")]);
    assert_eq!(ended, Some(1), "{said}");
    assert!(
        said.contains("failed: measured_1 measured_2 measured_3 (see"),
        "{said}"
    );
}

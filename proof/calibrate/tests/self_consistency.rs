//! Calibrating the model of a device gives back the figures of that device's profile.

use software_gpu::timeline::Profile;
use software_gpu::timeline::profile::Table;
use std::process::{Command, Output};

/// How far a figure may be from the profile's: measurements add the hand-overs that they cannot avoid.
const SHARE: f64 = 0.05;
/// Or by this much, in the figure's own unit (µs, mostly): what an event's time cannot resolve.
const RESOLUTION: f64 = 0.06;

fn calibrate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_calibrate"))
        .args(arguments)
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .output()
        .expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The figures of a profile by their full names, with their sources.
fn figures(table: &Table, prefix: &str, found: &mut Vec<(String, f64, String)>) {
    for (name, value) in table {
        let Some(table) = value.as_table() else {
            continue;
        };
        let number = table.get("value").and_then(|value| value.as_float());
        match (number, table.get("from").and_then(|from| from.as_str())) {
            (Some(number), Some(from)) => {
                found.push((format!("{prefix}{name}"), number, from.to_owned()))
            }
            _ => figures(table, &format!("{prefix}{name}."), found),
        }
    }
}

fn figures_of(name_or_path: &str) -> Vec<(String, f64, String)> {
    let mut found = Vec::new();
    let table = Profile::table(name_or_path).expect("a valid profile");
    figures(&table, "", &mut found);
    found
}

/// What the table shows of a figure that is not written.
fn shown(said: &str, name: &str) -> f64 {
    let row = said.lines().find(|line| line.contains(name));
    let row = row.unwrap_or_else(|| panic!("{name} is not shown:\n{said}"));
    assert!(row.contains("not written"), "{row}");
    let number = row.split_whitespace().nth(1).map(str::parse);
    number
        .and_then(Result::ok)
        .unwrap_or_else(|| panic!("no number: {row}"))
}

/// Calibrates the model of `gpu`; what was found must be what the profile says. Returns the figures of the profile written.
fn gives_back(gpu: &str) -> Vec<(String, f64, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calibrated.toml");
    let path = path.to_str().expect("UTF-8");
    let output = calibrate(&["--device", "software", "--gpu", gpu, "--out", path]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("modelled"), "{}", said(&output));
    let (expected, found) = (figures_of(gpu), figures_of(path));
    assert_eq!(expected.len(), found.len());
    let mut wrong = Vec::new();
    let mut compared = 0;
    for ((name, should, _), (same, is, from)) in expected.iter().zip(&found) {
        assert_eq!(name, same);
        if from == "estimated" {
            continue;
        }
        compared += 1;
        let apart = (is - should).abs();
        if apart > SHARE * should && apart > RESOLUTION {
            wrong.push(format!("{name} is {should}, and was found to be {is}"));
        }
    }
    for name in ["acquire", "release"] {
        let name = format!("kernels.latency_cycles.{name}");
        let found = shown(&said(&output), &name);
        let should = expected.iter().find(|(of, ..)| *of == name);
        let should = should.expect("a figure of the profile").1;
        if (found - should).abs() > SHARE * should {
            wrong.push(format!("{name} is {should}, and was shown as {found}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{gpu}");
    assert!(compared >= 50, "{compared} figures were found");
    let device = Profile::load(path).expect("valid").device;
    let model = Profile::load(gpu).expect("valid").device;
    assert_eq!(device.name, model.name);
    for number in 1..=147 {
        assert_eq!(
            device.attribute(number),
            model.attribute(number),
            "attribute {number}"
        );
    }
    found
}

/// The latencies that were not left as estimates, by their names.
fn latencies(figures: &[(String, f64, String)]) -> Vec<&str> {
    let found = figures.iter().filter(|(_, _, from)| from != "estimated");
    let names = found.filter_map(|(name, ..)| name.strip_prefix("kernels.latency_cycles."));
    names.collect()
}

/// The kernels that every device has.
const LATENCIES: [&str; 5] = ["atomic", "global", "l1", "l2", "shared"];

#[test]
fn other_latencies_are_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.toml");
    let figures = [
        ("global", 610),
        ("l2", 215),
        ("l1", 33),
        ("shared", 23),
        ("atomic", 320),
        ("acquire", 505),
        ("release", 740),
        ("cluster_shared", 260),
        ("cluster_barrier", 120),
    ];
    let mut text = "base = \"h200\"\n[kernels]\n\
        cluster_bytes_per_cycle = { value = 21.0, from = \"measured\" }\n[memory]\n\
        l2_bulk_gb_per_s = { value = 6900.0, from = \"measured\" }\n[kernels.latency_cycles]\n"
        .to_owned();
    for (name, cycles) in figures {
        text += &format!("{name} = {{ value = {cycles}.0, from = \"measured\" }}\n");
    }
    std::fs::write(&path, text).expect("writable");
    let found = gives_back(path.to_str().expect("UTF-8"));
    let mut names: Vec<&str> = LATENCIES.to_vec();
    names.extend(["cluster_barrier", "cluster_shared"]);
    names.sort_unstable();
    assert_eq!(latencies(&found), names);
}

#[test]
fn the_h200_gives_back_its_figures() {
    gives_back("h200");
}

#[test]
fn the_a100_gives_back_its_figures() {
    // It has no clusters.
    assert_eq!(latencies(&gives_back("a100")), LATENCIES);
}

#[test]
fn the_t4_gives_back_its_figures() {
    gives_back("t4");
}

#[test]
fn an_existing_file_is_kept_by_default() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "mine").expect("writable");
    let output = calibrate(&[
        "--device",
        "software",
        "--out",
        path.to_str().expect("UTF-8"),
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--force"), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), "mine");
}

#[test]
fn an_unknown_base_is_bad_usage() {
    let output = calibrate(&["--device", "software", "--base", "abacus"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("h200, b200"), "{}", said(&output));
}

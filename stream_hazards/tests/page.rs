//! The report that docs/software-gpu/reports.md explains is the one that the program prints.

use std::process::Command;

/// Places in the program are `file.rs:12` in both; lines move with every edit.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".rs:");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept += ".rs";
        kept += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    kept
}

#[test]
fn the_page_explains_a_real_report() {
    let output = Command::new(env!("CARGO_BIN_EXE_stream_hazards"))
        .args(["--device", "software", "--part", "missing-event"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        // Nothing is wrapped.
        .env("COLUMNS", "1000")
        .env_remove("CUDA_DRIVER")
        .env_remove("SOFTWARE_GPU")
        .env_remove("SOFTWARE_GPU_RACES")
        .output()
        .expect("the program starts");
    let output = without_lines(&String::from_utf8_lossy(&output.stdout));
    let page = without_lines(include_str!("../../docs/software-gpu/reports.md"));
    let report: Vec<&str> = output
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("race: "))
        .take(5)
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    assert_eq!(report.len(), 5, "{output}");
    let report = report.join("\n");
    assert!(page.contains(&report), "the page shows another report than\n{report}");
}

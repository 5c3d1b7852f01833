//! Submissions that do their worst: each costs its own student one lab, and affects no other.

#![cfg(target_os = "linux")]

mod submissions;

use serde_json::Value;
use std::fs;
use std::process::Command;
use submissions::{Hostile, hostile, root};

/// One submission of each kind, for daily tests; `scripts/check-grading` runs all.
const CHOSEN: [&str; 14] = [
    "aborts",
    "asks_for_the_graders_limits",
    "changes_modes",
    "crashes",
    "eats_memory",
    "fills_the_disk",
    "forks",
    "hangs",
    "hides_a_file",
    "includes",
    "kills_by_queue",
    "reads",
    "record_out_of_range",
    "writes",
];

#[test]
fn a_hostile_program_costs_its_student_one_lab() {
    let folder = tempfile::tempdir().expect("a folder");
    let submissions = folder.path().join("submissions");
    let outside = folder.path().join("outside");
    let solution = fs::read_to_string(root().join("labs/solutions/02_pinned.rs")).expect("lab 2");
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").expect("a file");
    let mut programs = hostile(&outside, &secret);
    programs.retain(|program| CHOSEN.contains(&program.name.as_str()));
    assert_eq!(programs.len(), CHOSEN.len());
    for Hostile { name, text } in &programs {
        let own = submissions.join(name).join("exercises");
        fs::create_dir_all(&own).expect("a folder");
        fs::write(own.join("01_first_stream.rs"), text).expect("lab 1");
        fs::write(own.join("02_pinned.rs"), &solution).expect("lab 2");
    }
    fs::write(submissions.join("damaged.zip"), "PK nonsense").expect("an archive");

    let grades = folder.path().join("grades");
    let status = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args([
            "grade", "--each", "--labs", "1", "--labs", "2", "--time", "20", "--memory", "2048",
        ])
        .arg("--out")
        .arg(&grades)
        .arg(&submissions)
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("the grader starts");
    assert!(status.success());
    assert!(
        !outside.exists(),
        "{}",
        fs::read_to_string(&outside).unwrap_or_default()
    );

    let text = fs::read_to_string(grades.join("grades.json")).expect("grades");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let all = all.as_array().expect("a list");
    assert_eq!(all.len(), programs.len() + 1);
    for grade in all {
        let student = grade["student"].as_str().expect("a name");
        if student == "damaged" {
            assert_eq!(grade["points"], 0);
            assert!(
                grade["problem"]
                    .as_str()
                    .expect("a problem")
                    .contains("archive")
            );
            continue;
        }
        // What a program ends with that could do what it must not.
        let note = grade["labs"][0]["note"].as_str().unwrap_or_default();
        assert!(!note.contains("77"), "{student}: {note}");
        let program = programs.iter().find(|program| program.name == student);
        let points = program.expect("a program").points();
        // All points of the other lab.
        assert_eq!(grade["points"], 11 + points, "{student}: {grade:#}");
        if let "aborts" | "eats_memory" = student {
            assert_eq!(note, "the program was ended by signal 6 (abort)");
        }
    }
    let csv = fs::read_to_string(grades.join("grades.csv")).expect("a table");
    assert_eq!(csv.lines().count(), programs.len() + 2);
    let result = fs::read_to_string(grades.join("hangs/results.json")).expect("Gradescope's file");
    let result: Value = serde_json::from_str(&result).expect("JSON");
    assert_eq!(result["score"], 12);
    assert!(result["tests"].as_array().expect("tests").len() > 5);
    assert!(
        fs::read_to_string(grades.join("grades.html"))
            .expect("a page")
            .contains("hangs")
    );
}

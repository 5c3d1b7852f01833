//! A whole class: every wrong solution of `labs/mistakes.toml` and every hostile program is the submission of one student, as a folder, a
//! `.zip` or a `.tar.gz`. The grader finds in each what is declared of it. `CLASS=FOLDER` keeps submissions and grades.

#![cfg(target_os = "linux")]

mod submissions;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use submissions::root;

/// One student: the file of one lab, and what is declared of it.
struct Student {
    name: String,
    file: String,
    text: String,
    found: DeclaredOutcome,
}

/// The declarations of a submission.
enum DeclaredOutcome {
    /// The criteria that a wrong solution misses.
    Missed(BTreeSet<String>),
    /// The points that a hostile program reaches.
    Points(u64),
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join("labs").join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The students with a wrong solution.
fn mistaken() -> Vec<Student> {
    let table: toml::Table = toml::from_str(&read("mistakes.toml")).expect("a table");
    let text = |value: &toml::Value| value.as_str().expect("text").to_owned();
    let list = |value: &toml::Value| value.as_array().expect("a list").clone();
    let student = |mistake: toml::Value| {
        let lab = text(&mistake["lab"]);
        let answers = format!("{lab}.txt");
        let file = match root().join("labs/solutions").join(&answers).exists() {
            true => answers,
            false => format!("{lab}.rs"),
        };
        let mut solution = read(&format!("solutions/{file}"));
        for pair in list(&mistake["replace"]) {
            solution = solution.replace(&text(&pair[0]), &text(&pair[1]));
        }
        Student {
            name: format!("{lab} {}", text(&mistake["name"])),
            file,
            text: solution,
            found: DeclaredOutcome::Missed(list(&mistake["missed"]).iter().map(text).collect()),
        }
    };
    list(&table["mistake"]).into_iter().map(student).collect()
}

/// The students with a hostile program.
fn hostile(outside: &Path, secret: &Path) -> impl Iterator<Item = Student> {
    let programs = submissions::hostile(outside, secret).into_iter();
    programs.map(|program| Student {
        name: format!("01_first_stream {}", program.name),
        file: "01_first_stream.rs".to_owned(),
        found: DeclaredOutcome::Points(program.points()),
        text: program.text,
    })
}

/// Puts a submission into the folder, in one of the forms that students choose.
fn hand_in(folder: &Path, number: usize, student: &Student) {
    let (name, text) = (folder.join(&student.name), student.text.as_bytes());
    let path = format!("labs/exercises/{}", student.file);
    let create = |end: &str| File::create(format!("{}{end}", name.display())).expect("an archive");
    match number % 3 {
        0 => {
            fs::create_dir_all(name.join("labs/exercises")).expect("a folder");
            fs::write(name.join(path), text).expect("a file");
        }
        1 => {
            let mut zip = zip::ZipWriter::new(create(".zip"));
            zip.start_file(path, zip::write::SimpleFileOptions::default())
                .expect("an entry");
            zip.write_all(text).expect("an entry");
            zip.finish().expect("an archive");
        }
        _ => {
            let gz = flate2::write::GzEncoder::new(create(".tar.gz"), flate2::Compression::fast());
            let mut tar = tar::Builder::new(gz);
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, text).expect("an entry");
            tar.into_inner()
                .and_then(|gz| gz.finish())
                .expect("an archive");
        }
    }
}

#[test]
#[ignore = "takes minutes; scripts/check-grading runs it"]
fn a_class_is_graded_as_declared() {
    let own = tempfile::tempdir().expect("a folder");
    let kept = std::env::var_os("CLASS").map(Into::into);
    let folder = kept.unwrap_or_else(|| own.path().to_owned());
    let (handed_in, grades, outside) = (
        folder.join("submissions"),
        folder.join("grades"),
        folder.join("outside"),
    );
    fs::create_dir_all(&handed_in).expect("a folder");
    let secret = folder.join("secret");
    fs::write(&secret, "secret").expect("a file");
    let hostile = hostile(&outside, &secret);
    let students: Vec<Student> = mistaken().into_iter().chain(hostile).collect();
    assert!(students.len() >= 200, "{} students", students.len());
    for (number, student) in students.iter().enumerate() {
        hand_in(&handed_in, number, student);
    }

    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command
        .args(["grade", "--each", "--out"])
        .arg(&grades)
        .arg(&handed_in);
    let status = command
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.expect("the grader starts").success());
    assert!(!outside.exists(), "a program wrote outside of its folder");
    let kept = fs::read_to_string(&secret).expect("the file is still there");
    assert_eq!(
        kept, "secret",
        "a program wrote into a file of the grader's user"
    );

    let text = fs::read_to_string(grades.join("grades.json")).expect("grades");
    let all: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!(all.len(), students.len());
    for student in &students {
        let grade = all
            .iter()
            .find(|grade| grade["student"] == student.name.as_str());
        let grade = grade.unwrap_or_else(|| panic!("no grade for {}", student.name));
        let labs = grade["labs"].as_array().expect("labs").iter();
        let criteria = labs.filter(|lab| {
            student
                .file
                .starts_with(lab["lab"].as_str().expect("a lab"))
        });
        let criteria = criteria.flat_map(|lab| lab["criteria"].as_array().expect("criteria"));
        let missed = criteria.filter(|criterion| criterion["mark"] == "missed");
        let missed: BTreeSet<String> = missed
            .map(|criterion| criterion["id"].as_str().expect("an id").to_owned())
            .collect();
        match &student.found {
            DeclaredOutcome::Missed(declared) => {
                assert_eq!(missed, *declared, "{}: {grade:#}", student.name)
            }
            DeclaredOutcome::Points(points) => {
                assert_eq!(grade["points"], *points, "{}: {grade:#}", student.name);
                assert!(
                    !grade.to_string().contains("exit code 77"),
                    "{}: {grade:#}",
                    student.name
                );
            }
        }
    }
}

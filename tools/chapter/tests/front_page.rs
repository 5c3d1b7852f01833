//! What the README says of the repository: its counts, its list of lessons, and the report of the program that it breaks.
//! `UPDATE_README=1`, which `scripts/update-readme` sets, replaces the list and the report.

#![cfg(unix)]

mod broken;

use broken::{Broken, wrapped};
use chapter_book::markdown::{self, Block};
use chapter_book::{summary, workspace};
use std::fs;
use std::process::Command;
use std::sync::Mutex;

/// A newcomer does not read more.
const LINES: usize = 130;

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).expect(path)
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= LINES, "{lines} lines");
}

#[test]
fn the_readme_has_its_picture() {
    let readme = read("README.md");
    let pictures = readme.split(" src=\"").skip(1);
    let pictures: Vec<&str> = pictures.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(pictures.len(), 1, "{pictures:?}");
    assert!(read(pictures[0]).contains("racy"), "{pictures:?}");
}

/// The text before the list of lessons.
const LIST: &str = "<!-- scripts/update-readme -->\n";

/// The examples in the lessons' order.
fn examples() -> Vec<String> {
    let mut targets = Command::new(env!("CARGO_BIN_EXE_chapter"));
    let output = targets.arg("targets").current_dir(workspace()).output();
    let list = String::from_utf8(output.unwrap().stdout).unwrap();
    let names = list
        .lines()
        .filter_map(|line| line.strip_prefix("example "));
    names.map(str::to_owned).collect()
}

#[test]
fn the_lessons_are_listed_in_their_order_with_the_questions_of_their_programs() {
    let lines = (1..).zip(examples()).map(|(place, name)| {
        let program = read(&format!("{name}/src/main.rs"));
        let question = program.lines().next().unwrap();
        let question = question.strip_prefix("//! ").unwrap_or_default();
        assert!(question.ends_with('?'), "{name}/src/main.rs: {question}");
        let readme = read(&format!("{name}/README.md"));
        let begin = format!("# {name}\n\n{question} ");
        assert!(
            readme.starts_with(&begin),
            "{name}/README.md: not `{question}`"
        );
        format!("{place}. [`{name}`]({name}/README.md): {question}\n")
    });
    let list: String = lines.collect();
    let readme = read("README.md");
    let (_, rest) = readme.split_once(LIST).expect("the list's mark");
    let (listed, _) = rest.split_once("<!-- end -->\n").expect("the end's mark");
    hold(listed, &list);
}

/// Fails if the README shows something else, or replaces it on request.
fn hold(shown: &str, right: &str) {
    static WRITES: Mutex<()> = Mutex::new(());
    if shown == right {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_README").is_some(),
        "README.md shows something else; scripts/update-readme replaces it by:\n{right}"
    );
    let _alone = WRITES.lock().unwrap();
    let readme = read("README.md").replace(shown, right);
    fs::write(workspace().join("README.md"), readme).unwrap();
}

/// What there is of each thing that the README counts.
fn counts() -> [(&'static str, usize); 2] {
    let chapters = summary::chapters().unwrap().len();
    let labs = read("labs/labs.toml");
    let labs = labs.lines().filter(|line| *line == "[[lab]]").count();
    [("chapters", chapters), ("labs", labs)]
}

/// What is wrong with the counts of a text: each says how many there are, each of these things is counted, and no other thing is.
/// A count is a number in digits before a plural.
fn wrong_counts(text: &str, counts: &[(&str, usize)]) -> Vec<String> {
    let spelled = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut wrong = Vec::new();
    let mut found = vec![0; counts.len()];
    for pair in words.windows(2) {
        let (number, thing) = (pair[0].parse::<usize>(), pair[1].trim_end_matches('.'));
        let place = counts.iter().position(|(name, _)| *name == thing);
        match (number, place) {
            (Ok(number), Some(place)) if counts[place].1 == number => found[place] += 1,
            (Ok(number), Some(place)) => {
                wrong.push(format!("{number} {thing}: there are {}", counts[place].1));
            }
            (Ok(number), None) if thing.len() > 2 && thing.ends_with('s') => {
                wrong.push(format!("{number} {thing}: what counts them?"));
            }
            (Err(_), Some(_)) if spelled.contains(&pair[0]) => {
                wrong.push(format!("{} {thing}: write the number in digits", pair[0]));
            }
            _ => {}
        }
    }
    let missing = counts.iter().zip(found).filter(|(_, found)| *found == 0);
    wrong.extend(missing.map(|((name, _), _)| format!("{name}: not counted")));
    wrong
}

#[test]
fn every_count_in_the_readme_is_right() {
    let readme = read("README.md");
    // The figures in the table are of the runs that it shows.
    let measured = markdown::section(&readme, "measured-and-modelled").expect("the section");
    let rest = readme.replace(measured, "");
    // Text in fences belongs to the programs, and so does the list of lessons.
    let prose = markdown::prose(&rest).concat();
    let is_lesson = |line: &&str| line.contains("/README.md): ");
    let prose: Vec<&str> = prose.lines().filter(|line| !is_lesson(line)).collect();
    assert_eq!(
        wrong_counts(&prose.join("\n"), &counts()),
        Vec::<String>::new()
    );
}

#[test]
fn a_wrong_count_is_found() {
    let counts = [("labs", 27), ("chapters", 22)];
    let right = "Do the 27 [labs](labs), read\nthe book's 22\nchapters.";
    assert_eq!(wrong_counts(right, &counts), Vec::<String>::new());
    for (text, wrong) in [
        (right.replace("27", "26"), "26 labs: there are 27"),
        (right.replace("22", "16"), "16 chapters: there are 22"),
        (right.replace("22", "some"), "chapters: not counted"),
        (
            format!("{right} And 5 kernels."),
            "5 kernels: what counts them?",
        ),
    ] {
        assert!(
            wrong_counts(&text, &counts).contains(&wrong.to_owned()),
            "{text}"
        );
    }
}

/// The program without the line that the README deletes prints the report that the README shows: the first one whole, and the error at
/// the end. Its lines are wrapped for the page.
#[test]
fn without_the_line_the_program_prints_the_report_of_the_readme() {
    let readme = read("README.md");
    let blocks = markdown::blocks(&readme);
    let is_code = |block: &&[Block]| block[0].language == "rust" && block[1].language == "text";
    let pair = blocks
        .windows(2)
        .find(is_code)
        .expect("a line and a report");
    let (line, shown) = (pair[0].text.trim(), pair[1].text);

    let source = "basic_streams/src/bin/raw.rs";
    let program = read(source);
    let numbers = (1..).zip(program.lines());
    let number = numbers.filter(|(_, own)| own.trim() == line);
    let [(number, line)] = number.collect::<Vec<_>>()[..] else {
        panic!("{source} does not have this line once: {line}");
    };
    let link = format!("Delete line {number} of [`{source}`]({source}#L{number})");
    assert!(readme.contains(&link), "README.md lacks: {link}");

    let (code, said) = Broken::without(source, &program, &format!("{line}\n")).run();
    assert_eq!(code, Some(1), "{said}");
    hold(shown, &wrapped(&said));
}

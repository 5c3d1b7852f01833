//! Who may have copied from whom: lines that a few submissions share and no other has.
//!
//! A short lab has few right answers, so equal files prove nothing. A line that was not handed out, that is not in the solution, and
//! that only two or three of a class have written is worth a look. The table says where to look, and judges no student.

use crate::report::field;
use crate::submission::Submission;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The shortest line that says something of its author.
const SHORTEST: usize = 16;

/// How many submissions may share a line for it to be rare.
const MOST_SHARING: usize = 3;

/// How many rare lines two submissions must share to be listed.
const FEWEST_LINES: usize = 3;

/// Two students, and the rare lines that both have written.
#[derive(Debug, PartialEq, Eq)]
pub struct SimilarStudents<'a> {
    /// Both.
    pub students: (&'a str, &'a str),
    /// The lines, with their labs.
    pub lines: Vec<(&'a str, String)>,
}

/// The pairs of submissions that share rare lines, those with the most lines first. `known` are the texts that a lab's lines may
/// come from: what was handed out, and the solution.
pub fn pairs<'a>(
    submissions: &'a [Submission],
    known: &BTreeMap<String, String>,
) -> Vec<SimilarStudents<'a>> {
    let mut authors: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (number, submission) in submissions.iter().enumerate() {
        for (lab, text) in &submission.files {
            let known: BTreeSet<String> = known
                .get(lab)
                .into_iter()
                .flat_map(|text| lines(text))
                .collect();
            let own: BTreeSet<String> = lines(text).filter(|line| !known.contains(line)).collect();
            for line in own {
                authors.entry((lab, line)).or_default().push(number);
            }
        }
    }
    let mut shared: BTreeMap<(usize, usize), Vec<(&str, String)>> = BTreeMap::new();
    for ((lab, line), authors) in authors {
        if authors.len() > MOST_SHARING {
            continue;
        }
        for (place, first) in authors.iter().enumerate() {
            for second in &authors[place + 1..] {
                let lines = shared.entry((*first, *second)).or_default();
                lines.push((lab, line.clone()));
            }
        }
    }
    let student = |number: usize| submissions[number].student.as_str();
    let pairs = shared
        .into_iter()
        .filter(|(_, lines)| lines.len() >= FEWEST_LINES);
    let mut pairs: Vec<SimilarStudents> = pairs
        .map(|((first, second), lines)| SimilarStudents {
            students: (student(first), student(second)),
            lines,
        })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.lines.len()));
    pairs
}

/// The lines of a text that say something, with single blanks.
fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| line.len() >= SHORTEST)
}

/// A line per pair: both students, how many rare lines they share, in how many labs, and the longest of these lines.
pub fn csv(pairs: &[SimilarStudents]) -> String {
    let mut text = String::from("student,other,lines,labs,longest\n");
    for SimilarStudents { students, lines } in pairs {
        let labs: BTreeSet<&str> = lines.iter().map(|(lab, _)| *lab).collect();
        let longest = lines
            .iter()
            .map(|(_, line)| line)
            .max_by_key(|line| line.len());
        let [student, other, longest] =
            [students.0, students.1, longest.map_or("", |line| line)].map(field);
        let _ = writeln!(
            text,
            "{student},{other},{},{},{longest}",
            lines.len(),
            labs.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(student: &str, text: &str) -> Submission {
        Submission {
            student: student.to_owned(),
            files: BTreeMap::from([("01_first_stream".to_owned(), text.to_owned())]),
            problem: None,
        }
    }

    #[test]
    fn lines_that_two_share_and_nobody_else_has_make_a_pair() {
        let known = BTreeMap::from([(
            "01_first_stream".to_owned(),
            "let handed_out = of(all);".to_owned(),
        )]);
        let own = "let my_first_value = 1;\n  let another = 22;\n// I think this is it\n";
        let all = [
            submission("ada", &format!("let handed_out = of(all);\n{own}")),
            submission("bob", &own.replace("  let", "let")),
            submission(
                "cay",
                "let handed_out = of(all);\nlet my_first_value = 1;\nshort\n",
            ),
            submission("dan", "let something_else = 3;\n"),
        ];
        let found = pairs(&all, &known);
        let [pair] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(pair.students, ("ada", "bob"));
        assert_eq!(pair.lines.len(), 3);
        assert!(
            csv(&found).contains("ada,bob,3,1,let my_first_value = 1;"),
            "{}",
            csv(&found)
        );
    }

    #[test]
    fn what_many_have_written_is_not_rare() {
        let text =
            "let the_usual_answer = 1;\nlet another_usual_one = 2;\nlet a_third_one = 333;\n";
        let all: Vec<Submission> = (0..5)
            .map(|number| submission(&number.to_string(), text))
            .collect();
        assert!(pairs(&all, &BTreeMap::new()).is_empty());
    }
}

//! The class's results as a table and as a page.

use crate::catalogue::Lab;
use crate::grading::{Grade, Graded};
use crate::judge::Mark;
use maud::{DOCTYPE, PreEscaped, html};
use std::fmt::Write as _;

/// A line per student and a column per criterion, and one for the points of each lab.
pub fn csv(labs: &[&Lab], grades: &[Grade]) -> String {
    let mut text = String::from("student,points,of,problem");
    for lab in labs {
        let _ = write!(text, ",{}", lab.name);
        for criterion in &lab.criteria {
            let _ = write!(text, ",{}: {}", lab.name, criterion.id);
        }
    }
    text.push('\n');
    for grade in grades {
        let problem = grade.problem.as_deref().unwrap_or_default();
        let (points, of) = (grade.points, grade.of);
        let _ = write!(
            text,
            "{},{points},{of},{}",
            field(&grade.student),
            field(problem)
        );
        for graded in &grade.labs {
            let _ = write!(text, ",{}", graded.verdict.points());
            for judged in &graded.verdict.criteria {
                let _ = write!(text, ",{}", judged.points);
            }
        }
        text.push('\n');
    }
    text
}

/// A line per student, as the gradebooks of Canvas and Moodle import it: the student, the sum, and the points of each lab.
pub fn gradebook(labs: &[&Lab], grades: &[Grade]) -> String {
    let names = labs.iter().map(|lab| lab.name.as_str());
    let mut text = ["student", "total"]
        .into_iter()
        .chain(names)
        .collect::<Vec<_>>()
        .join(",");
    text.push('\n');
    for grade in grades {
        let _ = write!(text, "{},{}", field(&grade.student), grade.points);
        for graded in &grade.labs {
            let _ = write!(text, ",{}", graded.verdict.points());
        }
        text.push('\n');
    }
    text
}

/// A field of a CSV file. What a spreadsheet would take for a formula becomes text.
pub fn field(text: &str) -> String {
    let safe = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if safe.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe
    }
}

/// A student's name as that of a file.
pub fn file_name(student: &str) -> String {
    let keep = |letter: char| {
        if letter.is_alphanumeric() || "-_.".contains(letter) {
            letter
        } else {
            '_'
        }
    };
    let name: String = student.chars().map(keep).collect();
    match name.trim_matches('.') {
        "" => "_".to_owned(),
        name => name.to_owned(),
    }
}

const STYLE: &str = include_str!("report.css");

/// One page: students and labs, and below each cell its criteria.
pub fn page(labs: &[&Lab], grades: &[Grade]) -> String {
    let mean = |place: usize| {
        let reached = grades
            .iter()
            .map(|grade| grade.labs[place].verdict.points());
        f64::from(reached.sum::<u32>()) / grades.len().max(1) as f64
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Labs: " (grades.len()) " submissions" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Labs: " (grades.len()) " submissions" }
                p { "Points by student and lab. A cell opens: it shows what was found for each criterion." }
                div.scroll { table {
                    thead { tr {
                        th.student { "student" }
                        th { "points" }
                        @for lab in labs { th title=(lab.title) { (number(&lab.name)) } }
                    } }
                    tbody {
                        @for grade in grades { tr {
                            th.student scope="row" {
                                (grade.student)
                                @if let Some(problem) = &grade.problem { div.problem { (problem) } }
                            }
                            td.total { (grade.points) "/" (grade.of) }
                            @for graded in &grade.labs { (cell(graded)) }
                        } }
                    }
                    tfoot { tr {
                        th.student { "mean" }
                        td {}
                        @for place in 0..labs.len() { td { (format!("{:.1}", mean(place))) } }
                    } }
                } }
                h2 { "Labs" }
                ol { @for lab in labs { li { code { (lab.name) } " " (lab.title) ", " (lab.points()) " points" } } }
                h2 { "Criteria that most students missed" }
                (missed(labs, grades))
            }
        }
    };
    page.into_string()
}

fn number(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

fn cell(graded: &Graded) -> maud::Markup {
    let verdict = &graded.verdict;
    let (points, of) = (verdict.points(), verdict.of());
    let untouched = verdict
        .criteria
        .iter()
        .all(|judged| matches!(judged.mark, Mark::Blocked(_)));
    let class = match (points, of) {
        _ if untouched => "none",
        (_, 0) => "none",
        (0, _) => "zero",
        (points, of) if points == of => "full",
        _ => "part",
    };
    html! {
        td class=(class) {
            details {
                summary { @if untouched { "–" } @else { (points) "/" (of) } }
                div.found {
                    strong { (verdict.lab) }
                    @if let Some(note) = &graded.note { p { (note) } }
                    @if let Some(said) = &graded.said { pre { (said) } }
                    ul { @for judged in &verdict.criteria {
                        li class=(if judged.mark.is_met() { "met" } else { "missed" }) {
                            (judged.points) "/" (judged.of) " " (judged.id)
                            @if !matches!(judged.mark, Mark::Met(_)) && !judged.mark.found().is_empty() { ": " (judged.mark.found()) }
                        }
                    } }
                }
            }
        }
    }
}

/// The criteria by how many of those who handed in missed them.
fn missed(labs: &[&Lab], grades: &[Grade]) -> maud::Markup {
    let mut counts: Vec<(usize, String, &str)> = Vec::new();
    for (place, lab) in labs.iter().enumerate() {
        for (number, criterion) in lab.criteria.iter().enumerate() {
            let of = |grade: &&Grade| {
                let judged = &grade.labs[place].verdict.criteria[number];
                matches!(judged.mark, Mark::Missed(_))
            };
            let count = grades.iter().filter(of).count();
            if count > 0 {
                counts.push((
                    count,
                    format!("{}: {}", lab.name, criterion.id),
                    &criterion.teaches,
                ));
            }
        }
    }
    counts.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    html! {
        ul { @for (count, what, teaches) in counts.iter().take(12) {
            li { (count) " × " code { (what) } " " (teaches) }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_are_no_formulas() {
        assert_eq!(field("Ada Lovelace"), "Ada Lovelace");
        assert_eq!(field("Lovelace, \"Ada\""), "\"Lovelace, \"\"Ada\"\"\"");
        assert_eq!(field("=1+1"), "'=1+1");
    }

    #[test]
    fn names_stay_within_the_folder() {
        assert_eq!(file_name("../../etc"), "_.._etc");
        assert_eq!(file_name(".."), "_");
        assert_eq!(file_name("ada_9"), "ada_9");
    }
}

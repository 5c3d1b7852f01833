//! Answers to questions about a recorded run: a text file whose lines are `1: answer`.

use hmac_sha256::Hash;

/// The answers by their numbers: `count` of them. A line without an answer gives none.
pub fn read(text: &str, count: usize) -> Vec<Option<String>> {
    let mut answers = vec![None; count];
    for line in text.lines() {
        let Some((number, answer)) = line.split_once(':') else {
            continue;
        };
        let Ok(number @ 1..) = number.trim().parse::<usize>() else {
            continue;
        };
        if let Some(place) = answers.get_mut(number - 1) {
            let answer = normal(answer);
            *place = (!answer.is_empty()).then_some(answer);
        }
    }
    answers
}

/// The answer without what does not matter: case, blanks, a full stop.
fn normal(answer: &str) -> String {
    let words: Vec<&str> = answer.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_lowercase()
}

/// What the catalogue keeps of the answer to a question of a lab, so that reading it there gives nothing away.
pub fn digest(lab: &str, question: usize, answer: &str) -> String {
    let text = format!("{lab} {question} {}", normal(answer));
    let digest = Hash::hash(text.as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_by_number_and_case_does_not_matter() {
        let text = "What is it?\n1: Kernel.\n2:\n 3 :  copy   in \n9: too many\nnote: no number\n0: none\n";
        assert_eq!(
            read(text, 3),
            [Some("kernel".into()), None, Some("copy in".into())]
        );
        assert_eq!(digest("a", 1, "Kernel. "), digest("a", 1, "kernel"));
        assert_ne!(digest("a", 1, "kernel"), digest("a", 2, "kernel"));
    }
}

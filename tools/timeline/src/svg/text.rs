//! Text, numbers and rectangles in SVG.

use std::fmt::Write;

/// Text as XML may hold it: control characters, which it may not, become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A length with at most one digit after the point.
pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// About how wide a text in letters of 12 is; rather too much than too little.
pub fn width(text: &str) -> f64 {
    7.3 * text.chars().count() as f64
}

/// The text, or as much of it as fits the width, followed by an ellipsis.
pub fn shortened(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let letters = (room / width("x")).floor().max(1.0) as usize;
    let kept: String = text.chars().take(letters - 1).collect();
    format!("{}…", kept.trim_end())
}

/// A rectangle.
pub fn rect(out: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64) {
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        number(x),
        number(y),
        number(width),
        number(height)
    );
}

/// A bar, with what is shown while the pointer rests on it.
pub fn titled(out: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64, title: &str) {
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        number(x),
        number(y),
        number(width),
        number(height),
        escape(title)
    );
}

/// The text in lines of at most `most` letters, broken between words.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let letters = |text: &str| text.chars().count();
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && letters(line) + 1 + letters(word) > most {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let room = most as f64 * width("x");
    lines.iter().map(|line| shortened(line, room)).collect()
}

/// A name, or as much of it as fits without its middle: names often differ in their last letters.
pub fn middle_shortened(text: &str, room: f64) -> String {
    let letters: Vec<char> = text.chars().collect();
    // A width computed for exactly this many letters may have lost a fraction by rounding.
    let most = (room / width("x") + 1e-6).floor().max(3.0) as usize;
    if letters.len() <= most {
        return text.to_owned();
    }
    let half = (most - 1) / 2;
    let (begin, end) = (
        &letters[..most - 1 - half],
        &letters[letters.len() - half..],
    );
    format!("{}…{}", String::from_iter(begin), String::from_iter(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(
            escape("a<b> & \"c\"\u{1}\n"),
            "a&lt;b&gt; &amp; &quot;c&quot; \n"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [1.0, 0.25, 12.34, -0.0].map(number),
            ["1", "0.2", "12.3", "-0"]
        );
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(middle_shortened("stream 1", 100.0), "stream 1");
        assert_eq!(
            middle_shortened("a stream with a long name 17", 80.0),
            "a str…e 17"
        );
        assert_eq!(middle_shortened("abcdef", 0.0), "a…f");
        let room = 16.0 + width("compute") - 16.0;
        assert_eq!(middle_shortened("compute", room), "compute");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one", 8), ["one"]);
        assert_eq!(wrapped("", 8), [""]);
        assert_eq!(wrapped("a incomprehensibilities", 8), ["a", "incompr…"]);
    }

    #[test]
    fn long_text_ends_in_an_ellipsis() {
        assert_eq!(shortened("compute", 100.0), "compute");
        assert_eq!(shortened("a very long name", 75.0), "a very lo…");
        assert_eq!(shortened("x", 0.0), "…");
    }
}

//! From a line to its words.

/// A word of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(String),
    Number(u64),
    /// With the text that the program has for it.
    Float(f32, String),
    Sign(&'static str),
}

/// The longest come first.
const SIGNS: [&str; 17] = [
    "<<<", ">>>", "<<", "..", "(", ")", "[", "]", "{", "}", ",", ".", "=", "+", "-", "*", "%",
];

/// The words of a line; `//` begins a comment.
///
/// # Errors
/// A character or a number that no program has.
pub(crate) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with("//") {
        let (token, length) = token(rest)?;
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

fn token(rest: &str) -> Result<(Token, usize), String> {
    let while_in = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_alphabetic() || first == '_' {
        let length = while_in(|c| c.is_ascii_alphanumeric() || c == '_');
        return Ok((Token::Name(rest[..length].to_owned()), length));
    }
    if first.is_ascii_digit() {
        return number(rest, while_in(|c| c.is_ascii_digit() || c == '_'));
    }
    if first == '/' {
        return Ok((Token::Sign("/"), 1));
    }
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    sign.map(|sign| (Token::Sign(sign), sign.len()))
        .ok_or_else(|| format!("{first:?} has no meaning here"))
}

/// A number whose digits before a point are so many characters. `0..4` is a range, `0.5` a number with a point.
fn number(rest: &str, whole: usize) -> Result<(Token, usize), String> {
    let behind = rest[whole..].strip_prefix('.');
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    if let Some(fraction) = behind
        && digits(fraction) > 0
    {
        let length = whole + 1 + digits(fraction);
        let text = &rest[..length];
        let number = text.replace('_', "").parse();
        let number = number.map_err(|_| format!("{text} is not a number"))?;
        return Ok((Token::Float(number, text.to_owned()), length));
    }
    let text = &rest[..whole];
    let number = text.replace('_', "").parse();
    let number = number.map_err(|_| format!("{text} is larger than 64 bits"))?;
    Ok((Token::Number(number), whole))
}

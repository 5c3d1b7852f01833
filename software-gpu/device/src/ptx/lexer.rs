//! PTX text to tokens.

use super::PtxError;

/// One lexical element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// `ld`, `%r1`, `$L__BB0_2`, `_Z3foov`, `_`.
    Word(&'a str),
    /// A word with a leading dot, without the dot: `.global`, `.v2`, `.shared::cta`, `.L1::no_allocate`.
    Dotted(&'a str),
    /// An integer literal as 64 bits.
    Integer(u64),
    /// `0f3F800000`.
    Single(u32),
    /// `0d3FF0000000000000`, or a decimal fraction.
    Double(u64),
    /// A quoted text without the quotes.
    Text(&'a str),
    /// One of `{ } ( ) [ ] < > , ; : @ ! | + - = ~ & * / ^ %`.
    Punctuation(char),
    /// The end of the text.
    End,
}

/// A token and where it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme<'a> {
    pub token: Token<'a>,
    pub line: u32,
    pub column: u32,
    /// The token as written.
    pub text: &'a str,
}

/// Splits `source` into tokens; the last one is always [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<Lexeme<'_>>, PtxError> {
    let mut lexer = Lexer {
        source,
        at: 0,
        line: 1,
        line_start: 0,
    };
    let mut lexemes = Vec::with_capacity(source.len() / 4);
    loop {
        lexer.skip_blank()?;
        let (start, line) = (lexer.at, lexer.line);
        let column = (start - lexer.line_start + 1) as u32;
        let token = lexer.token().map_err(|message| PtxError {
            column,
            ..PtxError::syntax(line, first_word(&source[start..]), message)
        })?;
        lexemes.push(Lexeme {
            token,
            line,
            column,
            text: &source[start..lexer.at],
        });
        if token == Token::End {
            return Ok(lexemes);
        }
    }
}

/// Begins a comment whose text is code for this device: what a GPU is spared, such as the formatting of panics.
pub(super) const FOR_THIS_DEVICE: &str = "//software-gpu:";

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        *self.source.as_bytes().get(self.at + ahead).unwrap_or(&0)
    }

    fn step(&mut self) {
        if self.peek(0) == b'\n' {
            self.line += 1;
            self.line_start = self.at + 1;
        }
        self.at += 1;
    }

    fn skip_blank(&mut self) -> Result<(), PtxError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | 0x0c, _) => self.step(),
                (b'/', b'/') if self.source[self.at..].starts_with(FOR_THIS_DEVICE) => {
                    self.at += FOR_THIS_DEVICE.len();
                }
                (b'/', b'/') => self.take_while(|byte| byte != b'\n'),
                (b'/', b'*') => {
                    let line = self.line;
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (b'*', b'/') {
                        if self.at >= self.source.len() {
                            return Err(PtxError::syntax(line, "/*", "comment without end"));
                        }
                        self.step();
                    }
                    self.at += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.at < self.source.len() && accept(self.peek(0)) {
            self.at += 1;
        }
    }

    fn token(&mut self) -> Result<Token<'a>, &'static str> {
        let start = self.at;
        let first = self.peek(0);
        if start >= self.source.len() {
            return Ok(Token::End);
        }
        match first {
            b'0'..=b'9' => self.number(),
            b'.' if is_word(self.peek(1)) => {
                self.at += 1;
                self.dotted();
                Ok(Token::Dotted(&self.source[start + 1..self.at]))
            }
            b'"' => {
                self.at += 1;
                self.take_while(|byte| byte != b'"' && byte != b'\n');
                if self.peek(0) != b'"' {
                    return Err("text without closing quote");
                }
                self.at += 1;
                Ok(Token::Text(&self.source[start + 1..self.at - 1]))
            }
            b'%' if !is_word(self.peek(1)) => self.punctuation(),
            byte if is_word(byte) => {
                self.take_while(is_word);
                Ok(Token::Word(&self.source[start..self.at]))
            }
            _ => self.punctuation(),
        }
    }

    fn dotted(&mut self) {
        self.take_while(is_word);
        while (self.peek(0), self.peek(1)) == (b':', b':') && is_word(self.peek(2)) {
            self.at += 2;
            self.take_while(is_word);
        }
    }

    fn punctuation(&mut self) -> Result<Token<'a>, &'static str> {
        match self.peek(0) {
            byte if b"{}()[]<>,;:@!|+-=~&*/^%".contains(&byte) => {
                self.at += 1;
                Ok(Token::Punctuation(byte as char))
            }
            _ => Err("character that PTX does not know"),
        }
    }

    fn number(&mut self) -> Result<Token<'a>, &'static str> {
        let start = self.at;
        self.take_while(|byte| byte.is_ascii_alphanumeric());
        let word = &self.source[start..self.at];
        let digits = |radix, skip: usize| {
            let digits = word[skip..].trim_end_matches(['U', 'u']);
            u64::from_str_radix(digits, radix)
                .map_err(|_| "number that does not fit 64 bits or has foreign digits")
        };
        match word.as_bytes() {
            [b'0', b'f' | b'F', ..] if word.len() == 10 => {
                digits(16, 2).map(|bits| Token::Single(bits as u32))
            }
            [b'0', b'd' | b'D', ..] if word.len() == 18 => digits(16, 2).map(Token::Double),
            [b'0', b'x' | b'X', ..] => digits(16, 2).map(Token::Integer),
            [b'0', b'b' | b'B', ..] => digits(2, 2).map(Token::Integer),
            _ if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() => self.fraction(start),
            [b'0', b'0'..=b'7', ..] => digits(8, 1).map(Token::Integer),
            _ => digits(10, 0).map(Token::Integer),
        }
    }

    /// The rest of `1.5` or `1.5e-3`, whose integer part has been read.
    fn fraction(&mut self, start: usize) -> Result<Token<'a>, &'static str> {
        self.at += 1;
        self.take_while(|byte| byte.is_ascii_alphanumeric());
        if self.source[start..self.at].ends_with(['e', 'E']) && matches!(self.peek(0), b'+' | b'-')
        {
            self.at += 1;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        let value = self.source[start..self.at].parse::<f64>();
        value
            .map(|value| Token::Double(value.to_bits()))
            .map_err(|_| "number that is not a decimal fraction")
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

fn first_word(text: &str) -> String {
    text.chars()
        .take_while(|c| !c.is_whitespace())
        .take(24)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Token<'_>> {
        tokens(source)
            .unwrap()
            .into_iter()
            .map(|lexeme| lexeme.token)
            .collect()
    }

    #[test]
    fn words_numbers_and_comments() {
        assert_eq!(
            kinds(
                "ld.shared::cta.u32 %r1, [x+-0x10]; // gone\n0f3F800000 0d3FF0000000000000 /* a\nb */ 017 1.5"
            ),
            [
                Token::Word("ld"),
                Token::Dotted("shared::cta"),
                Token::Dotted("u32"),
                Token::Word("%r1"),
                Token::Punctuation(','),
                Token::Punctuation('['),
                Token::Word("x"),
                Token::Punctuation('+'),
                Token::Punctuation('-'),
                Token::Integer(16),
                Token::Punctuation(']'),
                Token::Punctuation(';'),
                Token::Single(0x3f80_0000),
                Token::Double(0x3ff0_0000_0000_0000),
                Token::Integer(15),
                Token::Double(1.5f64.to_bits()),
                Token::End,
            ]
        );
    }

    #[test]
    fn errors_carry_line_and_column() {
        let error = tokens("ok\n  #bad").unwrap_err();
        assert_eq!((error.line, error.column), (2, 3));
        assert_eq!(error.text, "#bad");
    }
}

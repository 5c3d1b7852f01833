//! Whole numbers: what they are, and how Rust and C++ write them. Both have the same operators at the same precedence.

use crate::syntax::{Expression, Operator};
use std::fmt;

impl Operator {
    /// How tightly it binds, as in C++: a shift binds less than an addition.
    pub(crate) fn precedence(self) -> u8 {
        match self {
            Self::ShiftLeft => 1,
            Self::Add | Self::Subtract => 2,
            Self::Multiply | Self::Divide | Self::Remainder => 3,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::ShiftLeft => "<<",
        }
    }

    /// # Errors
    /// The result is negative, larger than 64 bits, or no number.
    fn apply(self, left: u64, right: u64) -> Result<u64, String> {
        let result = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            Self::Remainder => left.checked_rem(right),
            Self::ShiftLeft => u32::try_from(right)
                .ok()
                .and_then(|by| 1_u64.checked_shl(by))
                .and_then(|factor| left.checked_mul(factor)),
        };
        result.ok_or_else(|| {
            format!(
                "{left} {} {right} is not a whole number from 0 to 2^64 - 1",
                self.sign()
            )
        })
    }
}

impl Expression {
    /// The value; `of` knows the names.
    ///
    /// # Errors
    /// The errors of `of`, and a result that is not a whole number.
    pub(crate) fn value(&self, of: &dyn Fn(&str) -> Result<u64, String>) -> Result<u64, String> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(name) => of(name),
            Self::Binary(left, operator, right) => {
                operator.apply(left.value(of)?, right.value(of)?)
            }
        }
    }

    /// All names in it.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Name(name) => vec![name],
            Self::Binary(left, _, right) => {
                let mut names = left.names();
                names.extend(right.names());
                names
            }
        }
    }

    fn precedence(&self) -> u8 {
        match self {
            Self::Binary(_, operator, _) => operator.precedence(),
            _ => u8::MAX,
        }
    }

    /// As Rust of this type: a number takes the type that it needs, everything else is converted.
    pub(crate) fn cast(&self, to: &str) -> String {
        let word = self.as_word();
        match word.bytes().all(|byte| byte.is_ascii_digit()) {
            true => word,
            false => format!("{word} as {to}"),
        }
    }

    /// Within parentheses, unless it is one word.
    pub(crate) fn as_word(&self) -> String {
        match self {
            Self::Binary(..) => format!("({self})"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Binary(left, operator, right) => {
                let own = operator.precedence();
                match left.precedence() < own {
                    true => write!(f, "({left})")?,
                    false => write!(f, "{left}")?,
                }
                write!(f, " {} ", operator.sign())?;
                match right.precedence() <= own {
                    true => write!(f, "({right})"),
                    false => write!(f, "{right}"),
                }
            }
        }
    }
}

//! What the command line says of the cache: `--size` is all layers' keys and values before the first step, `--chunks` the
//! pages of a layer that they lie in.

use super::model::TOKEN_BYTES;
use crate::cache::LAYERS;
use examples_host::options::UsageError;
use examples_host::prelude::*;

/// Tokens of a page by default.
const PAGE_TOKENS: usize = 16;

/// The tokens that the command line asks for.
pub fn tokens(part: &Part) -> Result<Option<usize>, UsageError> {
    let Some(size) = part.options().size else {
        return Ok(None);
    };
    match size.bytes() / (LAYERS * TOKEN_BYTES) {
        0 => {
            let token = units::bytes((LAYERS * TOKEN_BYTES) as u64);
            Err(UsageError(format!("--size {size} has no room for one token of {token}")))
        }
        // Tokens and heads are counted in 32 bits by the kernels.
        tokens if tokens > 1 << 20 => {
            Err(UsageError(format!("--size {size} makes {tokens} tokens, more than {}", 1 << 20)))
        }
        tokens => Ok(Some(tokens)),
    }
}

/// The tokens before the first step of `append`: what the command line asks for, or several numbers to choose from. At none
/// of them is an H200 on the edge: there it would choose one number in one run and another in the next, and two runs could not
/// be compared.
pub fn prompts(part: &Part) -> Result<Vec<usize>, UsageError> {
    let several = vec![64, 96, 128, 192, 256, 512];
    Ok(tokens(part)?.map_or(several, |prompt| vec![prompt]))
}

/// The pages of a layer: as many as the command line asks for, or else of [`PAGE_TOKENS`] tokens each.
#[derive(Clone, Copy)]
pub struct Pages {
    asked: Option<usize>,
}

impl Pages {
    /// The command line's value.
    pub fn of(part: &Part) -> Self {
        let asked = part.options().chunks.map(usize::from);
        Self { asked }
    }

    /// How many tokens a page holds when a layer has `tokens` of them.
    pub fn hold(self, tokens: usize) -> Result<usize, UsageError> {
        match self.asked {
            Some(pages) if pages > tokens => {
                Err(UsageError(format!("--chunks {pages}: there are no more than {tokens} tokens")))
            }
            asked => tokens_of_each(asked.unwrap_or(tokens.div_ceil(PAGE_TOKENS)), tokens),
        }
    }
}

/// The tokens of a page when so many pages of one size hold `tokens`, and none is empty.
fn tokens_of_each(pages: usize, tokens: usize) -> Result<usize, UsageError> {
    let page_tokens = tokens.div_ceil(pages);
    let fewer = tokens.div_ceil(page_tokens);
    if fewer == pages {
        return Ok(page_tokens);
    }
    // Not one token each: that many pages are never too many.
    let more = tokens.div_ceil(page_tokens - 1);
    Err(UsageError(format!(
        "--chunks {pages}: pages of one size that hold {tokens} tokens are {fewer} or {more}, not {pages}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_as_many_as_asked_for_or_refused_with_the_nearest_that_are_possible() {
        assert_eq!(tokens_of_each(8, 96), Ok(12));
        assert_eq!(tokens_of_each(7, 96), Ok(14));
        assert_eq!(tokens_of_each(96, 96), Ok(1));
        let UsageError(text) = tokens_of_each(48, 64).unwrap_err();
        assert_eq!(text, "--chunks 48: pages of one size that hold 64 tokens are 32 or 64, not 48");
        for tokens in 1..200 {
            for pages in 1..=tokens {
                let exact = tokens_of_each(pages, tokens);
                assert!(exact.is_err() || exact.is_ok_and(|each| tokens.div_ceil(each) == pages));
            }
            let usual = tokens.div_ceil(PAGE_TOKENS);
            assert!(tokens_of_each(usual, tokens).is_ok(), "{tokens} tokens");
        }
    }
}

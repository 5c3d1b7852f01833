//! What the command line says of the cache: `--size` is all layers' keys and values before the first step, `--chunks` the
//! pages of a layer that they lie in.

use crate::model::{LAYERS, TOKEN_BYTES};
use examples_host::options::UsageError;
use examples_host::prelude::*;

/// Tokens of a page, where nothing else is said.
const PAGE_TOKENS: usize = 16;

/// The tokens that the command line asks for.
pub fn tokens(part: &Part) -> Result<Option<usize>, UsageError> {
    let Some(size) = part.options().size else {
        return Ok(None);
    };
    match size.bytes() / (LAYERS * TOKEN_BYTES) {
        0 => {
            let token = units::bytes((LAYERS * TOKEN_BYTES) as u64);
            Err(UsageError(format!(
                "--size {size} has no room for one token of {token}"
            )))
        }
        // Tokens and heads are counted in 32 bits by the kernels.
        tokens if tokens > 1 << 20 => Err(UsageError(format!(
            "--size {size} makes {tokens} tokens, more than {}",
            1 << 20
        ))),
        tokens => Ok(Some(tokens)),
    }
}

/// How many tokens a page holds when a layer has `tokens` of them.
pub fn page_tokens(part: &Part, tokens: usize) -> Result<usize, UsageError> {
    let pages = part.chunks(tokens.div_ceil(PAGE_TOKENS), tokens)?;
    Ok(tokens.div_ceil(pages))
}

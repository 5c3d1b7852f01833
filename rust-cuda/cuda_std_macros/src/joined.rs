//! `joined!`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// The same tokens, with each `[<…>]` one identifier.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let expand_one = |token| match token {
        TokenTree::Group(group) => match name(&group) {
            Some(name) => TokenTree::Ident(Ident::new(&name, Span::call_site())),
            None => {
                let mut same = Group::new(group.delimiter(), expand(group.stream()));
                same.set_span(group.span());
                TokenTree::Group(same)
            }
        },
        other => other,
    };
    tokens.into_iter().map(expand_one).collect()
}

/// What stands in `[<…>]`, without spaces.
fn name(group: &Group) -> Option<String> {
    let parts: Vec<String> = group
        .stream()
        .into_iter()
        .map(|part| part.to_string())
        .collect();
    match parts.as_slice() {
        [open, inner @ .., close]
            if group.delimiter() == Delimiter::Bracket && open == "<" && close == ">" =>
        {
            Some(inner.concat())
        }
        _ => None,
    }
}

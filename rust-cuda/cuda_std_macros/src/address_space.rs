//! `#[address_space(..)]`.
//!
//! A static in shared memory is a [shared array](crate::shared_array) and a function that gives its address. Where the
//! macro sees the static's uses, in a kernel's body, it replaces them by the place behind that address. Elsewhere the static
//! becomes a wrapper that dereferences to the place.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::{Attribute, Error, ItemStatic, Path, StaticMutability, Type, Visibility};

use crate::shared_array;

/// The attribute alone, on a static anywhere.
pub(crate) fn expand(space: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let item: ItemStatic = syn::parse2(item)?;
    if !is_shared(space)? {
        return Ok(quote!(#item));
    }
    let ItemStatic {
        attrs,
        vis,
        mutability,
        ident,
        ty,
        expr,
        ..
    } = item;
    let place = format_ident!("__SharedPlace_{ident}");
    // A public static may have a type of no less visibility.
    let place_vis = match vis {
        Visibility::Inherited => quote!(),
        _ => quote!(pub),
    };
    let address = shared_array::address(&quote!(#ty), &quote!(::core::mem::size_of::<#ty>()));
    Ok(quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #place_vis struct #place;

        impl ::cuda_std::shared::Place for #place {
            type Value = #ty;

            #[inline(always)]
            fn address() -> *mut #ty {
                // The initial value is checked and not stored.
                const _: #ty = #expr;
                #address
            }
        }

        #(#attrs)*
        #vis static #mutability #ident: ::cuda_std::shared::Static<#place> = ::cuda_std::shared::Static::NEW;
    })
}

fn is_shared(space: TokenStream) -> syn::Result<bool> {
    let name: Ident = syn::parse2(space)?;
    match name.to_string().as_str() {
        "shared" => Ok(true),
        "global" | "generic" | "constant" => Ok(false),
        "local" => Err(Error::new(
            name.span(),
            "a static cannot be in local memory, which belongs to one thread: use a variable of the function",
        )),
        _ => Err(Error::new(
            name.span(),
            "expected `shared`, `constant`, `global` or `generic`",
        )),
    }
}

/// The statements of a kernel, whose shared statics have become places.
pub(crate) fn in_function(statements: TokenStream) -> syn::Result<TokenStream> {
    let mut names = Vec::new();
    let statements = declarations(statements, &mut names)?;
    Ok(match names.is_empty() {
        true => statements,
        false => uses(statements, &names),
    })
}

/// The function that gives the address of a static.
fn address_of(name: &Ident) -> Ident {
    format_ident!("__address_of_{name}")
}

/// Replaces the declarations of shared statics by functions, and collects their names.
fn declarations(tokens: TokenStream, names: &mut Vec<Ident>) -> syn::Result<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut result = TokenStream::new();
    let mut next = 0;
    while next < tokens.len() {
        if let Some((item, attribute, end)) = shared_static(&tokens[next..])? {
            names.push(item.ident.clone());
            result.extend(function(&item, &attribute));
            next += end;
            continue;
        }
        result.extend([match &tokens[next] {
            TokenTree::Group(group) => {
                let inner = declarations(group.stream(), names)?;
                TokenTree::Group(same_span(group, inner))
            }
            other => other.clone(),
        }]);
        next += 1;
    }
    Ok(result)
}

/// A static at the beginning of `tokens` that an attribute places in shared memory, the attribute's path, and how many tokens it
/// has.
fn shared_static(tokens: &[TokenTree]) -> syn::Result<Option<(ItemStatic, Path, usize)>> {
    let is_attribute = |pair: &[TokenTree]| {
        matches!(pair, [TokenTree::Punct(hash), TokenTree::Group(group)]
            if hash.as_char() == '#' && group.delimiter() == Delimiter::Bracket)
    };
    let attributes = tokens
        .chunks_exact(2)
        .take_while(|pair| is_attribute(pair))
        .count()
        * 2;
    if attributes == 0
        || !tokens[attributes..]
            .iter()
            .take(5)
            .any(|token| matches!(token, TokenTree::Ident(word) if word == "static"))
    {
        return Ok(None);
    }
    let list: TokenStream = tokens[..attributes].iter().cloned().collect();
    let Ok(list) = Attribute::parse_outer.parse2(list) else {
        return Ok(None);
    };
    let named = |attribute: &Attribute| {
        let segment = attribute.path().segments.last();
        segment.is_some_and(|segment| segment.ident == "address_space")
    };
    let Some(attribute) = list.iter().find(|attribute| named(attribute)) else {
        return Ok(None);
    };
    if !is_shared(attribute.parse_args()?)? {
        return Ok(None);
    }
    let path = attribute.path().clone();
    let Some(end) = tokens
        .iter()
        .position(|token| matches!(token, TokenTree::Punct(end) if end.as_char() == ';'))
    else {
        return Ok(None);
    };
    let mut item: ItemStatic = syn::parse2(tokens[..=end].iter().cloned().collect())?;
    item.attrs.retain(|attribute| !named(attribute));
    Ok(Some((item, path, end + 1)))
}

fn function(item: &ItemStatic, attribute: &Path) -> TokenStream {
    let ItemStatic {
        attrs,
        ident,
        ty,
        expr,
        mutability,
        ..
    } = item;
    let name = address_of(ident);
    let address = shared_array::address(&quote!(#ty), &quote!(::core::mem::size_of::<#ty>()));
    let (result, address) = given(mutability, ty, address);
    quote! {
        #(#attrs)*
        #[allow(non_snake_case, unused_attributes)]
        #[inline(always)]
        fn #name() -> #result {
            // The initial value is checked and not stored.
            const _: #ty = #expr;
            // The attribute is gone: this uses what imports it.
            #[allow(unused_imports)]
            use #attribute as _;
            #address
        }
    }
}

/// A `static mut` is used in unsafe code, and its address dereferenced there; another static is used in safe code.
fn given(
    mutability: &StaticMutability,
    ty: &Type,
    address: TokenStream,
) -> (TokenStream, TokenStream) {
    match mutability {
        StaticMutability::None => (
            quote!(&'static #ty),
            // SAFETY of the emitted block: the address is of shared memory of that type's size and alignment.
            quote!({ let address = #address; unsafe { &*address } }),
        ),
        _ => (quote!(*mut #ty), address),
    }
}

/// Replaces the names of shared statics by the places behind their addresses.
fn uses(tokens: TokenStream, names: &[Ident]) -> TokenStream {
    let mut result = Vec::<TokenTree>::new();
    for token in tokens {
        let is_member = matches!(result.last(), Some(TokenTree::Punct(before)) if matches!(before.as_char(), '.' | ':'));
        match token {
            TokenTree::Ident(name) if names.contains(&name) && !is_member => {
                let address = address_of(&name);
                result.extend(quote!((*#address())));
            }
            TokenTree::Group(group) => {
                let inner = uses(group.stream(), names);
                result.push(TokenTree::Group(same_span(&group, inner)));
            }
            other => result.push(other),
        }
    }
    result.into_iter().collect()
}

fn same_span(group: &Group, stream: TokenStream) -> Group {
    let mut same = Group::new(group.delimiter(), stream);
    same.set_span(group.span());
    same
}

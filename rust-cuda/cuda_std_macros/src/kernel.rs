//! `#[kernel]`.
//!
//! rustc passes a slice to a `ptx-kernel` function as one 16-byte structure. LLVM then loses sight of the pointer's
//! origin and emits generic loads, so the slices are taken apart here, as Rust-CUDA does.
//!
//! rustc has no attribute for launch bounds. They travel to `cuda_builder` as a comment in the module's assembly,
//! which writes the directives into the entry's header.
//!
//! On the host the function stays a function, as with Rust-CUDA: it is checked, and host code can name and re-export it.
//! With the feature `signatures` there is also a type of its name that implements `cuda_std::signature::Signature`: a launch
//! is checked against it. An enum without variants, because it lives in the namespace of types alone: a unit struct would
//! forbid its user a variable of the kernel's name.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Error, FnArg, Ident, ItemFn, LitInt, Pat, PatType, ReturnType, Safety, Token, Type,
    parenthesized, parse_quote,
};

use crate::address_space;

/// What stands in the parentheses of `#[kernel(..)]`.
#[derive(Default)]
pub(crate) struct Arguments {
    launch_bounds: Option<LaunchBounds>,
}

struct LaunchBounds {
    max_threads_per_block: u32,
    min_blocks_per_multiprocessor: Option<u32>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.is_empty() {
            return Ok(Self::default());
        }
        let name: Ident = input.parse()?;
        if name != "launch_bounds" {
            return Err(Error::new(
                name.span(),
                "expected `launch_bounds(threads[, blocks])`",
            ));
        }
        let content;
        parenthesized!(content in input);
        let bounds = Punctuated::<LitInt, Token![,]>::parse_terminated(&content)?;
        let values = bounds
            .iter()
            .map(positive)
            .collect::<syn::Result<Vec<u32>>>()?;
        let launch_bounds = match *values {
            [threads] => (threads, None),
            [threads, blocks] => (threads, Some(blocks)),
            _ => {
                return Err(Error::new(
                    name.span(),
                    "`launch_bounds` takes one or two numbers",
                ));
            }
        };
        if launch_bounds.0 > 1024 {
            return Err(Error::new(
                bounds[0].span(),
                "a block has at most 1024 threads",
            ));
        }
        if !input.is_empty() {
            return Err(input.error("`launch_bounds` is the only argument of `#[kernel]`"));
        }
        Ok(Self {
            launch_bounds: Some(LaunchBounds {
                max_threads_per_block: launch_bounds.0,
                min_blocks_per_multiprocessor: launch_bounds.1,
            }),
        })
    }
}

fn positive(literal: &LitInt) -> syn::Result<u32> {
    match literal.base10_parse()? {
        0 => Err(Error::new(literal.span(), "must be greater than zero")),
        value => Ok(value),
    }
}

pub(crate) fn expand(arguments: &Arguments, function: ItemFn) -> syn::Result<TokenStream> {
    check_signature(&function)?;
    let parameters = function
        .sig
        .inputs
        .iter()
        .map(Parameter::new)
        .collect::<syn::Result<Vec<_>>>()?;
    let raw = parameters.iter().map(|parameter| &parameter.raw);
    let slices = parameters.iter().map(|parameter| &parameter.slice);

    let bounds = arguments
        .launch_bounds
        .as_ref()
        .map(|bounds| bounds.directive(&function.sig.ident));
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = &function;
    let name = &sig.ident;
    let copied = parameters.iter().filter_map(|p| p.value.as_ref());
    let check = quote! {
        { fn a_kernel_s_parameter_has_to_be_copy<T: Copy>() {} #(a_kernel_s_parameter_has_to_be_copy::<#copied>();)* }
    };
    let statements: TokenStream = block.stmts.iter().map(ToTokens::to_token_stream).collect();
    let statements = address_space::in_function(statements)?;
    let signature = cfg!(feature = "signatures").then(|| signature(&function));
    Ok(quote! {
        #bounds

        #[cfg(target_os = "cuda")]
        #(#attrs)*
        #[unsafe(no_mangle)]
        #vis unsafe extern "ptx-kernel" fn #name(#(#raw),*) {
            #check
            #(#slices)*
            #statements
        }

        #[cfg(not(target_os = "cuda"))]
        #(#attrs)*
        #[allow(dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        #vis #sig {
            #check
            #statements
        }

        #signature
    })
}

/// The type that a host with the feature `signatures` has for the kernel.
fn signature(function: &ItemFn) -> TokenStream {
    let ItemFn {
        attrs, vis, sig, ..
    } = function;
    let docs = attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"));
    let name = &sig.ident;
    let (exported, declared) = (name.to_string(), sig.inputs.iter().filter_map(declared));
    quote! {
        #[cfg(not(target_os = "cuda"))]
        #(#docs)*
        #[allow(non_camel_case_types)]
        #vis enum #name {}

        #[cfg(not(target_os = "cuda"))]
        impl ::cuda_std::signature::Signature for #name {
            const NAME: &'static str = #exported;
            type Parameters = (#(#declared,)*);
        }
    }
}

/// The type of a parameter as it is declared; a reference is `'static`, since an associated type needs a lifetime.
fn declared(argument: &FnArg) -> Option<Type> {
    let FnArg::Typed(argument) = argument else {
        return None;
    };
    let mut declared = (*argument.ty).clone();
    if let Type::Reference(reference) = &mut declared {
        reference.lifetime = Some(parse_quote!('static));
    }
    Some(declared)
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if !matches!(signature.safety, Safety::Unsafe(_)) {
        return Err(Error::new_spanned(
            signature.fn_token,
            "a kernel is an `unsafe fn`: the host vouches for its arguments and launch dimensions",
        ));
    }
    if let ReturnType::Type(..) = signature.output {
        return Err(Error::new_spanned(
            &signature.output,
            "a kernel returns nothing",
        ));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &signature.generics,
            "a kernel has no generic parameters: the host finds it by one name",
        ));
    }
    Ok(())
}

impl LaunchBounds {
    /// A comment in the module's assembly which `cuda_builder` turns into directives of the entry.
    fn directive(&self, kernel: &Ident) -> TokenStream {
        let mut line = format!(
            "// launch_bounds {kernel} .maxntid {}",
            self.max_threads_per_block
        );
        if let Some(blocks) = self.min_blocks_per_multiprocessor {
            line += &format!(" .minnctapersm {blocks}");
        }
        quote! {
            #[cfg(target_os = "cuda")]
            ::core::arch::global_asm!(#line);
        }
    }
}

/// One parameter of the source: what the kernel receives, and how the slice is put together again.
struct Parameter {
    raw: TokenStream,
    slice: TokenStream,
    /// The type of what is passed by value.
    value: Option<Type>,
}

impl Parameter {
    fn new(argument: &FnArg) -> syn::Result<Self> {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new_spanned(argument, "a kernel is a free function"));
        };
        let Type::Reference(reference) = &*argument.ty else {
            return Ok(Self {
                raw: argument.to_token_stream(),
                slice: TokenStream::new(),
                value: Some((*argument.ty).clone()),
            });
        };
        let slice = match &*reference.elem {
            Type::Slice(slice) => slice,
            Type::TraitObject(_) => {
                return Err(Error::new_spanned(
                    reference,
                    "a trait object cannot be a kernel's parameter: its table of methods holds addresses of host functions; \
                     take a generic device function and one kernel per type, or an enum",
                ));
            }
            Type::Path(path) if path.path.is_ident("str") => {
                return Err(Error::new_spanned(
                    reference,
                    "a `&str` cannot be a kernel's parameter: take `&[u8]`, its bytes in device memory",
                ));
            }
            // One pointer to a value in device memory.
            _ => {
                return Ok(Self {
                    raw: argument.to_token_stream(),
                    slice: TokenStream::new(),
                    value: None,
                });
            }
        };
        Self::from_slice(argument, &slice.elem, reference.mutability.is_some())
    }

    fn from_slice(argument: &PatType, element: &Type, mutable: bool) -> syn::Result<Self> {
        let Pat::Ident(name) = &*argument.pat else {
            return Err(Error::new_spanned(
                &argument.pat,
                "a slice parameter needs a plain name",
            ));
        };
        let name = &name.ident;
        let pointer = format_ident!("{}_pointer", name);
        let length = format_ident!("{}_length", name);
        let (kind, build) = if mutable {
            (quote!(*mut), quote!(from_raw_parts_mut))
        } else {
            (quote!(*const), quote!(from_raw_parts))
        };
        let pattern = &argument.pat;
        Ok(Self {
            raw: quote!(#pointer: #kind #element, #length: usize),
            // SAFETY of the emitted block: whoever launches the kernel vouches for pointer and length.
            slice: quote! {
                let #pattern = unsafe { ::core::slice::#build(#pointer, #length) };
            },
            value: None,
        })
    }
}

//! `shared_array!`, and the statics of `#[address_space(shared)]`.
//!
//! rustc cannot place a static in the shared state space. The instruction that takes the array's address therefore carries
//! the declaration in a comment, and `cuda_builder` writes it into the module's head, once for each name. So the length and
//! the type may be those of the function around the macro, which assembly at module scope could not see. The name counts
//! the arrays of the crate.
//!
//! The instruction gives the array's end, and `cuda_std::shared::back` goes back to its beginning: so LLVM learns that the array is
//! shared memory.

use std::sync::atomic::{AtomicUsize, Ordering};

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Token, Type};

/// `T; LENGTH`.
pub(crate) struct Input {
    element: Type,
    length: Expr,
}

impl Parse for Input {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let element = input.parse()?;
        input.parse::<Token![;]>()?;
        let length = input.parse()?;
        Ok(Self { element, length })
    }
}

static ARRAYS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn expand(Input { element, length }: &Input) -> TokenStream {
    let bytes = quote!(::core::mem::size_of::<#element>() * (#length));
    let address = address(&quote!(#element), &bytes);
    quote! {{
        // An item sees no generic parameters: with one, all instances of the function would share one array.
        const _: usize = ::core::mem::size_of::<[#element; #length]>();
        #address
    }}
}

/// An expression of type `*mut element`: the address of `bytes` bytes of the block's shared memory, which are this place's
/// own.
pub(crate) fn address(element: &TokenStream, bytes: &TokenStream) -> TokenStream {
    let number = ARRAYS.fetch_add(1, Ordering::Relaxed);
    let crate_name = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let name = format!("{crate_name}_shared_{number}");
    let declaration = format!("// shared_array {name} {{align}} {{bytes}}");
    let address = format!("\tcvta.shared.u64 {{end}}, {name}+{{bytes}};");
    quote! {{
        #[cfg(target_os = "cuda")]
        {
            let end: *mut #element;
            // SAFETY: takes an address; touches no memory.
            unsafe {
                ::core::arch::asm!(
                    #declaration,
                    #address,
                    end = out(reg64) end,
                    align = const ::core::mem::align_of::<#element>(),
                    bytes = const #bytes,
                    options(pure, nomem, nostack, preserves_flags),
                );
                ::cuda_std::shared::back(end, #bytes)
            }
        }
        #[cfg(not(target_os = "cuda"))]
        {
            ::cuda_std::shared::absent::<#element>()
        }
    }}
}

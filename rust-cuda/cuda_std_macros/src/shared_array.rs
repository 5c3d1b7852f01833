//! `shared_array!`.
//!
//! rustc cannot place a static in the shared state space. The array is therefore declared in assembly, at module scope
//! (a declaration inside a function would be another array each time LLVM duplicates the code around it), under a name
//! that counts the arrays of the crate.

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

pub(crate) fn expand(input: &Input) -> TokenStream {
    let number = ARRAYS.fetch_add(1, Ordering::Relaxed);
    let crate_name = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    declare(input, &format!("{crate_name}_shared_{number}"))
}

fn declare(Input { element, length }: &Input, name: &str) -> TokenStream {
    let declaration = format!(".shared .align {{align}} .b8 {name}[{{bytes}}];");
    let address = format!("cvta.shared.u64 {{address}}, {name};");
    quote! {{
        #[cfg(target_os = "cuda")]
        mod declaration {
            #[allow(unused_imports)]
            use super::*;
            ::core::arch::global_asm!(
                #declaration,
                align = const ::core::mem::align_of::<#element>(),
                bytes = const ::core::mem::size_of::<#element>() * (#length),
            );
        }
        #[cfg(target_os = "cuda")]
        {
            let address: *mut #element;
            // SAFETY: takes an address; touches no memory.
            unsafe {
                ::core::arch::asm!(
                    #address,
                    address = out(reg64) address,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            address
        }
        #[cfg(not(target_os = "cuda"))]
        {
            const _: usize = ::core::mem::size_of::<[#element; #length]>();
            ::cuda_std::shared::absent::<#element>()
        }
    }}
}

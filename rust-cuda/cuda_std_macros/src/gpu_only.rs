//! `#[gpu_only]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

pub(crate) fn expand(function: ItemFn) -> TokenStream {
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    let message = format!("cuda_std: `{}` runs only on the GPU", sig.ident);
    quote! {
        #[cfg(target_os = "cuda")]
        #(#attrs)*
        #[inline(always)]
        #vis #sig #block

        #[cfg(not(target_os = "cuda"))]
        #(#attrs)*
        #[allow(unused_variables)]
        #vis #sig {
            ::core::panic!(#message)
        }
    }
}

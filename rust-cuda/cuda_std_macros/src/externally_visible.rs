//! `#[externally_visible]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Item;

pub(crate) fn expand(item: Item) -> TokenStream {
    // A function is kept because it has a name; a static must also be said to be used.
    let used =
        matches!(item, Item::Static(_)).then(|| quote!(#[cfg_attr(target_os = "cuda", used)]));
    quote! {
        #[cfg_attr(target_os = "cuda", unsafe(no_mangle))]
        #used
        #item
    }
}

//! What the macros emit, compared as token streams.

use quote::quote;
use syn::parse_quote;

use crate::kernel::{self, Arguments};

fn arguments(tokens: proc_macro2::TokenStream) -> syn::Result<Arguments> {
    syn::parse2(tokens)
}

fn expand(attribute: proc_macro2::TokenStream, function: syn::ItemFn) -> String {
    let arguments = arguments(attribute).unwrap();
    kernel::expand(&arguments, function).unwrap().to_string()
}

/// The message with which a kernel is refused.
fn refusal(function: syn::ItemFn) -> String {
    kernel::expand(&Arguments::default(), function)
        .unwrap_err()
        .to_string()
}

#[test]
fn slices_become_pointer_and_length_in_order() {
    let expanded = expand(
        quote!(),
        parse_quote! {
            /// Documentation stays.
            pub unsafe fn f(a: f32, x: &[u8], mut y: &mut [f64], p: *const i32) {
                body(a, x, y, p);
            }
        },
    );
    let expected = quote! {
        #[cfg(target_os = "cuda")]
        /// Documentation stays.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn f(
            a: f32,
            x_pointer: *const u8, x_length: usize,
            y_pointer: *mut f64, y_length: usize,
            p: *const i32
        ) {
            {
                fn a_kernel_s_parameter_has_to_be_copy<T: Copy>() {}
                a_kernel_s_parameter_has_to_be_copy::<f32>();
                a_kernel_s_parameter_has_to_be_copy::<*const i32>();
            }
            let x = unsafe { ::core::slice::from_raw_parts(x_pointer, x_length) };
            let mut y = unsafe { ::core::slice::from_raw_parts_mut(y_pointer, y_length) };
            body(a, x, y, p);
        }

        #[cfg(not(target_os = "cuda"))]
        /// Documentation stays.
        #[allow(dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        pub unsafe fn f(a: f32, x: &[u8], mut y: &mut [f64], p: *const i32) {
            {
                fn a_kernel_s_parameter_has_to_be_copy<T: Copy>() {}
                a_kernel_s_parameter_has_to_be_copy::<f32>();
                a_kernel_s_parameter_has_to_be_copy::<*const i32>();
            }
            body(a, x, y, p);
        }
    };
    let signature = expanded
        .strip_prefix(&expected.to_string())
        .expect(&expanded);
    assert_eq!(signature.is_empty(), !cfg!(feature = "signatures"));
}

#[cfg(feature = "signatures")]
#[test]
fn the_signature_has_the_kernel_s_visibility_and_of_its_attributes_the_documentation() {
    let expanded = expand(
        quote!(),
        parse_quote! {
            /// Documentation.
            #[inline(never)]
            pub(crate) unsafe fn f(a: f32, x: &[u8], y: &mut [f64]) {}
        },
    );
    let signature = quote! {
        #[cfg(not(target_os = "cuda"))]
        /// Documentation.
        #[allow(non_camel_case_types)]
        pub(crate) enum f {}

        #[cfg(not(target_os = "cuda"))]
        impl ::cuda_std::signature::Signature for f {
            const NAME: &'static str = "f";
            type Parameters = (f32, &'static [u8], &'static mut [f64],);
        }
    };
    assert!(expanded.ends_with(&signature.to_string()), "{expanded}");
}

#[test]
fn a_reference_to_a_value_is_one_pointer() {
    let function = parse_quote! { pub unsafe fn f(scene: &Scene) {} };
    let expanded = expand(quote!(), function);
    assert!(
        expanded.contains("\"ptx-kernel\" fn f (scene : & Scene)"),
        "{expanded}"
    );
}

#[test]
fn shared_statics_of_a_kernel_become_places() {
    let expanded = expand(
        quote!(),
        parse_quote! {
            pub unsafe fn f() {
                const N: usize = 4;
                {
                    #[address_space(shared)]
                    static mut TILE: [f32; N] = [0.0; N];
                    use_it(TILE[0], &raw mut TILE, self.TILE, Other::TILE);
                    assert!(TILE.len() == N);
                }
            }
        },
    );
    let device = &expanded;
    assert!(
        device.contains("fn __address_of_TILE () -> * mut [f32 ; N]"),
        "{device}"
    );
    assert!(device.contains("size_of :: < [f32 ; N] > ()"), "{device}");
    let uses = "use_it ((* __address_of_TILE ()) [0] , & raw mut (* __address_of_TILE ()) , self . TILE , Other :: TILE)";
    assert!(device.contains(uses), "{device}");
    assert!(!device.contains("static mut"), "{device}");
    assert!(device.contains("use address_space as _ ;"), "{device}");
    assert!(
        expanded.contains("assert ! ((* __address_of_TILE ()) . len () == N)"),
        "{expanded}"
    );
}

#[test]
fn a_shared_static_elsewhere_becomes_a_wrapper() {
    let item = quote!(
        pub static mut TILE: [f32; 4] = [0.0; 4];
    );
    let expand =
        |space| crate::address_space::expand(space, item.clone()).map(|tokens| tokens.to_string());
    let shared = expand(quote!(shared)).unwrap();
    assert!(
        shared.contains(
            "pub static mut TILE : :: cuda_std :: shared :: Static < __SharedPlace_TILE >"
        ),
        "{shared}"
    );
    assert!(shared.contains("type Value = [f32 ; 4] ;"), "{shared}");
    assert_eq!(expand(quote!(constant)).unwrap(), item.to_string());
    for (space, reason) in [
        (quote!(local), "belongs to one thread"),
        (quote!(texture), "expected `shared`"),
    ] {
        let message = expand(space).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn launch_bounds_travel_in_a_comment() {
    let one = expand(
        quote!(launch_bounds(256)),
        parse_quote!(
            pub unsafe fn f() {}
        ),
    );
    assert!(
        one.contains("global_asm ! (\"// launch_bounds f .maxntid 256\")"),
        "{one}"
    );
    let two = expand(
        quote!(launch_bounds(256, 4)),
        parse_quote!(
            pub unsafe fn f() {}
        ),
    );
    assert!(
        two.contains("\"// launch_bounds f .maxntid 256 .minnctapersm 4\""),
        "{two}"
    );
    let none = expand(
        quote!(),
        parse_quote!(
            pub unsafe fn f() {}
        ),
    );
    assert!(!none.contains("global_asm"), "{none}");
}

#[test]
fn what_cannot_be_a_kernel_is_refused_with_a_reason() {
    for (function, reason) in [
        (
            parse_quote!(
                pub fn f() {}
            ),
            "a kernel is an `unsafe fn`",
        ),
        (
            parse_quote!(
                pub unsafe fn f() -> u32 {}
            ),
            "a kernel returns nothing",
        ),
        (
            parse_quote!(
                pub unsafe fn f<T>(x: T) {}
            ),
            "no generic parameters",
        ),
        (
            parse_quote!(
                pub unsafe fn f(&self) {}
            ),
            "a kernel is a free function",
        ),
        (
            parse_quote!(
                pub unsafe fn f(x: &dyn Shape) {}
            ),
            "take a generic device function and one kernel per type, or an enum",
        ),
        (
            parse_quote!(
                pub unsafe fn f(x: &str) {}
            ),
            "take `&[u8]`",
        ),
        (
            parse_quote!(
                pub unsafe fn f([a, b]: &[u32]) {}
            ),
            "needs a plain name",
        ),
    ] {
        let message = refusal(function);
        assert!(message.contains(reason), "{message:?} lacks {reason:?}");
    }
}

#[test]
fn wrong_arguments_are_refused_with_a_reason() {
    for (tokens, reason) in [
        (quote!(threads(256)), "expected `launch_bounds"),
        (quote!(launch_bounds()), "takes one or two numbers"),
        (quote!(launch_bounds(1, 2, 3)), "takes one or two numbers"),
        (quote!(launch_bounds(0)), "must be greater than zero"),
        (quote!(launch_bounds(2048)), "at most 1024 threads"),
        (quote!(launch_bounds(256), more), "only argument"),
    ] {
        let Err(error) = arguments(tokens.clone()) else {
            panic!("{tokens} is accepted");
        };
        assert!(error.to_string().contains(reason), "{tokens}: {error}");
    }
}

#[test]
fn a_shared_array_carries_its_declaration_under_a_name_of_its_own() {
    let expand = || {
        let input = syn::parse2(quote!(f32; 16 * N)).unwrap();
        crate::shared_array::expand(&input).to_string()
    };
    let (first, second) = (expand(), expand());
    assert_ne!(first, second);
    assert!(first.contains("// shared_array "), "{first}");
    assert!(first.contains(" {align} {bytes}\""), "{first}");
    assert!(
        first.contains("cvta.shared.u64 {end}, ") && first.contains("+{bytes};"),
        "{first}"
    );
    assert!(
        first.contains("size_of :: < f32 > () * (16 * N)"),
        "{first}"
    );
}

#[test]
fn gpu_only_panics_on_the_host() {
    let expanded = crate::gpu_only::expand(parse_quote!(
        pub unsafe fn f(x: u32) -> u32 {
            g(x)
        }
    ));
    let expected = quote! {
        #[cfg(target_os = "cuda")]
        #[inline(always)]
        pub unsafe fn f(x: u32) -> u32 { g(x) }

        #[cfg(not(target_os = "cuda"))]
        #[allow(unused_variables)]
        pub unsafe fn f(x: u32) -> u32 {
            ::core::panic!("cuda_std: `f` runs only on the GPU")
        }
    };
    assert_eq!(expanded.to_string(), expected.to_string());
}

#[test]
fn parts_of_a_name_are_joined_at_every_depth() {
    let tokens = quote! { fn [<load_ 32 _ device>](x: [u8; 4]) { [<a b>](x[0], [< c >]) } };
    let expected = quote! { fn load_32_device(x: [u8; 4]) { ab(x[0], c) } };
    assert_eq!(
        crate::joined::expand(tokens).to_string(),
        expected.to_string()
    );
}

//! The attributes and macros of `cuda_std`.
//!
//! Each one is a function from tokens to tokens in a module of its own, so that unit tests compare what they emit;
//! the functions here only connect them to the compiler.

mod address_space;
mod externally_visible;
mod gpu_only;
mod joined;
mod kernel;
mod shared_array;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Makes a function a kernel that the host launches by its name (PTX `.entry`).
///
/// The function must be `pub unsafe fn`, return nothing and have no generic parameters. It is exported under its own
/// name. Parameters become kernel parameters in order: what is `Copy`, raw pointers and references `&T` as they are, and a
/// slice `&[T]` or `&mut [T]` as two, the pointer and the number of elements (`usize`).
///
/// `#[kernel(launch_bounds(256))]` promises at most 256 threads per block, `#[kernel(launch_bounds(256, 4))]` also
/// asks for at least 4 resident blocks per multiprocessor: CUDA C++'s `__launch_bounds__`, PTX's `.maxntid` and
/// `.minnctapersm`.
///
/// On the host a kernel is a function like any other. With `cuda_std`'s feature `signatures` there is also a type of the
/// same name, which cannot be constructed and implements `Signature`: the host finds and launches the kernel by it.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as kernel::Arguments);
    let function = parse_macro_input!(item as syn::ItemFn);
    kernel::expand(&arguments, function)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a function's body on the GPU: on the host the function panics when it is called.
#[proc_macro_attribute]
pub fn gpu_only(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(parse_macro_input!(item as syn::ItemFn)).into()
}

/// Reserves static shared memory: `shared_array![f32; 256]` is a `*mut f32` to 256 elements that all threads of the
/// block share (PTX `.shared`). The element type and the length are constants; the memory starts with arbitrary
/// contents. Each place in the source that names the macro is one array, however often it runs.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    shared_array::expand(&parse_macro_input!(input as shared_array::Input)).into()
}

/// Places a static in a state space of the GPU.
///
/// `#[address_space(shared)]` on a `static mut` makes it memory of the block (PTX `.shared`); its initial value is not
/// stored. In a kernel's body the static is a place of its type like any other. Elsewhere it is a wrapper that dereferences to
/// its type: `NAME[i]`, `NAME.as_mut_ptr()` and `&mut *NAME` reach the shared memory, `&raw mut NAME` reaches the wrapper.
///
/// `global`, `generic` and `constant` leave the static in global memory, where constants are read through the cache for
/// read-only data.
#[proc_macro_attribute]
pub fn address_space(space: TokenStream, item: TokenStream) -> TokenStream {
    address_space::expand(space.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Keeps a static or a function under its own name in the module, for the host to find.
#[proc_macro_attribute]
pub fn externally_visible(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    externally_visible::expand(parse_macro_input!(item as syn::Item)).into()
}

/// Makes names of parts: `[<atomic_load_ 32>]` becomes `atomic_load_32`. For the tables of `cuda_std` and its tests.
#[doc(hidden)]
#[proc_macro]
pub fn joined(input: TokenStream) -> TokenStream {
    joined::expand(input.into()).into()
}

//! What to do about errors of the compiler that come from code for the host: sentences beside its own messages.

/// Beginnings of messages, and a sentence on the first that is found.
const ADVICE: [(&[&str], &str); 9] = [
    (
        &["cannot find macro `println`", "cannot find macro `print`"],
        "`print!` and `println!` of kernels are `cuda_std`'s: `use cuda_std::prelude::*;` or `use cuda_std::println;`",
    ),
    (
        &[
            "undeclared type `Vec`",
            "undeclared type `Box`",
            "undeclared type `String`",
            "undeclared type `Rc`",
            "cannot find type `Vec`",
            "cannot find type `Box`",
            "cannot find type `String`",
            "cannot find type `Rc`",
            "cannot find macro `format`",
            "cannot find macro `vec`",
        ],
        "kernels are `no_std`: `Vec`, `Box`, `String`, `Rc` and `format!` are in `cuda_std::prelude`, with `cuda_std`'s feature `alloc`, which \
         is on by default; `vec!` is `alloc::vec!`, after `extern crate alloc;`. They allocate by the device's `malloc`, which is slow",
    ),
    (
        &["no global memory allocator found"],
        "`alloc` needs an allocator: `cuda_std`'s feature `alloc`, which is on by default, has one over the device's `malloc`",
    ),
    (
        &["could not compile `cuda_std`"],
        "this `cuda_std` is the registry's, which needs another compiler: `[patch.crates-io]` has to name `cuda_std` in the manifest at the root \
         of the kernels' own workspace; `scripts/new-kernel` writes manifests that do",
    ),
    (
        &["cannot find attribute `address_space`"],
        "`#[address_space(..)]` is `cuda_std`'s, and not in its prelude: `use cuda_std::address_space;`",
    ),
    (
        &["unlinked crate `std`", "undeclared crate or module `std`"],
        "kernels are `no_std`: `core::` and, for what allocates, `alloc::` have most of what `std::` has",
    ),
    (
        &["can't find crate for `std`"],
        "a dependency of the kernels needs `std`, which the GPU does not have: switch its default features off, or take another",
    ),
    (
        &[
            "found for type `f32` in the current scope",
            "found for type `f64` in the current scope",
            "found for type `{float}` in the current scope",
        ],
        "functions of floats that `core` lacks are methods of a trait: `use cuda_std::GpuFloat;`",
    ),
    (
        &["LLVM ERROR: unsupported library call operation"],
        "the kernels compute something that the GPU has neither an instruction nor a function for, most often a conversion between an \
         integer of 128 bits and a float, such as `u128 as f32`: convert the two halves as `u64`",
    ),
];

/// The sentences on what the compiler said.
pub(crate) fn on(messages: &str) -> Vec<&'static str> {
    let is_said = |parts: &&[&str]| parts.iter().any(|part| messages.contains(part));
    let about = ADVICE.iter().filter(|(parts, _)| is_said(parts));
    about.map(|(_, sentence)| *sentence).collect()
}

/// The conversion that becomes a call of one of the compiler's own functions.
pub(crate) fn conversion(function: &str) -> Option<&'static str> {
    Some(match function {
        "__floattisf" => "i128 as f32",
        "__floattidf" => "i128 as f64",
        "__floatuntisf" => "u128 as f32",
        "__floatuntidf" => "u128 as f64",
        "__fixsfti" => "f32 as i128",
        "__fixdfti" => "f64 as i128",
        "__fixunssfti" => "f32 as u128",
        "__fixunsdfti" => "f64 as u128",
        _ => return None,
    })
}

//! The signatures of `upstream/`, compared with those of this repository's functions: each is assigned to a pointer of that type.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid;
use cuda_std::glam::{UVec2, UVec3};
use cuda_std::ptr::AddressSpace;
use cuda_std::warp::WarpReductionOp;
use cuda_std::{
    FloatExt, GpuFloat, async_copy, bf16, f16, intrinsics, mem, misc, ptr, thread, warp,
};
use cuda_std_macros::joined;

/// Functions with their modules.
pub fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = PLAIN.iter().chain(GENERIC);
    all.flat_map(|(module, names)| names.iter().map(move |name| (*module, *name)))
}

type Names = &'static [(&'static str, &'static [&'static str])];

macro_rules! functions {
    ($($module:ident {
        safe { $($safe:ident($($safe_name:ident: $safe_type:ty),*) -> $safe_result:ty;)* }
        unsafe { $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
    })*) => {
        const PLAIN: Names = &[$((stringify!($module), &[$(stringify!($safe),)* $(stringify!($name),)*])),*];

        $(
            $(const _: fn($($safe_type),*) -> $safe_result = $module::$safe;)*
            $(const _: unsafe fn($($type),*) -> $result = $module::$name;)*
        )*
    };
}

/// `T` in the signature is the type that it is compared for.
macro_rules! generic_functions {
    ($($module:ident {
        $($name:ident<T: $bound:ident>($($argument:ident: $type:ty),*) -> $result:ty, [$($of:ty)*];)*
    })*) => {
        const GENERIC: Names = &[$((stringify!($module), &[$(stringify!($name)),*])),*];

        $($(generic_functions! { @each $module $name [($($type),*) -> $result] $($of)* })*)*
    };
    (@each $module:ident $name:ident $signature:tt $($of:ty)*) => {
        $(generic_functions! { @one $module $name $signature $of })*
    };
    (@one $module:ident $name:ident [($($type:ty),*) -> $result:ty] $of:ty) => {
        const _: () = {
            type T = $of;
            const _: unsafe fn($($type),*) -> $result = $module::$name::<T>;
        };
    };
}

macro_rules! traits {
    ($($name:ident { $($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)* })*) => {$(
        const _: () = {
            #[expect(dead_code, reason = "it only has to compile")]
            trait Compared {
                fn compare();
            }
            traits! { @implement $name, f32, $($method($($type),*) -> $result;)* }
            traits! { @implement $name, f64, $($method($($type),*) -> $result;)* }
        };
    )*};
    (@implement $name:ident, $of:ident, $($method:ident($($type:ty),*) -> $result:ty;)*) => {
        impl Compared for $of {
            fn compare() {
                $(let _: fn(Self $(, $type)*) -> $result = <Self as $name>::$method;)*
            }
        }
    };
}

macro_rules! atomics {
    ($($name:ident($type:ty) [$($unsafety:ident)?];)*) => {$(
        const _: () = {
            use cuda_std::atomic::$name as Atomic;
            const _: fn($type) -> Atomic = Atomic::new;
            const _: fn(Atomic) -> $type = Atomic::into_inner;
            const _: [$($unsafety)? fn(&Atomic, $type, Ordering) -> $type; 5] =
                [Atomic::fetch_add, Atomic::fetch_sub, Atomic::fetch_and, Atomic::fetch_or, Atomic::fetch_xor];
            const _: $($unsafety)? fn(&Atomic, Ordering) -> $type = Atomic::load;
            const _: $($unsafety)? fn(&Atomic, $type, Ordering) = Atomic::store;
        };
    )*};
}

include!("../../upstream/src/signatures.rs");
include!("../../upstream/src/atomic_intrinsics.rs");

/// The names of the functions of `atomic::intrinsics`, each compared with its signature.
pub fn atomic_intrinsics() -> Vec<&'static str> {
    let mut names = Vec::new();
    macro_rules! compare {
        ($name:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
            let _: unsafe fn($($type),*) -> $result = cuda_std::atomic::intrinsics::$name;
            names.push(stringify!($name));
        };
    }
    atomic_intrinsics! { compare }
    names
}

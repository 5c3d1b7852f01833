// The signatures of Rust-CUDA's `cuda_std::atomic::intrinsics`.

/// Hands the functions of `atomic::intrinsics` to the macro `$each`, one by one: their names are products of an operation, an
/// ordering, a type and a scope.
macro_rules! atomic_intrinsics {
    ($each:ident) => {
        $each! { membar_block() -> () }
        $each! { membar_device() -> () }
        $each! { membar_system() -> () }
        $each! { fence_sc_block() -> () }
        $each! { fence_sc_device() -> () }
        $each! { fence_sc_system() -> () }
        $each! { fence_acqrel_block() -> () }
        $each! { fence_acqrel_device() -> () }
        $each! { fence_acqrel_system() -> () }
        atomic_intrinsics! { @accesses $each
            load [relaxed acquire volatile] [u32 32, u64 64];
            store [relaxed release volatile] [u32 32, u64 64];
        }
        atomic_intrinsics! { @fetch $each [relaxed acquire release acqrel volatile]
            (alone) [inc dec] [u32 u64 i32 i64];
            (value) [and or xor exch add sub] [u32 u64 i32 i64 f32 f64];
            (value) [min max] [u32 u64 i32 i64];
            (two_values) [cas] [u32 u64 i32 i64 f32 f64];
        }
    };
    (@accesses $each:ident $($access:ident $orderings:tt [$($type:ident $width:literal),*];)*) => {
        $($(atomic_intrinsics! { @access $each $access $type $width $orderings })*)*
    };
    (@access $each:ident $access:ident $type:ident $width:literal [$($ordering:ident)*]) => {$(
        atomic_intrinsics! { @$access $each $type $width $ordering block }
        atomic_intrinsics! { @$access $each $type $width $ordering device }
        atomic_intrinsics! { @$access $each $type $width $ordering system }
    )*};
    (@load $each:ident $type:ident $width:literal $ordering:ident $scope:ident) => {
        joined! { $each! { [<atomic_load_ $ordering _ $width _ $scope>](ptr: *const $type) -> $type } }
    };
    (@store $each:ident $type:ident $width:literal $ordering:ident $scope:ident) => {
        joined! { $each! { [<atomic_store_ $ordering _ $width _ $scope>](ptr: *mut $type, val: $type) -> () } }
    };
    (@fetch $each:ident $orderings:tt $($values:tt [$($operation:ident)*] $types:tt;)*) => {
        $($(atomic_intrinsics! { @types $each $values $operation $orderings $types })*)*
    };
    (@types $each:ident $values:tt $operation:ident $orderings:tt [$($type:ident)*]) => {
        $(atomic_intrinsics! { @scopes $each $values $operation $type $orderings })*
    };
    (@scopes $each:ident $values:tt $operation:ident $type:ident [$($ordering:ident)*]) => {$(
        atomic_intrinsics! { @one $each $values $type [<atomic_fetch_ $operation _ $ordering _ $type _block>] }
        atomic_intrinsics! { @one $each $values $type [<atomic_fetch_ $operation _ $ordering _ $type _device>] }
        atomic_intrinsics! { @one $each $values $type [<atomic_fetch_ $operation _ $ordering _ $type _system>] }
    )*};
    (@one $each:ident (alone) $type:ident $name:tt) => {
        joined! { $each! { $name(ptr: *mut $type) -> $type } }
    };
    (@one $each:ident (value) $type:ident $name:tt) => {
        joined! { $each! { $name(ptr: *mut $type, val: $type) -> $type } }
    };
    (@one $each:ident (two_values) $type:ident $name:tt) => {
        joined! { $each! { $name(ptr: *mut $type, first_val: $type, second_val: $type) -> $type } }
    };
}

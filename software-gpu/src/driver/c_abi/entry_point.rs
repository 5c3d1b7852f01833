//! Where C enters: nothing that happens inside may unwind into the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::errors::CudaError;
use super::types::CUresult;
use crate::activity::log;
use crate::driver::host::stuck;
use crate::driver::host::threads::current;
use crate::driver::reasons;

/// Runs the body of an entry point. A panic is a defect of this crate: it is reported with the entry point's name and
/// becomes `CUDA_ERROR_UNKNOWN`. [`reasons`] explains why a call fails.
pub(in crate::driver) fn guarded(
    name: &'static str,
    body: impl FnOnce() -> Result<(), CudaError>,
) -> CUresult {
    let is_outermost = log::called(name);
    reasons::begins(name);
    stuck::calls(name);
    let result = catch_unwind(AssertUnwindSafe(body));
    if is_outermost {
        log::returned(current::clock().as_nanos());
    }
    match result {
        Ok(result) => {
            if let Err(error) = result {
                reasons::fails(error);
            }
            result.into()
        }
        Err(_) => defect(name),
    }
}

/// What an entry point returns that has panicked.
#[cold]
fn defect(name: &str) -> CUresult {
    crate::say!(
        "software GPU: {name} failed by a defect of the software GPU; see the panic message above"
    );
    CUresult::from(Err(CudaError::Unknown))
}

/// Defines entry points: functions with the C ABI whose bodies return `Result<(), CudaError>`.
///
/// Two names may share a body: `fn cuLinkCreate | cuLinkCreate_v2 (..)`. Where they differ in what the null stream is,
/// the body has it by a name: `fn cuLaunchKernel | cuLaunchKernel_ptsz as null (..)` is the legacy stream to the first
/// and the calling thread's own to the second.
macro_rules! entry_points {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident $(| $other:ident $(as $null:ident)?)? ($($parameters:tt)*) $body:block
    )*) => {$(
        $crate::driver::c_abi::entry_point::entry_point! {
            { $(#[$attribute])* $name $(| $other $(as $null)?)? } ($($parameters)*) $body
        }
    )*};
}
pub(in crate::driver) use entry_points;

/// One of [`entry_points`].
macro_rules! entry_point {
    ({ $(#[$attribute:meta])* $name:ident | $other:ident $(as $null:ident)? } $parameters:tt $body:block) => {
        $crate::driver::c_abi::entry_point::entry_point! {
            { $(#[$attribute])* $name } $parameters {
                $(let $null = $crate::driver::streams::stream::NullStream::Legacy;)?
                $body
            }
        }
        $crate::driver::c_abi::entry_point::entry_point! {
            { $(#[$attribute])* $other } $parameters {
                $(let $null = $crate::driver::streams::stream::NullStream::PerThread;)?
                $body
            }
        }
    };
    ({ $(#[$attribute:meta])* $name:ident } ($($parameter:ident: $kind:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[allow(non_snake_case, reason = "the name of cuda.h")]
        pub(in crate::driver) unsafe extern "C" fn $name($($parameter: $kind),*) -> $crate::driver::c_abi::types::CUresult {
            $crate::driver::c_abi::entry_point::guarded(stringify!($name), move || $body)
        }

        #[cfg(target_family = "wasm")]
        $crate::driver::c_abi::forward::export! { $name ($($parameter: $kind),*) }
    };
}
pub(in crate::driver) use entry_point;

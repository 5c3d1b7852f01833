//! Which calls a host function and a callback may make.
//!
//! The documentation forbids all and promises a refusal of none. An H200 refuses what creates, frees and waits for the
//! context; it takes queries, records and memsets in other streams, which the software GPU refuses: no rules.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::Scene;
use crate::{cu, ok, rule, same};

const FAMILY: &str = "host_calls";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(no_stream_creation, "cuLaunchHostFunc", "A host function may not create a stream."),
    rule!(no_free, "cuLaunchHostFunc", "A host function may not free memory."),
    rule!(no_context_synchronisation, "cuLaunchHostFunc", "A host function may not wait for the context."),
    rule!(no_copy_in_a_callback, "cuStreamAddCallback", "A callback may not enqueue a copy."),
    rule!(codes_have_names_inside, "cuGetErrorName", "A host function may ask for the name of a code."),
];

/// What a host function tries, and what the driver answers.
struct Try {
    what: fn(&Try) -> Code,
    stream: Handle,
    memory: Address,
    code: AtomicU32,
}

unsafe extern "C" fn try_it(data: *mut c_void) {
    // SAFETY: the rules pass a leaked `Try`.
    let attempt = unsafe { &*data.cast::<Try>() };
    attempt
        .code
        .store((attempt.what)(attempt).0, Ordering::SeqCst);
}

unsafe extern "C" fn try_it_in_a_callback(_: Handle, _: Code, data: *mut c_void) {
    // SAFETY: the contract of `try_it` is this function's.
    unsafe { try_it(data) }
}

fn attempt(scene: &Scene, what: fn(&Try) -> Code) -> Outcome<&'static Try> {
    Ok(Box::leak(Box::new(Try {
        what,
        stream: scene.non_blocking()?,
        memory: scene.device(64)?,
        code: AtomicU32::new(UNKNOWN.0),
    })))
}

fn data(attempt: &'static Try) -> *mut c_void {
    std::ptr::from_ref(attempt).cast_mut().cast()
}

/// The code that `what` gets inside a host function of a stream other than its own.
fn inside(scene: &Scene, what: fn(&Try) -> Code) -> Outcome<Code> {
    let (stream, attempt) = (scene.non_blocking()?, attempt(scene, what)?);
    ok!(cuLaunchHostFunc(stream, Some(try_it), data(attempt)));
    ok!(cuStreamSynchronize(stream));
    Ok(Code(attempt.code.load(Ordering::SeqCst)))
}

fn is_not_permitted(scene: &Scene, what: fn(&Try) -> Code) -> Outcome {
    same!(inside(scene, what)?, NOT_PERMITTED);
    Ok(())
}

fn no_stream_creation(scene: &mut Scene) -> Outcome {
    is_not_permitted(scene, |_| {
        let mut stream = 0;
        cu!(cuStreamCreate(&mut stream, 0))
    })
}

fn no_free(scene: &mut Scene) -> Outcome {
    is_not_permitted(scene, |attempt| cu!(cuMemFree_v2(attempt.memory)))
}

fn no_context_synchronisation(scene: &mut Scene) -> Outcome {
    is_not_permitted(scene, |_| cu!(cuCtxSynchronize()))
}

fn no_copy_in_a_callback(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    let attempt = attempt(scene, |attempt| {
        cu!(cuMemcpyDtoDAsync_v2(
            attempt.memory,
            attempt.memory + 32,
            4,
            attempt.stream
        ))
    })?;
    ok!(cuStreamAddCallback(
        stream,
        Some(try_it_in_a_callback),
        data(attempt),
        0
    ));
    ok!(cuStreamSynchronize(stream));
    same!(Code(attempt.code.load(Ordering::SeqCst)), NOT_PERMITTED);
    Ok(())
}

fn codes_have_names_inside(scene: &mut Scene) -> Outcome {
    let code = inside(scene, |_| {
        let mut name = std::ptr::null();
        cu!(cuGetErrorName(NOT_READY.0, &mut name))
    })?;
    same!(code, SUCCESS);
    Ok(())
}

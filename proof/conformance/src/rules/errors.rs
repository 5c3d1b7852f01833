//! Error codes: their names, and which of them stay.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "errors";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(names_are_those_of_the_header, "cuGetErrorName", "The name of a code is the name of its enumerator."),
    rule!(descriptions_are_words, "cuGetErrorString", "The description of a code is a sentence for people."),
    rule!(unknown_code_has_no_name, "cuGetErrorName", "An unknown code is refused, and the pointer becomes null."),
    rule!(unknown_code_has_no_description, "cuGetErrorString",
        "An unknown code is refused, and the pointer becomes null."),
    rule!(refusal_leaves_no_trace, "CUDA driver API, CUresult", "A refused call changes nothing for later calls."),
    rule!(not_ready_is_no_error, "CUDA_ERROR_NOT_READY", "NOT_READY says that work goes on; nothing has failed."),
    rule!(faulty_kernel_launches, "CUDA programming guide, error checking",
        "The launch of a kernel that will fail succeeds.").in_process(),
    rule!(illegal_address_comes_at_synchronisation, "CUDA_ERROR_ILLEGAL_ADDRESS",
        "A kernel's access to an illegal address is reported by the synchronising call.").in_process(),
    rule!(illegal_address_stays, "CUDA_ERROR_ILLEGAL_ADDRESS",
        "After an illegal address every later call that uses the context returns that error.").in_process(),
    rule!(misaligned_access_is_reported, "CUDA_ERROR_MISALIGNED_ADDRESS",
        "A kernel's access to an address that is no multiple of the access size is reported, and stays.").in_process(),
    rule!(trap_is_a_failed_launch, "PTX ISA, trap; CUDA_ERROR_LAUNCH_FAILED",
        "A kernel that executes trap fails its launch, and the error stays.").in_process(),
    rule!(failure_reaches_stream_and_event, "CUDA programming guide, error checking",
        "Waiting for the stream or for an event behind a failed kernel returns its error.").in_process(),
    rule!(names_work_after_a_failure, "cuGetErrorName", "The names of codes are there after a kernel has failed.").in_process(),
    rule!(failed_context_can_be_destroyed, "cuCtxDestroy",
        "A context whose kernel failed is still current and can be popped.").in_process(),
];

fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the driver's texts end with a zero and live as long as the process.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

fn name(code: Code) -> Outcome<String> {
    let mut pointer = null();
    ok!(cuGetErrorName(code.0, &mut pointer));
    Ok(text(pointer))
}

fn description(code: Code) -> Outcome<String> {
    let mut pointer = null();
    ok!(cuGetErrorString(code.0, &mut pointer));
    Ok(text(pointer))
}

fn names_are_those_of_the_header(_: &mut Scene) -> Outcome {
    same!(name(SUCCESS)?, "CUDA_SUCCESS".to_owned());
    same!(name(INVALID_VALUE)?, "CUDA_ERROR_INVALID_VALUE".to_owned());
    same!(name(NOT_READY)?, "CUDA_ERROR_NOT_READY".to_owned());
    same!(
        name(STREAM_CAPTURE_UNJOINED)?,
        "CUDA_ERROR_STREAM_CAPTURE_UNJOINED".to_owned()
    );
    same!(name(UNKNOWN)?, "CUDA_ERROR_UNKNOWN".to_owned());
    Ok(())
}

fn descriptions_are_words(_: &mut Scene) -> Outcome {
    same!(description(SUCCESS)?, "no error".to_owned());
    same!(description(INVALID_VALUE)?, "invalid argument".to_owned());
    same!(description(OUT_OF_MEMORY)?, "out of memory".to_owned());
    same!(
        description(ILLEGAL_ADDRESS)?,
        "an illegal memory access was encountered".to_owned()
    );
    same!(
        description(LAUNCH_FAILED)?,
        "unspecified launch failure".to_owned()
    );
    Ok(())
}

/// No code has this number.
const NO_CODE: u32 = 998;

fn unknown_code_has_no_name(_: &mut Scene) -> Outcome {
    let mut pointer = c"before".as_ptr();
    gives!(INVALID_VALUE, cuGetErrorName(NO_CODE, &mut pointer));
    holds!(pointer.is_null());
    Ok(())
}

fn unknown_code_has_no_description(_: &mut Scene) -> Outcome {
    let mut pointer = c"before".as_ptr();
    gives!(INVALID_VALUE, cuGetErrorString(NO_CODE, &mut pointer));
    holds!(pointer.is_null());
    Ok(())
}

fn refusal_leaves_no_trace(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuMemAlloc_v2(null_mut(), 4));
    ok!(cuCtxSynchronize());
    ok!(cuStreamQuery(0));
    Ok(())
}

fn not_ready_is_no_error(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    gives!(NOT_READY, cuStreamQuery(stream));
    ok!(cuStreamSynchronize(stream));
    ok!(cuStreamQuery(stream));
    Ok(())
}

/// Launches a kernel that stores a word to unmapped memory: the first page.
fn launch_illegal(scene: &mut Scene, stream: Handle) -> Outcome {
    scene.store(64, 1, stream)
}

fn faulty_kernel_launches(scene: &mut Scene) -> Outcome {
    launch_illegal(scene, 0)
}

fn illegal_address_comes_at_synchronisation(scene: &mut Scene) -> Outcome {
    launch_illegal(scene, 0)?;
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    Ok(())
}

fn illegal_address_stays(scene: &mut Scene) -> Outcome {
    let event = scene.event()?;
    launch_illegal(scene, 0)?;
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    let (mut address, mut stream) = (0, 0);
    gives!(ILLEGAL_ADDRESS, cuMemAlloc_v2(&mut address, 4));
    gives!(ILLEGAL_ADDRESS, cuStreamCreate(&mut stream, 0));
    gives!(ILLEGAL_ADDRESS, cuEventRecord(event, 0));
    gives!(ILLEGAL_ADDRESS, cuStreamQuery(0));
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    Ok(())
}

fn misaligned_access_is_reported(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    scene.store(address + 2, 1, 0)?;
    gives!(MISALIGNED_ADDRESS, cuCtxSynchronize());
    gives!(MISALIGNED_ADDRESS, cuCtxSynchronize());
    Ok(())
}

fn trap_is_a_failed_launch(scene: &mut Scene) -> Outcome {
    scene.launch("trap", 0, &[])?;
    gives!(LAUNCH_FAILED, cuCtxSynchronize());
    gives!(LAUNCH_FAILED, cuCtxSynchronize());
    Ok(())
}

fn failure_reaches_stream_and_event(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    launch_illegal(scene, stream)?;
    let event = scene.event()?;
    // The failure may be known already.
    let _ = cu!(cuEventRecord(event, stream));
    gives!(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    gives!(ILLEGAL_ADDRESS, cuEventSynchronize(event));
    Ok(())
}

fn names_work_after_a_failure(scene: &mut Scene) -> Outcome {
    launch_illegal(scene, 0)?;
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    same!(
        name(ILLEGAL_ADDRESS)?,
        "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned()
    );
    Ok(())
}

fn failed_context_can_be_destroyed(scene: &mut Scene) -> Outcome {
    launch_illegal(scene, 0)?;
    gives!(ILLEGAL_ADDRESS, cuCtxSynchronize());
    let current: Handle = out(|context| cu!(cuCtxGetCurrent(context)))?;
    same!(current, scene.context);
    let popped: Handle = out(|context| cu!(cuCtxPopCurrent_v2(context)))?;
    same!(popped, scene.context);
    Ok(())
}

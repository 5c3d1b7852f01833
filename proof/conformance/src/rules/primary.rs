//! Primary contexts: one per device, retained and released.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "primary";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(one_is_given_per_device, "cuDevicePrimaryCtxRetain", "Every retain of a device gives the same context."),
    rule!(retained_is_not_current, "cuDevicePrimaryCtxRetain", "Retaining the primary context does not make it current."),
    rule!(active_while_retained, "cuDevicePrimaryCtxGetState",
        "The primary context is active from the first retain to the last release."),
    rule!(released_too_often, "cuDevicePrimaryCtxRelease", "Releasing a primary context that is not retained is refused."),
    rule!(flags_are_kept, "cuDevicePrimaryCtxSetFlags", "Flags set before the primary context is active are its flags."),
    rule!(state_outputs_are_of_the_device, "cuDevicePrimaryCtxGetState",
        "Asking for the state of a device that does not exist is refused."),
    rule!(memory_goes_with_the_last_release, "cuDevicePrimaryCtxRelease",
        "The last release frees the context's memory: its addresses are no longer valid."),
    rule!(work_is_shared_by_all_that_retain, "cuDevicePrimaryCtxRetain",
        "Objects created after one retain can be used after another."),
    rule!(reset_makes_it_inactive, "cuDevicePrimaryCtxReset",
        "A reset destroys the primary context, however often it is retained.").in_process(),
    rule!(primary_context_is_not_destroyed, "cuCtxDestroy",
        "The primary context cannot be destroyed as one that the program made.").in_process(),
];

/// `CU_CTX_SCHED_BLOCKING_SYNC`, and the bits of all schedules.
const BLOCKING: u32 = 4;
const SCHEDULE_MASK: u32 = 7;

fn retain(scene: &Scene) -> Outcome<Handle> {
    out(|context| cu!(cuDevicePrimaryCtxRetain(context, scene.device)))
}

fn is_active(scene: &Scene) -> Outcome<bool> {
    let (mut flags, mut active) = (0, 9);
    ok!(cuDevicePrimaryCtxGetState(
        scene.device,
        &mut flags,
        &mut active
    ));
    Ok(active != 0)
}

fn one_is_given_per_device(scene: &mut Scene) -> Outcome {
    let first = retain(scene)?;
    same!(retain(scene)?, first);
    holds!(first != scene.context);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    Ok(())
}

fn retained_is_not_current(scene: &mut Scene) -> Outcome {
    retain(scene)?;
    same!(out(|context| cu!(cuCtxGetCurrent(context)))?, scene.context);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    Ok(())
}

fn active_while_retained(scene: &mut Scene) -> Outcome {
    holds!(!is_active(scene)?);
    retain(scene)?;
    retain(scene)?;
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    holds!(is_active(scene)?);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    holds!(!is_active(scene)?);
    Ok(())
}

fn released_too_often(scene: &mut Scene) -> Outcome {
    holds!(!is_active(scene)?);
    gives!(INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(scene.device));
    Ok(())
}

fn flags_are_kept(scene: &mut Scene) -> Outcome {
    ok!(cuDevicePrimaryCtxSetFlags_v2(scene.device, BLOCKING));
    let (mut flags, mut active) = (0, 0);
    ok!(cuDevicePrimaryCtxGetState(
        scene.device,
        &mut flags,
        &mut active
    ));
    same!(flags & SCHEDULE_MASK, BLOCKING);
    let primary = retain(scene)?;
    ok!(cuCtxPushCurrent_v2(primary));
    let flags: u32 = out(|flags| cu!(cuCtxGetFlags(flags)))?;
    same!(out(|context| cu!(cuCtxPopCurrent_v2(context)))?, primary);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    ok!(cuDevicePrimaryCtxSetFlags_v2(scene.device, 0));
    same!(flags & SCHEDULE_MASK, BLOCKING);
    Ok(())
}

fn state_outputs_are_of_the_device(_: &mut Scene) -> Outcome {
    let (mut flags, mut active) = (0, 0);
    gives!(
        INVALID_DEVICE,
        cuDevicePrimaryCtxGetState(1000, &mut flags, &mut active)
    );
    Ok(())
}

fn memory_goes_with_the_last_release(scene: &mut Scene) -> Outcome {
    let primary = retain(scene)?;
    ok!(cuCtxPushCurrent_v2(primary));
    let address = scene.device(32 << 20)?;
    same!(out(|context| cu!(cuCtxPopCurrent_v2(context)))?, primary);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    let mut word = 0_u32;
    gives!(
        INVALID_VALUE,
        cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4)
    );
    Ok(())
}

fn work_is_shared_by_all_that_retain(scene: &mut Scene) -> Outcome {
    let primary = retain(scene)?;
    ok!(cuCtxPushCurrent_v2(primary));
    let address = scene.device(4)?;
    ok!(cuMemsetD32_v2(address, 5, 1));
    retain(scene)?;
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    same!(scene.word(address)?, 5);
    same!(out(|context| cu!(cuCtxPopCurrent_v2(context)))?, primary);
    ok!(cuDevicePrimaryCtxRelease_v2(scene.device));
    Ok(())
}

fn reset_makes_it_inactive(scene: &mut Scene) -> Outcome {
    retain(scene)?;
    retain(scene)?;
    ok!(cuDevicePrimaryCtxReset_v2(scene.device));
    holds!(!is_active(scene)?);
    Ok(())
}

fn primary_context_is_not_destroyed(scene: &mut Scene) -> Outcome {
    let primary = retain(scene)?;
    gives!(INVALID_CONTEXT, cuCtxDestroy_v2(primary));
    holds!(is_active(scene)?);
    Ok(())
}

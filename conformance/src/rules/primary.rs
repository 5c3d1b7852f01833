//! Primary contexts: one per device, retained and released.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "primary";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        one_is_given_per_device,
        "cuDevicePrimaryCtxRetain",
        "Every retain of a device gives the same context."
    ),
    rule!(
        retained_is_not_current,
        "cuDevicePrimaryCtxRetain",
        "Retaining the primary context does not make it current."
    ),
    rule!(
        active_while_retained,
        "cuDevicePrimaryCtxGetState",
        "The primary context is active from the first retain to the last release."
    ),
    rule!(
        released_too_often,
        "cuDevicePrimaryCtxRelease",
        "Releasing a primary context that nobody retains is refused."
    ),
    rule!(
        flags_are_kept,
        "cuDevicePrimaryCtxSetFlags",
        "Flags set before the primary context is active are its flags."
    ),
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

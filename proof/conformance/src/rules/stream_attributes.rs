//! Attributes of streams.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "stream_attributes";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(synchronisation_policy_is_kept, "cuStreamSetAttribute", "The way in which threads wait for a stream is kept."),
    rule!(priority_is_an_attribute, "CU_LAUNCH_ATTRIBUTE_PRIORITY", "The attribute priority is the stream's priority."),
    rule!(memory_domain_is_kept, "CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN",
        "A stream's kernels are in the default domain until another is set."),
    rule!(values_must_exist, "cuStreamSetAttribute",
        "Unknown policies and domains are refused, and so are attributes that only launches have."),
    rule!(unknown_attribute_is_refused, "cuStreamGetAttribute", "An unknown attribute is refused."),
    rule!(attributes_are_copied, "cuStreamCopyAttributes", "A stream gets the attributes of another."),
    rule!(copying_leaves_the_flags, "cuStreamCopyAttributes", "Copying attributes changes neither stream's flags."),
    rule!(attributes_are_the_streams_own, "cuStreamSetAttribute",
        "Setting an attribute of one stream does not change another's."),
];

/// `CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY` and `CU_SYNC_POLICY_*`.
const SYNCHRONIZATION_POLICY: u32 = 3;
const YIELD: u64 = 3;
const BLOCKING: u64 = 4;
/// `CU_LAUNCH_ATTRIBUTE_PRIORITY`.
const PRIORITY: u32 = 8;

fn get(stream: Handle, attribute: u32) -> Outcome<u64> {
    let mut value = [0; 8];
    ok!(cuStreamGetAttribute(stream, attribute, &mut value));
    // Each of these attributes is an int.
    Ok(value[0] & u64::from(u32::MAX))
}

fn set(stream: Handle, attribute: u32, value: u64) -> Outcome {
    ok!(cuStreamSetAttribute(
        stream,
        attribute,
        &[value, 0, 0, 0, 0, 0, 0, 0]
    ));
    Ok(())
}

fn synchronisation_policy_is_kept(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    for policy in [YIELD, BLOCKING] {
        set(stream, SYNCHRONIZATION_POLICY, policy)?;
        same!(get(stream, SYNCHRONIZATION_POLICY)?, policy);
    }
    scene.busy(stream)?;
    ok!(cuStreamSynchronize(stream));
    ok!(cuStreamQuery(stream));
    Ok(())
}

fn priority_is_an_attribute(_: &mut Scene) -> Outcome {
    let (mut least, mut greatest) = (0, 0);
    ok!(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
    let stream: Handle = out(|stream| cu!(cuStreamCreateWithPriority(stream, 1, greatest)))?;
    same!(get(stream, PRIORITY)?, u64::from(greatest.cast_unsigned()));
    set(stream, PRIORITY, 0)?;
    same!(
        out(|priority| cu!(cuStreamGetPriority(stream, priority)))?,
        0
    );
    Ok(())
}

/// `CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN`.
const MEMORY_DOMAIN: u32 = 10;

fn memory_domain_is_kept(scene: &mut Scene) -> Outcome {
    let (stream, copy) = (scene.stream()?, scene.stream()?);
    same!(get(stream, MEMORY_DOMAIN)?, 0);
    set(stream, MEMORY_DOMAIN, 1)?;
    ok!(cuStreamCopyAttributes(copy, stream));
    same!(
        (get(stream, MEMORY_DOMAIN)?, get(copy, MEMORY_DOMAIN)?),
        (1, 1)
    );
    Ok(())
}

fn values_must_exist(scene: &mut Scene) -> Outcome {
    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE` and `_CLUSTER_DIMENSION`.
    const COOPERATIVE: u32 = 2;
    const CLUSTER_DIMENSION: u32 = 4;
    let stream = scene.stream()?;
    for (attribute, value) in [
        (SYNCHRONIZATION_POLICY, 0),
        (MEMORY_DOMAIN, 2),
        (COOPERATIVE, 1),
        (CLUSTER_DIMENSION, 1),
        (1000, 0),
    ] {
        let code = cu!(cuStreamSetAttribute(
            stream,
            attribute,
            &[value, 0, 0, 0, 0, 0, 0, 0]
        ));
        same!((attribute, code), (attribute, INVALID_VALUE));
    }
    Ok(())
}

fn unknown_attribute_is_refused(scene: &mut Scene) -> Outcome {
    let (stream, mut value) = (scene.stream()?, [0; 8]);
    gives!(
        INVALID_VALUE,
        cuStreamGetAttribute(stream, 1000, &mut value)
    );
    Ok(())
}

fn attributes_are_copied(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.stream()?, scene.stream()?);
    set(from, SYNCHRONIZATION_POLICY, BLOCKING)?;
    ok!(cuStreamCopyAttributes(to, from));
    same!(get(to, SYNCHRONIZATION_POLICY)?, BLOCKING);
    Ok(())
}

fn copying_leaves_the_flags(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.non_blocking()?, scene.stream()?);
    ok!(cuStreamCopyAttributes(to, from));
    same!(out(|flags| cu!(cuStreamGetFlags(to, flags)))?, 0);
    same!(
        out(|flags| cu!(cuStreamGetFlags(from, flags)))?,
        NON_BLOCKING
    );
    Ok(())
}

fn attributes_are_the_streams_own(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let before = get(second, SYNCHRONIZATION_POLICY)?;
    holds!(before != BLOCKING);
    set(first, SYNCHRONIZATION_POLICY, BLOCKING)?;
    same!(get(second, SYNCHRONIZATION_POLICY)?, before);
    Ok(())
}

//! The bounds that a kernel declares, and launches that break them.

use std::ptr::{null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "launch_bounds";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(maxntid_bounds_the_product, "PTX ISA, .maxntid",
        "A block of another shape than .maxntid names is launched if it has no more threads."),
    rule!(maxntid_counts_all_extents, "PTX ISA, .maxntid", "More threads than .maxntid allows are refused in any shape."),
    rule!(reqntid_is_a_shape, "PTX ISA, .reqntid", "As many threads as .reqntid names in another shape are refused."),
    rule!(bounds_hold_for_configured_launches, "cuLaunchKernelEx",
        "A launch by configuration with more threads than .maxntid allows is refused."),
    rule!(bounds_hold_for_cooperative_launches, "cuLaunchCooperativeKernel",
        "A cooperative launch with more threads than .maxntid allows is refused."),
    rule!(bounds_hold_in_graphs, "cuGraphAddKernelNode",
        "A kernel node with more threads than .maxntid allows is refused, at the latest at the launch."),
    rule!(occupancy_does_not_ask_for_the_bound, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "Blocks with more threads than .maxntid allows are counted by their resources (seen on an H200)."),
    rule!(broken_bound_spoils_nothing, "cuLaunchKernel", "After a refused launch the stream and the kernel work on."),
    rule!(unknown_launch_attribute_is_refused, "cuLaunchKernelEx", "An unknown launch attribute is refused."),
    rule!(empty_configuration_is_refused, "cuLaunchKernelEx", "A configuration without blocks is refused."),
];

fn launch(scene: &mut Scene, kernel: &str, block: [u32; 3]) -> Outcome<Code> {
    let function = scene.kernel(kernel)?;
    let code = scene.try_shaped(function, [1; 3], block, 0, 0, &[]);
    ok!(cuCtxSynchronize());
    Ok(code)
}

fn maxntid_bounds_the_product(scene: &mut Scene) -> Outcome {
    for block in [[8, 8, 1], [1, 64, 1], [1, 1, 64], [4, 4, 4]] {
        same!(launch(scene, "at_most_64", block)?, SUCCESS);
    }
    Ok(())
}

fn maxntid_counts_all_extents(scene: &mut Scene) -> Outcome {
    for block in [[8, 9, 1], [1, 65, 1], [64, 1, 2], [65, 1, 1]] {
        same!(launch(scene, "at_most_64", block)?, INVALID_VALUE);
    }
    Ok(())
}

fn reqntid_is_a_shape(scene: &mut Scene) -> Outcome {
    for block in [[8, 8, 1], [1, 64, 1], [32, 2, 1]] {
        same!(launch(scene, "exactly_64", block)?, INVALID_VALUE);
    }
    Ok(())
}

fn config(block: [u32; 3]) -> LaunchConfig {
    LaunchConfig {
        grid: [1; 3],
        block,
        shared_bytes: 0,
        stream: 0,
        attributes: null(),
        attribute_count: 0,
    }
}

fn bounds_hold_for_configured_launches(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    gives!(
        INVALID_VALUE,
        cuLaunchKernelEx(&config([96, 1, 1]), function, null_mut(), null_mut())
    );
    ok!(cuLaunchKernelEx(
        &config([64, 1, 1]),
        function,
        null_mut(),
        null_mut()
    ));
    ok!(cuCtxSynchronize());
    Ok(())
}

fn bounds_hold_for_cooperative_launches(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    gives!(
        INVALID_VALUE,
        cuLaunchCooperativeKernel(function, 1, 1, 1, 96, 1, 1, 0, 0, null_mut())
    );
    Ok(())
}

fn bounds_hold_in_graphs(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    let graph: Handle = out(|graph| cu!(cuGraphCreate(graph, 0)))?;
    let parameters = KernelNodeParams {
        function,
        grid: [1; 3],
        block: [96, 1, 1],
        shared_bytes: 0,
        parameters: null_mut(),
        extra: null_mut(),
        kernel: 0,
        context: 0,
    };
    let (mut node, mut executable) = (0, 0);
    let mut code = cu!(cuGraphAddKernelNode_v2(
        &mut node,
        graph,
        null(),
        0,
        &parameters
    ));
    if code == SUCCESS {
        code = cu!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    }
    if code == SUCCESS {
        code = cu!(cuGraphLaunch(executable, 0));
    }
    same!(code, INVALID_VALUE);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn occupancy_does_not_ask_for_the_bound(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("at_most_64")?;
    let blocks: i32 = out(|blocks| {
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks, function, 96, 0
        ))
    })?;
    let unbounded = scene.kernel("nothing")?;
    let others: i32 = out(|blocks| {
        cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks, unbounded, 96, 0
        ))
    })?;
    same!(blocks, others);
    holds!(blocks > 0);
    Ok(())
}

fn broken_bound_spoils_nothing(scene: &mut Scene) -> Outcome {
    same!(launch(scene, "at_most_64", [96, 1, 1])?, INVALID_VALUE);
    same!(launch(scene, "at_most_64", [64, 1, 1])?, SUCCESS);
    let address = scene.device(4)?;
    scene.store(address, 4, 0)?;
    same!(scene.word(address)?, 4);
    Ok(())
}

fn unknown_launch_attribute_is_refused(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let attribute = LaunchAttribute {
        id: 1000,
        pad: 0,
        value: [0; 16],
    };
    let mut config = config([1; 3]);
    config.attributes = &raw const attribute;
    config.attribute_count = 1;
    gives!(
        INVALID_VALUE,
        cuLaunchKernelEx(&config, function, null_mut(), null_mut())
    );
    Ok(())
}

fn empty_configuration_is_refused(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("nothing")?;
    let mut config = config([1; 3]);
    config.grid = [0; 3];
    gives!(
        INVALID_VALUE,
        cuLaunchKernelEx(&config, function, null_mut(), null_mut())
    );
    Ok(())
}

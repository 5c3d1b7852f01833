//! Libraries: code that belongs to no context.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule, gives, out};
use crate::scene::{PTX, Scene, c_string};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "libraries";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(kernels_run_in_the_current_context, "cuKernelGetFunction",
        "A library's kernel has a function in the current context, which is launched."),
    rule!(kernels_are_launched_directly, "cuLaunchKernel", "A library's kernel may be launched by its own handle."),
    rule!(occupancy_is_known_of_kernels, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "A library's kernel may stand for its function in the current context."),
    rule!(missing_kernel_is_not_found, "cuLibraryGetKernel", "An unknown kernel is not found."),
    rule!(kernels_are_counted_and_listed, "cuLibraryEnumerateKernels",
        "The list has as many kernels as the count says, all different."),
    rule!(kernel_knows_library_and_name, "cuKernelGetLibrary", "A kernel names its library and its name."),
    rule!(kernel_is_the_same_each_time, "cuLibraryGetKernel", "A kernel is found by its name, each time with the same handle."),
    rule!(module_has_the_same_functions, "cuLibraryGetModule",
        "The library's module in the current context has the kernel's function."),
    rule!(null_image_is_refused, "cuLibraryLoadData", "A null image is refused."),
    rule!(missing_file_is_not_found, "cuLibraryLoadFromFile", "A missing file gives the code 'file not found'."),
    rule!(contexts_have_their_own_variables, "cuLibraryGetGlobal",
        "A variable has another address in another context, and starts as declared there."),
    rule!(missing_variable_is_not_found, "cuLibraryGetGlobal", "An unknown variable is not found."),
    rule!(attributes_are_of_a_device, "cuKernelGetAttribute", "A kernel's attribute is asked for by device, without a context."),
    rule!(attributes_reach_the_functions, "cuKernelSetAttribute",
        "An attribute that is set of a kernel is that of its function; those of the code cannot be set."),
    rule!(kernels_know_their_parameters, "cuKernelGetParamInfo",
        "Each parameter has the offset and the size of its type; an index behind the last one is refused."),
    rule!(library_outlives_the_context, "cuLibraryLoadData",
        "A library loaded while one context was current works in another when the first is destroyed."),
    rule!(loading_needs_no_context, "cuLibraryLoadData", "A library is loaded while no context is current."),
];

/// Loads an image: the code, and the library.
pub(super) fn try_load(image: *const c_void) -> (Code, Handle) {
    let mut library = 0;
    let code = cu!(cuLibraryLoadData(
        &mut library,
        image,
        null_mut(),
        null_mut(),
        0,
        null_mut(),
        null_mut(),
        0
    ));
    (code, library)
}

fn load() -> Outcome<Handle> {
    let text = c_string(PTX);
    let (code, library) = try_load(text.as_ptr().cast());
    gives(SUCCESS, code, "cuLibraryLoadData")?;
    Ok(library)
}

/// A library of the scene's kernels. The rule unloads it: libraries do not end with a context.
fn with_library(scene: &mut Scene, body: impl FnOnce(&mut Scene, Handle) -> Outcome) -> Outcome {
    let library = load()?;
    let outcome = body(scene, library);
    let unloaded = cu!(cuLibraryUnload(library));
    outcome?;
    gives(SUCCESS, unloaded, "cuLibraryUnload")
}

fn kernel(library: Handle, name: &str) -> Outcome<Handle> {
    let name = c_string(name);
    out(|kernel| cu!(cuLibraryGetKernel(kernel, library, name.as_ptr())))
}

fn function(kernel: Handle) -> Outcome<Handle> {
    out(|function| cu!(cuKernelGetFunction(function, kernel)))
}

fn kernels_run_in_the_current_context(scene: &mut Scene) -> Outcome {
    with_library(scene, |scene, library| {
        let (address, function) = (scene.device(4)?, function(kernel(library, "count")?)?);
        same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
        same!(scene.word(address)?, 1);
        Ok(())
    })
}

fn kernels_are_launched_directly(scene: &mut Scene) -> Outcome {
    with_library(scene, |scene, library| {
        let (address, kernel) = (scene.device(4)?, kernel(library, "count")?);
        same!(scene.try_launch(kernel, 0, &[&address]), SUCCESS);
        same!(scene.word(address)?, 1);
        Ok(())
    })
}

fn occupancy_is_known_of_kernels(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let kernel = kernel(library, "nothing")?;
        let function = function(kernel)?;
        let blocks = |handle| {
            out::<i32>(|blocks| {
                cu!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    blocks, handle, 256, 0
                ))
            })
        };
        same!(blocks(kernel)?, blocks(function)?);
        Ok(())
    })
}

fn missing_kernel_is_not_found(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let (name, mut kernel) = (c_string("no_such_kernel"), 0);
        gives!(
            NOT_FOUND,
            cuLibraryGetKernel(&mut kernel, library, name.as_ptr())
        );
        Ok(())
    })
}

fn kernels_are_counted_and_listed(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let count: u32 = out(|count| cu!(cuLibraryGetKernelCount(count, library)))?;
        same!(count as usize, PTX.matches(".entry").count());
        let mut kernels = vec![0; count as usize];
        ok!(cuLibraryEnumerateKernels(
            kernels.as_mut_ptr(),
            count,
            library
        ));
        kernels.sort_unstable();
        kernels.dedup();
        same!(kernels.len(), count as usize);
        holds!(kernels.contains(&kernel(library, "count")?));
        Ok(())
    })
}

fn kernel_knows_library_and_name(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let (kernel, mut name) = (kernel(library, "spin")?, null());
        same!(out(|of| cu!(cuKernelGetLibrary(of, kernel)))?, library);
        ok!(cuKernelGetName(&mut name, kernel));
        // SAFETY: the call succeeded: a text that lives as long as the library.
        same!(unsafe { CStr::from_ptr(name) }, c"spin");
        Ok(())
    })
}

fn kernel_is_the_same_each_time(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let first = kernel(library, "store")?;
        same!(kernel(library, "store")?, first);
        same!(function(first)?, function(first)?);
        Ok(())
    })
}

fn module_has_the_same_functions(scene: &mut Scene) -> Outcome {
    with_library(scene, |scene, library| {
        let module: Handle = out(|module| cu!(cuLibraryGetModule(module, library)))?;
        same!(
            scene.kernel_of(module, "count")?,
            function(kernel(library, "count")?)?
        );
        Ok(())
    })
}

fn null_image_is_refused(_: &mut Scene) -> Outcome {
    same!(try_load(null()).0, INVALID_VALUE);
    Ok(())
}

fn missing_file_is_not_found(_: &mut Scene) -> Outcome {
    let mut library = 0;
    gives!(
        FILE_NOT_FOUND,
        cuLibraryLoadFromFile(
            &mut library,
            c"no/such/file.ptx".as_ptr(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0
        )
    );
    Ok(())
}

fn variable(library: Handle, name: &str) -> Outcome<Address> {
    let (name, mut address, mut bytes) = (c_string(name), 0, 0);
    ok!(cuLibraryGetGlobal(
        &mut address,
        &mut bytes,
        library,
        name.as_ptr()
    ));
    same!(bytes, 4);
    Ok(address)
}

fn contexts_have_their_own_variables(scene: &mut Scene) -> Outcome {
    with_library(scene, |scene, library| {
        let first = variable(library, "counter")?;
        ok!(cuMemsetD32_v2(first, 7, 1));
        ok!(cuCtxSynchronize());
        let other: Handle = out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))?;
        let second = variable(library, "counter")?;
        let word = scene.word(second);
        ok!(cuCtxDestroy_v2(other));
        same!(word?, 42);
        holds!(first != second);
        Ok(())
    })
}

fn missing_variable_is_not_found(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let (name, mut address, mut bytes) = (c_string("no_such_variable"), 0, 0);
        gives!(
            NOT_FOUND,
            cuLibraryGetGlobal(&mut address, &mut bytes, library, name.as_ptr())
        );
        Ok(())
    })
}

fn attributes_are_of_a_device(scene: &mut Scene) -> Outcome {
    /// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`.
    const MAX_THREADS: u32 = 0;
    with_library(scene, |scene, library| {
        let bounded = kernel(library, "at_most_64")?;
        let threads: i32 = out(|value| {
            cu!(cuKernelGetAttribute(
                value,
                MAX_THREADS,
                bounded,
                scene.device
            ))
        })?;
        same!(threads, 64);
        Ok(())
    })
}

fn attributes_reach_the_functions(scene: &mut Scene) -> Outcome {
    /// `CU_FUNC_ATTRIBUTE_NUM_REGS` and `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
    const NUM_REGS: u32 = 4;
    const MAX_DYNAMIC_SHARED: u32 = 8;
    const BYTES: i32 = 60_000;
    with_library(scene, |scene, library| {
        let (kernel, device) = (kernel(library, "dynamic_shared")?, scene.device);
        ok!(cuKernelSetAttribute(
            MAX_DYNAMIC_SHARED,
            BYTES,
            kernel,
            device
        ));
        let function = function(kernel)?;
        let of_kernel = out(|value| {
            cu!(cuKernelGetAttribute(
                value,
                MAX_DYNAMIC_SHARED,
                kernel,
                device
            ))
        })?;
        let of_function =
            out(|value| cu!(cuFuncGetAttribute(value, MAX_DYNAMIC_SHARED, function)))?;
        same!((of_kernel, of_function), (BYTES, BYTES));
        gives!(
            INVALID_VALUE,
            cuKernelSetAttribute(NUM_REGS, 1, kernel, device)
        );
        Ok(())
    })
}

fn kernels_know_their_parameters(scene: &mut Scene) -> Outcome {
    with_library(scene, |_, library| {
        let kernel = kernel(library, "sum_parameters")?;
        let (mut offset, mut bytes) = (99, 99);
        for (index, expected) in [(0, (0, 8)), (1, (8, 1)), (3, (12, 4)), (4, (16, 8))] {
            ok!(cuKernelGetParamInfo(kernel, index, &mut offset, &mut bytes));
            same!((offset, bytes), expected);
        }
        gives!(
            INVALID_VALUE,
            cuKernelGetParamInfo(kernel, 5, &mut offset, &mut bytes)
        );
        Ok(())
    })
}

fn library_outlives_the_context(scene: &mut Scene) -> Outcome {
    let first: Handle = out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))?;
    with_library(scene, |scene, library| {
        let counting = kernel(library, "count")?;
        function(counting)?;
        ok!(cuCtxDestroy_v2(first));
        let (address, function) = (scene.device(4)?, function(counting)?);
        same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
        same!(scene.word(address)?, 1);
        Ok(())
    })
}

fn loading_needs_no_context(scene: &mut Scene) -> Outcome {
    let own: Handle = out(|context| cu!(cuCtxPopCurrent_v2(context)))?;
    let loaded = load();
    ok!(cuCtxPushCurrent_v2(own));
    let library = loaded?;
    let (address, function) = (scene.device(4)?, function(kernel(library, "count")?)?);
    same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
    same!(scene.word(address)?, 1);
    ok!(cuLibraryUnload(library));
    Ok(())
}

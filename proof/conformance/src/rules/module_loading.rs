//! When code is loaded, and what an image must be.

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{PTX, Scene, c_string};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "module_loading";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(mode_is_what_the_environment_asks_for, "cuModuleGetLoadingMode",
        "With CUDA_MODULE_LOADING=EAGER in the environment the mode is eager."),
    rule!(eager_kernels_are_loaded, "cuFuncIsLoaded",
        "A kernel of a module loaded eagerly is loaded, and may be asked for again."),
    rule!(kernels_are_listed, "cuModuleEnumerateFunctions", "The list has the requested number of kernels, all different."),
    rule!(kernels_have_names, "cuFuncGetName", "A kernel of the list is found by its name."),
    rule!(file_without_ptx_is_refused, "cuModuleLoad", "A file that is there but holds no code is refused."),
    rule!(file_loads_as_data_does, "cuModuleLoad", "PTX in a file becomes a module."),
    rule!(unloaded_module_is_gone, "cuModuleUnload",
        "Unloading frees the module's variables: their addresses are no longer valid."),
    rule!(module_belongs_to_its_context, "cuModuleLoadData",
        "The same text loaded in two contexts gives kernels that run in their own contexts."),
    rule!(info_log_and_options_are_taken, "cuModuleLoadDataEx",
        "Options for optimisation and for the information log are taken."),
    rule!(text_without_kernels_loads, "cuModuleLoadData", "PTX without kernels gives a module without kernels."),
];

const HEADER: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

fn mode_is_what_the_environment_asks_for(_: &mut Scene) -> Outcome {
    /// `CU_MODULE_EAGER_LOADING`.
    const EAGER: u32 = 1;
    same!(out(|mode| cu!(cuModuleGetLoadingMode(mode)))?, EAGER);
    Ok(())
}

fn eager_kernels_are_loaded(scene: &mut Scene) -> Outcome {
    /// `CU_FUNCTION_LOADING_STATE_LOADED`.
    const LOADED: u32 = 1;
    let function = scene.kernel("spin")?;
    same!(out(|state| cu!(cuFuncIsLoaded(state, function)))?, LOADED);
    ok!(cuFuncLoad(function));
    same!(out(|state| cu!(cuFuncIsLoaded(state, function)))?, LOADED);
    Ok(())
}

fn listed(scene: &mut Scene) -> Outcome<Vec<Handle>> {
    let module = scene.module()?;
    let count: u32 = out(|count| cu!(cuModuleGetFunctionCount(count, module)))?;
    let mut functions = vec![0; count as usize];
    ok!(cuModuleEnumerateFunctions(
        functions.as_mut_ptr(),
        count,
        module
    ));
    Ok(functions)
}

fn kernels_are_listed(scene: &mut Scene) -> Outcome {
    let mut functions = listed(scene)?;
    holds!(functions.contains(&scene.kernel("count")?));
    functions.sort_unstable();
    functions.dedup();
    same!(functions.len(), PTX.matches(".entry").count());
    holds!(!functions.contains(&0));
    Ok(())
}

fn kernels_have_names(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    for function in listed(scene)? {
        let (mut name, mut found) = (std::ptr::null(), 0);
        ok!(cuFuncGetName(&mut name, function));
        ok!(cuModuleGetFunction(&mut found, module, name));
        same!(found, function);
    }
    Ok(())
}

/// A file of the rule's own with `content`, removed afterwards.
pub(super) fn with_file(name: &str, content: &str, body: impl FnOnce(&str) -> Outcome) -> Outcome {
    let name = format!("conformance-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    holds!(std::fs::write(&path, content).is_ok());
    let outcome = body(&path.to_string_lossy());
    holds!(std::fs::remove_file(&path).is_ok());
    outcome
}

fn file_without_ptx_is_refused(_: &mut Scene) -> Outcome {
    with_file("words.txt", "no code at all\n", |path| {
        let (path, mut module) = (c_string(path), 0);
        let code = cu!(cuModuleLoad(&mut module, path.as_ptr()));
        holds!([INVALID_PTX, INVALID_IMAGE, INVALID_SOURCE].contains(&code));
        Ok(())
    })
}

fn file_loads_as_data_does(scene: &mut Scene) -> Outcome {
    with_file("scene.ptx", PTX, |path| {
        let (path, mut module) = (c_string(path), 0);
        ok!(cuModuleLoad(&mut module, path.as_ptr()));
        let (address, function) = (scene.device(4)?, scene.kernel_of(module, "count")?);
        same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
        same!(scene.word(address)?, 1);
        Ok(())
    })
}

fn unloaded_module_is_gone(scene: &mut Scene) -> Outcome {
    /// A size at which the memory is an allocation of its own.
    const TEXT: &str = ".visible .global .align 4 .b8 large[67108864];";
    let module = scene.load(&format!("{HEADER}{TEXT}"))?;
    let (name, mut address, mut bytes) = (c_string("large"), 0, 0);
    ok!(cuModuleGetGlobal_v2(
        &mut address,
        &mut bytes,
        module,
        name.as_ptr()
    ));
    same!(bytes, 64 << 20);
    ok!(cuModuleUnload(module));
    let mut word = 0_u32;
    gives!(
        INVALID_VALUE,
        cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4)
    );
    Ok(())
}

fn module_belongs_to_its_context(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel("count")?);
    let other: Handle = out(|context| cu!(cuCtxCreate_v2(context, 0, scene.device)))?;
    let second = scene.load(PTX)?;
    let there = (scene.device(4)?, scene.kernel_of(second, "count")?);
    holds!(there.1 != function);
    same!(scene.try_launch(there.1, 0, &[&there.0]), SUCCESS);
    same!(scene.word(there.0)?, 1);
    ok!(cuCtxDestroy_v2(other));
    same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
    same!(scene.word(address)?, 1);
    Ok(())
}

fn info_log_and_options_are_taken(_: &mut Scene) -> Outcome {
    /// `CU_JIT_INFO_LOG_BUFFER`, `_SIZE_BYTES`, `CU_JIT_OPTIMIZATION_LEVEL`, `CU_JIT_LOG_VERBOSE`.
    const OPTIONS: [u32; 4] = [3, 4, 7, 12];
    let (text, mut module, mut log) = (c_string(PTX), 0, [0_u8; 4096]);
    let mut options = OPTIONS;
    let mut values = [
        log.as_mut_ptr().cast(),
        log.len() as *mut _,
        std::ptr::without_provenance_mut(2),
        std::ptr::without_provenance_mut(1),
    ];
    ok!(cuModuleLoadDataEx(
        &mut module,
        text.as_ptr().cast(),
        4,
        options.as_mut_ptr(),
        values.as_mut_ptr()
    ));
    holds!(module != 0);
    Ok(())
}

fn text_without_kernels_loads(scene: &mut Scene) -> Outcome {
    let module = scene.load(&format!("{HEADER}.visible .global .u32 alone;"))?;
    same!(
        out(|count| cu!(cuModuleGetFunctionCount(count, module)))?,
        0
    );
    Ok(())
}

//! Modules: loading PTX, its global variables and its kernels.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{PTX, Scene, c_string};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "modules";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(wrong_ptx_is_refused, "cuModuleLoadData", "PTX with an error in it does not compile."),
    rule!(newer_ptx_is_refused, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        "PTX of a version that the driver does not know is refused."),
    rule!(null_image_is_refused, "cuModuleLoadData", "A null image is refused."),
    rule!(missing_file_is_not_found, "cuModuleLoad", "A missing file gives the code 'file not found'."),
    rule!(the_log_says_why, "cuModuleLoadDataEx", "A buffer for the error log receives text when PTX does not compile."),
    rule!(kernels_are_found_by_name, "cuModuleGetFunction", "A kernel is found by its name, each time with the same handle."),
    rule!(missing_kernel_is_not_found, "cuModuleGetFunction", "An unknown kernel is not found."),
    rule!(variable_is_no_kernel, "cuModuleGetFunction", "A variable cannot be got as a kernel."),
    rule!(null_name_is_refused, "cuModuleGetFunction", "A null name is refused."),
    rule!(kernels_are_counted, "cuModuleGetFunctionCount", "The count is that of the module's kernels."),
    rule!(kernel_knows_its_module, "cuFuncGetModule", "A kernel names the module it belongs to."),
    rule!(variables_have_address_and_size, "cuModuleGetGlobal",
        "A variable is found by its name, with the size it was declared with."),
    rule!(either_output_may_be_left_out, "cuModuleGetGlobal", "Address and size may each be left out."),
    rule!(missing_variable_is_not_found, "cuModuleGetGlobal", "An unknown variable is not found."),
    rule!(variables_start_as_declared, "PTX ISA, initializers", "A variable holds its initial value, or zero."),
    rule!(variables_hold_addresses, "PTX ISA, initializers",
        "A variable starts with the address of another; an array has zeros behind its declared values."),
    rule!(constants_are_variables_too, "cuModuleGetGlobal", "A variable of the constant space is found and holds its value."),
    rule!(kernels_use_their_variables, "cuModuleGetGlobal", "A kernel changes the variable that the host reads."),
    rule!(every_load_has_its_own_variables, "cuModuleLoadData",
        "The same text loaded twice gives two sets of variables and kernels."),
    rule!(variables_are_not_freed, "cuMemFree", "A variable of a module is not the program's to free."),
    rule!(parameters_have_offset_and_size, "cuFuncGetParamInfo", "Each parameter has the offset and the size of its type."),
    rule!(no_more_parameters, "cuFuncGetParamInfo", "An index behind the last parameter is refused."),
];

fn load(text: &str) -> Code {
    let (text, mut module) = (c_string(text), 0);
    cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()))
}

const HEADER: &str = ".version 6.0\n.target sm_70\n.address_size 64\n";

fn wrong_ptx_is_refused(_: &mut Scene) -> Outcome {
    let text = format!("{HEADER}.visible .entry broken() {{ no such instruction; }}");
    same!(load(&text), INVALID_PTX);
    Ok(())
}

fn newer_ptx_is_refused(_: &mut Scene) -> Outcome {
    let text = HEADER.replace("6.0", "99.0") + ".visible .entry empty() { ret; }";
    same!(load(&text), UNSUPPORTED_PTX_VERSION);
    Ok(())
}

fn null_image_is_refused(_: &mut Scene) -> Outcome {
    let mut module = 0;
    gives!(INVALID_VALUE, cuModuleLoadData(&mut module, null()));
    Ok(())
}

fn missing_file_is_not_found(_: &mut Scene) -> Outcome {
    let (path, mut module) = (c_string("no/such/file.ptx"), 0);
    gives!(FILE_NOT_FOUND, cuModuleLoad(&mut module, path.as_ptr()));
    Ok(())
}

fn the_log_says_why(_: &mut Scene) -> Outcome {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const BUFFER: u32 = 5;
    const SIZE: u32 = 6;
    let text = c_string(&format!(
        "{HEADER}.visible .entry broken() {{ no such instruction; }}"
    ));
    let (mut log, mut module) = ([0_u8; 1024], 0);
    let mut options = [BUFFER, SIZE];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
    let code = cu!(cuModuleLoadDataEx(
        &mut module,
        text.as_ptr().cast(),
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr(),
    ));
    same!(code, INVALID_PTX);
    holds!(log[0] != 0);
    Ok(())
}

fn kernels_are_found_by_name(scene: &mut Scene) -> Outcome {
    let first = scene.kernel("store")?;
    same!(scene.kernel("store")?, first);
    holds!(scene.kernel("count")? != first);
    Ok(())
}

fn find(scene: &mut Scene, name: &str) -> Outcome<Code> {
    let (module, name, mut function) = (scene.module()?, c_string(name), 0);
    Ok(cu!(cuModuleGetFunction(
        &mut function,
        module,
        name.as_ptr()
    )))
}

fn missing_kernel_is_not_found(scene: &mut Scene) -> Outcome {
    same!(find(scene, "no_such_kernel")?, NOT_FOUND);
    Ok(())
}

fn variable_is_no_kernel(scene: &mut Scene) -> Outcome {
    same!(find(scene, "counter")?, NOT_FOUND);
    Ok(())
}

fn null_name_is_refused(scene: &mut Scene) -> Outcome {
    let (module, mut function) = (scene.module()?, 0);
    gives!(
        INVALID_VALUE,
        cuModuleGetFunction(&mut function, module, null())
    );
    Ok(())
}

fn kernels_are_counted(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    let count: u32 = out(|count| cu!(cuModuleGetFunctionCount(count, module)))?;
    same!(count as usize, PTX.matches(".entry").count());
    Ok(())
}

fn kernel_knows_its_module(scene: &mut Scene) -> Outcome {
    let (module, function) = (scene.module()?, scene.kernel("store")?);
    let found: Handle = out(|module| cu!(cuFuncGetModule(module, function)))?;
    same!(found, module);
    Ok(())
}

fn global(module: Handle, name: &str) -> Outcome<(Address, usize)> {
    let (name, mut address, mut bytes) = (c_string(name), 0, 0);
    ok!(cuModuleGetGlobal_v2(
        &mut address,
        &mut bytes,
        module,
        name.as_ptr()
    ));
    Ok((address, bytes))
}

fn variables_have_address_and_size(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    let (counter, zeroed) = (global(module, "counter")?, global(module, "zeroed")?);
    same!((counter.1, zeroed.1), (4, 24));
    holds!(counter.0 != 0 && zeroed.0 != 0 && counter.0 != zeroed.0);
    Ok(())
}

fn either_output_may_be_left_out(scene: &mut Scene) -> Outcome {
    let (module, name) = (scene.module()?, c_string("zeroed"));
    let (mut address, mut bytes) = (0, 0);
    ok!(cuModuleGetGlobal_v2(
        &mut address,
        null_mut(),
        module,
        name.as_ptr()
    ));
    ok!(cuModuleGetGlobal_v2(
        null_mut(),
        &mut bytes,
        module,
        name.as_ptr()
    ));
    same!((address, bytes), global(module, "zeroed")?);
    Ok(())
}

fn missing_variable_is_not_found(scene: &mut Scene) -> Outcome {
    let (module, name) = (scene.module()?, c_string("no_such_variable"));
    let (mut address, mut bytes) = (0, 0);
    gives!(
        NOT_FOUND,
        cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name.as_ptr())
    );
    Ok(())
}

fn variables_start_as_declared(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    same!(scene.word(global(module, "counter")?.0)?, 42);
    same!(scene.bytes(global(module, "zeroed")?.0, 24)?, vec![0; 24]);
    Ok(())
}

fn variables_hold_addresses(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    let ((table, bytes), (places, _)) = (global(module, "table")?, global(module, "places")?);
    let expected = [1_u32, 2, 3, 0].map(u32::to_le_bytes).concat();
    same!(scene.bytes(table, bytes)?, expected);
    let expected = [table + 4, table + 8].map(u64::to_le_bytes).concat();
    same!(scene.bytes(places, 16)?, expected);
    Ok(())
}

fn constants_are_variables_too(scene: &mut Scene) -> Outcome {
    let module = scene.module()?;
    let (address, bytes) = global(module, "constant")?;
    same!(bytes, 4);
    same!(scene.word(address)?, 7);
    Ok(())
}

fn kernels_use_their_variables(scene: &mut Scene) -> Outcome {
    let (address, _) = global(scene.module()?, "counter")?;
    scene.launch("count_own", 0, &[])?;
    same!(scene.word(address)?, 43);
    ok!(cuMemsetD32_v2(address, 100, 1));
    scene.launch("count_own", 0, &[])?;
    same!(scene.word(address)?, 101);
    Ok(())
}

fn every_load_has_its_own_variables(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.module()?, scene.load(PTX)?);
    let function = scene.kernel_of(second, "count_own")?;
    holds!(scene.kernel("count_own")? != function);
    same!(scene.try_launch(function, 0, &[]), SUCCESS);
    same!(scene.word(global(first, "counter")?.0)?, 42);
    same!(scene.word(global(second, "counter")?.0)?, 43);
    ok!(cuModuleUnload(second));
    Ok(())
}

fn variables_are_not_freed(scene: &mut Scene) -> Outcome {
    let (address, _) = global(scene.module()?, "counter")?;
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn parameters_have_offset_and_size(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("sum_parameters")?;
    for (index, expected) in [(0, 8), (8, 1), (10, 2), (12, 4), (16, 8)]
        .into_iter()
        .enumerate()
    {
        let (mut offset, mut bytes) = (99, 99);
        ok!(cuFuncGetParamInfo(function, index, &mut offset, &mut bytes));
        same!((offset, bytes), expected);
    }
    Ok(())
}

fn no_more_parameters(scene: &mut Scene) -> Outcome {
    let function = scene.kernel("sum_parameters")?;
    let (mut offset, mut bytes) = (99, 99);
    gives!(
        INVALID_VALUE,
        cuFuncGetParamInfo(function, 5, &mut offset, &mut bytes)
    );
    Ok(())
}

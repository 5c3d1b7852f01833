//! Linking of several images into one.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::libraries::try_load;
use super::module_loading::with_file;
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{PTX, Scene, c_string};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "links";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(one_text_becomes_an_image, "cuLinkComplete", "The image linked of one PTX text loads as a module with its kernels."),
    rule!(functions_of_another_text_are_called, "cuLinkAddData", "A kernel calls a function that another text defines."),
    rule!(variables_of_another_text_are_read, "cuLinkAddData", "A kernel reads a variable that another text defines."),
    rule!(local_symbols_stay_apart, "PTX ISA, linking directives",
        "Symbols of one name that are not visible belong to their own texts."),
    rule!(weak_definitions_give_way, "PTX ISA, .weak", "A weak definition gives way to one that is not weak."),
    rule!(image_is_a_library, "cuLibraryLoadData", "The image that was linked loads as a library."),
    rule!(files_are_added, "cuLinkAddFile", "A file is added as its text is; a missing file gives the code 'file not found'."),
    rule!(missing_function_is_an_error, "cuLinkComplete",
        "A function that no text defines is an error, at the latest when the link is completed."),
    rule!(second_definition_is_an_error, "cuLinkAddData",
        "A symbol that two texts define is an error, at the latest when the link is completed."),
    rule!(wrong_ptx_is_refused, "cuLinkAddData", "PTX with an error in it is refused when it is added."),
    rule!(unknown_kind_of_input_is_refused, "cuLinkAddData", "A number that is no kind of input is refused."),
    rule!(a_place_a_context_and_known_options_are_needed, "cuLinkCreate",
        "A link without a place for its handle, without a context or with an unknown option is refused."),
    rule!(log_says_what_is_wrong, "CU_JIT_ERROR_LOG_BUFFER",
        "A buffer for the error log receives text when PTX does not compile."),
    rule!(log_stays_in_its_buffer, "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
        "A log that is longer than its buffer is cut off, and ends with a zero."),
];

/// `CU_JIT_INPUT_PTX`.
const INPUT_PTX: u32 = 1;

const HEADER: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

const CALLER: &str = ".extern .func (.param .b32 sum) plus_one(.param .b32 value);
.visible .entry call_it(.param .u64 to)
{
    .reg .b32 %value;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    cvta.to.global.u64 %to, %to;
    {
        .param .b32 given;
        .param .b32 came;
        st.param.b32 [given], 41;
        call.uni (came), plus_one, (given);
        ld.param.b32 %value, [came];
    }
    st.global.u32 [%to], %value;
    ret;
}
";

const CALLED: &str = ".visible .func (.param .b32 sum) plus_one(.param .b32 value)
{
    .reg .b32 %value;
    ld.param.b32 %value, [value];
    add.u32 %value, %value, 1;
    st.param.b32 [sum], %value;
    ret;
}
";

/// Stores a variable that another text defines.
const READER: &str = ".extern .global .u32 seed;
.visible .entry read_it(.param .u64 to)
{
    .reg .b32 %value;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    cvta.to.global.u64 %to, %to;
    ld.global.u32 %value, [seed];
    st.global.u32 [%to], %value;
    ret;
}
";

const SEED: &str = ".visible .global .u32 seed = 14;";

fn create() -> Outcome<Handle> {
    let mut state = 0;
    ok!(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
    Ok(state)
}

fn add(state: Handle, kind: u32, text: &str) -> Code {
    let (name, text) = (c_string("text"), c_string(text));
    let bytes = text.as_bytes_with_nul();
    cu!(cuLinkAddData_v2(
        state,
        kind,
        bytes.as_ptr().cast_mut().cast(),
        bytes.len(),
        name.as_ptr(),
        0,
        null_mut(),
        null_mut()
    ))
}

fn add_file(state: Handle, path: &str) -> Code {
    let path = c_string(path);
    cu!(cuLinkAddFile_v2(
        state,
        INPUT_PTX,
        path.as_ptr(),
        0,
        null_mut(),
        null_mut()
    ))
}

/// Links the texts, each with the header in front, and hands `body` the code of the first call that fails, and the image.
fn with_image(texts: &[&str], body: impl FnOnce(Code, *const c_void) -> Outcome) -> Outcome {
    let (state, mut image, mut bytes) = (create()?, null_mut(), 0);
    let mut code = SUCCESS;
    for text in texts {
        if code == SUCCESS {
            code = add(state, INPUT_PTX, &format!("{HEADER}{text}"));
        }
    }
    if code == SUCCESS {
        code = cu!(cuLinkComplete(state, &mut image, &mut bytes));
    }
    let outcome = body(code, image.cast_const());
    ok!(cuLinkDestroy(state));
    outcome
}

/// The texts cannot be linked, whichever call says so.
fn fails(texts: &[&str]) -> Outcome {
    with_image(texts, |code, _| {
        holds!(code != SUCCESS);
        Ok(())
    })
}

/// A kernel linked of the texts stores `value`.
fn stores(scene: &mut Scene, texts: &[&str], kernel: &str, value: u32) -> Outcome {
    with_image(texts, |code, image| {
        let mut module = 0;
        same!(code, SUCCESS);
        ok!(cuModuleLoadData(&mut module, image));
        stores_in(scene, module, kernel, value)
    })
}

fn stores_in(scene: &mut Scene, module: Handle, kernel: &str, value: u32) -> Outcome {
    let (address, function) = (scene.device(4)?, scene.kernel_of(module, kernel)?);
    same!(scene.try_launch(function, 0, &[&address]), SUCCESS);
    same!(scene.word(address)?, value);
    Ok(())
}

fn one_text_becomes_an_image(scene: &mut Scene) -> Outcome {
    let (_, text) = PTX.split_once(".address_size 64").unwrap_or(("", PTX));
    stores(scene, &[text], "count", 1)
}

fn functions_of_another_text_are_called(scene: &mut Scene) -> Outcome {
    stores(scene, &[CALLER, CALLED], "call_it", 42)
}

fn variables_of_another_text_are_read(scene: &mut Scene) -> Outcome {
    stores(scene, &[READER, SEED], "read_it", 14)
}

fn local_symbols_stay_apart(scene: &mut Scene) -> Outcome {
    let local = |value: u32, kernel| {
        let reader = READER.replace(
            ".extern .global .u32 seed",
            &format!(".global .u32 seed = {value}"),
        );
        reader.replace("read_it", kernel)
    };
    let texts = [local(1, "one"), local(2, "two")];
    let texts = [texts[0].as_str(), texts[1].as_str()];
    stores(scene, &texts, "one", 1)?;
    stores(scene, &texts, "two", 2)?;
    fails(&[READER, ".global .u32 seed = 1;"])
}

fn weak_definitions_give_way(scene: &mut Scene) -> Outcome {
    let weak = CALLED.replace(".visible", ".weak").replace(", 1;", ", 2;");
    stores(scene, &[CALLER, CALLED, &weak], "call_it", 42)?;
    stores(scene, &[&weak, CALLER], "call_it", 43)
}

fn image_is_a_library(scene: &mut Scene) -> Outcome {
    with_image(&[CALLER, CALLED], |_, image| {
        let (code, library) = try_load(image);
        same!(code, SUCCESS);
        let module = out(|module| cu!(cuLibraryGetModule(module, library)))?;
        let stored = stores_in(scene, module, "call_it", 42);
        ok!(cuLibraryUnload(library));
        stored
    })
}

fn files_are_added(scene: &mut Scene) -> Outcome {
    let missing = create()?;
    same!(add_file(missing, "no/such/file.ptx"), FILE_NOT_FOUND);
    ok!(cuLinkDestroy(missing));
    with_file("seed.ptx", &format!("{HEADER}{SEED}"), |path| {
        let (state, mut image, mut bytes, mut module) = (create()?, null_mut(), 0, 0);
        same!(add_file(state, path), SUCCESS);
        same!(add(state, INPUT_PTX, &format!("{HEADER}{READER}")), SUCCESS);
        ok!(cuLinkComplete(state, &mut image, &mut bytes));
        holds!(bytes > 0);
        ok!(cuModuleLoadData(&mut module, image.cast_const()));
        ok!(cuLinkDestroy(state));
        stores_in(scene, module, "read_it", 14)
    })
}

fn missing_function_is_an_error(_: &mut Scene) -> Outcome {
    fails(&[CALLER])
}

fn second_definition_is_an_error(_: &mut Scene) -> Outcome {
    fails(&[CALLER, CALLED, CALLED])?;
    fails(&[READER, SEED, SEED])
}

fn wrong_ptx_is_refused(_: &mut Scene) -> Outcome {
    let state = create()?;
    let text = format!("{HEADER}.visible .entry broken() {{ no such instruction; }}");
    same!(add(state, INPUT_PTX, &text), INVALID_PTX);
    ok!(cuLinkDestroy(state));
    Ok(())
}

fn unknown_kind_of_input_is_refused(_: &mut Scene) -> Outcome {
    let state = create()?;
    same!(add(state, 99, PTX), INVALID_VALUE);
    ok!(cuLinkDestroy(state));
    Ok(())
}

fn a_place_a_context_and_known_options_are_needed(_: &mut Scene) -> Outcome {
    let (mut state, mut option, mut value) = (0, 1000, null_mut());
    gives!(
        INVALID_VALUE,
        cuLinkCreate_v2(0, null_mut(), null_mut(), null_mut())
    );
    gives!(
        INVALID_VALUE,
        cuLinkCreate_v2(1, &mut option, &mut value, &mut state)
    );
    let own: Handle = out(|context| cu!(cuCtxPopCurrent_v2(context)))?;
    let code = cu!(cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
    ok!(cuCtxPushCurrent_v2(own));
    same!(code, INVALID_CONTEXT);
    Ok(())
}

/// What the error log holds, of whose bytes the driver may use so many, when PTX does not compile.
fn log_of(size: usize) -> Outcome<[u8; 1024]> {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const LOG: [u32; 2] = [5, 6];
    let (mut log, mut state, mut options) = (Box::new([0xff_u8; 1024]), 0, LOG);
    let start = log.as_mut_ptr();
    let mut values = [start.cast(), std::ptr::without_provenance_mut(size)];
    ok!(cuLinkCreate_v2(
        2,
        options.as_mut_ptr(),
        values.as_mut_ptr(),
        &mut state
    ));
    let text = format!("{HEADER}.visible .entry broken() {{ no such instruction; }}");
    same!(add(state, INPUT_PTX, &text), INVALID_PTX);
    ok!(cuLinkDestroy(state));
    // SAFETY: the buffer is this function's; the driver wrote to it through the pointer.
    Ok(unsafe { start.cast::<[u8; 1024]>().read_volatile() })
}

fn log_says_what_is_wrong(_: &mut Scene) -> Outcome {
    let log = log_of(1024)?;
    holds!(log[0] != 0 && log[0] != 0xff);
    Ok(())
}

fn log_stays_in_its_buffer(_: &mut Scene) -> Outcome {
    let log = log_of(16)?;
    holds!(log[..16].contains(&0));
    holds!(log[16..].iter().all(|byte| *byte == 0xff));
    Ok(())
}
